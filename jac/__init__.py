"""The object-spatial core: archetypes and walkers in Jac, imported as `contextrender.graph`."""

import contextrender.jac_runtime  # noqa: F401 - makes .jac files importable

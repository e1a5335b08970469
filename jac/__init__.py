"""The object-spatial core: archetypes and walkers in Jac, imported as `contextrender.graph`."""

import jaclang  # noqa: F401  (installs the import hook for .jac modules)

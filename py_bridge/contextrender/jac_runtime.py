"""jaclang, imported here and nowhere else: it makes .jac files importable.

Where the program has no log handler yet, jaclang would send all records of the program from INFO up to standard error.
"""

import contextlib
import logging
from typing import Any

_root, _holder = logging.getLogger(), logging.NullHandler()
_root.addHandler(_holder)
try:
    import jaclang

    with contextlib.suppress(ImportError):  # jaclang 0.16, which only checks our types, has no such module
        import jaclang.utils.log  # else imported, with that effect, at the first compilation
finally:
    _root.removeHandler(_holder)

Jac: Any = getattr(jaclang, "JacMachineInterface", None)
"""The runtime's interface; None in a jaclang that only checks types."""

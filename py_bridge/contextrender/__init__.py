"""ContextRender: keeps an agent's whole history in a graph and renders what the next model call needs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextrender.adapters.wrap import wrap
    from contextrender.client import AsyncClient, Client
    from contextrender.policy import Policy
    from contextrender.session import Session
    from contextrender.trace import Rendered

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Client", "Policy", "Rendered", "Session", "__version__", "wrap"]

_HOMES = {
    "AsyncClient": "contextrender.client",
    "Client": "contextrender.client",
    "Policy": "contextrender.policy",
    "Rendered": "contextrender.trace",
    "Session": "contextrender.session",
    "wrap": "contextrender.adapters.wrap",
}


def __getattr__(name: str) -> Any:
    """Load the public names at first use: importing jaclang takes more than a second."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

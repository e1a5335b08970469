"""ACON's UnifiedAgent: a memory manager whose model calls get what is rendered.

    agent.memory_manager = with_context(MemoryManager, budget=6000)()
"""

from typing import Any

from contextrender.adapters.context import Context
from contextrender.adapters.text_protocol import rendered_text
from contextrender.client import Client
from contextrender.trace import Message


def with_context(manager: type, client: Client | None = None, **options: Any) -> type:
    """A subclass of a memory manager class with `get_conversation_history`; each object is a session of its own.

    options: as of `Client.open_session` (budget, policy, …).
    """

    class ContextRenderMemory(manager):  # type: ignore[misc]
        """Gives the model what is rendered."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._context = Context(client=client, **options)

        def get_conversation_history(self, exclude_system: bool = True) -> list[Message]:
            """The messages of the next model call."""
            messages: list[Message] = super().get_conversation_history(exclude_system)
            lead = 0 if not messages or messages[0]["role"] != "system" else 1
            return rendered_text(self._context, messages, lead)

    return ContextRenderMemory

"""AppWorld's ReAct agent: a subclass whose model calls get what is rendered; prompts, tools and grading are as before.

    from appworld_experiments.code.simplified.react_code_agent import SimplifiedReActCodeAgent
    Agent = with_context(SimplifiedReActCodeAgent, budget=6000)
"""

from typing import Any

from contextrender.adapters.context import Context
from contextrender.adapters.conversations import Conversations
from contextrender.adapters.text_protocol import rendered_text
from contextrender.client import Client
from contextrender.trace import Message


def with_context(agent: type, client: Client | None = None, **options: Any) -> type:
    """A subclass of an agent class with the property `trimmed_messages`; each task is a session of its own.

    options: as of `Client.open_session` (budget, policy, …).
    """
    conversations = Conversations(lambda task: Context(task and f"appworld:{task}", client, **options))

    class ContextRenderAgent(agent):  # type: ignore[misc]
        """Sends what is rendered."""

        @property
        def trimmed_messages(self) -> list[Message]:
            """The messages of the next model call."""
            messages: list[Message] = super().trimmed_messages
            return rendered_text(conversations.of(str(self.world.task_id)), messages, self.num_instruction_messages)

    return ContextRenderAgent

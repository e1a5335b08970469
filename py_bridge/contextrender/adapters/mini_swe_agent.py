"""mini-swe-agent: a model class that renders what is sent; the agent's trajectory is untouched.

    mini --model-class contextrender.adapters.mini_swe_agent.ContextRenderModel ...

The server and the budget are those of the environment and of the server's settings.
"""

from typing import Any

from minisweagent.models.litellm_model import LitellmModel

from contextrender.adapters.context import Context, or_as_it_is


class ContextRenderModel(LitellmModel):  # type: ignore[misc, unused-ignore]
    """One conversation; options as of mini-swe-agent's own LitellmModel."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._context = Context()

    def _prepare_messages_for_api(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        prepared: list[dict[str, Any]] = super()._prepare_messages_for_api(messages)
        return or_as_it_is(lambda: self._context.rewritten(prepared), prepared)

"""The model behind the `by llm` functions: chosen for each call, reached as the endpoint says, safe in threads.

byLLM 0.4.7 alone ignores api_base and api_key on the direct path, has no time-out, and keeps call parameters on the
model that all callers share.
"""

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from contextrender.endpoint import Endpoint, import_litellm

litellm = import_litellm()

from byllm.lib import Model  # noqa: E402  (LiteLLM's settings have to be made first)

SEED = 42
_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n```\s*\Z", re.DOTALL)


class EndpointModel(Model):  # type: ignore[misc]  # byllm has no types
    """A byLLM model at an endpoint: temperature 0, top-p 1, seed 42 (App. B.1); counts the tokens it uses."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint.model)
        self.endpoint = endpoint
        self.prompt_tokens = self.output_tokens = 0

    def model_call_no_stream(self, params: dict[str, Any]) -> Any:
        """One answer, with retries as the endpoint says. A JSON answer in a code fence is taken out of it."""
        given = {name: value for name, value in params.items() if value is not None and name != "api_base"}
        options = {"top_p": 1.0, "seed": SEED, "max_tokens": self.call_params.get("max_tokens")}
        response = self.endpoint.attempt(
            lambda: litellm.completion(**{**options, **given, **self.endpoint.options()}),
        )
        usage = getattr(response, "usage", None)
        self.prompt_tokens += getattr(usage, "prompt_tokens", 0) or 0
        self.output_tokens += getattr(usage, "completion_tokens", 0) or 0
        message = response.choices[0].message
        if params.get("response_format") and (fenced := _FENCE.match(message.content or "")):
            message.content = fenced[1]
        return response


_current: ContextVar[tuple[Any, dict[str, object]]] = ContextVar("the model of this call")


class _Routed:
    """Stands for the current model; a call's parameters go to a copy of its own."""

    def __call__(self, **parameters: object) -> Any:
        model, more = _current.get()
        own = copy.copy(model)
        own.call_params = parameters | more
        _calls.get().append(own)
        return own


_calls: ContextVar[list[Any]] = ContextVar("the copies made in this call")

llm = _Routed()


@contextmanager
def using(model: Any, **parameters: object) -> Iterator[list[Any]]:
    """Within the block, `by llm` functions ask this byLLM model; yields the copies that were asked."""
    made: list[Any] = []
    current, calls = _current.set((model, parameters)), _calls.set(made)
    try:
        yield made
    finally:
        _current.reset(current)
        _calls.reset(calls)

"""The model under test: an OpenAI-compatible endpoint, with the paper's sampling settings (App. B.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextrender.benchmarks.task import Message
from contextrender.errors import UnavailableError
from contextrender.evaluation.cost import Usage


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is. timeout: seconds a call may take; retries: of calls that failed to connect or were refused
    for load. Temperature, top-p and seed are the paper's."""

    model: str
    base_url: str
    api_key: str = "none"
    timeout: float = 120.0
    retries: int = 2
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 42


class Model:
    """Asks the endpoint; keeps one connection pool."""

    def __init__(self, endpoint: Endpoint) -> None:
        from openai import OpenAI

        self._endpoint = endpoint
        self._client = OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
        )

    def reply(self, messages: Sequence[Message], tools: Sequence[Message], run: str) -> tuple[Message, Usage]:
        """The assistant message and what the call used, as the provider counts it. run: names the run to the endpoint.

        Raises UnavailableError when there is no usable answer.
        """
        from openai import OpenAIError

        asked: Any = {"messages": list(messages), "tools": list(tools)}
        e = self._endpoint
        try:
            answer = self._client.chat.completions.create(
                model=e.model, temperature=e.temperature, top_p=e.top_p, seed=e.seed, user=run, **asked
            )
        except OpenAIError as problem:
            reason = f"{type(problem).__name__} {getattr(problem, 'status_code', '')}".strip()
            raise UnavailableError(f"the model {e.model!r} at {e.base_url} did not answer: {reason}") from problem
        if not answer.choices:
            raise UnavailableError(f"the model {e.model!r} at {e.base_url} answered without a choice")
        usage = Usage()
        if answer.usage:
            details = answer.usage.prompt_tokens_details
            cached = (details.cached_tokens or 0) if details else 0
            usage = Usage(answer.usage.prompt_tokens, cached, answer.usage.completion_tokens)
        said = answer.choices[0].message
        message: Message = {"role": "assistant", "content": said.content}
        if said.tool_calls:
            message["tool_calls"] = [call.model_dump(exclude_none=True) for call in said.tool_calls]
        return message, usage

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

"""Where a model is reached, and how long we wait: one record for chat and embedding models.

    CTXGRAPH_MODEL         chat model, as LiteLLM names it: openai/gpt-4.1, ollama/qwen3:8b
    CTXGRAPH_EMBED_MODEL   embedding model: text-embedding-3-small
    CTXGRAPH_API_BASE      base URL of an OpenAI-compatible server; the provider's own by default
    CTXGRAPH_API_KEY       its key; the provider's own variable (OPENAI_API_KEY, …) by default
    CTXGRAPH_TIMEOUT       seconds an attempt may take; 60 by default
    CTXGRAPH_RETRIES       further attempts after a failure that may pass; 2 by default
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contextrender.errors import InputError

_PASSING = (408, 409, 429)
"""Statuses below 500 after which another attempt may succeed."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and how it is called. timeout: seconds an attempt may take; retries: further attempts.

    Raises InputError for a time-out or a number of retries that means nothing.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    retries: int = 2

    def __post_init__(self) -> None:
        if not self.model:
            raise InputError("no model is named", "CTXGRAPH_MODEL", "a LiteLLM model name, such as openai/gpt-4.1")
        if not 0 < self.timeout < 86_400:
            raise InputError(f"the time-out is {self.timeout}", "CTXGRAPH_TIMEOUT", "seconds, more than 0")
        if not 0 <= self.retries <= 20:
            raise InputError(f"the number of retries is {self.retries}", "CTXGRAPH_RETRIES", "0 to 20")

    def options(self) -> dict[str, Any]:
        """Keyword arguments for a LiteLLM call; retrying is ours, so LiteLLM's own is off."""
        given = {"api_base": self.api_base, "api_key": self.api_key}
        return {name: value for name, value in given.items() if value} | {
            "timeout": self.timeout,
            "num_retries": 0,
            "max_retries": 0,
        }

    def attempt[T](self, call: Callable[[], T]) -> T:
        """The value of `call`, tried again after failures that may pass; the last failure is raised."""
        for tried in range(self.retries + 1):
            try:
                return call()
            except Exception as error:
                if tried == self.retries or not may_pass(error):
                    raise
                time.sleep(min(8.0, 0.25 * 2**tried))
        raise AssertionError("unreachable")


def may_pass(error: Exception) -> bool:
    """Whether another attempt makes sense: no answer, too many requests, or the server's own fault."""
    status = getattr(error, "status_code", None)
    return not isinstance(status, int) or status in _PASSING or status >= 500


def describe(error: Exception) -> str:
    """A failure in a few words, with nothing of the request, the answer or the key in it."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}{f' {status}' if isinstance(status, int) else ''}"


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    given = environment.get(name, "")
    try:
        return float(given) if given else default
    except ValueError:
        raise InputError(f"{given!r} is not a number", name, "a number") from None


def from_environment(
    variable: str = "CTXGRAPH_MODEL", model: str | None = None, environment: Mapping[str, str] | None = None
) -> Endpoint | None:
    """The endpoint that the environment describes; `model` goes before the variable. None where no model is named."""
    values = os.environ if environment is None else environment
    name = model or values.get(variable, "")
    if not name:
        return None
    return replace(
        Endpoint(name),
        api_base=values.get("CTXGRAPH_API_BASE") or None,
        api_key=values.get("CTXGRAPH_API_KEY") or None,
        timeout=_number(values, "CTXGRAPH_TIMEOUT", 60.0),
        retries=int(_number(values, "CTXGRAPH_RETRIES", 2)),
    )


def default_embedder() -> str:
    """The embedder to use where none is named: CTXGRAPH_EMBED_MODEL through LiteLLM, else the local `wordllama`."""
    model = os.environ.get("CTXGRAPH_EMBED_MODEL")
    return f"litellm:{model}" if model else "wordllama"


def import_litellm() -> Any:
    """The LiteLLM module (seconds, at the first call), quiet and without its download of prices."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm

"""Summaries by a language model through byLLM: typed slots, earlier summaries merged, results cached by content."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from contextrender.compaction.extractive import Extractive
from contextrender.compaction.slots import SLOTS, fitted, with_identifiers
from contextrender.compaction.summarizer import Excerpt, Summary, head_and_tail
from contextrender.endpoint import Endpoint, describe, from_environment
from contextrender.errors import InputError
from contextrender.tokens import DEFAULT_ENCODING, count_tokens

PROMPTS = "1"
"""Raised when extract.jac asks differently, so that older cached answers are not taken for new ones."""


class FileCache(MutableMapping[str, str]):
    """Answers kept in a folder, one file each, readable by its owner only; they outlive the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def __getitem__(self, key: str) -> str:
        try:
            return (self._folder / key).read_text(encoding="utf-8")
        except OSError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        handle, part = tempfile.mkstemp(dir=self._folder, prefix=".part-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(value)
        Path(part).replace(self._folder / key)

    def __delitem__(self, key: str) -> None:
        (self._folder / key).unlink()

    def __iter__(self) -> Iterator[str]:
        return (path.name for path in self._folder.iterdir() if not path.name.startswith("."))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ByLLM:
    """A summarizer that asks a model.

    model: an endpoint, or a byLLM model object (its MockLLM, for instance). cache: content key -> answer; a dict of
    this object by default, `FileCache` to keep them. window: tokens of history given to the model at once; a longer
    one is worked through in parts, each merged with the summary of those before it.

    A failure (no answer in time, an error, an answer that is not what was asked for) is described in
    `Summary.failure`, and the rules of `Extractive` answer instead; failures are not cached.
    """

    def __init__(
        self,
        model: Endpoint | Any,
        cache: MutableMapping[str, str] | None = None,
        window: int = 100_000,
        encoding: str = DEFAULT_ENCODING,
    ) -> None:
        self._model, self._encoding, self._window = model, encoding, window
        self._cache: MutableMapping[str, str] = {} if cache is None else cache
        self._rules = Extractive(encoding)
        self.name: str = model.model if isinstance(model, Endpoint) else str(getattr(model, "model_name", "model"))

    def summarize(
        self,
        excerpts: Sequence[Excerpt],
        budget: int,
        earlier: str = "",
        keep: Sequence[str] = (),
        guideline: str = "",
    ) -> Summary:
        """The typed slots as text, at most `budget` tokens; see `Summarizer`."""

        def ask(limit: int) -> tuple[str, list[Any]]:
            from contextrender.compaction.extract import TypedSlots, extract, follow, merge

            text, calls = earlier, []
            parts = list(self._parts(excerpts))
            for number, part in enumerate(parts, 1):
                if guideline:
                    with self._asking(limit) as made:
                        text = follow(guideline, text, part, limit).strip()
                    calls += made
                    if not text or count_tokens(text, self._encoding) > budget:
                        raise ValueError("the answer is empty or longer than asked for")
                    continue
                with self._asking(limit) as made:
                    found = merge(text, part, limit) if text else extract(part, limit)
                calls += made
                if not isinstance(found, TypedSlots):
                    raise TypeError("the answer is not of the asked type")
                slots = {name: getattr(found, name) for name in SLOTS}
                text = fitted(slots, keep if number == len(parts) else (), budget, self._encoding)
            return (with_identifiers(text, keep, budget, self._encoding) if guideline else text), calls

        content = ["summarize", [str(excerpt) for excerpt in excerpts], budget, earlier, list(keep), guideline]
        summary = self._answered(content, budget, ask)
        if summary.failure:
            rules = self._rules.summarize(excerpts, budget, earlier, keep)
            return replace(summary, text=rules.text, tokens=rules.tokens, made_by=rules.made_by)
        return summary

    def compact(self, call: str, result: str, budget: int) -> Summary:
        """The model's shortened result, else its head and tail (App. A.4); see `Summarizer`."""

        def ask(limit: int) -> tuple[str, list[Any]]:
            from contextrender.compaction.extract import compact_result

            with self._asking(limit) as made:
                text = compact_result(call, head_and_tail(result, self._window, self._encoding), limit)
            if not isinstance(text, str) or not text.strip():
                raise TypeError("the answer is empty")
            if count_tokens(text, self._encoding) > budget:
                raise ValueError("the answer is longer than asked for")
            return text.strip(), made

        summary = self._answered(["compact", call, result, budget], budget, ask)
        if summary.failure:
            text = head_and_tail(result, budget, self._encoding)
            return replace(summary, text=text, tokens=count_tokens(text, self._encoding), made_by="head+tail")
        return summary

    def _parts(self, excerpts: Sequence[Excerpt]) -> Iterator[str]:
        lines: list[str] = []
        used = 0
        for excerpt in excerpts:
            line = head_and_tail(str(excerpt), self._window, self._encoding)
            tokens = count_tokens(line, self._encoding)
            if lines and used + tokens > self._window:
                yield "\n".join(lines)
                lines, used = [], 0
            lines.append(line)
            used += tokens
        yield "\n".join(lines)

    def _asking(self, limit: int) -> Any:
        from contextrender.compaction import routed

        model = routed.EndpointModel(self._model) if isinstance(self._model, Endpoint) else self._model
        return routed.using(model, max_tokens=max(1024, 2 * limit))

    def _answered(self, content: list[Any], budget: int, ask: Callable[[int], tuple[str, list[Any]]]) -> Summary:
        """The cached answer to the same content, or the model's; with `failure` and no text when it fails."""
        asked = json.dumps([PROMPTS, self.name, self._window, self._encoding, content])
        key = hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if (known := self._cache.get(key)) is not None:
            return Summary(**json.loads(known))
        try:
            import contextrender.jac_runtime  # noqa: F401 - for byLLM's Jac modules
            text, calls = ask(budget)
        except Exception as error:
            return Summary("", 0, self.name, f"{self.name} failed: {describe(error)}")
        used = [sum(getattr(call, name, 0) for call in calls) for name in ("prompt_tokens", "output_tokens")]
        summary = Summary(text, count_tokens(text, self._encoding), self.name, "", *used)
        self._cache[key] = json.dumps(asdict(replace(summary, prompt_tokens=0, output_tokens=0)))
        return summary


def summarizer_from_environment(model: str | None = None, cache: MutableMapping[str, str] | None = None) -> ByLLM:
    """The summarizer of `model`, else of CTXGRAPH_MODEL. Raises InputError where neither names a model."""
    endpoint = from_environment("CTXGRAPH_MODEL", model)
    if endpoint is None:
        raise InputError("no model is named", "CTXGRAPH_MODEL", "a LiteLLM model name, such as openai/gpt-4.1")
    return ByLLM(endpoint, cache)

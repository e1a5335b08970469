"""Whatever is left out of a history, what remains is legal in its wire format, in order, and its bytes unaltered."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender import Session
from contextrender.legality import violations
from contextrender.transcripts.wire import FORMATS, WireFormat
from tests.core.conversations import Message, histories

POLICIES = st.sampled_from(["paper", "default"])
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def anthropic(messages: list[Message]) -> list[Message]:
    """The same conversation in Anthropic's form: results and the text behind them are one user message."""
    made: list[Message] = []
    for message in messages:
        text = message.get("content") or ""
        match message["role"]:
            case "assistant":
                said = [{"type": "text", "text": text}] if text.strip() else []
                calls = [
                    {
                        "type": "tool_use",
                        "id": call["id"],
                        "name": call["function"]["name"],
                        "input": json.loads(call["function"]["arguments"]),
                    }
                    for call in message.get("tool_calls", ())
                ]
                blocks = [THOUGHT, *said, *calls] if said or calls else [{"type": "text", "text": "."}]
                made.append({"role": "assistant", "content": blocks})
            case "tool":
                block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
                if isinstance(made[-1]["content"], list) and made[-1]["role"] == "user":
                    made[-1]["content"].append(block)
                else:
                    made.append({"role": "user", "content": [block]})
            case "user":
                if isinstance(made[-1]["content"], list) and made[-1]["role"] == "user" if made else False:
                    made[-1]["content"].append({"type": "text", "text": text or "?"})
                else:
                    made.append({"role": "user", "content": text or "?"})
    return made


def responses(messages: list[Message]) -> Iterator[Message]:
    """The same conversation as Responses items, each turn with its reasoning."""
    for message in messages:
        text = message.get("content") or ""
        match message["role"]:
            case "assistant":
                yield {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "c2VhbA=="}
                said = [{"type": "output_text", "text": text}]
                yield {"type": "message", "id": "msg", "role": "assistant", "content": said}
                for call in message.get("tool_calls", ()):
                    yield {"type": "function_call", "id": "fc", "call_id": call["id"], **call["function"]}
            case "tool":
                yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}
            case role:
                yield {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


CONVERTED: dict[str, Callable[[list[Message]], Iterable[Message]]] = {
    "chat": list,
    "messages": anthropic,
    "responses": responses,
}


def _originals(value: Any) -> Iterator[Any]:
    """Blocks and items that may never be altered."""
    for item in value if isinstance(value, list) else ():
        if item.get("type") in ("thinking", "reasoning"):
            yield item
        yield from _originals(item.get("content"))


@pytest.mark.parametrize("wire", [form.name for form in FORMATS])
@given(messages=histories(), policy=POLICIES, budget=st.integers(1, 400), every=st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_cut_is_legal(wire: str, messages: list[Message], policy: str, budget: int, every: bool) -> None:
    whole = list(CONVERTED[wire](messages))
    session = Session(policy, budget, "hash", wire=wire)
    form = session.wire
    ends = [unit.end for unit in form.units(whole)]
    for end in ends if every else ends[-1:]:
        known = whole[:end]
        session.ingest(known, whole=True)
        rendered = session.render()
        assert _complaints(form, rendered.messages) <= _complaints(form, known), "no other than a call still pending"
        assert violations(known, rendered.messages, wire=wire) == []
        given_blocks = list(_originals(known))
        assert all(block in given_blocks for block in _originals(rendered.messages))
        assert rendered.over_budget or rendered.tokens <= budget


def _complaints(form: WireFormat, messages: list[Message]) -> set[str]:
    """What the API would say, without the places."""
    return {text.split(": ", 1)[1] for text in form.breaches(messages)}

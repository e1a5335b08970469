"""Conversations for tests: small builders, and generated histories that are legal."""

from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str | None, *calls: tuple[str, str], tool: str = "look") -> Message:
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}
            for call_id, arguments in calls
        ]
    return message


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def step(call_id: str, text: str, arguments: str = "{}", prose: str | None = None) -> list[Message]:
    """One call and its result."""
    return [assistant(prose, (call_id, arguments)), result(call_id, text)]


WORDS = st.sampled_from(["order_17", "C142XYZ", "tr_solo", "the", "quick", "brown", "Nancy", "gmail.com", "fox " * 30])
TEXT = st.lists(WORDS, max_size=12).map(" ".join)


@st.composite
def histories(draw: st.DrawFn, pending: bool = True) -> list[Message]:
    """A legal conversation: parallel calls, ids repeated across turns, texts and calls that may be empty."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(TEXT)})
    messages.append(user(draw(TEXT)))
    for turn in range(draw(st.integers(0, 8))):
        ids = [f"c{draw(st.integers(0, 2))}_{i}" for i in range(draw(st.integers(0, 3)))]
        text = draw(TEXT | st.none()) if ids else draw(TEXT)
        messages.append(assistant(text, *((call_id, f'{{"q": "{draw(WORDS)}"}}') for call_id in ids)))
        messages.extend(result(call_id, draw(TEXT)) for call_id in ids)
        if not ids or draw(st.integers(0, 4)) == 0:
            messages.append(user(draw(TEXT) + f" {turn}"))
    if pending and draw(st.booleans()):
        messages.append(assistant(draw(TEXT), ("p1", "{}"), ("p2", "{}")))
        if draw(st.booleans()):
            messages.append(result("p1", draw(TEXT)))
    return messages

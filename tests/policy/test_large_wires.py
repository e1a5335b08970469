"""A large result in its short form, in each wire format."""

from dataclasses import replace

import pytest

from contextrender import Session
from tests.policy.test_context import Message
from tests.policy.test_large import DEFAULT, large


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
def test_every_wire_format_shortens_a_result_in_its_own_form(wire: str) -> None:
    tools: dict[str, list[Message]] = {
        "chat": large(1),
        "responses": [
            {"type": "custom_tool_call", "call_id": "a", "name": "dump", "input": "t1"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": large(1)[1]["content"]},
        ],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "dump", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "content": [{"type": "text", "text": large(1)[1]["content"]}],
                    }
                ],
            },
        ],
    }
    session = Session(replace(DEFAULT, large="head_tail"), 500, "hash", wire=wire)
    first: Message = {"role": "user", "content": "go"}
    session.ingest([first | {"type": "message"} if wire == "responses" else first, *tools[wire]])
    rendered = session.render()
    assert rendered.tokens <= 500
    assert session.wire.breaches(rendered.messages) == []
    events = session.wire.parse(rendered.messages)
    assert [event.role for event in events] == ["user", "assistant", "tool"]
    assert events[-1].call_id == events[1].calls[0].call_id
    assert "big_1" in events[-1].text
    assert "is left out" in events[-1].text
    assert events[-1].media_tokens == 0

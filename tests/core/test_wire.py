"""Three wire formats over one event list: nothing is lost, streams survive anything, usage is one record."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrender.errors import InputError
from contextrender.transcripts.messages import place_cache_control
from contextrender.transcripts.wire import FORMATS, Usage, WireFormat, part_of, wire_format

TEXT = st.text(st.characters(), max_size=12)  # lone surrogates included
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
IDS = st.sampled_from(["", "a", "a", "b", "call_1", "x" * 1500]) | TEXT
EXTRA = {"cache_control": st.just({"type": "ephemeral"}), "x": JSON}


def block(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    made = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in fields.items()}
    return st.fixed_dictionaries({"type": st.just(kind), **made}, optional=EXTRA)


PLAIN = (
    block("text", text=TEXT)
    | block("image", source={"type": "base64", "media_type": "image/png", "data": "AAAA"})
    | block("document", source=JSON)
    | block("novelty", text=JSON, content=JSON)
)
RESULT = block("tool_result", tool_use_id=IDS) | block("tool_result", tool_use_id=IDS, content=TEXT, is_error=True)
RESULT |= block("tool_result", tool_use_id=IDS, content=st.lists(PLAIN, max_size=3))
SAID = (
    PLAIN
    | block("thinking", thinking=TEXT, signature=TEXT)
    | block("redacted_thinking", data=TEXT)
    | block("tool_use", id=IDS, name=TEXT, input=JSON)
    | block("server_tool_use", id=IDS, name="web_search", input=JSON)
    | block("web_search_tool_result", tool_use_id=IDS, content=JSON)
    | block("mcp_tool_use", id=IDS, name=TEXT, input=JSON)
)


def message(role: str, blocks: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    content = TEXT | st.none() | st.lists(blocks, max_size=4)
    return st.fixed_dictionaries({"role": st.just(role), "content": content}, optional={"x": JSON}) | (
        st.fixed_dictionaries({"content": content, "role": st.just(role)})
    )


MESSAGES = st.lists(message("user", PLAIN | RESULT) | message("assistant", SAID) | message("system", PLAIN), max_size=5)
SYSTEM = st.none() | TEXT | st.lists(block("text", text=TEXT), max_size=2)
PARTS = st.lists(
    block("input_text", text=TEXT)
    | block("output_text", text=TEXT, annotations=JSON)
    | block("refusal", refusal=TEXT)
    | block("input_image", image_url="data:image/png;base64,AAAA", detail="low")
    | block("novelty", content=JSON),
    max_size=3,
)
ITEM_IDS = {"id": TEXT | st.none(), "status": st.just("completed"), "x": JSON}


def item(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    made = {name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in fields.items()}
    return st.fixed_dictionaries({"type": st.just(kind), **made}, optional=ITEM_IDS)


ROLES = st.sampled_from(["user", "assistant", "system", "developer"])
ITEMS = st.lists(
    item("message", role=ROLES, content=TEXT | st.none() | PARTS)
    | st.fixed_dictionaries({"role": ROLES, "content": TEXT})
    | item("reasoning", summary=JSON, encrypted_content=TEXT, content=JSON)
    | item("function_call", call_id=IDS, name=TEXT, arguments=TEXT)
    | item("function_call_output", call_id=IDS, output=TEXT | PARTS)
    | item("custom_tool_call", call_id=IDS, name=TEXT, input=TEXT)
    | item("custom_tool_call_output", call_id=IDS, output=TEXT)
    | item("computer_call", call_id=IDS, action=JSON)
    | item("computer_call_output", call_id=IDS, output=JSON)
    | item("local_shell_call", call_id=IDS, action=JSON)
    | item("web_search_call", action=JSON)
    | item("file_search_call", queries=JSON, results=JSON)
    | item("mcp_call", name=TEXT, arguments=TEXT, output=JSON)
    | item("mcp_approval_request", name=TEXT, arguments=TEXT)
    | item("mcp_approval_response", approval_request_id=IDS, approve=True)
    | item("image_generation_call", result=TEXT)
    | item("item_reference")
    | item("compaction", encrypted_content=TEXT)
    | item("novelty", content=JSON, output=JSON),
    max_size=8,
)
BODIES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "messages": st.fixed_dictionaries(
        {"model": TEXT, "messages": MESSAGES}, optional={"system": SYSTEM, "tools": JSON, "x": JSON}
    ),
    "responses": st.fixed_dictionaries(
        {"model": TEXT, "input": ITEMS | TEXT}, optional={"instructions": TEXT | st.none(), "x": JSON}
    ),
}


def rebuilt(wire: WireFormat, body: dict[str, Any]) -> dict[str, Any]:
    return wire.with_history(body, wire.build([part_of(event) for event in wire.parse_request(body)]))


@pytest.mark.parametrize("name", BODIES)
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_request_with_everything_kept_comes_back_byte_for_byte(name: str, data: st.DataObject) -> None:
    body = data.draw(BODIES[name])
    before = copy.deepcopy(body)
    assert json.dumps(rebuilt(wire_format(name), body)) == json.dumps(before)
    assert body == before


@pytest.mark.parametrize("name", BODIES)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_units_cover_the_list_and_may_be_read_from_any_of_them(name: str, data: st.DataObject) -> None:
    wire, body = wire_format(name), data.draw(BODIES[name])
    messages = wire.history_of(body)
    units = list(wire.units(messages))
    assert not messages or units[-1].end == len(messages)
    for index, unit in enumerate(units):
        assert list(wire.units(messages, unit.end)) == units[index + 1 :]


@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_a_stream_of_any_bytes_is_no_error(noise: bytes, wire: WireFormat) -> None:
    reader = wire.stream_reader()
    reader.feed(noise)
    reader.feed(b"data: " + noise + b"\n\n")
    reader.reply()


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events)


ARGUMENTS = '{"q": "käse"}'
CHAT: list[dict[str, Any]] = [
    {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"index": 0, "delta": {"content": "Hel"}}]},
    {"choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS[:5]}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ARGUMENTS[5:]}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3,
                              "prompt_tokens_details": {"cached_tokens": 4}}},
]  # fmt: skip
MESSAGE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "c1", "type": "message", "role": "assistant", "model": "m",
     "content": [], "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1,
                              "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "S1G"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2,
     "content_block": {"type": "tool_use", "id": "a", "name": "look", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS[:5]}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS[5:]}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]  # fmt: skip
OUTPUT: list[dict[str, Any]] = [
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look", "arguments": ARGUMENTS,
     "status": "completed"},
]  # fmt: skip
RESPONSE: dict[str, Any] = {"id": "c1", "model": "m", "status": "completed", "output": OUTPUT,
            "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4},
                      "output_tokens": 3}}  # fmt: skip
ITEMS_SAID: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "c1", "model": "m", "output": [], "usage": None}},
    {"type": "response.output_item.added", "output_index": 0, "item": {**OUTPUT[0], "content": []}},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
    {"type": "response.output_item.done", "output_index": 0, "item": OUTPUT[0]},
    {"type": "response.output_item.added", "output_index": 1, "item": {**OUTPUT[1], "arguments": ""}},
    {"type": "response.output_item.done", "output_index": 1, "item": OUTPUT[1]},
    {"type": "response.completed", "response": RESPONSE},
]
STREAMS: dict[str, tuple[list[dict[str, Any]], Usage]] = {
    "chat": (CHAT, Usage(6, 4, 0, 3)),
    "messages": (MESSAGE, Usage(5, 4, 1, 3)),
    "responses": (ITEMS_SAID, Usage(6, 4, 0, 3)),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_stream_says_the_same_however_it_is_cut_into_chunks(name: str, newline: bytes) -> None:
    wire, (events, usage) = wire_format(name), STREAMS[name]
    stream = sse(*events).replace(b"\n", newline)
    for size in (1, 7, len(stream)):
        reader = wire.stream_reader()
        for start in range(0, len(stream), size):
            reader.feed(stream[start : start + size])
        reply = reader.reply()
        assert reply is not None
        assert reply.complete
        assert reply.usage == usage
        assert (reply.response_id, reply.model) == ("c1", "m")
        assert [event.text for event in reply.events] == ["Hello"]
        assert [(call.name, json.loads(call.arguments)) for call in reply.events[0].calls] == [
            ("look", json.loads(ARGUMENTS))
        ]
        assert reply.events == wire.parse(reply.messages)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_anywhere_gives_what_was_said_and_no_half_call(name: str) -> None:
    wire, (events, _) = wire_format(name), STREAMS[name]
    stream, longest = sse(*events), ""
    for end in range(0, len(stream), 3):
        reader = wire.stream_reader()
        reader.feed(stream[:end])
        reply = reader.reply()
        if reply is None:
            continue
        text = "".join(event.text for event in reply.events)
        assert "Hello".startswith(text)
        assert len(text) >= len(longest)
        longest = text
        assert all(json.loads(call.arguments) for event in reply.events for call in event.calls)
    assert longest == "Hello"


def test_a_streamed_turn_and_the_client_s_resend_of_it_are_the_same_message() -> None:
    resent = {
        "chat": [{"role": "assistant", "content": [{"type": "text", "text": "Hello "}], "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"q":"käse"}'}}]}],
        "messages": [{"role": "assistant", "content": [{"type": "text", "text": "Hello"}, {
            "type": "tool_use", "id": "a", "name": "look", "input": {"q": "käse"},
            "cache_control": {"type": "ephemeral"}}]}],
        "responses": [{"role": "assistant", "content": "Hello"}, {
            "type": "function_call", "call_id": "a", "name": "look", "arguments": '{"q":"käse"}'}],
    }  # fmt: skip
    for name, (events, _) in STREAMS.items():
        reader = wire_format(name).stream_reader()
        reader.feed(sse(*events))
        reply = reader.reply()
        assert reply is not None
        assert [e.fingerprint for e in reply.events] == [
            e.fingerprint for e in wire_format(name).parse(resent[name])
        ], name


def test_unknown_formats_and_bad_lists_are_refused() -> None:
    with pytest.raises(InputError, match="chat, responses, messages"):
        wire_format("soap")
    for wire in FORMATS:
        with pytest.raises(InputError):
            wire.parse("hello")
        with pytest.raises(InputError, match=r"\[0\]"):
            wire.parse([3])


def test_a_request_whose_history_is_elsewhere_is_not_ours_to_edit() -> None:
    responses, messages = wire_format("responses"), wire_format("messages")
    assert "previous_response_id" in responses.reason_not_to_edit({"input": [], "previous_response_id": "r1"})
    assert responses.reason_not_to_edit({"input": [{"type": "item_reference", "id": "rs_1"}]})
    assert responses.reason_not_to_edit({"input": "hi", "previous_response_id": None}) == ""
    assert messages.reason_not_to_edit({"messages": [{"role": "assistant", "content": [{"type": "compaction"}]}]})


def test_images_and_files_are_priced_as_such_never_as_their_base64() -> None:
    data = "A" * 400_000
    chat = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]}]
    claude = [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]}]}]  # fmt: skip
    items = [{"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{data}"}]}]
    for name, given_list in (("chat", chat), ("messages", claude), ("responses", items)):
        (event,) = wire_format(name).parse(given_list)
        assert len(event.text + event.beside) < 100
        assert 80 <= event.media_tokens <= 1600


def test_a_breakpoint_is_placed_once_beside_the_client_s_and_never_as_a_fifth() -> None:
    mark = {"type": "ephemeral"}
    body = {"model": "m", "messages": [{"role": "user", "content": "task"}, {"role": "assistant", "content": "ok"}]}
    placed = place_cache_control(body, 0)
    assert placed["messages"][0]["content"] == [{"type": "text", "text": "task", "cache_control": mark}]
    assert place_cache_control(placed, 0) == placed
    full = {**body, "system": [{"type": "text", "text": "s", "cache_control": mark}] * 4}
    assert place_cache_control(full, 0) == full
    assert wire_format("messages").parse(placed["messages"])[0].identity == (
        wire_format("messages").parse(body["messages"])[0].identity
    )

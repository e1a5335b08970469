"""Loading recorded runs: every accepted shape, and what is said of every bad one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from contextrender.errors import InputError
from contextrender.evaluation.traces import read_traces
from tests.core.conversations import assistant, user

MESSAGES: list[dict[str, Any]] = [user("task"), assistant("done")]
LINE = json.dumps(MESSAGES).encode()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "names"),
    [
        ("a.jsonl", LINE + b"\n\n" + LINE + b"\n", ["1", "2"]),
        ("a.jsonl", b"\xef\xbb\xbf" + LINE + b"\r\n" + LINE, ["1", "2"]),
        ("a.json", json.dumps({"id": 7, "messages": MESSAGES}, indent=1).encode(), ["7"]),
        ("a.json", LINE, ["1"]),
        ("a.json", json.dumps([MESSAGES, {"id": "x", "messages": MESSAGES}]).encode(), ["1", "x"]),
        ("a.json.gz", gzip.compress(LINE), ["1"]),
    ],
)
def test_lines_lists_objects_and_whole_files_are_accepted(
    tmp_path: Path, name: str, data: bytes, names: list[str]
) -> None:
    traces = list(read_traces(write(tmp_path / name, data)))
    assert [trace.name for trace in traces] == names
    assert all(trace.messages == MESSAGES for trace in traces)


def test_parts_null_content_and_missing_ids_are_accepted(tmp_path: Path) -> None:
    call = {"function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "task"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "found"},
    ]
    assert [t.messages for t in read_traces(write(tmp_path / "a.jsonl", json.dumps(messages).encode()))] == [messages]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'[{"role": "user", "content": "\xff"}]', "not UTF-8: byte 0xff"),
        (b'{"messages": [{"role": "user"}], "n": ' + b"9" * 5000 + b"}", "not readable JSON"),
        (b'[{"role": "user", "content": 7}]', "messages[0].content"),
        (b'[{"role": "assistant", "tool_calls": {"a": 1}}]', "messages[0].tool_calls"),
        (b'[{"role": "assistant", "tool_calls": [{"id": "a"}]}]', "messages[0].tool_calls[0]"),
        (b'"text"', "without messages"),
    ],
)
def test_a_bad_line_is_named_and_can_be_passed_over(tmp_path: Path, line: bytes, complaint: str) -> None:
    path = write(tmp_path / "a.jsonl", LINE + b"\n" + line + b"\n" + LINE + b"\n")
    with pytest.raises(InputError) as caught:
        list(read_traces(path))
    assert f"{path}:2" in str(caught.value)
    assert complaint in str(caught.value)
    skipped: list[InputError] = []
    assert len(list(read_traces(path, skipped.append))) == 2
    assert [str(error) for error in skipped] == [str(caught.value)]


def test_a_file_that_breaks_off_gives_the_traces_before_the_break(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", gzip.compress((LINE + b"\n") * 3)[:-6])
    skipped: list[InputError] = []
    assert len(list(read_traces(path, skipped.append))) == 3
    assert "cannot be read" in str(skipped[0])
    with pytest.raises(InputError, match="cannot be read"):
        list(read_traces(path))


def test_damaged_compression_is_an_input_error(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINE))
    packed[10] |= 0b110  # a block type that deflate does not have
    with pytest.raises(InputError, match="cannot be read"):
        list(read_traces(write(tmp_path / "a.jsonl.gz", bytes(packed))))


def test_a_file_without_a_trace_is_reported_even_when_going_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b"\n")
    with pytest.raises(InputError, match="no trace in the file"):
        list(read_traces(path))
    skipped: list[InputError] = []
    assert list(read_traces(path, skipped.append)) == []
    assert "no trace in the file" in str(skipped[0])

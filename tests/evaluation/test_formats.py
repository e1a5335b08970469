"""Loaders of other programs' files. The samples are recorded by us: the real programs against a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from contextrender.errors import InputError
from contextrender.evaluation.traces import Trace, read_traces

SAMPLES = Path(__file__).with_name("samples")


def load(path: Path) -> Trace:
    (trace,) = read_traces(path)
    return trace


def outline(messages: list[dict[str, Any]]) -> str:
    """A letter a message; an assistant message as the number of its calls."""
    return "".join(str(len(m.get("tool_calls") or ())) if m["role"] == "assistant" else m["role"][0] for m in messages)


@pytest.mark.parametrize(
    ("sample", "shape"),
    [
        ("claude_code.jsonl", "usss1t2tt1t0"),
        ("codex.jsonl", "duu1t2tt1t0"),
        ("opencode.json", "u1t2tt1t0"),
        ("mini_swe_agent.traj.json", "su1t1t1t"),
        ("openhands.jsonl", "su1t1t1t"),
        ("anthropic_request.json", "sus1t2tt1t"),
        ("responses_request.json", "dduu1t2tt1t"),
        ("chat_request.json", "su1t2tt1t"),
    ],
)
def test_a_recorded_sample_becomes_chat_messages(sample: str, shape: str) -> None:
    trace = load(SAMPLES / sample)
    assert outline(trace.messages) == shape
    calls = [call for m in trace.messages for call in m.get("tool_calls") or ()]
    answered = [m["tool_call_id"] for m in trace.messages if m["role"] == "tool"]
    assert [call["id"] for call in calls] == answered
    assert any("KX-4421" in m["content"] for m in trace.messages if m["role"] == "tool")
    assert any("KX-4421" in json.dumps(call) for call in calls)


def test_sessions_keep_their_ids() -> None:
    assert load(SAMPLES / "claude_code.jsonl").name.startswith("7e4c5a41")
    assert load(SAMPLES / "codex.jsonl").name.startswith("01a23058")
    assert load(SAMPLES / "opencode.json").name.startswith("ses_")


def written(tmp_path: Path, name: str, document: Any) -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"user": "u_17"}'}}


def test_tau_bench_results_are_a_run_an_entry(tmp_path: Path) -> None:
    run = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "found"},
        {"role": "assistant", "content": "done"},
    ]
    results: list[Any] = [{"task_id": n, "trial": 0, "reward": 1.0, "info": {}, "traj": run} for n in (3, 4)]
    traces = list(read_traces(written(tmp_path, "results.json", results)))
    assert [trace.name for trace in traces] == ["task3/trial0", "task4/trial0"]
    assert outline(traces[0].messages) == "su1t0"


def test_the_tools_of_tau2s_simulated_user_are_not_the_agents(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "find", "arguments": {"user": "u_17"}, "requestor": "assistant"}
    theirs = {"id": "c2", "name": "toggle", "arguments": {}, "requestor": "user"}
    messages = [
        {"role": "assistant", "content": "Hi!", "tool_calls": None},
        {"role": "user", "content": "hello", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "c1", "content": "found", "requestor": "assistant"},
        {"role": "user", "content": None, "tool_calls": [theirs]},
        {"role": "tool", "id": "c2", "content": "on", "requestor": "user"},
        {"role": "assistant", "content": "done", "tool_calls": None},
    ]
    trace = load(written(tmp_path, "sim.json", {"tasks": [], "simulations": [{"id": "s1", "messages": messages}]}))
    assert (trace.name, outline(trace.messages)) == ("s1", "0u1t0")
    assert json.loads(trace.messages[2]["tool_calls"][0]["function"]["arguments"]) == {"user": "u_17"}


def test_a_swe_agent_trajectory_is_its_history(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "rules", "agent": "main"},
        {"role": "user", "content": [{"type": "text", "text": "fix it"}], "agent": "main"},
        {"role": "assistant", "content": "look", "thought": "look", "action": "ls", "tool_calls": [CALL]},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "done", "tool_calls": None},
    ]
    trace = load(written(tmp_path, "x.traj", {"environment": "x", "trajectory": [{}], "history": history, "info": {}}))
    assert outline(trace.messages) == "su1t0"
    assert trace.messages[3]["content"] == "a.py"


def test_a_subagents_side_thread_is_not_the_main_one(tmp_path: Path) -> None:
    lines = (SAMPLES / "claude_code.jsonl").read_text().splitlines()
    side = json.loads(next(line for line in lines if '"type": "assistant"' in line))
    side["isSidechain"] = True
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([*lines, json.dumps(side)]))
    assert load(path).messages == load(SAMPLES / "claude_code.jsonl").messages


@pytest.mark.parametrize(
    ("name", "document", "complaint"),
    [
        ("a.json", {"info": {"id": "s"}, "messages": [{"info": {}, "parts": []}]}, "looks like a known format"),
        ("a.json", {"simulations": [{"messages": [{"role": "robot"}]}]}, "messages[0].role"),
        ("a.json", [{"traj": 3, "task_id": 1}], "looks like a known format"),
        ("a.json", {"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}, 3]}, "known format"),
        ("a.json", {"input": [1, 2]}, "no messages"),
        ("a.json", {"nothing": 1}, "without messages"),
        ("a.json", [[1]], "messages[0]"),
        ("a.jsonl", {"type": "session_meta", "payload": {"id": "x"}}, "no messages"),
        ("a.jsonl", {"type": "user", "sessionId": "x", "message": 3}, "known format"),
    ],
)
def test_junk_in_a_known_shape_names_the_file_and_what_is_wrong(
    tmp_path: Path, name: str, document: Any, complaint: str
) -> None:
    path = written(tmp_path, name, document)
    with pytest.raises(InputError) as caught:
        list(read_traces(path))
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


def test_a_bad_line_inside_a_session_is_named_and_can_be_passed_over(tmp_path: Path) -> None:
    lines = (SAMPLES / "codex.jsonl").read_text().splitlines()
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join([*lines[:4], '{"type": "response_item", "pay', *lines[4:]]))
    with pytest.raises(InputError, match=r"rollout\.jsonl:5"):
        list(read_traces(path))
    skipped: list[InputError] = []
    assert len(list(read_traces(path, skipped.append))) == 1
    assert len(skipped) == 1

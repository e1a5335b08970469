"""Summaries by a model: over HTTP against a scripted server, with byLLM's own mock, and when the model fails."""

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from contextrender.compaction.byllm import ByLLM, FileCache, summarizer_from_environment
from contextrender.compaction.summarizer import Excerpt
from contextrender.endpoint import Endpoint
from contextrender.errors import InputError
from contextrender.tokens import count_tokens
from tests.compaction.model_server import CUT, HALF, HANG, ModelServer, model_server

HISTORY = [
    Excerpt("user", "Book the cheapest flight."),
    Excerpt("assistant", "I look up flights."),
    Excerpt("call", '{"to": "LIS"}', "find_flights"),
    Excerpt("result", "TP_1042 costs 129.90\nTP_2001 costs 250.00", "find_flights"),
]
SLOTS = {
    "files_read": [],
    "key_observations": ["TP_1042 costs 129.90"],
    "commands_run": ['find_flights({"to": "LIS"})'],
    "decisions": ["look up flights"],
    "unresolved_questions": ["not booked yet"],
}
TEXT = (
    "Key observations:\n- TP_1042 costs 129.90\nCommands run:\n- find_flights({\"to\": \"LIS\"})\n"
    "Decisions:\n- look up flights\nUnresolved questions:\n- not booked yet"
)
KEY = "sk-very-secret"


@pytest.fixture(name="server")
def _server() -> Iterator[ModelServer]:
    with model_server() as server:
        server.script = [json.dumps(SLOTS)]
        yield server


def summarizer(server: ModelServer, **options: Any) -> ByLLM:
    endpoint = Endpoint("openai/scripted", server.url, KEY, **({"timeout": 5, "retries": 0} | options))
    return ByLLM(endpoint)


def prompt(request: dict[str, Any]) -> str:
    return json.dumps(request["messages"])


def test_the_typed_slots_become_the_text(server: ModelServer) -> None:
    summary = summarizer(server).summarize(HISTORY, 200)
    assert (summary.text, summary.made_by, summary.failure) == (TEXT, "openai/scripted", "")
    assert summary.tokens == count_tokens(TEXT)
    assert (summary.prompt_tokens, summary.output_tokens) == (70, 7)


def test_the_request_names_slots_rules_and_the_papers_sampling(server: ModelServer) -> None:
    summarizer(server).summarize(HISTORY, 200)
    (request,) = server.requests
    assert (request["temperature"], request["top_p"], request["seed"]) == (0.0, 1.0, 42)
    assert set(request["response_format"]["json_schema"]["schema"]["required"]) == set(SLOTS)
    said = prompt(request)
    assert "numeric values, configuration keys, paths, identifiers and error strings verbatim" in said
    assert "TP_2001 costs 250.00" in said
    assert server.keys == [f"Bearer {KEY}"]


def test_an_earlier_summary_is_merged_not_summarized_again(server: ModelServer) -> None:
    summarizer(server).summarize(HISTORY, 200, earlier="- hotel H_77 is booked")
    (request,) = server.requests
    assert "Merge an earlier summary" in prompt(request)
    assert "hotel H_77 is booked" in prompt(request)


def test_a_history_longer_than_the_window_is_worked_through_in_parts(server: ModelServer) -> None:
    endpoint = Endpoint("openai/scripted", server.url, KEY, retries=0)
    long = [Excerpt("result", f"row_{i} " * 30, "list") for i in range(4)]
    summary = ByLLM(endpoint, window=250).summarize(long, 200)
    assert len(server.requests) == 2
    assert "Merge an earlier summary" in prompt(server.requests[1])
    assert "TP_1042" in prompt(server.requests[1])
    assert summary.prompt_tokens == 140


def test_identifiers_that_the_summary_lost_are_appended_verbatim(server: ModelServer) -> None:
    summary = summarizer(server).summarize(HISTORY, 200, keep=["TP_1042", "TP_2001", "LIS"])
    assert summary.text == TEXT + "\nVerbatim: TP_2001"


def test_a_summary_never_passes_its_budget(server: ModelServer) -> None:
    server.script = [json.dumps(SLOTS | {"key_observations": [f"value_{i} is {i}" for i in range(200)]})]
    summary = summarizer(server).summarize(HISTORY, 60, keep=["TP_2001"])
    assert 0 < summary.tokens <= 60
    assert "TP_2001" in summary.text
    assert "not booked yet" in summary.text


def test_the_same_content_is_asked_once(server: ModelServer, tmp_path: Path) -> None:
    endpoint = Endpoint("openai/scripted", server.url, KEY, retries=0)
    first = ByLLM(endpoint, FileCache(tmp_path / "answers")).summarize(HISTORY, 200)
    again = ByLLM(endpoint, FileCache(tmp_path / "answers")).summarize(HISTORY, 200)
    assert len(server.requests) == 1
    assert (again.text, again.prompt_tokens, again.output_tokens) == (first.text, 0, 0)
    ByLLM(endpoint, FileCache(tmp_path / "answers")).summarize(HISTORY, 199)
    assert len(server.requests) == 2
    assert KEY not in "".join(path.read_text() for path in (tmp_path / "answers").iterdir())


def test_a_json_answer_in_a_code_fence_is_read(server: ModelServer) -> None:
    server.script = [f"```json\n{json.dumps(SLOTS)}\n```"]
    assert summarizer(server).summarize(HISTORY, 200).text == TEXT


@pytest.mark.parametrize(
    ("step", "options", "reason"),
    [
        (500, {}, "InternalServerError 500"),
        (429, {}, "RateLimitError 429"),
        (401, {}, "AuthenticationError 401"),
        (HANG, {"timeout": 0.5}, "Timeout"),
        (CUT, {}, "Error"),
        (HALF, {}, "Error"),
        ("sorry, not JSON", {}, "JSONDecodeError"),
        ('{"files_read": "none"}', {}, "ValidationError"),
        ("", {}, "TypeError"),
    ],
)
def test_a_failing_model_leaves_the_rules_answer_and_says_so(
    server: ModelServer, step: Any, options: dict[str, Any], reason: str
) -> None:
    server.script = [step]
    asked = summarizer(server, **options)
    summary = asked.summarize(HISTORY, 200)
    assert summary.made_by == "extractive"
    assert "TP_1042 costs 129.90" in summary.text
    assert re.search(rf"openai/scripted failed: .*{reason}", summary.failure)
    compacted = asked.compact("list({})", "row_1 " * 500, 100)
    if step not in ("sorry, not JSON", '{"files_read": "none"}'):  # any text is a shortened result
        assert compacted.made_by == "head+tail"
        assert "is left out; it has" in compacted.text
        assert compacted.tokens <= 100
        assert compacted.failure


def test_failures_are_not_cached(server: ModelServer) -> None:
    server.script = [500, json.dumps(SLOTS)]
    asked = summarizer(server)
    assert asked.summarize(HISTORY, 200).failure
    assert asked.summarize(HISTORY, 200).text == TEXT


def test_what_may_pass_is_tried_again_and_what_may_not_is_not(server: ModelServer) -> None:
    server.script = [500, 429, json.dumps(SLOTS)]
    assert summarizer(server, retries=2).summarize(HISTORY, 200).failure == ""
    assert len(server.requests) == 3
    server.requests.clear()
    server.script = [401]
    assert summarizer(server, retries=2).summarize(HISTORY, 200).failure
    assert len(server.requests) == 1


def test_an_answer_longer_than_asked_is_no_compaction(server: ModelServer) -> None:
    server.script = ["word " * 300]
    assert summarizer(server).compact("c", "row_1 " * 500, 100).made_by == "head+tail"
    server.script = ["row_1, 500 times"]
    server.requests.clear()
    assert summarizer(server).compact("c", "row_1 " * 500, 100).text == "row_1, 500 times"


def test_neither_key_nor_content_reaches_logs_or_the_terminal(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        for step in (json.dumps(SLOTS), 500, 401, CUT, "junk"):
            server.script, server.requests = [step], []
            summary = summarizer(server).summarize(HISTORY, 200)
            assert KEY not in summary.failure
            assert "secret-detail" not in summary.failure
    ours = [record.getMessage() for record in caplog.records]
    for text in (out.getvalue(), *ours):
        assert KEY not in text
        assert "TP_2001" not in text
    assert KEY not in repr(Endpoint("m", api_key=KEY))


def test_byllms_own_mock_is_a_model(server: ModelServer) -> None:
    import jaclang  # noqa: F401
    from byllm.lib import MockLLM

    from contextrender.compaction.extract import TypedSlots

    mock = MockLLM(model_name="mockllm")
    mock.config["outputs"] = [TypedSlots(**SLOTS), "short"]
    asked = ByLLM(mock)
    assert asked.summarize(HISTORY, 200).text == TEXT
    assert asked.compact("c", "x" * 900, 50).text == "short"
    assert asked.summarize(HISTORY, 100).failure == "mockllm failed: IndexError"
    assert server.requests == []


def test_models_and_settings_come_from_the_environment(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXGRAPH_MODEL", raising=False)
    with pytest.raises(InputError, match="CTXGRAPH_MODEL"):
        summarizer_from_environment()
    for name, value in (("MODEL", "openai/env"), ("API_BASE", server.url), ("API_KEY", "k"), ("TIMEOUT", "5")):
        monkeypatch.setenv(f"CTXGRAPH_{name}", value)
    assert summarizer_from_environment().summarize(HISTORY, 200).made_by == "openai/env"
    assert summarizer_from_environment("openai/other").name == "openai/other"
    monkeypatch.setenv("CTXGRAPH_TIMEOUT", "soon")
    with pytest.raises(InputError, match="CTXGRAPH_TIMEOUT"):
        summarizer_from_environment()

"""The scripted agent: reaches every goal with its full history, and depends on what it is shown."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextrender.tokens import call_tokens, message_tokens
from contextrender.values import call_text, extract_values
from contextrender.world.agent import TRIES, Agent, Run, Turn, run
from contextrender.world.record import main
from contextrender.world.state import State, copy_state, dumps
from contextrender.world.tasks import Task, all_tasks, get_task
from contextrender.world.tools import TOOLS
from contextrender.world.view import Call, Missing, View, text_of

type Messages = list[dict[str, Any]]

TASKS = all_tasks()
RECORDED = Path(__file__).parents[2] / "examples" / "runs"
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {task.task_id: run(task) for task in TASKS}


def operations(messages: Messages) -> list[tuple[int, int, str]]:
    """Turn, position and text of every assistant text and tool call."""
    found, turn = [], 0
    for position, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        turn += 1
        found.append((turn, position, text_of(message)))
        for call in message.get("tool_calls", []):
            found.append((turn, position, call_text(call["function"]["name"], call["function"]["arguments"])))
    return found


def tokens(messages: Messages) -> int:
    calls = [call["function"] for message in messages for call in message.get("tool_calls", [])]
    return sum(message_tokens(text_of(message)) for message in messages) + sum(
        call_tokens(call["name"], call["arguments"]) for call in calls
    )


def without_results(messages: Messages) -> Messages:
    """Every step that called a tool is gone, its results too."""
    return [item for item in messages if item["role"] != "tool" and not item.get("tool_calls")]


def last_results(count: int) -> Callable[[Messages], Messages]:
    """Masks all tool results but the latest ones."""

    def render(messages: Messages) -> Messages:
        kept = [number for number, item in enumerate(messages) if item["role"] == "tool"][-count:]
        return [
            {**item, "content": "[omitted]"} if item["role"] == "tool" and number not in kept else item
            for number, item in enumerate(messages)
        ]

    return render


def test_there_are_at_least_eight_tasks_and_unknown_ones_are_refused() -> None:
    assert len({task.task_id for task in TASKS}) == len(TASKS) >= 8
    assert get_task("roommates").task_id == "roommates"
    with pytest.raises(KeyError):
        get_task("none")


@each_task
def test_the_goal_is_reached_with_full_history(task: Task, runs: dict[str, Run]) -> None:
    done = runs[task.task_id]
    assert (done.goal_unmet, done.extra_calls, done.gave_up) == ([], 0, False)


@pytest.mark.parametrize("seed", [0, 1, 2, 11, 12345])
def test_the_goals_are_reached_in_other_worlds(seed: int) -> None:
    for task in all_tasks(seed):
        done = run(task)
        assert (task.task_id, done.goal_unmet, done.extra_calls) == (task.task_id, [], 0)


@each_task
def test_doing_nothing_does_not_reach_the_goal(task: Task) -> None:
    assert task.goal_reached(task.new_state())


@each_task
def test_undoing_any_one_effect_makes_the_goal_unmet(task: Task, runs: dict[str, Run]) -> None:
    before, after = task.new_state(), runs[task.task_id].state
    broken: list[tuple[str, State]] = []
    for path in after.files:
        if after.files[path] != before.files.get(path):
            state = copy_state(after)
            state.files[path] = before.files.get(path, "")
            broken.append((path, state))
    for name in ("transactions", "requests", "texts"):
        for number in range(len(getattr(before, name)), len(getattr(after, name))):
            state = copy_state(after)
            del getattr(state, name)[number]
            broken.append((f"{name} {number}", state))
    for event in after.events:
        if event not in before.events:
            state = copy_state(after)
            state.events.remove(event)
            broken.append((event.title, state))
    for number, (old, new) in enumerate(zip(before.bills, after.bills, strict=True)):
        if old != new:
            state = copy_state(after)
            state.bills[number] = old
            broken.append((old.payee, state))
    assert broken
    assert [what for what, state in broken if not task.goal_reached(state)] == []


@each_task
def test_money_that_nobody_asked_to_move_makes_the_goal_unmet(task: Task, runs: dict[str, Run]) -> None:
    after = copy_state(runs[task.task_id].state)
    after.transactions.append(after.transactions[-1])
    assert any("nobody asked for" in condition for condition in task.goal_reached(after))
    after = copy_state(runs[task.task_id].state)
    after.requests.append(after.requests[-1])
    assert any("nobody asked for" in condition for condition in task.goal_reached(after))


@each_task
def test_a_run_is_deterministic(task: Task, runs: dict[str, Run]) -> None:
    again = run(task)
    assert json.dumps(again.messages) == json.dumps(runs[task.task_id].messages)
    assert dumps(again.state) == dumps(runs[task.task_id].state)


@each_task
def test_the_messages_are_legal_chat_completions(task: Task, runs: dict[str, Run]) -> None:
    messages = runs[task.task_id].messages
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    seen: set[str] = set()
    position = 2
    while position < len(messages):
        message = messages[position]
        assert message["role"] == "assistant"
        assert message["content"]
        calls = message.get("tool_calls", [])
        assert bool(calls) == (position < len(messages) - 1)
        for offset, call in enumerate(calls, 1):
            assert call["type"] == "function"
            assert call["function"]["name"] in TOOLS
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert call["id"] not in seen
            seen.add(call["id"])
            answer = messages[position + offset]
            assert (answer["role"], answer["tool_call_id"]) == ("tool", call["id"])
            assert isinstance(json.loads(answer["content"]), dict)
        position += 1 + len(calls)


@each_task
def test_a_run_outgrows_six_thousand_tokens_before_its_end(task: Task, runs: dict[str, Run]) -> None:
    messages = runs[task.task_id].messages
    assert tokens(messages[2:-6]) > 6000


@each_task
@pytest.mark.parametrize("render", [without_results, last_results(1)], ids=["none", "last one"])
def test_without_the_results_a_run_fails_or_gets_longer(
    task: Task, render: Callable[[Messages], Messages], runs: dict[str, Run]
) -> None:
    done = run(task, render)
    assert done.extra_calls > 0
    assert done.goal_unmet or done.turns > runs[task.task_id].turns


@each_task
def test_with_the_latest_twelve_results_a_run_succeeds_but_is_longer(task: Task, runs: dict[str, Run]) -> None:
    done = run(task, last_results(12))
    assert done.goal_unmet == []
    assert done.extra_calls > 0
    assert done.turns == runs[task.task_id].turns + done.extra_calls


def test_the_agent_reads_every_value_from_what_it_is_shown() -> None:
    def other_address(messages: Messages) -> Messages:
        text = json.dumps(messages).replace("nan_ritt@gmail.com", "somebody@else.example")
        shown: Messages = json.loads(text)
        return shown

    done = run(get_task("roommates"), other_address)
    sent = [message for message in done.messages if "somebody@else.example" in json.dumps(message)]
    assert sent[0]["tool_calls"][0]["function"]["name"] == "send_payment"
    assert "no payment of 35.00 to nan_ritt@gmail.com" in done.goal_unmet


def test_what_a_summary_keeps_is_as_good_as_the_result() -> None:
    def summarised(messages: Messages) -> Messages:
        facts = [text_of(message) for message in messages if message["role"] == "tool"]
        summary = {"role": "user", "content": "Summary of earlier work:\n" + "\n".join(facts)}
        return [*messages[:2], summary]

    done = run(get_task("trip"), summarised)
    assert done.extra_calls == 0


def test_a_render_cannot_change_the_history() -> None:
    def vandal(messages: Messages) -> Messages:
        kept = copy.deepcopy(messages)
        for message in messages:
            message.clear()
        return kept

    assert run(get_task("refund"), vandal).messages == run(get_task("refund")).messages


def test_the_turn_limit_ends_a_run() -> None:
    done = run(get_task("roommates"), max_turns=5)
    assert done.turns == 5
    assert done.goal_unmet


def test_the_agent_gives_up_after_the_same_look_up_and_on_nonsense() -> None:
    def never(view: View) -> Turn:
        raise Missing("a fact", Call("show_profile", {}))

    agent = Agent([never])
    replies = [agent.reply([]) for _ in range(TRIES + 1)]
    assert ["tool_calls" in reply for reply in replies] == [True] * TRIES + [False]
    assert (agent.gave_up, agent.extra_calls) == (True, TRIES)

    def confused(view: View) -> Turn:
        raise KeyError("total")

    agent = Agent([confused])
    assert "tool_calls" not in agent.reply([])
    assert agent.gave_up


def test_the_view_finds_objects_in_any_text_newest_first() -> None:
    messages: Messages = [
        {"role": "system", "content": '{"name": "system"}'},
        {"role": "user", "content": 'kept: {"name": "a", "x": 1} and {broken {"name": "b", "x": 2}'},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": [{"type": "text", "text": '[{"inner": {"name": "a", "x": 3}}]'}]},
    ]
    view = View(messages)
    assert [record["x"] for record in view.find_all(("x",), name="a")] == [3, 1]
    assert view.find(("x",), name="b") == {"name": "b", "x": 2}
    assert view.find(("name",), name="system") is None
    with pytest.raises(Missing, match="x, name c"):
        view.need(Call("show_profile", {}), ("x",), name="c")


# The paper's Figure 2


def test_figure_2_happens_at_the_turns_of_the_paper(runs: dict[str, Run]) -> None:
    messages = runs["roommates"].messages
    assert runs["roommates"].turns >= 25
    assert tokens(messages[2:]) > 9000
    said = {turn: "" for turn, _, _ in operations(messages)}
    for turn, _, text in operations(messages):
        said[turn] += text + "\n"
    assert "search_contacts\nrelationship\nroommate" in said[8]
    assert all(name in said[9] for name in ("Kathryn", "Troy", "Nancy", "four ways"))
    assert "create_payment_request\nreceiver_email\nkathrynmaldonado@gmail.com" in said[15]
    assert "create_payment_request\nreceiver_email\ntr_solo@gmail.com" in said[16]
    assert "send_payment\nreceiver_email\nnan_ritt@gmail.com" in said[18]
    assert "kathrynmaldonado@gmail.com\ntr_solo@gmail.com" in said[23]


def test_figure_2_nancys_address_is_in_the_contact_result_only(runs: dict[str, Run]) -> None:
    messages = runs["roommates"].messages
    assistant = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    holding = [number for number, message in enumerate(messages) if "nan_ritt" in json.dumps(message)]
    assert holding[0] == assistant[7] + 1
    assert holding[1] == assistant[17]


def test_figure_2_the_contact_result_is_credited_by_troys_address_before_nancys_turn(runs: dict[str, Run]) -> None:
    messages = runs["roommates"].messages
    results = [
        (number, extract_values(text_of(message)))
        for number, message in enumerate(messages)
        if message["role"] == "tool"
    ]
    contacts = next(number for number, values in results if "tr_solo" in values)
    credits = [
        (turn, value)
        for turn, position, text in operations(messages)
        for value in extract_values(text)
        if next((number for number, values in results if number < position and value in values), None) == contacts
    ]
    assert [item for item in credits if item[0] < 18] == [(15, "gmail.com"), (16, "tr_solo"), (16, "gmail.com")]
    assert (18, "nan_ritt") in credits
    before = [values for number, values in results if number < contacts + 20 and "tr_solo" in values]
    assert len(before) == 1


# The recorded files


def test_the_recorded_files_equal_a_fresh_recording(tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path)]) == 0
    for name in ("roommates.jsonl", "world.jsonl"):
        assert (tmp_path / name).read_bytes() == (RECORDED / name).read_bytes(), (
            f"{name} is out of date: python -m contextrender.world.record --out examples/runs"
        )
    assert sum(path.stat().st_size for path in RECORDED.glob("*.jsonl")) < 400_000


def test_the_recorded_files_have_the_form_of_the_traces() -> None:
    traces = [json.loads(line) for line in (RECORDED / "world.jsonl").read_text().splitlines()]
    assert len(traces) == len(TASKS)
    for trace in traces:
        assert {"id", "source", "model", "messages"} <= set(trace)
        assert trace["model"] == "scripted-agent"
        assert trace["reward"] == 1.0

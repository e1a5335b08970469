"""One run of one task with one method: render, ask the model, run its tool calls, until it ends."""

from dataclasses import dataclass, field

from contextrender.baselines.selector import Selector
from contextrender.benchmarks.model import Model
from contextrender.benchmarks.task import Benchmark, Message
from contextrender.evaluation.cost import Usage
from contextrender.session import Session


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A finished run. usage: the agent's calls as the provider counts them; management: the method's own calls.

    largest: the most history tokens before any call, by the budget's count (App. A.4), whatever was rendered.
    """

    score: float
    turns: int
    usage: Usage
    management: Usage
    largest: int
    over_budget: int
    messages: list[Message] = field(repr=False)


def run_task(
    benchmark: Benchmark, task_id: str, selector: Selector, model: Model, name: str, embedder: str = "wordllama"
) -> TaskRun:
    """Run a task to its end or to the benchmark's limit of turns. Raises UnavailableError when the model fails."""
    environment = benchmark.start(task_id)
    session = Session("full", embedder=embedder)
    messages = list(environment.first_messages)
    session.ingest(messages)
    usage, answer, turns, largest, over = Usage(), "", 0, 0, 0
    try:
        while turns < benchmark.max_turns and not environment.finished():
            largest = max(largest, session.history.budgeted_tokens())
            decision = selector.decide(session, {})
            over += decision.over_budget
            said, used = model.reply(decision.messages(), environment.tools, name)
            usage += used
            turns += 1
            fresh = [said]
            for call in said.get("tool_calls", []):
                content = environment.execute(call["function"]["name"], call["function"]["arguments"])
                fresh.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            messages += fresh
            session.ingest(fresh, whole=False)
            if len(fresh) == 1:
                answer = said["content"] or ""
                break
        score = environment.score(answer)
    finally:
        environment.close()
    return TaskRun(score, turns, usage, selector.spent, largest, over, messages)

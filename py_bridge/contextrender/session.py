"""The Python API: one agent run, kept whole in the graph and rendered under a budget.

session = Session(policy="paper", budget=6000)
session.ingest(messages)
rendered = session.render()
"""

import itertools
import json
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from contextrender.compaction.summarizer import Summarizer
from contextrender.context.facts import Fact, changes_anything, checked_fact
from contextrender.context.host import Host
from contextrender.embeddings import Embedder, Embeddings, Vector
from contextrender.endpoint import default_embedder
from contextrender.errors import InputError, NotFoundError
from contextrender.events import OUTSIDE_ROLES, Event
from contextrender.graph.archetypes import Session as SessionNode
from contextrender.graph.explain import Explain
from contextrender.graph.ingest import Ingest
from contextrender.graph.recall import Recall
from contextrender.graph.render import Render
from contextrender.graph.tell import Tell
from contextrender.graph.track_reuse import TrackReuse
from contextrender.history import History, Shown
from contextrender.jac_runtime import Jac
from contextrender.layout import Layout
from contextrender.names import Array
from contextrender.planning import plan_render, scored
from contextrender.policy import Policy, policy_by_name
from contextrender.prices import prices_by_name, prices_of_model, window_of_model
from contextrender.schedule import Circumstances
from contextrender.tokens import encoding_name
from contextrender.trace import Explained, Message, Rendered, ResultTrace, ShownTrace, UsageTrace
from contextrender.transcripts.format import Usage
from contextrender.transcripts.wire import wire_format

AUTO_BUDGET = 6000
"""Tokens around which managing begins to pay with `budget="auto"`."""
SCORES_KEPT = 16
"""Renders whose scores are kept in memory; those of an older one are computed again when it is explained."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision that is not yet put into messages; the evaluation works on these."""

    session: "Session"
    history: History
    layout: Layout
    seen: int
    policy: Policy

    @property
    def shown(self) -> list[Shown]:
        """The complete input, in order."""
        return self.layout.shown

    @property
    def tokens(self) -> int:
        """Tokens counted against the budget."""
        return self.layout.tokens

    @property
    def over_budget(self) -> bool:
        """Whether the budget is passed."""
        return self.layout.over_budget

    @property
    def kept(self) -> list[int]:
        """Positions of the tool results that are shown in full."""
        entries = self.history.entries
        return sorted({key.position for key, _ in self.shown if not key.text and entries[key.position].number >= 0})

    @property
    def sources(self) -> tuple[int | None, ...]:
        """By message, the index of the one that it shows; () in formats where one message may show several."""
        if self.session.wire.name != "chat":
            return ()
        return tuple(None if key.note else key.position for key, _ in self.shown)

    @property
    def scores_anything(self) -> bool:
        """Whether the results were weighed: not where everything is shown."""
        return self.layout.reason != "whole"

    def messages(self) -> list[Message]:
        """The rendered messages, each a new object."""
        walker = Render(pieces=[piece for piece, _ in self.shown], history=self.history, wire=self.session.wire)
        Jac.spawn(self.session.node, walker)
        messages: list[Message] = walker.messages
        return messages


@dataclass(frozen=True, slots=True)
class _Snapshot:
    history: History
    length: int
    budget: int
    last: Plan | None
    plan: Plan


class Session:
    """One agent run: a tree of branches over one graph. Not thread-safe; one caller at a time.

    policy: a name or a Policy; budget: tokens of history (App. A.4), or "auto": everything is passed through while that
    is the cheaper way to the expected end by the prices of the model's cache, and never more than its window.
    embedder: a name or a callable `list[str] -> array (n, d)`; model: chooses the tokenizer, the window, and the prices
    of "auto"; vector_cache: where embeddings are kept; wire: the format of the messages that come in and go out:
    "chat", "responses" or "messages".
    contract: the system prompt may be extended: each render begins with a stable start behind it, which tells how the
    history is shown and what holds for the whole task. tail_notes: renders may put user messages of ours at the tail.
    recall: something can redeem raw refs, so that they may be shown. summarizer: see contextrender.compaction.
    """

    def __init__(
        self,
        policy: str | Policy = "default",
        budget: int | Literal["auto"] = 6000,
        embedder: str | Embedder | None = None,
        model: str | None = None,
        vector_cache: MutableMapping[bytes, Vector] | None = None,
        wire: str = "chat",
        contract: bool = False,
        tail_notes: bool = True,
        recall: bool = False,
        summarizer: Summarizer | None = None,
    ) -> None:
        self.policy = policy_by_name(policy) if isinstance(policy, str) else policy
        if budget == "auto":
            self.policy, budget = _automatic(self.policy, model), AUTO_BUDGET
        self.budget = _checked_budget(budget)
        self.wire = wire_format(wire)
        self.embeddings = Embeddings(embedder or default_embedder(), vector_cache)
        self.encoding = encoding_name(model)
        self.host = Host(contract, tail_notes, recall, summarizer, self.encoding)
        self.window = window_of_model(model)
        self.node = SessionNode()
        self.branches = [History()]
        self.history = self.branches[0]
        """The branch that was ingested last: the head."""
        self._snapshots: dict[str, _Snapshot] = {}
        self._last: dict[int, Plan] = {}
        self._ids = itertools.count(1)
        self._usage: dict[str, UsageTrace] = {}
        self._scores: dict[str, tuple[Array, Mapping[str, Array]]] = {}
        """By snapshot, the latest ones: what each result scored, and its terms."""

    def ingest(self, messages: Sequence[Mapping[str, Any]], whole: bool | None = None) -> list[Message]:
        """Add what is new of chat-completions messages; returns the new messages, [] when all are known.

        A list that begins like a known branch is the whole conversation: it extends that branch, or forks it where
        it diverges. Any other list is a new tail; a tail whose beginning repeats the end of the branch is not added
        twice. `whole=True` says that the list is the conversation and ends the head there; `whole=False` that it is
        a tail. Raises InputError before anything is changed.
        """
        events = self.wire.parse(messages)
        if not events:
            return []
        start = self._align(events, whole)
        fresh = events[start:]
        if fresh:
            self.append(fresh)
        return [dict(message) for message in messages[start:]]

    def append(self, events: Sequence[Event]) -> None:
        """Add events behind the head as they are, without looking for what is known already."""
        ingest = Ingest(events=events, history=self.history, encoding=self.encoding)
        Jac.spawn(self.node, ingest)
        Jac.spawn(self.node, TrackReuse(fresh=ingest.fresh, history=self.history))

    def note(self, kind: str, text: str, **fields: Any) -> None:
        """Tell a fact of the task that is not in the transcript; the next render shows what is current of it, once.

        kind: constraint, permission, output_rule (they hold for the whole task), decision, approval_pending,
        approval_resolved, interruption, retry, plan_step, error, file_changed, evidence. fields: kept for audit, never
        shown; `key` says what the fact is about: a later one of the same kind and key takes its place, and an approval
        is resolved by its key (without one, the latest). Telling what is known already changes nothing.
        Raises InputError.
        """
        fact = checked_fact(kind, text, fields, len(self.history))
        if changes_anything(self.history.facts, fact):
            self._tell(fact)

    def _tell(self, fact: Fact) -> Any:
        """Put a fact into the graph; returns its node."""
        walker = Tell(fact=fact, history=self.history)
        Jac.spawn(self.node, walker)
        return walker.note

    def _align(self, events: Sequence[Event], whole: bool | None) -> int:
        """Choose or fork the head branch; returns the index of the first event that is new to it."""
        prints = [event.fingerprint for event in events]
        known, branch = 0, self.history
        for candidate in (self.history, *reversed(self.branches)):
            entries = candidate.entries
            common = next(
                (i for i, (entry, mine) in enumerate(zip(entries, prints, strict=False)) if entry.fingerprint != mine),
                min(len(entries), len(prints)),
            )
            if common > known:
                known, branch = common, candidate
            if known == len(prints):
                break
        restarts = bool(len(branch)) and events[0].role in OUTSIDE_ROLES and branch.entries[0].outside
        if whole is None:
            whole = bool(known) or restarts
            if known == len(events):
                self.history = branch
                return known
        if whole:
            if known < len(branch):
                branch = branch.fork(known)
                self.branches.append(branch)
            self.history = branch
            return known
        tail = [entry.fingerprint for entry in self.history.entries[-len(prints) :]]
        return next((n for n in range(len(tail), 0, -1) if tail[-n:] == prints[:n]), 0)

    def plan(
        self,
        policy: Policy,
        budget: int,
        last: Plan | None = None,
        given: Mapping[int, float] | None = None,
    ) -> Plan:
        """Decide a render without recording it. `last` is the previous plan of the same policy on this branch."""
        layout = plan_render(
            self.history,
            self.embeddings,
            policy,
            budget,
            last.layout if last else None,
            last.seen if last else 0,
            given,
            self._circumstances(policy, last, len(self.history)),
            self.window,
            self.host,
        )
        return Plan(self, self.history, layout, len(self.history), policy)

    def _circumstances(self, policy: Policy, last: Plan | None, length: int) -> Circumstances:
        """The provider's prices, and whether its cache has run out since the last model call.

        That call was made when the last event that it could show had come; the next one is made now that the newest
        event has. Both times are on their nodes, so a replay decides the same.
        """
        prices, entries = prices_by_name(policy.prices), self.history.entries
        if last is None or not 0 < last.seen <= length <= len(entries):
            return Circumstances(prices)
        idle = entries[length - 1].node.created - entries[last.seen - 1].node.created
        return Circumstances(prices, idle > prices.ttl)

    def render(self, budget: int | None = None) -> Rendered:
        """The messages for the next model call, under the budget; recorded as a snapshot."""
        limit = self.budget if budget is None else _checked_budget(budget)
        history = self.history
        last = self._last_plan(history)
        plan = self.plan(self.policy, limit, last)
        snapshot_id = f"s{next(self._ids)}"
        bare = replace(plan, layout=replace(plan.layout, terms={}, scores=None))
        if plan.layout.scores is not None:
            self._keep_scores(snapshot_id, plan.layout.scores, plan.layout.terms)
        self._snapshots[snapshot_id] = _Snapshot(history, len(history), limit, last, bare)
        self._last[id(history)] = bare
        shown = [history.entries[position] for position in plan.kept]
        omitted = bytearray(b"\1" * len(history.results))
        for entry in shown:
            omitted[entry.number] = 0
        return Rendered(
            plan.messages(),
            plan.tokens,
            tuple(entry.ref for entry in shown),
            tuple(itertools.compress(history.by_ref, omitted)),
            plan.over_budget,
            snapshot_id,
            plan.sources,
        )

    def _last_plan(self, history: History) -> Plan | None:
        """The latest plan whose every piece stands on this branch, so that a fork goes on from its prefix."""
        if id(history) in self._last:
            return self._last[id(history)]
        for snapshot in reversed(self._snapshots.values()):
            common = snapshot.history.entries[: snapshot.length]
            if len(history) >= snapshot.length and all(
                mine.node is theirs.node for mine, theirs in zip(history.entries, common, strict=False)
            ):
                return snapshot.plan
        return None

    def sync(self, messages: Sequence[Mapping[str, Any]], budget: int | None = None) -> Rendered:
        """Ingest the whole conversation and render it."""
        self.ingest(messages, whole=True)
        return self.render(budget)

    def explain(self, snapshot_id: str) -> Explained:
        """Each result's terms, score and fate in a render, computed again from the graph as it was then.

        Raises NotFoundError for an id that no render of this session returned.
        """
        snapshot = self._snapshots.get(snapshot_id)
        if snapshot is None:
            raise NotFoundError(f"no snapshot {snapshot_id!r} in this session")
        plan, history = snapshot.plan, snapshot.history
        layout, scores, terms = plan.layout, *self._scored(snapshot_id, snapshot)
        walker = Explain(layout=layout, history=history, length=snapshot.length, terms=terms, scores=scores)
        Jac.spawn(self.node, walker)
        shown = self._shown_traces(snapshot)
        total, prefix = sum(item.tokens for item in shown), sum(item.tokens for item in shown if item.cached)
        now = self._circumstances(plan.policy, snapshot.last, snapshot.length)
        return Explained(
            snapshot_id=snapshot_id,
            policy=plan.policy.name,
            budget=snapshot.budget,
            turn=sum(entry.position < snapshot.length for entry in history.assistants),
            tokens=layout.tokens,
            reason=layout.reason,
            over_budget=layout.over_budget,
            results=[
                ResultTrace(**{name: getattr(item, name) for name in ResultTrace.__slots__}) for item in walker.results
            ],
            why={name: value for name, value in layout.why.items() if name != "facts_left_out"},
            shown=shown,
            total_tokens=total,
            prefix_tokens=prefix,
            cost=round(now.prices.cost(0 if now.cold else prefix, total), 1),
            facts_left_out=layout.why.get("facts_left_out", 0),
            usage=self._usage.get(snapshot_id),
        )

    def _scored(self, snapshot_id: str, snapshot: _Snapshot) -> tuple[list[float], dict[str, list[float]]]:
        """Scores and terms of a render: kept for the latest ones, else computed again from the history as it was."""
        if snapshot_id not in self._scores:
            policy, history = snapshot.plan.policy, snapshot.history
            if not snapshot.plan.scores_anything:
                return [], {}
            then = history if len(history) == snapshot.length else history.fork(snapshot.length)
            self._keep_scores(snapshot_id, *scored(then, self.embeddings, policy))
        scores, terms = self._scores[snapshot_id]
        return scores.tolist(), {name: values.tolist() for name, values in terms.items()}

    def _keep_scores(self, snapshot_id: str, scores: Array, terms: Mapping[str, Array]) -> None:
        self._scores[snapshot_id] = scores, terms
        while len(self._scores) > SCORES_KEPT:
            del self._scores[next(iter(self._scores))]

    def _shown_traces(self, snapshot: _Snapshot) -> list[ShownTrace]:
        """What the model saw, message by message; equal pieces render to equal bytes, so that a later look is true."""
        before = [shown.key for shown in snapshot.last.shown] if snapshot.last else []
        shown = snapshot.plan.shown
        walker = Render(pieces=[piece for piece, _ in shown], history=snapshot.history, wire=self.wire)
        Jac.spawn(self.node, walker)
        traces: list[ShownTrace] = []
        same = True
        for number, (part, (piece, tokens)) in enumerate(zip(walker.parts, shown, strict=True)):
            same = same and number < len(before) and before[number] == piece
            kind = piece.note or ("shortened" if piece.text else "result" if part.role == "tool" else "message")
            wire = json.dumps(self.wire.build([part]), ensure_ascii=False).encode("utf-8", "surrogatepass")
            digest = blake2b(wire, digest_size=8).hexdigest()
            traces.append(ShownTrace(part.role, kind, piece.position, tokens, digest, same))
        return traces

    def record_usage(self, snapshot_id: str, usage: Usage, prefill_seconds: float | None = None) -> None:
        """Keep what the provider counted in the call that sent this render; `explain` tells it.

        usage: as `session.wire.reply(response).usage` reads it. Raises NotFoundError for an unknown snapshot.
        """
        if snapshot_id not in self._snapshots:
            raise NotFoundError(f"no snapshot {snapshot_id!r} in this session")
        counted = usage.uncached, usage.cached, usage.written, usage.output
        self._usage[snapshot_id] = UsageTrace(*counted, prefill_seconds)

    def recall(self, ref: str) -> Message:
        """The original message of a tool result. Raises NotFoundError for an unknown ref."""
        for branch in (self.history, *self.branches):
            walker = Recall(ref=ref, history=branch, wire=self.wire)
            Jac.spawn(self.node, walker)
            if walker.message is not None:
                message: Message = walker.message
                return message
        raise NotFoundError(f"no tool result {ref!r} in this session")


def _automatic(policy: Policy, model: str | None) -> Policy:
    """The policy that manages only where it pays: `default` learns to, any other must be cache-aware already."""
    automatic = policy_by_name("auto") if policy.name == "default" else replace(policy, auto=True)
    return replace(automatic, prices=model) if model and prices_of_model(model) else automatic


def _checked_budget(budget: object) -> int:
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise InputError(f"the budget is {budget!r}", "budget", 'a whole number of tokens from 1 on, or "auto"')
    return budget

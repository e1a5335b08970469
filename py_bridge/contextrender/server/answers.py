"""What the walkers report: the calls of `Sessions` with their results as JSON values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from contextrender.errors import InputError
from contextrender.ledger import bill
from contextrender.prices import prices_by_name, prices_of_model
from contextrender.server.platform import running
from contextrender.server.sessions import Sessions
from contextrender.server.transfer import export_session, graph_page, import_session
from contextrender.trace import Rendered
from contextrender.transcripts.format import Usage
from contextrender.transcripts.identity import Begun

Json = dict[str, Any]


class Known(TypedDict):
    """How much of a conversation the server has, as an earlier answer told it."""

    events: int
    digest: str


class Counted(TypedDict):
    """Tokens of one model call as the provider counted them."""

    uncached: int
    cached: int
    written: int
    output: int


def owner_of(root: Any) -> str:
    """The owner whose root this is."""
    return str(root.__jac__.id)


def sessions() -> Sessions:
    """The sessions that this process serves. Raises UnavailableError where none are."""
    platform = running()
    return platform.served or platform.sessions()


def open_session(root: Any, options: Mapping[str, Any]) -> Json:
    """{session}."""
    return {"session": sessions().open_session(owner_of(root), **options)}


def ingest(root: Any, session: str, messages: Sequence[Json], whole: bool | None) -> Json:
    """{new: how many of the last messages were new}."""
    return {"new": len(sessions().ingest(owner_of(root), session, messages, whole))}


def render(root: Any, session: str, budget: int | None) -> Json:
    """A render."""
    return rendered_json(sessions().render(owner_of(root), session, budget))


def sync(root: Any, session: str, messages: Sequence[Json], known: Known | None, budget: int | None) -> Json:
    """A render, with {known, full_tokens}."""
    synced = sessions().sync(owner_of(root), session, messages, begun_of(known), budget)
    return {
        **rendered_json(synced.rendered),
        "known": synced.known._asdict(),
        "full_tokens": synced.full_tokens,
    }


def extend(root: Any, session: str, messages: Sequence[Json], known: Known) -> Json:
    """{known}."""
    begun = begun_of(known) or Begun()
    return {"known": sessions().extend(owner_of(root), session, messages, begun)._asdict()}


def note(root: Any, session: str, kind: str, text: str, fields: Mapping[str, Any]) -> Json:
    """{}."""
    clash = sorted(set(fields) & {"kind", "text"})
    if clash:
        raise InputError(f"{clash[0]!r} among the fields", "fields", "names other than kind and text")
    sessions().note(owner_of(root), session, kind, text, **fields)
    return {}


def explain(root: Any, session: str, snapshot: str) -> Json:
    """A trace."""
    return asdict(sessions().explain(owner_of(root), session, snapshot))


def recall(root: Any, session: str, ref: str) -> Json:
    """{message}."""
    return {"message": sessions().recall(owner_of(root), session, ref)}


def record_usage(
    root: Any, session: str, snapshot: str, model: str, usage: Counted, prefill_seconds: float | None
) -> Json:
    """{}."""
    if min(usage.values()) < 0 or max(usage.values()) >= 2**53:  # type: ignore[type-var, operator]
        raise InputError("a count is negative or too large", "usage", "tokens from 0 on")
    sessions().record_usage(owner_of(root), session, snapshot, model, Usage(**usage), prefill_seconds)
    return {}


def list_sessions(root: Any, after: int, limit: int) -> Json:
    """{sessions, next}."""
    return sessions().sessions(owner_of(root), after, limit)


def graph(root: Any, session: str, after: str, limit: int) -> Json:
    """{nodes, edges, next}."""
    return graph_page(owner_of(root), session, after, limit)


def export(root: Any, session: str) -> Json:
    """{text}."""
    return {"text": export_session(sessions(), owner_of(root), session)}


def import_(root: Any, text: str, key: str) -> Json:
    """{session}."""
    return {"session": import_session(sessions(), owner_of(root), text, key)}


def delete_session(root: Any, session: str) -> Json:
    """{}."""
    sessions().delete_session(owner_of(root), session)
    return {}


def costs(root: Any, session: str, prices: str | None) -> Json:
    """The bill, by the prices of this name, or of the last call's model, or Anthropic's."""
    calls = sessions().calls(owner_of(root), session)
    models = [call.model for call in calls if call.model]
    known = prices_by_name(prices) if prices else (prices_of_model(models[-1]) if models else None)
    total = bill(calls, known or prices_by_name("anthropic"))
    return {**asdict(total), "saved": total.saved, "models": sorted(set(models))}


def rendered_json(rendered: Rendered) -> Json:
    """A render as JSON values."""
    return {
        "messages": rendered.messages,
        "tokens": rendered.tokens,
        "kept": list(rendered.kept),
        "omitted": list(rendered.omitted),
        "over_budget": rendered.over_budget,
        "snapshot_id": rendered.snapshot_id,
        "sources": list(rendered.sources),
    }


def begun_of(known: Known | None) -> Begun | None:
    """`known` as `Sessions` takes it. Raises InputError."""
    if known is None:
        return None
    if not 0 <= known["events"] < 2**53:
        raise InputError(f"{known['events']} events", "known.events", "a count from 0 on")
    return Begun(known["events"], known["digest"])

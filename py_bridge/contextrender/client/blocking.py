"""The client for ordinary code."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from contextrender.client import protocol
from contextrender.client.protocol import Json, RemoteRendered, Tail
from contextrender.errors import DivergedError
from contextrender.trace import Explained, Message


class Client:
    """A server's sessions. Without arguments the server of this machine, with the token in its data folder.

    timeout: seconds that each step of a request may take.

    Thread-safe; one RemoteSession is for one caller at a time. Errors are those of `Session`; UnavailableError where
    the server doesn't answer, AccessError where it doesn't take the token.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, timeout: float = protocol.TIMEOUT_SECONDS
    ) -> None:
        self.url, text = protocol.address(url, token)
        self._http = httpx.Client(base_url=self.url, headers=protocol.headers(text), timeout=timeout)

    def call(self, walker: str, **fields: Any) -> Json:
        """What a walker reports."""
        try:
            return protocol.answer(self._http.post(protocol.path(walker), content=protocol.content(fields)))
        except httpx.HTTPError as error:
            raise protocol.unreachable(error, self.url) from error

    def open_session(self, **options: Any) -> "RemoteSession":
        """A new session, or the one of `key`; options: policy, budget, embedder, model, key, wire, days."""
        return RemoteSession(self, self.call("open_session", **options)["session"])

    def session(self, session_id: str) -> "RemoteSession":
        """The session of this id; asked for nothing yet."""
        return RemoteSession(self, session_id)

    def sessions(self, after: int = -1, limit: int = 100) -> Json:
        """A page: {sessions, next}."""
        return self.call("sessions", after=after, limit=limit)

    def import_session(self, text: str, key: str = "") -> "RemoteSession":
        """A new session from what `export` gave."""
        return RemoteSession(self, self.call("import_session", text=text, key=key)["session"])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class RemoteSession:
    """A session on the server; see `Session` for what the methods mean."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client, self.id = client, session_id
        self._tail = Tail()

    def _call(self, walker: str, **fields: Any) -> Json:
        return self._client.call(walker, session=self.id, **fields)

    def ingest(self, messages: Sequence[Message], whole: bool | None = None) -> list[Message]:
        """Add what is new; returns it."""
        new = self._call("ingest", messages=list(messages), whole=whole)["new"]
        return [dict(message) for message in messages[len(messages) - new :]]

    def render(self, budget: int | None = None) -> RemoteRendered:
        """The messages for the next model call."""
        return protocol.rendered(self._call("render", budget=budget))

    def sync(self, messages: Sequence[Message], budget: int | None = None) -> RemoteRendered:
        """Ingest the whole conversation and render it, in one call that carries only what the server doesn't have."""
        tail, known = self._tail.new(messages)
        try:
            report = self._call("sync", messages=list(tail), known=known, budget=budget)
        except DivergedError:
            report = self._call("sync", messages=list(messages), budget=budget)
        self._tail.has(messages, report["known"])
        return protocol.rendered(report)

    def note(self, kind: str, text: str, **fields: Any) -> None:
        """Tell a fact that is not in the transcript."""
        self._call("note", kind=kind, text=text, fields=fields)

    def explain(self, snapshot_id: str) -> Explained:
        """The trace of a render."""
        return protocol.explained(self._call("explain", snapshot=snapshot_id))

    def recall(self, ref: str) -> Message:
        """The original of a result."""
        message: Message = self._call("recall", ref=ref)["message"]
        return message

    def record_usage(
        self, snapshot_id: str, usage: Mapping[str, int], model: str = "", prefill_seconds: float | None = None
    ) -> None:
        """Keep what the provider counted: uncached, cached, written, output."""
        told = {"snapshot": snapshot_id, "usage": dict(usage), "model": model, "prefill_seconds": prefill_seconds}
        self._call("record_usage", **told)

    def costs(self, prices: str | None = None) -> Json:
        """The bill: with us, and with the full history."""
        return self._call("costs", prices=prices)

    def graph(self, after: str = "", limit: int = 100) -> Json:
        """A page: {nodes, edges, next}."""
        return self._call("graph", after=after, limit=limit)

    def export(self) -> str:
        """The session as JSON lines."""
        text: str = self._call("export_session")["text"]
        return text

    def delete(self) -> None:
        """Delete it with everything that was derived from it."""
        self._call("delete_session")

"""The client for asyncio: the same calls, awaited."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from contextrender.client import protocol
from contextrender.client.protocol import Json, RemoteRendered, Tail
from contextrender.errors import DivergedError
from contextrender.trace import Explained, Message


class AsyncClient:
    """A server's sessions. Without arguments the server of this machine, with the token in its data folder.

    timeout: seconds that each step of a request may take.

    One AsyncRemoteSession is for one caller at a time. Errors are those of `Session`; UnavailableError where the server
    doesn't answer, AccessError where it doesn't take the token.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, timeout: float = protocol.TIMEOUT_SECONDS
    ) -> None:
        self.url, text = protocol.address(url, token)
        self._http = httpx.AsyncClient(base_url=self.url, headers=protocol.headers(text), timeout=timeout)

    async def call(self, walker: str, **fields: Any) -> Json:
        """What a walker reports."""
        try:
            return protocol.answer(await self._http.post(protocol.path(walker), content=protocol.content(fields)))
        except httpx.HTTPError as error:
            raise protocol.unreachable(error, self.url) from error

    async def open_session(self, **options: Any) -> "AsyncRemoteSession":
        """A new session, or the one of `key`; options: policy, budget, embedder, model, key, wire, days."""
        return AsyncRemoteSession(self, (await self.call("open_session", **options))["session"])

    def session(self, session_id: str) -> "AsyncRemoteSession":
        """The session of this id; asked for nothing yet."""
        return AsyncRemoteSession(self, session_id)

    async def sessions(self, after: int = -1, limit: int = 100) -> Json:
        """A page: {sessions, next}."""
        return await self.call("sessions", after=after, limit=limit)

    async def import_session(self, text: str, key: str = "") -> "AsyncRemoteSession":
        """A new session from what `export` gave."""
        return AsyncRemoteSession(self, (await self.call("import_session", text=text, key=key))["session"])

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()


class AsyncRemoteSession:
    """A session on the server; see `Session` for what the methods mean."""

    def __init__(self, client: AsyncClient, session_id: str) -> None:
        self._client, self.id = client, session_id
        self._tail = Tail()

    async def _call(self, walker: str, **fields: Any) -> Json:
        return await self._client.call(walker, session=self.id, **fields)

    async def ingest(self, messages: Sequence[Message], whole: bool | None = None) -> list[Message]:
        """Add what is new; returns it."""
        new = (await self._call("ingest", messages=list(messages), whole=whole))["new"]
        return [dict(message) for message in messages[len(messages) - new :]]

    async def render(self, budget: int | None = None) -> RemoteRendered:
        """The messages for the next model call."""
        return protocol.rendered(await self._call("render", budget=budget))

    async def sync(self, messages: Sequence[Message], budget: int | None = None) -> RemoteRendered:
        """Ingest the whole conversation and render it, in one call that carries only what the server doesn't have."""
        tail, known = self._tail.new(messages)
        try:
            report = await self._call("sync", messages=list(tail), known=known, budget=budget)
        except DivergedError:
            report = await self._call("sync", messages=list(messages), budget=budget)
        self._tail.has(messages, report["known"])
        return protocol.rendered(report)

    async def note(self, kind: str, text: str, **fields: Any) -> None:
        """Tell a fact that is not in the transcript."""
        await self._call("note", kind=kind, text=text, fields=fields)

    async def explain(self, snapshot_id: str) -> Explained:
        """The trace of a render."""
        return protocol.explained(await self._call("explain", snapshot=snapshot_id))

    async def recall(self, ref: str) -> Message:
        """The original of a result."""
        message: Message = (await self._call("recall", ref=ref))["message"]
        return message

    async def record_usage(
        self, snapshot_id: str, usage: Mapping[str, int], model: str = "", prefill_seconds: float | None = None
    ) -> None:
        """Keep what the provider counted: uncached, cached, written, output."""
        told = {"snapshot": snapshot_id, "usage": dict(usage), "model": model, "prefill_seconds": prefill_seconds}
        await self._call("record_usage", **told)

    async def costs(self, prices: str | None = None) -> Json:
        """The bill: with us, and with the full history."""
        return await self._call("costs", prices=prices)

    async def graph(self, after: str = "", limit: int = 100) -> Json:
        """A page: {nodes, edges, next}."""
        return await self._call("graph", after=after, limit=limit)

    async def export(self) -> str:
        """The session as JSON lines."""
        text: str = (await self._call("export_session"))["text"]
        return text

    async def delete(self) -> None:
        """Delete it with everything that was derived from it."""
        await self._call("delete_session")

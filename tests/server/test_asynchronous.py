"""The client for asyncio does what the other one does."""

import asyncio
import inspect
from pathlib import Path

import pytest

from contextrender import Session
from contextrender.client import AsyncClient, Client
from contextrender.client.asynchronous import AsyncRemoteSession
from contextrender.client.blocking import RemoteSession
from contextrender.errors import AccessError, NotFoundError, UnavailableError
from tests.proxy.provider import Running, chat_run


def test_both_have_the_same_methods() -> None:
    for one, other in ((Client, AsyncClient), (RemoteSession, AsyncRemoteSession)):
        mine, theirs = (
            {
                name: list(inspect.signature(method).parameters)
                for name, method in vars(kind).items()
                if not name.startswith("_")
            }
            for kind in (one, other)
        )
        assert mine == theirs


def test_a_session_is_rendered_as_in_process(server: Running, data: Path) -> None:
    run, local = chat_run(8), Session("default", 1_500, "hash")

    async def work() -> None:
        async with AsyncClient(f"http://127.0.0.1:{server.port}", (data / "token").read_text()) as client:
            remote = await client.open_session(budget=1_500)
            for length in range(2, len(run) + 1, 2):
                rendered = await remote.sync(run[:length])
                expected = local.sync(run[:length])
                assert (rendered.messages, rendered.sources) == (expected.messages, expected.sources)
            assert await remote.explain(rendered.snapshot_id) == local.explain(expected.snapshot_id)
            assert await remote.recall(rendered.omitted[0]) == local.recall(expected.omitted[0])
            await remote.note("decision", "refund the second")
            local.note("decision", "refund the second")
            assert (await remote.render()).messages == local.render().messages
            again = await client.import_session(await remote.export())
            assert (await again.render()).messages == (await remote.render()).messages
            assert (await remote.graph(limit=5))["nodes"]
            assert (await remote.costs())["counted"] == 0
            assert remote.id in {row["session"] for row in (await client.sessions(limit=500))["sessions"]}
            await remote.delete()
            with pytest.raises(NotFoundError):
                await remote.render()

    asyncio.run(work())


def test_errors_are_those_of_the_other(server: Running) -> None:
    async def work() -> None:
        async with AsyncClient(f"http://127.0.0.1:{server.port}", "cr_wrong") as client:
            with pytest.raises(AccessError):
                await client.sessions()
        async with AsyncClient("http://127.0.0.1:9", "cr_x", timeout=1) as away:
            with pytest.raises(UnavailableError, match="contextrender serve"):
                await away.sessions()

    asyncio.run(work())

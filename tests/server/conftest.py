"""One server for the tests that don't stop it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextrender.client import Client
from tests.proxy.provider import Running
from tests.server.running import client, new_token, served


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its data folder."""
    return tmp_path_factory.mktemp("server") / "data"


@pytest.fixture(scope="session")
def server(data: Path) -> Iterator[Running]:
    """The server."""
    with served(data, "--registration", "--max-body", "2", "--embedder", "hash") as running:
        yield running


@pytest.fixture
def mine(server: Running, data: Path) -> Iterator[Client]:
    """The local user's client."""
    with client(server, data) as found:
        yield found


@pytest.fixture(scope="session")
def stranger(server: Running, data: Path) -> Iterator[Client]:
    """Another user's client."""
    with client(server, data, new_token(data, "stranger", "--user", "stranger@example.com")) as found:
        yield found

"""A fresh store for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contextrender.store import Collection, Store, open_store

PATH = "data/store.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / PATH


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path, busy_timeout=2.0, fsync=False) as opened:
        yield opened


@pytest.fixture
def nodes(store: Store) -> Collection:
    return store.client.get_database("jaseci").get_collection("node")


@pytest.fixture
def reopened(path: Path) -> Iterator[Callable[[], Collection]]:
    """Opens the same file once more, as another process would, and gives its collection of nodes."""
    stores: list[Store] = []

    def again() -> Collection:
        stores.append(open_store(path, busy_timeout=0.3, fsync=False))
        return stores[-1].client.get_database("jaseci").get_collection("node")

    yield again
    for opened in stores:
        opened.close()

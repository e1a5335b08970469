"""jac-cloud itself on the store: users, tokens and a graph, over a kill -9."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import contextrender.store
from contextrender.store import open_store

PACKAGES = str(Path(contextrender.store.__file__).parents[2])

APP = """
node Item { has sid: str; has n: int; has text: str = ""; }
edge Next { has sid: str; }

walker make {
    has count: int;
    can go with `root entry {
        last = here;
        for n in range(self.count) {
            item = Item(sid="s1", n=n, text="text " + str(n));
            last +>:Next(sid="s1"):+> item;
            last = item;
        }
        report self.count;
    }
    class __specs__ { has auth: bool = True; }
}

walker read {
    has seen: list = [];
    can start with `root entry { visit [->:Next:->]; }
    can step with Item entry { self.seen.append(here.n); visit [->:Next:->]; }
    can finish with exit { report self.seen; }
    class __specs__ { has auth: bool = True; }
}

walker forget {
    has items: list = [];
    can go with `root entry { visit [->:Next:->]; }
    can step with Item entry { visit [->:Next:->]; self.items.append(here); }
    can finish with exit { for item in self.items { del item; } }
    class __specs__ { has auth: bool = True; }
}
"""

# Takes a list of [method, path, body, token] as JSON, sends them to jac-cloud's application in this process, prints
# [status, answer] for each, and then dies as a killed server would.
SERVER = """
import json, os, signal, sys
from pathlib import Path
store_path, folder, requests = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
from jaclang import JacMachine as Jac
from jac_cloud.jaseci.main import FastAPI
from jac_cloud.jaseci.datasources.collection import Collection
from jac_cloud.jaseci.datasources.redis import Redis
from jac_cloud.core.archetype import NodeAnchor
from jac_cloud.core.context import JaseciContext
from contextrender.store import open_store
store = open_store(store_path)
Collection.__client__, Redis.__redis__ = store.client, store.redis
NodeAnchor.Collection.__indexes__ = [{"keys": [("archetype.sid", 1), ("archetype.n", 1)]}]
FastAPI.enable()
context = JaseciContext.create(None)
Jac.jac_import(target="shop", base_path=folder)
context.close()
from fastapi.testclient import TestClient
with TestClient(FastAPI.get()) as client:
    answers = []
    for method, path, body, token in requests:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = client.request(method, path, json=body, headers=headers)
        answers.append([answer.status_code, answer.json()])
    print("ANSWERS" + json.dumps(answers), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

Request = tuple[str, str, dict[str, Any], str | None]


@pytest.mark.slow
@pytest.mark.faults
def test_users_tokens_and_the_graph_outlive_a_killed_server(path: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.jac").write_text(APP)
    environment = {
        **os.environ,
        "PYTHONPATH": PACKAGES,
        "TOKEN_SECRET": "a fixed secret for this test only",
        "LOGGER_LEVEL": "WARNING",
        "LOGGER_FILE_PATH": str(tmp_path / "log" / "jac-cloud.log"),
        "DATABASE_PATH": str(tmp_path / "unused"),
    }

    def serve(*requests: Request) -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-c", SERVER, str(path), str(tmp_path), json.dumps(requests)],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS")]
        assert answers, done.stdout[-2000:] + done.stderr[-4000:]
        assert done.returncode == -signal.SIGKILL
        return json.loads(answers[0].removeprefix("ANSWERS"))  # type: ignore[no-any-return]

    who = {"email": "ada@example.com", "password": "pw 123456"}
    first = serve(
        ("POST", "/user/register", who, None),
        ("POST", "/user/register", who, None),
        ("POST", "/user/login", who, None),
        ("POST", "/user/login", {**who, "password": "wrong"}, None),
    )
    assert [status for status, _ in first] == [201, 409, 200, 400]
    token = first[2][1]["token"]

    made = serve(
        ("POST", "/walker/make", {"count": 30}, token),
        ("POST", "/walker/read", {}, token),
        ("POST", "/user/register", who, None),
        ("POST", "/walker/read", {}, "no such token"),
    )
    assert [status for status, _ in made] == [200, 200, 409, 401]

    again = serve(("POST", "/user/login", who, None), ("POST", "/walker/read", {}, token))
    assert [status for status, _ in again] == [200, 200]
    assert made[1][1]["reports"] == again[1][1]["reports"] == [list(range(30))]

    with open_store(path) as store:
        database = store.client.get_database("jaseci")
        nodes, edges = database.get_collection("node"), database.get_collection("edge")
        chain = nodes.find({"archetype.sid": "s1", "archetype.n": {"$gt": 9, "$lte": 19}}).sort("archetype.n")
        assert [document["archetype"]["n"] for document in chain] == list(range(10, 20))
        linked = {reference for document in nodes.find() for reference in document["edges"]}
        assert linked == {f"e:{edge['name']}:{edge['_id']}" for edge in edges.find()}
        assert store.check() == []
    assert not (tmp_path / "unused").exists()

    gone = serve(("POST", "/walker/forget", {}, token), ("POST", "/walker/read", {}, token))
    assert [status for status, _ in gone] == [200, 200]
    assert gone[1][1]["reports"] == [[]]
    with open_store(path) as store:
        nodes = store.client.get_database("jaseci").get_collection("node")
        assert nodes.count_documents({"archetype.sid": "s1"}) == 0

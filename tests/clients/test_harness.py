"""The harness itself: no way out of the place, and a model that says what the script says on every wire."""

import http.client
import json
import subprocess
import sys
from pathlib import Path

import pytest

from contextrender.transcripts.wire import FORMATS, wire_format
from tests.clients import install
from tests.clients.model import ScriptedModel, Step, Use
from tests.clients.offline import Offline

STEPS = [Step("first", (Use("sh", {"cmd": "ls"}), Use("sh", {"cmd": "pwd"}))), Step("done")]
REQUESTS = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "KEY-1"}]}),
    "responses": ("/v1/responses", {"input": [{"type": "message", "role": "user", "content": "KEY-1"}]}),
    "messages": ("/v1/messages?beta=true", {"messages": [{"role": "user", "content": "KEY-1"}]}),
}


def test_nothing_but_loopback_is_reached_from_the_place() -> None:
    script = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    with Offline() as place:
        command = place.command([sys.executable, "-c", script])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Network is unreachable" in done.stderr


@pytest.mark.parametrize("wire", [form.name for form in FORMATS])
@pytest.mark.parametrize("stream", [False, True])
def test_the_model_says_each_step_in_turn(wire: str, stream: bool) -> None:
    path, body = REQUESTS[wire]
    tools = [{"type": "function", "function": {"name": "sh"}}]
    with Offline() as place, ScriptedModel(place.listen(), {"KEY-1": STEPS}) as model:
        port = int(model.url.rsplit(":", 1)[1])
        texts = []
        for has_tools in (True, False, True):
            whole = {**body, "stream": stream, "model": "m", "tools": tools if has_tools else []}
            raw = _post(place, port, path, json.dumps(whole).encode())
            form = wire_format(wire)
            if stream:
                reader = form.stream_reader()
                reader.feed(raw)
                reply = reader.reply()
            else:
                reply = form.reply(json.loads(raw))
            assert reply is not None
            assert reply.complete
            texts.append("".join(event.text for event in reply.events))
            if len(texts) == 1:
                calls = [call for event in reply.events for call in event.calls]
                assert [json.loads(call.arguments)["cmd"] for call in calls] == ["ls", "pwd"]
        assert texts == ["first", "A short title", "done"]
        assert [request.key for request in model.requests] == ["KEY-1", "", "KEY-1"]


def test_a_program_is_installed_once_and_again_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Path] = []

    class Toy(install.Npm):
        def install(self, folder: Path) -> None:
            done.append(folder)
            (folder / "node_modules").mkdir()
            (folder / "node_modules" / "toy").touch()

    monkeypatch.setenv("CONTEXTRENDER_CLIENTS", str(tmp_path))
    monkeypatch.setitem(install.PROGRAMS, "toy", Toy("toy@1", "toy"))
    assert install.program("toy") == install.program("toy") == tmp_path / "toy" / "node_modules" / "toy"
    assert len(done) == 1
    monkeypatch.setitem(install.PROGRAMS, "toy", Toy("toy@2", "toy"))
    install.program("toy")
    assert len(done) == 2


def test_a_failed_install_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONTEXTRENDER_CLIENTS", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(install.InstallError, match="npm is not on this machine"):
        install.program("opencode")


def _post(place: Offline, port: int, path: str, raw: bytes) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.sock = place.connect(port)
    try:
        connection.request("POST", path, raw, {"content-type": "application/json"})
        return connection.getresponse().read()
    finally:
        connection.close()

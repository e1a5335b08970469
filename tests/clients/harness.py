"""One run of a client program: scripted model, the proxy in front of it, a tap in front of that, the program."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clients.model import Json, Request, ScriptedModel, Step
from tests.clients.offline import Offline
from tests.clients.tap import TAP_HEADER, Tap

BUDGET = 3_000
"""History tokens in these tests; the whole work is four times that."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One model call of the program: what it sent, and what the model got."""

    sent: Request
    got: Request
    answer: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """What a program said before it ended."""

    out: str
    err: str

    @property
    def lines(self) -> list[Json]:
        """The JSON objects of its output, one a line."""
        found = []
        for line in self.out.splitlines():
            if line.startswith("{"):
                found.append(json.loads(line))
        return found


@dataclass(frozen=True, slots=True)
class Served:
    """A running `contextrender serve`, and what an adapter's environment says of it."""

    pid: int
    env: Mapping[str, str]


Gateway = Callable[[Offline, Path, str], AbstractContextManager[str]]
"""(place, folder, URL of what is behind) -> a running server's URL."""


@dataclass
class Bench:
    """A folder, and a place without network with the model, the proxy and the tap; `url` is what programs are told."""

    folder: Path
    scripts: Mapping[str, Sequence[Step]]
    budget: int = BUDGET
    text_protocol: bool = False
    asides: str = "A short title"
    proxy_options: Sequence[str] = ()
    gateway: Gateway | None = None
    """What stands between the proxy and the model, if something does."""
    adapter: bool = False
    """The program has an adapter and `contextrender serve` to talk to, and no proxy in front of the model."""
    place: Offline = field(init=False)
    model: ScriptedModel = field(init=False)
    tap: Tap = field(init=False)
    server: "Served" = field(init=False)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.place = stack.enter_context(Offline())
            self.model = stack.enter_context(
                ScriptedModel(self.place.listen(), self.scripts, self.text_protocol, lambda body: self.asides)
            )
            upstream = self.model.url
            if self.gateway:
                upstream = stack.enter_context(self.gateway(self.place, self.folder, upstream))
            if self.adapter:
                self.server = stack.enter_context(_server(self))
                port = int(upstream.rpartition(":")[2])
            else:
                port = stack.enter_context(_proxy(self, upstream))
            self.tap = stack.enter_context(Tap(self.place, port))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def adapter_env(self) -> Mapping[str, str]:
        """What the environment says to an adapter, if there is one."""
        return self.server.env if self.adapter else {}

    @property
    def url(self) -> str:
        """Where the programs send their requests."""
        return self.tap.url

    def run(self, argv: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float = 240) -> Done:
        """Run a program to its end in a clean environment. Fails when it does not end well, with what it said."""
        clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        clean |= {"HOME": str(self.folder), "TERM": "dumb", "NO_COLOR": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        # Into a file: some programs end before a pipe has taken all of their output.
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            done = subprocess.run(
                self.place.command(argv),
                env=clean | dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=timeout,
                check=False,
            )
            out.seek(0)
            err.seek(0)
            said = Done(out.read(), err.read())
        assert done.returncode == 0, f"{argv[0]} ended with {done.returncode}:\n{(said.out + said.err)[-3000:]}"
        return said

    def turns(self, key: str) -> list[Turn]:
        """The model calls that the script `key` answered, in order."""
        return [
            Turn(self.tap.requests[number], got, self.tap.answers[number])
            for got in self.model.requests
            if got.key == key and (number := _number(got)) is not None
        ]

    @property
    def asides_sent(self) -> list[Turn]:
        """The requests without tools."""
        return [
            Turn(self.tap.requests[number], got, self.tap.answers[number])
            for got in self.model.requests
            if not got.key and got.wire and (number := _number(got)) is not None
        ]


def _number(request: Request) -> int | None:
    found = {name.lower(): value for name, value in request.headers.items()}.get(TAP_HEADER)
    return None if found is None else int(found)


@contextmanager
def _proxy(bench: Bench, upstream: str) -> Iterator[int]:
    """`contextrender proxy` as its users start it, inside the bench's place; its port."""
    port = bench.place.free_port()
    command: list[str | Path] = [Path(sys.executable).parent / "contextrender", "proxy", "--upstream", upstream]
    slow = ["--render-ms", "10000"]  # these runs ask what is sent, on a machine that may be busy
    options = ["--port", str(port), "--budget", str(bench.budget), *slow, *bench.proxy_options]
    env = os.environ | {"HOME": str(bench.folder)}
    with serving(bench.place, bench.folder, [*command, *options], env, port):
        yield port


@contextmanager
def _server(bench: Bench) -> Iterator[Served]:
    """`contextrender serve` inside the bench's place."""
    port, data = bench.place.free_port(), bench.folder / "served"
    command: list[str | Path] = [Path(sys.executable).parent / "contextrender", "serve"]
    options: list[str | Path] = ["--port", str(port), "--data", data, "--budget", str(bench.budget)]
    env = os.environ | {"HOME": str(bench.folder)}
    with serving(bench.place, bench.folder, [*command, *options], env, port) as pid:
        with bench.place.connect(port) as asking:  # it listens before it is ready
            asking.settimeout(60)
            asking.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert b" 200 " in asking.recv(100)
        package = Path(__file__).parents[2] / "py_bridge"
        token = (data / "token").read_text()
        where = {"CONTEXTRENDER_URL": f"http://127.0.0.1:{port}", "CONTEXTRENDER_TOKEN": token}
        yield Served(pid, where | {"PYTHONPATH": str(package)})


@contextmanager
def serving(
    place: Offline, folder: Path, argv: Sequence[str | Path], env: Mapping[str, str], port: int, seconds: float = 60
) -> Iterator[int]:
    """A server process in a place, which listens on `port`; its process id. Its output is in the folder."""
    name = Path(argv[0]).name
    log = folder / f"{name}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            place.command(argv), env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                place.connect(port).close()
                break
            except OSError:
                assert process.poll() is None, f"{name} ended:\n{log.read_text()[-3000:]}"
                assert time.monotonic() < until, f"{name} does not listen:\n{log.read_text()[-3000:]}"
                time.sleep(0.05)
        yield process.pid
    finally:
        process.send_signal(signal.SIGCONT)  # a test may have stopped it
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

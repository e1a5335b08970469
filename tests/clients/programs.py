"""How each client program is configured and started: command lines, settings files, environment, its shell tool."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.harness import Bench, Done
from tests.clients.install import program
from tests.clients.model import Json, Step, Use

ADAPTERS = Path(__file__).parents[2] / "adapters"
HERMES_PLUGIN = ADAPTERS.parent / "py_bridge" / "contextrender" / "adapters" / "hermes_plugin"


@dataclass(frozen=True, slots=True)
class OpenCode:
    """opencode with its own configuration and state in the bench's folder."""

    bench: Bench
    workspace: Path
    plugin: Path | None = None

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("bash", {"command": command, "description": "work"})

    def run(self, prompt: str, *options: str, env: Mapping[str, str] | None = None) -> Done:
        """One `opencode run`."""
        limit = {"context": 128_000, "output": 4_096}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Mock",
            "options": {"baseURL": f"{self.bench.url}/v1", "apiKey": "x"},
            "models": {"mock-model": {"name": "Mock", "limit": limit}},
        }
        config: Json = {
            "provider": {"mock": provider},
            "model": "mock/mock-model",
            "small_model": "mock/mock-model",
            "permission": {"*": "allow"},
            "autoupdate": False,
            "share": "disabled",
        }
        if self.plugin:
            config["plugin"] = [self.plugin.as_uri()]
        path = self.bench.folder / "opencode.json"
        path.write_text(json.dumps(config))
        settings = {
            "OPENCODE_CONFIG": str(path),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "npm_config_fetch_retries": "0",
        }
        command: list[str | Path] = [program("opencode"), "run", "--format", "json", *options, prompt]
        return self.bench.run(command, settings | dict(env or {}), self.workspace)

    def stored(self, session: str) -> str:
        """The session as opencode keeps it, exported by opencode itself."""
        done = self.bench.run([program("opencode"), "export", session], {}, self.workspace)
        return done.out


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """Claude Code, its state in the bench's folder."""

    bench: Bench
    workspace: Path

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("Bash", {"command": command, "description": "work"})

    def run(self, prompt: str, *options: str) -> Done:
        """One `claude -p`."""
        env = {
            "ANTHROPIC_BASE_URL": self.bench.url,
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "CLAUDE_CONFIG_DIR": str(self.bench.folder / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        flags = ["--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]
        return self.bench.run([program("claude"), "-p", prompt, *flags, *options], env, self.workspace)

    def stored(self) -> str:
        """The session files."""
        return _files(self.bench.folder / "claude" / "projects", "*.jsonl")


@dataclass(frozen=True, slots=True)
class Codex:
    """Codex, its state in the bench's folder; `settings` are lines of its config.toml."""

    bench: Bench
    workspace: Path
    settings: Sequence[str] = ()

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("exec_command", {"cmd": command})

    def run(self, prompt: str, *command: str) -> Done:
        """One `codex exec`; `command` may be `resume --last`."""
        home = self.bench.folder / "codex"
        home.mkdir(exist_ok=True)
        lines = [
            'model = "mock-model"',
            'model_provider = "mock"',
            'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"',
            "check_for_update_on_startup = false",
            *self.settings,
            "[analytics]",
            "enabled = false",
            "[model_providers.mock]",
            'name = "Mock"',
            f'base_url = "{self.bench.url}/v1"',
            'env_key = "MOCK_KEY"',
            'wire_api = "responses"',
        ]
        (home / "config.toml").write_text("\n".join(lines))
        argv: list[str | Path] = [program("codex"), "exec", *command, "--json", "--skip-git-repo-check", prompt]
        return self.bench.run(argv, {"CODEX_HOME": str(home), "MOCK_KEY": "x"}, self.workspace)

    def stored(self) -> str:
        """The session files."""
        return _files(self.bench.folder / "codex" / "sessions", "*.jsonl")


def _files(folder: Path, pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob(pattern)))


@dataclass(frozen=True, slots=True)
class MiniSweAgent:
    """mini-swe-agent; its agent ends by a command."""

    bench: Bench
    workspace: Path
    END = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("bash", {"command": command})

    def run(self, prompt: str) -> Done:
        """One `mini`."""
        mini = program("mini-swe-agent").with_name("mini")
        settings = ["-c", "mini.yaml", "-c", f"model.model_kwargs.api_base={self.bench.url}/v1"]
        if self.bench.adapter:
            settings += ["--model-class", "contextrender.adapters.mini_swe_agent.ContextRenderModel"]
        argv: list[str | Path] = [mini, "-y", "--exit-immediately", *settings, "-m", "openai/mock-model", "-t", prompt]
        env = {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "OPENAI_API_KEY": "sk-one",
            "MSWEA_GLOBAL_CONFIG_DIR": str(self.bench.folder / "mini"),
            **self.bench.adapter_env,
        }
        return self.bench.run([*argv, "-o", self.trajectory], env, self.workspace)

    @property
    def trajectory(self) -> Path:
        """The session file."""
        return self.bench.folder / "mini.traj.json"


@dataclass(frozen=True, slots=True)
class Hermes:
    """Hermes Agent, its state in the bench's folder."""

    bench: Bench
    workspace: Path

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("terminal", {"command": command})

    def run(self, prompt: str, *options: str) -> Done:
        """One `hermes chat`."""
        home = self.bench.folder / "hermes"
        home.mkdir(exist_ok=True)
        model = {"provider": "custom", "base_url": f"{self.bench.url}/v1", "api_key": "sk-one", "default": "mock-model"}
        config: Json = {"model": model}
        if self.bench.adapter:
            shutil.copytree(HERMES_PLUGIN, home / "plugins" / "contextrender", dirs_exist_ok=True)
            config["plugins"] = {"enabled": ["contextrender"]}
        (home / "config.yaml").write_text(json.dumps(config))
        env = {"HERMES_HOME": str(home), "OPENAI_API_KEY": "sk-one", **self.bench.adapter_env}
        argv: list[str | Path] = [program("hermes").with_name("hermes"), "chat", "-Q", "--yolo", *options, "-q", prompt]
        return self.bench.run(argv, env, self.workspace)


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """OpenClaw's one-shot agent, its state in the bench's folder."""

    bench: Bench
    workspace: Path

    @staticmethod
    def shell(command: str) -> Use:
        """A call of its shell tool."""
        return Use("exec", {"command": command})

    def run(self, prompt: str) -> Done:
        """One `openclaw agent exec`."""
        model: Json = {"id": "mock-model", "name": "Mock", "reasoning": False, "input": ["text"]}
        model |= {"cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)}
        model |= {"contextWindow": 128_000, "maxTokens": 4_096}
        provider = {"baseUrl": f"{self.bench.url}/v1", "apiKey": "sk-one", "api": "openai-completions"}
        config = {
            "models": {"mode": "replace", "providers": {"mock": {**provider, "models": [model]}}},
            "agents": {"defaults": {"model": {"primary": "mock/mock-model"}, "workspace": str(self.workspace)}},
        }
        path = self.bench.folder / "openclaw.json"
        path.write_text(json.dumps(config))
        state = self.bench.folder / "openclaw"
        state.mkdir(exist_ok=True)
        flags: list[str | Path] = ["--config", path, "--model", "mock/mock-model", "--state-dir", state, "--json"]
        env = {"PATH": f"{program('node24').parent}{os.pathsep}{os.environ['PATH']}"}
        return self.bench.run([program("openclaw"), "agent", "exec", *flags, prompt], env, self.workspace)


@dataclass(frozen=True, slots=True)
class MetaAre:
    """Meta's Agents Research Environments: its agent speaks a text protocol, without tools in its requests."""

    bench: Bench
    workspace: Path
    KEY = "transferring the pdf"

    @staticmethod
    def step(thought: str, tool: str, **arguments: object) -> Step:
        """A step that calls a tool."""
        action = json.dumps({"action": tool, "action_input": arguments})
        return Step(f"Thought: {thought}\nAction:\n{action}<end_action>")

    def run(self, path: str = "") -> Done:
        """One `are-run` of the tutorial; `path` stands before `/v1` in the endpoint."""
        run = program("are").with_name("are-run")
        argv: list[str | Path] = [run, "-s", "scenario_tutorial", "-a", "default", "--provider", "local"]
        where = ["--endpoint", f"{self.bench.url}{path}/v1", "--model", "openai/mock-model", "-e"]
        env = {"OPENAI_API_KEY": "sk-one", "HF_HUB_OFFLINE": "1"}
        return self.bench.run([*argv, *where, "--output_dir", self.workspace], env, self.workspace)

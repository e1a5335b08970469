"""LiteLLM's gateway as the proxy's client, and as what the proxy talks to."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients import work
from tests.clients.harness import BUDGET, Bench, serving
from tests.clients.install import program
from tests.clients.model import Use
from tests.clients.offline import Offline
from tests.clients.rules import assert_kept_to_the_rules, assert_one_session, assert_within, records_read, records_seen

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.more_clients]
HOOK = "contextrender.adapters.litellm.hook"
AGENT = Path(__file__).parent / "agents" / "sdks.py"
KEY = f"sk-{secrets.token_hex(32)}"


def shell(command: str) -> Use:
    return Use("shell", {"command": command})


@contextmanager
def gateway(place: Offline, folder: Path, behind: str, adapter: Mapping[str, str] | None = None) -> Iterator[str]:
    """LiteLLM's server in front of `behind`, which it takes for OpenAI; its URL. `adapter`: with our hook."""
    port = place.free_port()
    model = {"model": "openai/mock-model", "api_base": f"{behind}/v1", "api_key": "sk-two"}
    config = folder / "litellm.json"
    config.write_text(
        json.dumps(
            {
                "model_list": [{"model_name": "mock-model", "litellm_params": model}],
                "general_settings": {"forward_client_headers_to_llm_api": True},
                "litellm_settings": {"telemetry": False, **({"callbacks": HOOK} if adapter else {})},
            }
        )
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    env |= {"LITELLM_MASTER_KEY": KEY, **(adapter or {})}
    litellm = program("litellm").with_name("litellm")
    argv: list[str | Path] = [litellm, "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    with serving(place, folder, argv, env, port, 120):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_as_the_client(tmp_path: Path, wire: str) -> None:
    """The agent talks to LiteLLM in either format; LiteLLM talks to the proxy as to OpenAI."""
    workspace = work.make_workspace(tmp_path / "work")
    with (
        Bench(tmp_path, {work.KEY: work.script(shell)}) as bench,
        gateway(bench.place, tmp_path, bench.url) as url,
    ):
        done = bench.run([program("sdks"), AGENT, wire, "whole", url, work.TASK], {"API_KEY": KEY}, workspace)
        assert done.out.strip() == work.FINAL
        turns = bench.turns(work.KEY)
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_kept_to_the_rules(turns, BUDGET)
        assert_one_session(turns[1:])
        assert records_seen(turns).omitted


@pytest.mark.parametrize("stream", ["stream", "whole"])
def test_as_the_provider(tmp_path: Path, stream: str) -> None:
    workspace = work.make_workspace(tmp_path / "work")
    with Bench(tmp_path, {work.KEY: work.script(shell)}, gateway=gateway) as bench:
        done = bench.run([program("sdks"), AGENT, "chat", stream, bench.url, work.TASK], {"API_KEY": KEY}, workspace)
        assert done.out.strip() == work.FINAL
        turns = bench.turns(work.KEY)
        assert (workspace / "refund.txt").read_text() == f"refunded {work.order_of(work.OLD)}\n"
        assert len(turns) == work.RECORDS + 3
        assert_one_session(turns[1:])
        assert records_seen(turns).omitted


@pytest.mark.parametrize("wire", ["chat", "messages"])
def test_with_our_hook(tmp_path: Path, wire: str) -> None:
    """LiteLLM renders each request before it asks the provider; no proxy of ours anywhere."""
    workspace = work.make_workspace(tmp_path / "work")
    with (
        Bench(tmp_path, {work.KEY: work.script(shell)}, adapter=True) as bench,
        gateway(bench.place, tmp_path, bench.url, bench.adapter_env) as url,
    ):
        done = bench.run([program("sdks"), AGENT, wire, "whole", url, work.TASK], {"API_KEY": KEY}, workspace)
        assert done.out.strip() == work.FINAL
        turns = bench.turns(work.KEY)
        assert len(turns) == work.RECORDS + 3
        assert_within(turns, BUDGET)
        seen = records_read(turns)
        assert seen.omitted
        assert work.OLD in seen.restored

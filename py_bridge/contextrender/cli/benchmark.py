"""`contextrender benchmark`: agent runs with a model in the loop, each method managing their context."""

import json
import os
from contextlib import ExitStack
from pathlib import Path

import click

NAMES = ("world", "qa", "appworld-test_normal", "appworld-test_challenge")
DEFAULT_SELECTORS = "full,prune,paper,default"


@click.command("benchmark")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the runs.")
@click.option("--model", default="scripted", show_default=True, help="Model name; `scripted` needs no endpoint.")
@click.option("--base-url", help="OpenAI-compatible endpoint, such as https://api.openai.com/v1.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable that holds the key.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds a model call may take.")
@click.option("--budget", default=6000, show_default=True, type=click.IntRange(min=1), help="History tokens.")
@click.option("--selectors", default=DEFAULT_SELECTORS, show_default=True, help="Names, with commas.")
@click.option("--embedder", default="wordllama", show_default=True, help="wordllama, hash, litellm:<model>.")
@click.option("--tasks", type=click.IntRange(min=1), help="Only the first so many tasks.")
def command(
    name: str,
    out: Path,
    model: str,
    base_url: str | None,
    api_key_env: str,
    timeout: float,
    budget: int,
    selectors: str,
    embedder: str,
    tasks: int | None,
) -> None:
    """Run benchmark NAME with every selector: scores, tokens and costs (paper Tables 1, 6–8).

    The sampling settings are the paper's (temperature 0, top-p 1, seed 42). A campaign that stopped goes on where it
    was when the same command is given again.
    """
    import logging

    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from contextrender.baselines.registry import Settings, check_selector
    from contextrender.benchmarks import campaign as runs
    from contextrender.benchmarks.app_world import AppWorldInSmall
    from contextrender.benchmarks.appworld import AppWorld
    from contextrender.benchmarks.model import Endpoint
    from contextrender.benchmarks.questions import EightQuestions
    from contextrender.benchmarks.scripted import MODEL, serve
    from contextrender.benchmarks.task import Benchmark
    from contextrender.embeddings import Embeddings

    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line a model call otherwise
    names = tuple(dict.fromkeys(part.strip() for part in selectors.split(",") if part.strip()))
    for selector in names:
        check_selector(selector)
    Embeddings(embedder)
    benchmark: Benchmark
    match name:
        case "world":
            benchmark = AppWorldInSmall()
        case "qa":
            benchmark = EightQuestions()
        case _:
            benchmark = AppWorld(name.removeprefix("appworld-"))
    scripted = model == MODEL and base_url is None
    if scripted and name.startswith("appworld"):
        raise click.UsageError(f"{name} has no scripted agent: give --model and --base-url")
    if not scripted and base_url is None:
        raise click.UsageError("a model needs an endpoint: give --base-url")
    ids = tuple(benchmark.task_ids()[:tasks])
    with ExitStack() as stack:
        url = stack.enter_context(serve(benchmark)) if scripted else str(base_url)
        endpoint = Endpoint(model, url, os.environ.get(api_key_env) or "none", timeout)
        campaign = runs.Campaign(benchmark, names, endpoint, Settings(budget), embedder, ids)
        rows = runs.prepare(campaign, out)
        wanted = {(task, selector) for task in ids for selector in names}
        finished = sum((row["task"], row["selector"]) in wanted for row in rows)
        with Progress(transient=True) as progress:
            bar = progress.add_task("running", total=len(wanted), completed=finished)
            for row in runs.run_campaign(campaign, out, rows):
                rows.append(row)
                progress.advance(bar)
    summary = runs.summarise([row for row in rows if (row["task"], row["selector"]) in wanted], budget)
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    table = Table(title=f"{name}, {len(ids)} tasks, model {model}, B = {budget:,}, embedder {embedder}")
    for heading in ("selector", benchmark.metric, "turns", "over B", "P", "O", "E", "fixed ρ", "real cache"):
        table.add_column(heading, justify="left" if heading == "selector" else "right")
    for selector, found in summary.items():
        ratios = [found["vs_full_fixed_rate"], found["vs_full_real_cache"]]
        table.add_row(
            selector,
            f"{found['score']:.1f}",
            f"{found['turns']:,}",
            str(found["over_budget"]),
            *(f"{found[part] / 1000:,.0f}k" for part in ("prompt_tokens", "output_tokens", "embedding_tokens")),
            *("–" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
        )
    console = Console()
    console.print(table)
    console.print(f"P, O, E and costs (full history = 1): the tasks whose full history passes B. Runs: {out}")

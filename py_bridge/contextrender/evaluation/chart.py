"""Recall against real cost, a line a selector, a point a budget; the frontier drawn under them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Points = Mapping[str, Sequence[Mapping[str, Any]]]
"""Selector -> a row a budget with `budget`, `recall`, `vs_full_real_cache` (summary.frontier)."""

OURS = {"default": "tab:red", "auto": "tab:orange", "default@every_call": "tab:purple", "paper": "tab:blue"}
SUFFIXES = (".png", ".svg")


def pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The (cost, recall) points that no other beats in both, from the cheapest on."""
    best: list[tuple[float, float]] = []
    for cost, recall in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or recall > best[-1][1]:
            best.append((cost, recall))
    return best


def spaced(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions of labels, in the order given, moved as little as needed to stand `gap` apart between two bounds."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    placed = [0.0] * len(wanted)
    edge = low
    for index in order:
        placed[index] = max(wanted[index], edge)
        edge = placed[index] + gap
    edge = high
    for index in reversed(order):
        placed[index] = min(placed[index], edge)
        edge = placed[index] - gap
    return placed


def draw(points: Points, labels: Mapping[str, str], path: Path, title: str = "") -> None:
    """Write the chart, PNG or SVG by the path's suffix."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "contextrender"  # the same figures give the same bytes
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(10.5, 6.2), layout="constrained")
    lines = {name: [(row["vs_full_real_cache"], row["recall"]) for row in rows] for name, rows in points.items()}
    managed = {name: line for name, line in lines.items() if name != "full"}
    edge = pareto([point for name, line in managed.items() if name != "clairvoyant" for point in line])
    if edge:
        axes.step(*zip(*edge, strict=True), where="post", color="0.85", linewidth=7, zorder=1, solid_joinstyle="round")
        axes.annotate("frontier", edge[len(edge) // 2], (-38, 12), textcoords="offset points", color="0.55", fontsize=8)
    greys = iter(mpl.colormaps["tab20b"].colors * 2 + mpl.colormaps["tab20c"].colors)  # type: ignore[attr-defined]
    colours: dict[str, Any] = {}
    for name, line in managed.items():
        mine = OURS.get(name)
        colours[name] = mine or ("0.45" if name == "clairvoyant" else next(greys))
        costs, recalls = zip(*line, strict=True)
        axes.plot(costs, recalls, marker="o", markersize=4.5 if mine else 3, linewidth=2.2 if mine else 1.1,
                  color=colours[name], linestyle="--" if name == "clairvoyant" else "-",
                  zorder=3 if mine else 2)  # fmt: skip
    main = next((name for name in ("default", "paper") if name in points), None)
    for row in points[main] if main else ():
        axes.annotate(f"{row['budget'] / 1000:g}K", (row["vs_full_real_cache"], row["recall"]), (4, -11),
                      textcoords="offset points", fontsize=7, color=colours[str(main)])  # fmt: skip
    axes.scatter([1], [100], marker="*", s=110, color="black", zorder=4)
    axes.annotate("full history", (1, 100), (5, 5), textcoords="offset points", fontsize=8)
    axes.axvline(1, color="0.9", linewidth=1, zorder=0)
    axes.set_xlabel("cost relative to full history, each method with the prompt cache it really gets")
    axes.set_ylabel("later-used results shown in full, % (App. B.4)")
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    low, high = axes.get_ylim()
    starts = {name: line[0] for name, line in managed.items()}
    left, right = axes.get_xlim()
    axes.set_xlim(left - 0.28 * (right - left), right)
    names = list(starts)
    heights = spaced([starts[name][1] for name in names], (high - low) / 34, low, high)
    for name, height in zip(names, heights, strict=True):
        weight = "bold" if name in OURS else "normal"
        leader = {"arrowstyle": "-", "color": colours[name], "linewidth": 0.5, "alpha": 0.6}
        axes.annotate(labels.get(name, name), starts[name], (left - 0.04 * (right - left), height), textcoords="data",
                      fontsize=8, color=colours[name], weight=weight, ha="right", va="center",
                      arrowprops=leader)  # fmt: skip
    figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)

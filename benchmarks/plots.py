"""The plots of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import Outcome, Run
from benchmarks.summary import best_peer, predicted_s, share
from morello.base.wording import counted


def draw(run: Run, folder: Path) -> list[Path]:
    """Plot ratios by size, shares of the machine's peak, and predicted against measured times.

    Returns the files. Raises `ImportError` without matplotlib.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    paths = []
    keys = dict.fromkeys((o.group, o.threads) for o in run.outcomes)
    for name, threads in sorted({(kind, n) for kind in ("ratios", "shares") for _, n in keys}):
        groups = [g for g, n in keys if n == threads]
        count = len(groups)
        rows = -(-count // 3)
        size = (16, 4.2 * rows)
        figure, grid = plt.subplots(rows, min(3, count), figsize=size, squeeze=False)
        for axes, group in zip(grid.flat, groups, strict=False):
            here = [o for o in run.outcomes if (o.group, o.threads) == (group, threads)]
            (_ratios if name == "ratios" else _shares)(axes, here, run)
            axes.set_title(f"{group}, {counted(threads, 'thread')}")
            axes.set_xticks(range(len(here)), [o.size for o in here], rotation=60, fontsize=7)
        for axes in list(grid.flat)[count:]:
            axes.set_visible(False)
        paths.append(_write(figure, folder / f"{name}-{threads}.png", plt))
    figure, axes = plt.subplots(figsize=(7, 7))
    _predictions(axes, run)
    paths.append(_write(figure, folder / "predicted.png", plt))
    return paths


def _ratios(axes: Any, outcomes: Sequence[Outcome], run: Run) -> None:
    for i, peer in enumerate(dict.fromkeys(p for o in run.outcomes for p in o.ratios)):
        points = [(at, o.ratios[peer]) for at, o in enumerate(outcomes) if peer in o.ratios]
        if not points:
            continue
        axes.plot(*zip(*points, strict=True), marker="o", color=f"C{i}", label=peer)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_yscale("log")
    axes.set_ylabel("peer's time / ours")
    axes.legend(fontsize=7)


def _shares(axes: Any, outcomes: Sequence[Outcome], run: Run) -> None:
    for at, outcome in enumerate(outcomes):
        for offset, entry, colour in (
            (-0.2, outcome.ours("C"), "C0"),
            (0.2, best_peer(outcome), "C7"),
        ):
            if entry is not None:
                height = 100 * share(outcome, entry, run.machine)
                axes.bar(at + offset, height, 0.4, color=colour)
    axes.axhline(100, color="black", linewidth=1)
    axes.set_ylabel("% of the machine: ours blue, the best peer grey")


def _predictions(axes: Any, run: Run) -> None:
    measured = []
    for i, group in enumerate(dict.fromkeys(o.group for o in run.outcomes)):
        points = [
            (predicted, ours.median_s)
            for o in run.outcomes
            if o.group == group
            and (ours := o.ours("C"))
            and (predicted := predicted_s(o, run.machine))
        ]
        measured += [seconds for _, seconds in points]
        if points:
            marker = "osD^v<>"[i // 10 % 7]
            axes.scatter(*zip(*points, strict=True), label=group, marker=marker, color=f"C{i % 10}")
    if measured:
        ends = min(measured), max(measured)
        axes.plot(ends, ends, color="black", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="predicted, s", ylabel="measured, s")
    axes.legend(fontsize=7)


def _write(figure: Any, path: Path, plt: Any) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path

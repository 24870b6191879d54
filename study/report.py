"""The study as Markdown tables and plots, written between markers in a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from morello.base.errors import CorpusError
from morello.learn.evaluate import TOPS, Score
from study.experiments import ExperimentResult

BEGIN, END = "<!-- study: begin -->", "<!-- study: end -->"
"""The markers around the part of the page that is replaced."""

TITLES = {
    "models": "Models, on Specs that they have not seen",
    "reductions": "Reductions of a graph to a number",
    "losses": "Losses",
    "features": "Features and graphs",
    "curve": "Learning curve",
    "limits": "Limits of models",
    "machines": "On another machine",
}
CURVE, REGRETS = "learning-curve.svg", "regret.svg"


def write_report(page: Path, results: Sequence[ExperimentResult], about: str) -> None:
    """Write tables into a page between its markers, and plots into its folder.

    Raises `CorpusError` if the page has no markers.
    """
    try:
        text = page.read_text()
    except OSError as error:
        raise CorpusError(f"cannot read {page}: {error.strerror}.") from None
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise CorpusError(f"{page} has no lines {BEGIN} and {END} to write between.")
    _plot(page.parent, results)
    page.write_text(f"{before}{BEGIN}\n\n{about}\n\n{_tables(results)}\n{END}{after}")


def _tables(results: Sequence[ExperimentResult]) -> str:
    lines = []
    for table, title in TITLES.items():
        rows = [result for result in results if result.trial.table == table]
        if not rows:
            continue
        lines += [f"### {title}", "", *table_of(rows), ""]
        if table == "models":
            lines += [f"![Regret of measuring the first programs]({REGRETS})", ""]
        if table == "curve":
            lines += [f"![Tau by the number of training Specs]({CURVE})", ""]
    return "\n".join(lines)


def table_of(results: Sequence[ExperimentResult]) -> list[str]:
    """The lines of a Markdown table."""
    tops = " | ".join(f"top {count} %" for count in TOPS)
    lines = [
        f"| held out | model | tau | APE % | MAPE % | {tops} | reranked % | APE / affine's |",
        f"|---|---|---|---|---|{'---|' * len(TOPS)}---|---|",
    ]
    for result in results:
        name, seeds = result.trial.name, len(result.each)
        if seeds > 1:
            lines.append(_spread(f"{name}, {seeds} seeds", result.each))
            name = f"{name}, mean of {seeds}"
        lines.append(_row(name, result.mean))
    return lines


def _row(name: str, score: Score) -> str:
    figures = (
        _figure(score.tau, 3),
        _figure(score.ape, 1),
        _figure(score.mape, 1),
        *(f"{score.regrets[count]:.1f}" for count in TOPS),
        _figure(score.reranked, 1),
        _figure(score.relative, 2),
    )
    return f"| {score.protocol} | {name} | {' | '.join(figures)} |"


def _figure(figure: tuple[float, float, float], places: int) -> str:
    value, low, high = figure
    if isnan(value):
        return "-"
    return f"{value:.{places}f} ({low:.{places}f}-{high:.{places}f})"


def _spread(name: str, scores: Sequence[Score]) -> str:
    """The means over seeds, and the least and greatest."""
    columns = [
        [score.tau[0] for score in scores],
        [score.ape[0] for score in scores],
        [score.mape[0] for score in scores],
        *([score.regrets[count] for score in scores] for count in TOPS),
        [score.reranked[0] for score in scores],
        [score.relative[0] for score in scores],
    ]
    cells = []
    for number, column in enumerate(columns):
        places = 1 if number else 3
        mean = sum(column) / len(column)
        cells.append(f"{mean:.{places}f} [{min(column):.{places}f}-{max(column):.{places}f}]")
    return f"| {scores[0].protocol} | {name} | {' | '.join(cells)} |"


def _plot(folder: Path, results: Sequence[ExperimentResult]) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "morello"  # so that the same plots are the same files
    curve = [result for result in results if result.trial.table == "curve"]
    if curve:
        figure = Figure(figsize=(5, 3))
        axes = figure.subplots()
        parts = [100 * result.trial.part for result in curve]
        axes.plot(parts, [result.mean.tau[0] for result in curve], marker="o")
        axes.set(xlabel="training Specs (%)", ylabel="tau", xscale="log")
        _save(figure, folder / CURVE)
    models = [
        result
        for result in results
        if result.trial.table == "models" and result.trial.protocol == "random"
    ]
    if models:
        figure = Figure(figsize=(5, 3))
        axes = figure.subplots()
        for result in models:
            regrets = [result.mean.regrets[count] for count in TOPS]
            axes.plot(TOPS, regrets, marker="o", label=result.trial.name)
        axes.set(xlabel="programs measured", ylabel="regret (%)", xscale="log")
        axes.legend(fontsize="small")
        _save(figure, folder / REGRETS)


def _save(figure: Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None})

"""Which pairs of programs are put in the wrong order: by how far apart their times are.

    python -m study.distances CORPUS... [--programs N]

Kendall's tau counts all pairs alike. Of each distance, the table has the part of the pairs, tau of
these pairs by cost, by a network that has not seen the Spec, and by measuring again, and how much
of the network's tau is lost there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from morello.learn.affine import Affine
from morello.learn.evaluate import Floats
from study.command import run_on_corpora
from study.experiments import BEST
from study.held_out import Predicted, held_out
from study.limits import halves_of

EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""The least differences of log times of each class of pairs."""


def pairs_by_distance(predicted: Floats, seconds: Floats, noise: float) -> Floats:
    """Of each class of pairs of a Spec, its part, and concordant minus discordant ones (2, n).

    Both are parts of all pairs whose log times differ by more than `noise`.
    """
    above = np.triu_indices(len(seconds), 1)
    logs = np.log(seconds)
    slower = np.subtract.outer(logs, logs)[above]
    signs = np.sign(np.subtract.outer(predicted, predicted)[above]) * np.sign(slower)
    counted = np.abs(slower) > noise
    classes = np.digitize(np.abs(slower[counted]), EDGES) - 1
    sums = [np.bincount(classes, weights, len(EDGES)) for weights in (None, signs[counted])]
    both: Floats = np.array(sums, np.float64) / max(1, counted.sum())
    return both


def table(name: str, specs: Iterable[Predicted]) -> list[str]:
    """Lines of Markdown for the Specs of a corpus."""
    rows = []
    for spec in specs:
        group, noise = spec.group, spec.measured.noise
        odd, even = halves_of(spec.measured)
        rows.append(
            [
                pairs_by_distance(Affine().predict(group), group.seconds, noise),
                pairs_by_distance(spec.logarithms, group.seconds, noise),
                pairs_by_distance(np.log(odd), even, noise),
            ]
        )
    parts, agreed = np.nanmean(rows, axis=0).swapaxes(0, 1)
    lines = [
        f"| {name}, {len(rows)} Specs: times apart | pairs | cost | network | again | lost |",
        "|---|---|---|---|---|---|",
    ]
    tau = agreed / np.maximum(parts, 1e-12)
    for n, (low, high) in enumerate(zip(EDGES, [*EDGES[1:], None], strict=True)):
        distance = f"{low:.0%} to {high:.0%}" if high else f"more than {low:.0%}"
        each = " | ".join(f"{value:.2f}" for value in tau[:, n])
        lost = parts[1, n] - agreed[1, n]
        lines.append(f"| {distance} | {parts[1, n]:.0%} | {each} | {lost:.3f} |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_on_corpora("study.distances", "Judge the order of pairs by distance.", _judge, argv)


def _judge(corpora: Sequence[Path], most: int | None) -> None:
    specs = [*held_out(corpora, BEST, most=most)]
    for corpus in dict.fromkeys(spec.corpus for spec in specs):
        print("\n".join(table(corpus, [spec for spec in specs if spec.corpus == corpus])))


if __name__ == "__main__":
    sys.exit(main())

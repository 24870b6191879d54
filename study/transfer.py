"""Transfer: predictions for a machine that a model has not seen, corrected by a minute there."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from morello.learn.adapt import fitted
from morello.learn.batches import Scale
from morello.learn.evaluate import Floats
from morello.learn.groups import ProgramGroup

MEASURED = 300
"""How many programs of the other machine correct a model: a minute of measuring."""


def corrected(
    logarithms: Sequence[Floats], groups: Sequence[ProgramGroup], scale: Scale, seed: int = 0
) -> list[Floats]:
    """Predicted log seconds of a machine's Specs, each half corrected by programs of the other.

    As `morello calibrate` does, with the features of programs at a model's scale. A single Spec is
    not corrected.
    """
    numbers = list(range(len(groups)))
    Random(seed).shuffle(numbers)
    halves = numbers[::2], numbers[1::2]
    features = [scale(group.configs).astype(np.float64) for group in groups]
    errors = [np.log(g.seconds) - known for g, known in zip(groups, logarithms, strict=True)]
    better = [*logarithms]
    for measured, held in (halves, halves[::-1]) if all(halves) else ():
        each = -(-MEASURED // len(measured))
        rows = {n: _some(len(errors[n]), each, seed) for n in measured}
        correction, _ = fitted(
            [features[n][rows[n]] for n in measured], [errors[n][rows[n]] for n in measured]
        )
        for n in held:
            better[n] = logarithms[n] + correction.of(features[n])
    return better


def _some(programs: int, count: int, seed: int) -> list[int]:
    """The numbers of a random sample of `count` of a Spec's programs."""
    return sorted(Random(seed).sample(range(programs), min(count, programs)))

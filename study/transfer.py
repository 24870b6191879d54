"""Transfer: how well models of other machines predict the programs of a machine.

Uncorrected, averaged with the affine cost, and corrected by some measured programs of the machine;
compared with a model trained there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np

from morello.learn.adapt import corrected
from morello.learn.affine import Affine
from morello.learn.evaluate import (
    Floats,
    Predictions,
    Score,
    judge,
    predictions,
    protocols,
    score,
)
from morello.learn.groups import ProgramGroup
from morello.learn.model import Model
from morello.learn.training import NetworkEstimator, Recipe
from study.groups import part_of

MEASURED = 300
"""How many programs of the other machine correct a model: a minute of measuring."""

PROTOCOL = "machine"


def compared(
    models: Mapping[str, Model], there: Sequence[ProgramGroup], seed: int = 0
) -> Iterator[Score]:
    """How well the programs of a machine are predicted by models that have not seen it.

    By the affine cost, by each of these models (by itself, averaged with the cost, and corrected by
    programs of other Specs that were measured there), and at last by one that is trained there,
    with each Spec held out.
    """
    affine = {n: Affine().predict(group) for n, group in enumerate(there)}
    by_cost = judge(there, affine, absolute=True)

    def scored(name: str, predicted: Predictions) -> Score:
        return score(PROTOCOL, name, judge(there, predicted, absolute=True), by_cost)

    yield scored("affine", affine)
    for name, model in models.items():
        plain = {n: _seconds(model, group) for n, group in enumerate(there)}
        better = _corrected(model, there, plain, seed)
        yield scored(name, plain)
        yield scored(f"{name}, and cost", _averaged(plain, affine))
        yield scored(f"{name}, corrected", better)
        yield scored(f"{name}, corrected, and cost", _averaged(better, affine))
    splits = protocols(there, seed)["random"]
    yield scored(
        "trained there", predictions(lambda: NetworkEstimator(Recipe()), there, splits, seed)
    )


def _seconds(model: Model, group: ProgramGroup) -> Floats:
    seconds: Floats = model.log_cycles(group) - np.log(group.hertz)
    return seconds


def _averaged(some: Predictions, others: Predictions) -> Predictions:
    return {number: (some[number] + others[number]) / 2 for number in some}


def _corrected(
    model: Model, groups: Sequence[ProgramGroup], plain: Predictions, seed: int
) -> Predictions:
    """Correct the predictions of each half of the Specs by programs of the other half."""
    numbers = list(range(len(groups)))
    Random(seed).shuffle(numbers)
    halves = numbers[::2], numbers[1::2]
    predicted: dict[int, Floats] = {}
    for measured, held in (halves, halves[::-1]):
        each = -(-MEASURED // len(measured))
        correction, _ = corrected(model, [_some(groups[n], each, seed) for n in measured])
        for n in held:
            more = correction.of(model.configs(groups[n].configs).astype(np.float64))
            predicted[n] = plain[n] + more
    return predicted


def _some(group: ProgramGroup, count: int, seed: int) -> ProgramGroup:
    """A random sample of `count` programs of a Spec."""
    chosen = sorted(Random(seed).sample(range(len(group.seconds)), min(count, len(group.seconds))))
    return part_of(group, chosen)

"""Transfer: how well a model of one machine predicts the programs of another.

Uncorrected, corrected by some measured programs of the other machine, and compared with a model
trained there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from morello.learn.groups import ProgramGroup, part_of
from morello.learn.model import Model
from morello.learn.training import NetworkEstimator, Recipe, model_of

MEASURED = 300
"""How many programs of the other machine correct a model: a minute of measuring."""

PROTOCOL = "machine"


def transferred(
    here: Sequence[ProgramGroup],
    there: Sequence[ProgramGroup],
    rest: Sequence[ProgramGroup] = (),
    seed: int = 0,
) -> Iterator[Score]:
    """How well programs of another machine are predicted, each of its Specs held out.

    By the affine cost, a model of this machine, one of the `rest` of the machines as well, both
    averaged with the cost, the first one corrected, and one trained there.
    """
    model = model_of(here, Recipe(), seed)
    affine = {n: Affine().predict(group) for n, group in enumerate(there)}
    trained_here = {n: _seconds(model, group) for n, group in enumerate(there)}
    predictors: dict[str, Callable[[], Predictions]] = {
        "affine": lambda: affine,
        "trained here": lambda: trained_here,
        "trained here, and cost": lambda: _averaged(trained_here, affine),
        "corrected": lambda: _corrected(model, there, seed),
        "trained there": lambda: predictions(
            lambda: NetworkEstimator(Recipe()), there, protocols(there, seed)["random"], seed
        ),
    }
    if rest:
        wider = model_of([*here, *rest], Recipe(), seed)
        of_all = {n: _seconds(wider, group) for n, group in enumerate(there)}
        predictors["trained on the others"] = lambda: of_all
        predictors["trained on the others, and cost"] = lambda: _averaged(of_all, affine)
    by_cost = judge(there, affine, absolute=True)
    for name, predict in predictors.items():
        yield score(PROTOCOL, name, judge(there, predict(), absolute=True), by_cost)


def _seconds(model: Model, group: ProgramGroup) -> Floats:
    seconds: Floats = model.log_cycles(group) - np.log(group.hertz)
    return seconds


def _averaged(some: Predictions, others: Predictions) -> Predictions:
    return {number: (some[number] + others[number]) / 2 for number in some}


def _corrected(model: Model, groups: Sequence[ProgramGroup], seed: int) -> Predictions:
    """Predict each half of the Specs by the model corrected by programs of the other half."""
    numbers = list(range(len(groups)))
    Random(seed).shuffle(numbers)
    halves = numbers[::2], numbers[1::2]
    predicted: dict[int, Floats] = {}
    for measured, held in (halves, halves[::-1]):
        each = -(-MEASURED // len(measured))
        correction = corrected(model, [_some(groups[n], each, seed) for n in measured])
        for n in held:
            more = correction.of(model.configs(groups[n].configs).astype(np.float64))
            predicted[n] = _seconds(model, groups[n]) + more
    return predicted


def _some(group: ProgramGroup, count: int, seed: int) -> ProgramGroup:
    """A random sample of `count` programs of a Spec."""
    chosen = sorted(Random(seed).sample(range(len(group.seconds)), min(count, len(group.seconds))))
    return part_of(group, chosen)

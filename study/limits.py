"""Limits of any model: the noise of times, and how well features tell programs apart.

No model can rank programs better than a second measurement of them does. And a model trained on
half of a Spec's programs need not generalize to other shapes: its errors on the other half are due
to its features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from morello.learn.corpus import MeasuredSpec
from morello.learn.evaluate import Floats, Score, judge_one, score
from morello.learn.features import NODE_FEATURES, PROGRAM_FEATURES
from morello.learn.groups import ProgramGroup
from morello.learn.splits import TrainTestSplit
from study.groups import part_of

PROTOCOL = "programs"
"""Half of each Spec's programs are held out, not whole Specs."""

AGAIN = "again"
"""The least times of odd repeats predict those of even ones."""

LEAST_REPEATS = 2


def halved(
    groups: Sequence[ProgramGroup], seed: int
) -> tuple[list[ProgramGroup], list[TrainTestSplit]]:
    """Each group as two random halves of its programs, and splits that hold out each half once."""
    random = np.random.default_rng(seed)
    halves: tuple[list[ProgramGroup], list[ProgramGroup]] = [], []
    for group in groups:
        order = random.permutation(len(group.seconds))
        for number, half in enumerate(halves):
            half.append(part_of(group, sorted(order[number::2].tolist())))
    count = len(groups)
    first, second = tuple(range(count)), tuple(range(count, 2 * count))
    splits = [
        TrainTestSplit("second halves", first, second),
        TrainTestSplit("first halves", second, first),
    ]
    return [*halves[0], *halves[1]], splits


def timed_twice(measured: MeasuredSpec) -> npt.NDArray[np.bool_]:
    """Which of a Spec's programs have repeats enough for two halves."""
    missing = np.isnan(measured.repeats[:, :LEAST_REPEATS])
    timed: npt.NDArray[np.bool_] = missing.sum(axis=1) == 0
    return timed


def halves_of(measured: MeasuredSpec) -> tuple[Floats, Floats]:
    """The seconds of programs that are `timed_twice`, by their odd repeats and by the even ones."""
    repeats = measured.repeats[timed_twice(measured)]
    odd, even = (np.nanmin(repeats[:, first::2], axis=1) * 1e-9 for first in (1, 0))
    return odd, even


def measured_again(corpus: Iterable[MeasuredSpec]) -> Score:
    """How well half of the repeats predict the other half: the noise within one process."""
    judged = []
    for measured in corpus:
        odd, even = halves_of(measured)
        origins = measured.origins[timed_twice(measured)]
        judged.append(judge_one(measured, np.log(odd), even, origins, absolute=True))
    return score(AGAIN, "measured twice", judged)


def starting(*starts: str) -> frozenset[str]:
    """The features whose names begin with one of these."""
    return frozenset(
        name for name in (*NODE_FEATURES, *PROGRAM_FEATURES) if name.startswith(starts)
    )


def blinded(group: ProgramGroup, names: frozenset[str]) -> ProgramGroup:
    """The group with some features set to zero."""
    hidden = [
        np.array([feature in names for feature in features])
        for features in (NODE_FEATURES, PROGRAM_FEATURES)
    ]
    nodes, configs = group.nodes.copy(), group.configs.copy()
    nodes[:, hidden[0]] = 0.0
    configs[:, hidden[1]] = 0.0
    return replace(group, nodes=nodes, configs=configs)

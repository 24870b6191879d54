"""The measures of predictions, on numbers worked out by hand, and the splits they are held to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from morello.learn.metrics import ape, chosen, interval, mape, regret
from morello.learn.specs import interleaved
from morello.learn.splits import TrainTestSplit, by_family, by_spec

SECONDS = np.array([1.0, 2.0, 4.0, 8.0])


def test_regrets() -> None:
    predicted = np.array([3.0, 1.0, 2.0, 4.0])
    one, two = chosen(predicted, SECONDS), chosen(predicted, SECONDS, 3)
    assert one == (2.0, 1.0) and two == (1.0, 1.0)
    assert ape([one, (10.0, 8.0)]) == pytest.approx(100 * 3 / 9)
    assert regret([one, (10.0, 8.0)]) == pytest.approx(100 * (1 + 0.25) / 2)


def test_mape_is_of_kernels_that_take_long() -> None:
    seconds = np.array([1e-6, 1e-5, 1e-4])
    assert mape(seconds * np.array([9, 1.1, 0.7]), seconds) == pytest.approx(20.0)
    assert math.isnan(mape(seconds[:1], seconds[:1]))


def test_intervals_hold_the_mean_and_shrink() -> None:
    values = np.random.default_rng(0).normal(3.0, 1.0, 400)
    low, high = interval(400, lambda rows: float(values[rows].mean()))
    wide = interval(40, lambda rows: float(values[rows].mean()))
    assert low < 3.0 < high and 0.1 < high - low < 0.3 < wide[1] - wide[0]


FAMILIES, EXPRESSIONS = zip(*interleaved(), strict=True)


def check(splits: list[TrainTestSplit]) -> None:
    """Every Spec is held out once, and never learned from while it is."""
    held = [number for split in splits for number in split.test]
    assert sorted(held) == list(range(len(EXPRESSIONS)))
    for split in splits:
        assert sorted({*split.train, *split.test}) == list(range(len(EXPRESSIONS)))
        assert not {*split.train} & {*split.test}


@pytest.mark.parametrize("seed", [0, 1])
def test_folds_are_of_one_size_and_keep_near_shapes_together(seed: int) -> None:
    splits = list(by_spec(FAMILIES, EXPRESSIONS, 5, seed))
    check(splits)
    sizes = [len(split.test) for split in splits]
    assert len(sizes) == 5 and max(sizes) - min(sizes) <= 3
    near = [EXPRESSIONS.index(f"f32[{n},{n}] @ f32[{n},{n}]") for n in (64, 80, 96, 100, 128)]
    assert sum(bool({*split.test} & {*near}) for split in splits) == 1
    other = list(by_spec(FAMILIES, EXPRESSIONS, 5, seed + 1))
    assert [split.test for split in splits] != [split.test for split in other]


def test_families_are_held_out_whole() -> None:
    splits = list(by_family(FAMILIES))
    check(splits)
    for split in splits:
        assert {FAMILIES[n] for n in split.test} == {split.name}
        assert split.name not in {FAMILIES[n] for n in split.train}

"""Fits find what made the measurements, and judge themselves honestly."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from morello.measure.calibrate.fit import (
    MIN_FACTOR,
    Sample,
    cross_validated,
    fit,
    nonnegative,
    quality,
)
from morello.measure.calibrate.goals import FITTED, HELD_OUT
from morello.measure.calibrate.run import Check, judged
from morello.targets.cpu import host_cpu

NAMES = ("memory.per_line", "L2.per_run", "kernels.loads", "kernels.stores", "fork")
BEFORE = {"memory.per_line": 2.0, "L2.per_run": 1.0, "kernels.loads": 1.0, "kernels.stores": 1.0,
          "fork": 50.0}  # fmt: skip


def least_squares(matrix: np.ndarray, wanted: np.ndarray) -> float:
    """The least residual that x >= 0 leaves, by trying which of them are 0."""
    best = np.inf
    for kept in product([False, True], repeat=matrix.shape[1]):
        columns = np.flatnonzero(kept)
        x = np.zeros(matrix.shape[1])
        if len(columns):
            x[columns] = np.linalg.lstsq(matrix[:, columns], wanted, rcond=None)[0]
        if (x >= 0).all():
            best = min(best, float(np.sum((matrix @ x - wanted) ** 2)))
    return best


def test_nothing_negative_is_better() -> None:
    random = np.random.default_rng(0)
    zeros = 0
    for _ in range(30):
        matrix, wanted = random.normal(size=(9, 5)), random.normal(size=9)
        x = nonnegative(matrix, wanted)
        assert (x >= 0).all()
        zeros += int((x == 0).sum())
        residual = float(np.sum((matrix @ x - wanted) ** 2))
        assert residual == pytest.approx(least_squares(matrix, wanted), rel=1e-6)
    assert zeros > 10


def samples(
    truth: dict[str, float],
    count: int,
    goals: tuple[object, ...],
    noise: float = 0.0,
    seed: int = 0,
) -> list[Sample]:
    random, made = Random(seed), []
    for number in range(count):
        chosen = random.sample(NAMES, random.randint(1, 3))
        paid = {name: random.uniform(1, 5) / BEFORE[name] for name in chosen}
        cycles = sum(truth[name] * times for name, times in paid.items())
        made.append(
            Sample(goals[number % len(goals)], paid, cycles * random.lognormvariate(0, noise))
        )
    return made


TRUTH = {"memory.per_line": 3.0, "L2.per_run": 0.5, "kernels.loads": 2.5, "kernels.stores": 0.9,
         "fork": 80.0}  # fmt: skip


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_fit_finds_what_made_the_measurements(noise: float) -> None:
    found = fit(samples(TRUTH, 800, (0,), noise), BEFORE)
    assert found == pytest.approx(TRUTH, rel=0.05 + noise)


def test_a_few_measurements_that_are_far_off_do_little() -> None:
    measured = samples(TRUTH, 800, (0,))
    wild = [Sample(s.goal, s.paid, 10 * s.cycles) for s in measured[:40]]
    assert fit([*wild, *measured[40:]], BEFORE) == pytest.approx(TRUTH, rel=0.1)


def test_what_was_not_measured_stays() -> None:
    measured = [Sample(0, {"kernels.loads": 10.0}, 25.0)] * 300
    assert fit(measured, BEFORE) == pytest.approx(BEFORE | {"kernels.loads": 2.5}, rel=0.02)


def test_what_always_goes_together_is_scaled_together() -> None:
    measured = [Sample(0, {"kernels.loads": 5.0, "kernels.stores": 5.0}, 20.0)] * 30
    found = fit(measured, BEFORE)
    assert found["kernels.loads"] == pytest.approx(found["kernels.stores"])


def test_nothing_becomes_free() -> None:
    measured = [Sample(0, {"kernels.loads": 10.0}, 1e-6)] * 30
    assert fit(measured, BEFORE)["kernels.loads"] >= MIN_FACTOR * BEFORE["kernels.loads"] * 0.999


def test_quality() -> None:
    costs = {"fork": 1.0}
    one = [Sample("a", {"fork": 10.0}, 20.0), Sample("a", {"fork": 30.0}, 15.0)]
    two = [Sample("b", {"fork": 10.0}, 10.0), Sample("b", {"fork": 11.0}, 10.1)]  # as good as equal
    found = quality([*one, *two], costs)
    assert found.error == pytest.approx((2 * 2 * 1 * 11 / 10.1) ** (1 / 4))
    assert found.order == 0.0
    assert found.regret == pytest.approx((20 / 15) ** (1 / 2))


def test_a_better_fit_is_kept_and_a_worse_one_is_not() -> None:
    fitted = samples(TRUTH, 800, FITTED)
    good = judged([*fitted, *samples(TRUTH, 40, HELD_OUT, seed=1)], BEFORE, {}, host_cpu(), 4e9)
    assert good.better
    assert replace(good, checks=[Check("a", 1.0, 0.9), Check("b", 1.0, 1.02)]).better
    assert not replace(good, checks=[Check("a", 1.0, 0.9), Check("b", 1.0, 1.08)]).better
    assert not replace(good, checks=[Check("a", 1.0, 1.0), Check("b", 1.0, 1.02)]).better
    nine = [Check(f"f32[{n}]", 1.1, 1.0) for n in range(9)]
    faster = replace(good, checks=[*nine, Check("relu(f32[64])", 0.85, 1.0)])
    assert faster.drawbacks == [
        "choose a program less than 0.97 times as fast for relu(f32[64]) (0.85)"
    ]
    assert good.held_out[1].error < 1.05 < good.held_out[0].error
    # what is held out behaves as before, and not as what was fitted
    bad = judged([*fitted, *samples(BEFORE, 40, HELD_OUT, seed=1)], BEFORE, {}, host_cpu(), 4e9)
    assert bad.drawbacks[0] == "predict the programs held out no better"
    assert bad.held_out[0].error == pytest.approx(1.0) and bad.held_out[1].error > 1.1


def test_costs_that_choose_slower_programs_are_not_kept() -> None:
    """They predict better as a rule, and put the two programs of a goal in the wrong order."""
    fitted = [Sample(FITTED[0], {"kernels.loads": 10.0}, 20.0)] * 50
    pair = [
        Sample(HELD_OUT[0], {"kernels.loads": 10.0}, 20.0),
        Sample(HELD_OUT[0], {"kernels.stores": 12.0}, 40.0),
    ]
    found = judged([*fitted, *pair], BEFORE, {}, host_cpu(), 4e9)
    before, after = found.held_out
    assert before.order == 1.0 and after.order == 0.0
    assert after.error < before.error and not found.better


def test_a_fit_is_judged_by_goals_that_it_has_not_seen() -> None:
    """Times that no costs explain are fitted in vain; those of other costs are not."""
    known = samples(TRUTH, 60, FITTED)
    assert cross_validated(known, TRUTH) == pytest.approx((1.0, 1.0), abs=0.01)
    before, after = cross_validated(known, BEFORE)
    assert before > 1.02 * after

"""The study of refinements of the first choice."""

from __future__ import annotations

import numpy as np
import pytest

from morello.learn.predictors import LEARNED
from study.choices import LEAST, Proposed
from study.refinements import WEIGHTS, Candidate, after_second_stage, by_family, by_weight, table

SECONDS = np.geomspace(1.0, 2.0, LEAST)


def _proposed(predicted: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Proposed:
    """Programs of nearly one cost, of which the cheapest is the slowest."""
    return Proposed(np.linspace(1.0, 1.04, LEAST), SECONDS[::-1].copy(), predicted)


RIGHT, WRONG = (_proposed(sign * np.log(SECONDS[::-1])) for sign in (1, -1))


def test_an_exact_second_stage_finds_the_fastest() -> None:
    for proposed in RIGHT, WRONG:
        assert after_second_stage(proposed, 0.0) == 0.0
        assert 0.0 < after_second_stage(proposed, 0.5) < np.log(2)
    far = Proposed(np.array([1.0, 1.01 * LEARNED.slack]), np.array([2.0, 1.0]), np.zeros(2))
    assert after_second_stage(far, 0.0) == pytest.approx(np.log(2))  # it never comes there


def test_weights_are_between_cost_and_network() -> None:
    by_cost, *_, by_network = by_weight(RIGHT)
    assert by_cost == pytest.approx(np.log(2)) and by_network == 0.0
    assert by_weight(WRONG) == pytest.approx(np.full(len(WEIGHTS), np.log(2)))
    ships = RIGHT.behind(RIGHT.ranked(1))
    assert by_weight(RIGHT)[len(WEIGHTS) // 2] == ships


def test_weights_of_a_family_are_chosen_on_other_folds() -> None:
    told = [Candidate(RIGHT, "told", fold) for fold in range(3)]
    mixed = [Candidate(RIGHT, "mixed", 0), Candidate(WRONG, "mixed", 1)]
    assert by_family([*told, *mixed], 0.0)[:3].tolist() == [0.0, 0.0, 0.0]
    lines = table(told)
    assert lines[2] == "| what ships | 0.00 | +0.00 (0.00 to 0.00) |"
    assert lines[-1].startswith("| a second stage with errors of 0% | 0.00 | +0.00")

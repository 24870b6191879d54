"""Orders of tuning, replayed on programs whose times are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.learn.choosers import ORDERS
from morello.learn.corpus import files, read
from morello.learn.hardware import TOGETHER
from study import orders
from study.orders import NEAR, Programs, measured, order_of, replayed, table, to_gain


@pytest.fixture(scope="module")
def known(corpus: Path) -> list[Programs]:
    """The programs of each Spec, in random order of time, and predicted exactly."""
    found = []
    for one in map(read, files(corpus)):
        impls = [impl for impl in one.impls() if impl is not None]
        times = np.geomspace(1e-6, 1e-5, len(impls))
        seconds = np.random.default_rng(len(impls)).permutation(times)
        found.append(Programs(impls, one.origins, seconds, np.log(seconds)))
    return found


def test_orders_begin_with_the_first_choice_and_repeat_nothing(known: list[Programs]) -> None:
    for programs in known:
        everything = set(range(len(programs.impls)))
        drawn = set(programs.of_origin(orders._RANDOM))
        for order, wanted in zip(ORDERS, (everything, everything, drawn), strict=True):
            numbers = [*order_of(order, programs, Random(0))]
            assert len(set(numbers)) == len(numbers) and numbers[0] == programs.first
            assert {programs.first, *numbers} == {programs.first, *wanted}
        costs = [programs.impls[n].cost for n in [*order_of("affine", programs, Random(0))][1:]]
        assert costs == sorted(costs)


def test_exact_predictions_need_few_programs(known: list[Programs]) -> None:
    for programs in known:
        count, near = measured("learned", programs, Random(0))
        assert near and count <= 1 + 2 * TOGETHER
    several = [programs for programs in known if to_gain(programs)]
    found = replayed(several)
    assert found["learned"].near.all() and (found["affine"].near == 1).all()
    header, _, *rows = table({"made up": found})
    assert "programs" in header and len(rows) == len(ORDERS)
    assert rows[0].startswith(f"| made up, {len(several)} Specs | learned |")
    assert "| 1.00 (1.00-1.00) |" in rows[0]


def test_a_program_near_the_fastest_is_enough(known: list[Programs]) -> None:
    programs = known[0]
    alike = replace(programs, seconds=np.linspace(1.0, NEAR, len(programs.impls)))
    assert not to_gain(alike) and measured("random", alike, Random(0)) == (1, True)

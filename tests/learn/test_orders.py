"""Orders of tuning and of pairs, judged on programs whose times are known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.learn import metrics
from morello.learn.choosers import ORDERS
from morello.learn.corpus import files, read
from morello.learn.families import family_of
from morello.learn.network import CoefficientNetwork
from morello.learn.training import Recipe
from morello.learn.tune import batch_sizes
from morello.measure.correlation import kendall_tau
from study import choices, distances, folds, orders, shares
from study import held_out as held_out_specs
from study.choices import Proposed
from study.distances import pairs_by_distance
from study.held_out import Predicted, held_out
from study.orders import (
    EXACT,
    NEAR,
    Programs,
    order_of,
    programs_of,
    progress,
    replayed,
    table,
    to_gain,
)


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
            numbers = [*chain(*order_of(order, programs, Random(0)))]
            assert len(set(numbers)) == len(numbers) and numbers[0] == programs.first
            assert {programs.first, *numbers} == {programs.first, *wanted}
        _, *batches = order_of("affine", programs, Random(0))
        costs = [programs.impls[n].cost for n in chain(*batches)]
        assert costs == sorted(costs)


def test_exact_predictions_need_few_programs(known: list[Programs]) -> None:
    for programs in known:
        least = progress("learned", programs, Random(0))
        within = 1 + sum(islice(batch_sizes(), 3))
        assert (np.diff(least) <= 0).all() and least[:within][-1] == 1.0
        assert (progress(EXACT, programs, Random(0)) == least).all()
    several = [programs for programs in known if to_gain(programs)]
    found = replayed(several)
    assert found["learned"].near.all() and (found["affine"].near == 1).all()
    header, _, *rows = table({"made up": found})
    assert "programs" in header and len(rows) == len(ORDERS) + 1
    assert rows[0].startswith(f"| made up, {len(several)} Specs | learned |")
    assert "| 1.00 (1.00-1.00) |" in rows[0]


def test_a_program_near_the_fastest_is_enough(known: list[Programs]) -> None:
    programs = known[0]
    alike = replace(programs, seconds=np.linspace(1.0, NEAR, len(programs.impls)))
    assert not to_gain(alike)
    for result in replayed([alike]).values():
        assert result.programs == [0.0] and result.near == [1.0]
        assert (np.diff(result.behind) <= 0).all() and result.behind.max() <= np.log(NEAR)


def test_specs_are_predicted_by_networks_that_have_not_seen_them(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out_specs, "local_workers", lambda _: ThreadPoolExecutor(1))
    recipe = Recipe(CoefficientNetwork(width=8), steps=5, specs=2, programs=6)
    specs = [*held_out([corpus], recipe)]
    assert [spec.measured.expression for spec in specs] == [
        one.expression for one in map(read, files(corpus))
    ]
    for spec in specs:
        assert spec.corpus == corpus.name and np.isfinite(spec.logarithms).all()
        programs = programs_of(spec)
        assert len(programs.impls) == len(programs.seconds) == len(programs.predicted)
    lines = distances.table("made up", specs)
    assert lines[0].startswith(f"| made up, {len(specs)} Specs") and len(lines) == 9
    proposed = [Proposed.of(spec) for spec in specs]
    assert all((one.costs >= one.costs[0] * (1 - 1e-12)).all() for one in proposed)
    monkeypatch.setattr(folds, "LEAST", 1)
    monkeypatch.setattr(metrics, "DRAWS", 10)
    names = [result.trial.name for result in folds.judged(specs, "random")]
    assert names[0] == f"{corpus.name}, {len(specs)} Specs: affine"
    assert len(names) == 3 * (1 + len({family(spec) for spec in specs}))
    two = [replace(spec, corpus=f"machine {n % 2}") for n, spec in enumerate(specs)]
    names = [result.trial.name for result in folds.judged(two, "machine")]
    assert [name for name in names if name.startswith("machine 1")] == [
        f"machine 1, {len(two[1::2])} Specs: {model}"
        for model in (
            "affine",
            "network",
            "network and cost",
            "network, corrected",
            "network, corrected and cost",
        )
    ]


def family(spec: Predicted) -> str:
    return family_of(parse(spec.group.expression))


def test_no_related_family_is_trained_on() -> None:
    expressions = [
        "f32[4,8] @ f32[8,4]", "u8[4,8] @ i8[8,4]", "softmax(f32[4,8])", "sum(f32[4,8], axis=1)",
        "relu(f32[4,8])", "transpose(f32[4,8])", "avg_pool(f32[1,2,4,4], window=2)",
    ]  # fmt: skip
    splits = [*held_out_specs.related_apart(expressions)]
    held = sorted(number for split in splits for number in split.test)
    assert held == [*range(len(expressions))] and len(splits) == 5
    for split in splits:
        for related in held_out_specs.RELATED:
            sides = [
                any(family_of(parse(expressions[n])) in related for n in side)
                for side in (split.train, split.test)
            ]
            assert not all(sides)


def test_the_learned_order_is_of_programs_that_cost_little_more() -> None:
    """The cheapest is measured first, dear ones last; unmeasured, that of the least product."""
    costs = np.array([1.0, 1.02, 1.2, 1.04, 1.05, 1.3, 1.06, 1.01])
    seconds = np.array([5.0, 4.0, 1.0, 2.0, 3.0, 1.5, 2.5, 6.0])
    known = Proposed(costs, seconds, np.log(seconds))
    assert known.ranked(1) == [3] and known.ranked(3) == [0, 3, 4]
    assert known.ranked(8) == [0, 3, 4, 1, 7, 2, 5, 6]
    assert known.behind([0, 3]) == pytest.approx(np.log(2.0)) and known.behind(known.ranked(8)) == 0
    lines = choices.table("made up", [known] * 3 + [Proposed(costs[:2], seconds[:2], seconds[:2])])
    assert lines[0] == "| made up, 3 Specs | 1 | 400.00 | 100.00 | -91.6 (-91.6 to -91.6) |"
    assert lines[2].startswith("| made up, 3 Specs | 4 | 0.00 | 100.00 | +69.3")


def test_pairs_by_distance_add_up_to_tau() -> None:
    random = np.random.default_rng(0)
    seconds = np.exp(random.normal(size=40))
    predicted = np.log(seconds) + random.normal(0.0, 0.5, 40)
    parts, agreed = pairs_by_distance(predicted, seconds, 0.02)
    assert parts.sum() == pytest.approx(1.0) and (abs(agreed) <= parts).all()
    assert agreed.sum() == pytest.approx(kendall_tau(predicted, seconds, 0.02))
    assert parts[:2].sum() == 0.0 < parts[2]  # nearer ones are noise
    exact = pairs_by_distance(np.log(seconds), seconds, 0.02)
    np.testing.assert_array_equal(*exact)


def test_programs_are_divided_among_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MODELS", 4)
    slow = shares.Kernel(1.0, 2.0, 1.0, np.array([1.0, 0.5, 0.5]))
    sure = shares.Kernel(4.0, 2.0, 0.1, np.array([1.0, 1.0, 1.0]))
    by_cost, by_gain = (shares.SHARES[name] for name in ("cost", "time and doubt"))
    calls = np.ones(2)
    for share, part in ((by_cost, 0.0), (by_gain, 0.25)):
        weights = np.array([share(slow), share(sure)])
        assert shares.gained([slow, sure], calls, weights, 1) == pytest.approx(part)
    assert shares.gained([slow, sure], calls, calls, 9) == pytest.approx(0.25)  # all of them
    first, *_ = shares.table("made up", [slow, sure])
    assert first.startswith("| made up, 2 Specs | 3 | ")


def test_programs_of_the_most_expected_gain_are_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "NEAR_MODELS", 4)
    gaining = shares.Kernel(1.0, 1.0, 1.0, np.array([1.0, 0.7, 0.7, 0.7, 0.5, 0.5, 0.5, 0.5]))
    vain = shares.Kernel(1.0, 1.0, 1.0, np.ones(8))
    kernels, parts = [gaining, vain], np.ones(2)
    of = {name: shares.after_gains(kernels, parts, gain) for name, gain in shares.GAINS.items()}
    assert of["known gains"] == 6  # two batches of what gains
    assert of["gains so far"] == 6 < of["number tried"] == 12
    assert shares.after_shares(kernels, parts, parts) == 7  # four and three
    assert shares.after_shares([vain, vain], parts, parts) == 0
    assert shares.near_table("made up", kernels).startswith("| made up, 2 Specs | ")

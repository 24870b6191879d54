"""Programs that the tuner chooses by prediction: in which order, from which graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import inf
from random import Random
from typing import Any, cast

import pytest

from morello.codegen import generate
from morello.codegen.distinct import Distinct
from morello.impl.tree import Impl
from morello.learn import choosers, guided_chooser
from morello.learn.anneal import CHAINS, STEPS, anneal
from morello.learn.guided_chooser import EXPLORE, ByPrediction
from morello.learn.label import Floats
from morello.learn.predictors import ByCost
from morello.learn.trait_errors import TraitErrors
from morello.learn.tune import plan
from morello.search import budget
from morello.search.budget import UNTIMED, Watch
from morello.search.pruned_space import PrunedSpace
from morello.search.sample import Walk, Walker, sampling_graph
from morello.search.session import Session
from morello.search.structure import Structure

FEW = 4
"""Programs in a batch of the tests."""

MATMUL, SUM = "f32[4,8] @ f32[8,32]", "sum(f32[8,32], axis=0)"


def never() -> bool:
    return False


def test_choices_depend_on_the_seed_and_on_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec, target = plan(SUM)
    session = Session(spec, target)
    graph = sampling_graph(PrunedSpace([(spec,)], target), session.cost)
    others = list(islice(session.candidates(UNTIMED.start()), 2 * FEW))
    monkeypatch.setattr(session, "walker", lambda random, _: Walker(graph, random))
    monkeypatch.setattr(guided_chooser, "candidates", lambda *_: iter(others))

    def chosen(seed: int, faster: int) -> list[list[Impl]]:
        chooser = ByPrediction(session, ByCost(4e9), Random(seed), inf)
        batches = []
        for _ in range(3):
            batches.append(chooser.choose(FEW))
            chooser.look_further(never)
            for n, impl in enumerate(batches[-1]):
                chooser.learn(impl, 1e-9 if n == faster else 1e-8)
        return batches

    first, again, other = chosen(0, 0), chosen(0, 0), chosen(1, 3)
    assert first == again != other
    assert first[0] == other[0]  # the search's choices
    assert FEW // EXPLORE and first[2][-1] != other[2][-1]  # drawn at random
    merged = Walker(graph, Random(0)).edges(first[0][0].decisions())  # as saved programs are
    assert merged is not None and len(merged) >= len(first[0][0].decisions())
    every = [generate(impl).text for batch in first for impl in batch]
    assert len(set(every)) == len(every) == 3 * FEW


def test_programs_are_measured_before_all_are_predicted() -> None:
    spec, target = plan(MATMUL)
    session = Session(spec, target)
    predicted: list[Impl] = []

    class Counted(ByCost):
        def seconds(self, impls: Sequence[Impl]) -> Floats:
            predicted.extend(impls)
            return super().seconds(impls)

    chooser = ByPrediction(session, Counted(4e9), Random(0), inf)
    every = session.candidates(UNTIMED.start(), choosers.NEAR)
    by_cost = filter(Distinct(), (choosers.program(session, decisions) for decisions in every))
    first = chooser.choose(FEW)
    assert first == [*islice(by_cost, FEW)] and not predicted
    chooser.look_further(lambda: True)  # the compiler is done already
    assert len(predicted) == FEW + 1 and predicted[:FEW] == first
    assert chooser.choose(FEW)[-1] == [*islice(by_cost, FEW)][-1] and len(predicted) == FEW + 1


def test_the_larger_graph_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, target = plan(SUM)
    chooser = ByPrediction(Session(spec, target), ByCost(4e9), Random(0), inf)
    built: list[Walker | None] = []

    def walker_of(*given: Any) -> Walker | None:
        built.append(choosers.walker_of(*given))
        return built[-1]

    monkeypatch.setattr(guided_chooser, "walker_of", walker_of)
    for _ in range(4):
        chooser.look_further(never)
    assert len(built) == 1 and chooser._walker is built[0] is not None


def test_later_walks_are_in_a_larger_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosers, "ENOUGH_NODES", 1)
    spec, target = plan(SUM)
    chooser = ByPrediction(Session(spec, target), ByCost(4e9), Random(0), inf)
    walkers = []
    for _ in range(4):
        chooser.look_further(never)
        walkers.append(chooser._walker)
    first, *graphs = walkers
    near, far, last = (len(walker._start) for walker in graphs if walker is not None)
    assert first is None and near < far == last
    known = [scored for scored in chooser._scored.values() if id(scored.impl) in chooser._walks]
    assert len(known) > FEW


def test_graphs_are_built_only_while_programs_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "INTERVAL_S", 0.0)  # so that small graphs have steps, too
    spec, target = plan(SUM)
    chooser = ByPrediction(Session(spec, target), ByCost(4e9), Random(0), inf)
    chooser.look_further(lambda: True)
    for step in range(3):
        chooser.look_further(lambda: True)  # the compiler is done already
        assert chooser._builds and chooser._walker is None, step
    chooser._graph(1.1 * chooser._session.cost)  # a larger one, for more of the search's choices
    assert not chooser._builds and chooser._walker is not None
    ended = ByPrediction(Session(spec, target), ByCost(4e9), Random(0), inf)
    for _ in range(2):
        ended.look_further(lambda: True)
    assert ended._builds
    ended.close()
    assert not ended._builds


def test_choices_of_the_search_go_on_if_the_last_graph_has_too_little_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends_early(session: Session, random: Random, watch: Watch) -> None:
        watch(0, 0)

    monkeypatch.setattr(budget, "INTERVAL_S", 0.0)
    monkeypatch.setattr(guided_chooser, "nearby_walker", ends_early)
    monkeypatch.setattr(guided_chooser, "walker_of", ends_early)
    spec, target = plan(SUM)
    chooser = ByPrediction(Session(spec, target), ByCost(4e9), Random(0), inf)
    for _ in range(2):
        chooser.look_further(lambda: True)
    assert chooser._builds
    assert chooser._graph(1.1 * chooser._session.cost).node_count
    assert not chooser._builds and chooser._walker is None


def test_errors_of_traits_are_corrected() -> None:
    plain, wide, copied = Structure(["fma"]), Structure(["wide"]), Structure(["fma", "copy"])
    found = TraitErrors([plain, wide, copied] * 20, [0.1, 0.5, -0.6] * 20)
    assert found.of(plain) == pytest.approx(0.1, abs=0.05)
    assert found.of(wide) == pytest.approx(0.5, abs=0.05)
    assert found.of(copied) == pytest.approx(-0.6, abs=0.05)
    assert found.of(Structure(["other"])) == pytest.approx(0.0)  # the mean of all
    assert TraitErrors([], []).of(plain) == 0.0


class Digits:
    """A walker whose programs are digits; a mutation changes one of them."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def mutated(self, program: Walk) -> tuple[float, Walk] | None:
        place = self._random.randrange(len(program))
        made = (*program[:place], self._random.randrange(10), *program[place + 1 :])
        return 1.0 + made[0], made


def test_annealing_finds_low_energies_and_keeps_below_a_cost() -> None:
    met: list[Walk] = []

    def energies(programs: Sequence[Walk]) -> list[float]:
        met.extend(programs)
        return [sum(program) / 10 for program in programs]

    walker, start = cast(Walker, Digits(Random(0))), (5, 9, 9)
    steps = anneal(walker, [start], 6.0, energies, Random(0))
    assert not met
    next(steps)
    assert CHAINS < len(met) <= 2 * CHAINS
    assert len([*steps]) == STEPS - 1
    assert min(map(sum, met)) <= 4 and max(program[0] for program in met) == 5

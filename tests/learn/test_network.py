"""The graph network: NumPy against JAX, graphs together against graphs alone, and learning."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from tests.sampling import some

from morello.learn import network
from morello.learn.batches import Examples, Scale, graphs
from morello.learn.evaluate import judge
from morello.learn.groups import ProgramGroup
from morello.learn.network import CoefficientNetwork, GraphNetwork, OnNumpy
from morello.learn.training import Loss, NetworkEstimator, OnJax, RankAndTime, Recipe
from study.experiments import BLIND, LOSSES, REDUCTIONS, together, trials
from study.losses import SquaredError
from study.networks import LateProgramNetwork
from study.trees import Trees

NETWORKS = [*REDUCTIONS.values(), LateProgramNetwork()]


def examples(groups: list[ProgramGroup]) -> list[Examples]:
    nodes = Scale.of(np.concatenate([group.nodes for group in groups]))
    configs = Scale.of(np.concatenate([group.configs for group in groups]))
    return [Examples.of(group, nodes, configs) for group in groups]


def parameters(reduced: GraphNetwork, group: ProgramGroup) -> dict[str, Any]:
    """The parameters of a network whose predictions differ for every program."""
    found = reduced.initial(group.nodes.shape[1], group.configs.shape[1], seed=1)
    return {name: value * (10 if "out" in name else 1) for name, value in found.items()}


@pytest.mark.parametrize("narrow", some(NETWORKS, 4), ids=lambda narrow: type(narrow).__name__)
def test_numpy_and_jax_agree(groups: list[ProgramGroup], narrow: GraphNetwork) -> None:
    reduced = replace(narrow, width=16, layers=2)
    some = examples(groups)
    chosen = [(one, np.arange(len(one.log_cycles))) for one in some]
    learned = parameters(reduced, groups[0])
    found = reduced.predict(learned, graphs(chosen), OnNumpy())
    assert np.std(found) > 0.01 and np.isfinite(found).all()
    on_jax = {name: jnp.asarray(value) for name, value in learned.items()}
    padded = np.asarray(reduced.predict(on_jax, graphs(chosen, padded=True), OnJax()))
    np.testing.assert_allclose(padded[: len(found)], found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("narrow", NETWORKS, ids=lambda narrow: type(narrow).__name__)
def test_programs_do_not_see_each_other(groups: list[ProgramGroup], narrow: GraphNetwork) -> None:
    reduced = replace(narrow, width=16)
    learned = parameters(reduced, groups[0])
    some = examples(groups)[1]
    every = np.arange(len(some.log_cycles))
    at_once = reduced.predict(learned, graphs([(some, every[::-1])]), OnNumpy())[::-1]
    alone = [reduced.predict(learned, graphs([(some, every[n : n + 1])]), OnNumpy()) for n in every]
    np.testing.assert_allclose(at_once, np.concatenate(alone), rtol=1e-4, atol=1e-4)


def test_unlearned_coefficients_are_the_cycles_of_the_graph(groups: list[ProgramGroup]) -> None:
    (some, *_) = examples(groups)
    unlearned = CoefficientNetwork(width=8)
    learned = unlearned.initial(some.nodes.shape[1], some.configs.shape[1], seed=0)
    learned = {name: value * 0 if ".out" in name else value for name, value in learned.items()}
    rows = np.arange(len(some.log_cycles))
    found = np.exp(unlearned.predict(learned, graphs([(some, rows)]), OnNumpy()))
    factors = np.exp(network.FIRST_PARTS)
    parts = np.add.reduceat(some.group.parts @ factors, some.group.node_splits[:-1])
    fetched = some.group.fetches.sum(axis=1) * np.exp(network.FIRST_FETCH)
    np.testing.assert_allclose(found, parts + fetched, rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_losses_prefer_what_is_right(loss: Loss) -> None:
    random = np.random.default_rng(0)
    wanted = np.log(random.uniform(1, 3, (2, 8))).astype(np.float32)
    right, wrong = (loss(jnp.asarray(sign * wanted), wanted) for sign in (1.0, -1.0))
    assert float(right) < float(wrong)
    assert loss.absolute == isinstance(loss, SquaredError | RankAndTime)
    if not isinstance(loss, SquaredError):  # ranks do not depend on how fast a Spec is as a whole
        ranks = RankAndTime(share=0.0) if isinstance(loss, RankAndTime) else loss
        moved = jnp.asarray(wanted + np.array([[5.0], [0.0]], np.float32))
        assert float(ranks(jnp.asarray(wanted), wanted)) == pytest.approx(
            float(ranks(moved, wanted)), rel=1e-3
        )


def slower_loops(groups: list[ProgramGroup]) -> list[ProgramGroup]:
    """The same programs, whose loops take eight cycles an iteration: no cost says so."""
    found = []
    for group in groups:
        cycles = np.add.reduceat(
            group.parts @ np.array([1.0, 0, 0, 8, 0, 0, 0]), group.node_splits[:-1]
        )
        found.append(replace(group, seconds=(cycles + 50) / group.hertz, noise=0.0))
    return found


def test_a_network_learns_what_costs_do_not_know(groups: list[ProgramGroup]) -> None:
    slower = slower_loops(groups)
    model = NetworkEstimator(
        Recipe(CoefficientNetwork(width=8), steps=120, programs=8, dropout=0.0)
    )
    model.fit(slower, seed=0)
    found = {n: model.predict(group) for n, group in enumerate(slower)}
    taus = [one.tau for one in judge(slower, found, absolute=True)]
    costs = {n: np.log(group.cost / group.hertz) for n, group in enumerate(slower)}
    before = [one.tau for one in judge(slower, costs, absolute=True)]
    assert np.mean(taus) > 0.8 > np.mean(before)
    again = NetworkEstimator(model.recipe)
    again.fit(slower, seed=0)
    np.testing.assert_array_equal(again.predict(slower[0]), found[0])


@pytest.mark.parametrize("objective", ["rank", "residual"])
def test_trees_learn_it_too(groups: list[ProgramGroup], objective: Any) -> None:
    slower = slower_loops(groups)
    model = Trees(objective)
    model.fit(slower * 4, seed=0)  # trees want many programs
    found = {n: model.predict(group) for n, group in enumerate(slower)}
    taus = [one.tau for one in judge(slower, found, absolute=model.absolute)]
    assert np.nanmean(taus) > 0.8


def test_predictions_of_several_are_their_mean() -> None:
    several = [{0: np.array([1.0, 2.0])}, {0: np.array([3.0, 6.0])}]
    np.testing.assert_array_equal(together(several)[0], [2.0, 4.0])


def test_trials_differ(groups: list[ProgramGroup]) -> None:
    found = list(trials(2))
    assert len({(one.table, one.protocol, one.name) for one in found}) == len(found) > 25
    for one, other in itertools.combinations(found, 2):
        same = one.table == other.table and one.protocol == other.protocol
        assert not same or one.name != other.name
    assert all(BLIND.values())

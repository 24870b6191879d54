"""The experiments of the study: models that differ in one respect each, on unseen Specs.

Each fit is a separate job, so that all CPUs of a machine are used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random

import numpy as np

from morello.base.stamps import imported
from morello.learn.affine import Affine, Estimator
from morello.learn.corpus import read
from morello.learn.dataset import loaded
from morello.learn.evaluate import (
    Floats,
    Predictions,
    Score,
    baselines,
    judge,
    judged_by_cost,
    predictions,
    protocols,
    score,
)
from morello.learn.features import PROGRAM_FEATURES
from morello.learn.fits import predicted
from morello.learn.groups import ProgramGroup
from morello.learn.network import GraphNetwork
from morello.learn.splits import TrainTestSplit
from morello.learn.training import Loss, NetworkEstimator, Recipe
from study.held_out import by_related_family
from study.limits import PROTOCOL, blinded, halved, measured_again, starting
from study.losses import Hinge, ListMle, Logistic, SquaredError
from study.networks import (
    ColumnNetwork,
    LateProgramNetwork,
    LstmNetwork,
    SumNetwork,
    TransformerNetwork,
)
from study.trees import Trees

BEST = Recipe()
"""The recipe of the models that ship."""

SHORT = replace(BEST, steps=600)
"""A quarter of its steps: for comparisons of what is changed in it."""

CODE = sorted(imported("study", Path(__file__).parent, ["experiments"]))
"""The code of the study on which its models depend."""

Make = Callable[[], Estimator]


@dataclass(frozen=True)
class Experiment:
    """A model under a protocol, trained `seeds` times on a `part` of the training Specs."""

    table: str
    name: str
    make: Make
    protocol: str = "random"
    seeds: int = 1
    part: float = 1.0
    blind: frozenset[str] = frozenset()
    """The features that are hidden from it."""
    with_cost: bool = False
    """Whether its predictions are averaged with those of the affine cost, as `--rank` does."""

    def key(self, seed: int) -> Hashable:
        """Trials with the same key have the same predictions."""
        return repr(self.make), self.protocol, self.part, self.blind, seed


@dataclass(frozen=True)
class ExperimentResult:
    """The result of a trial: each seed's score, and the score of the mean of their predictions."""

    trial: Experiment
    each: Sequence[Score]
    mean: Score


def trained(network: GraphNetwork = BEST.network, loss: Loss = BEST.loss) -> Make:
    """The short recipe with another network or another loss."""
    return partial(NetworkEstimator, replace(SHORT, network=network, loss=loss))


REDUCTIONS: Mapping[str, GraphNetwork] = {
    "nodes": SumNetwork(),
    "columns": ColumnNetwork(),
    "lstm": LstmNetwork(),
    "transformer": TransformerNetwork(),
    "columns, no residual": ColumnNetwork(residual=False),
    "coefficients": BEST.network,
}
LOSSES: Mapping[str, Loss] = {
    "hinge": Hinge(),
    "logistic": Logistic(),
    "listmle": ListMle(),
    "mse": SquaredError(),
    "both": BEST.loss,
}


def trials(seeds: int) -> Iterator[Experiment]:
    """All trials; those of networks in the main table with `seeds` seeds."""
    for protocol in ("random", "family"):
        for name, make in baselines().items():
            yield Experiment("models", name, make, protocol)
        yield Experiment("models", "trees, LambdaRank", partial(Trees, "rank"), protocol)
        yield Experiment("models", "trees, residual", partial(Trees, "residual"), protocol)
        network = partial(NetworkEstimator, BEST)
        yield Experiment("models", "network", network, protocol, seeds)
        yield Experiment("models", "network and cost", network, protocol, seeds, with_cost=True)
    for name, reduced in REDUCTIONS.items():
        yield Experiment("reductions", name, trained(reduced))
    for name, loss in LOSSES.items():
        yield Experiment("losses", name, trained(loss=loss))
    yield Experiment("features", "all", trained())
    yield Experiment("features", "one layer", trained(replace(BEST.network, layers=1)))
    yield Experiment("features", "program after the reduction", trained(LateProgramNetwork()))
    for name, blind in BLIND.items():
        yield Experiment("features", f"without {name}", trained(), blind=blind)
    for part in (0.125, 0.25, 0.5, 1.0):
        yield Experiment("curve", f"{part:.0%} of the Specs", trained(), part=part)
    trees = partial(Trees, "residual")
    yield Experiment("limits", "affine", Affine, PROTOCOL)
    for name, seen in SEEN.items():
        blind = starting("") - seen
        yield Experiment("limits", f"trees, {name}", trees, PROTOCOL, blind=blind)
        yield Experiment("limits", f"trees, {name}", trees, blind=blind)
    yield Experiment("limits", "network", trained(), PROTOCOL)


BLIND = {
    "caches": starting("L1_", "L2_", "pages_", "footprint", "fetch_"),
    "bounds": starting("bound_", "excess_", "sums", "part_"),
    "accesses": starting("load_", "store_", "stores_", "still", "near", "far", "carried"),
}
SEEN = {
    "terms of the affine cost": starting("share_", "cost"),
    "features of the whole": frozenset(PROGRAM_FEATURES),
    "all features": starting(""),
}


def run(
    paths: Sequence[Path], seeds: int, workers: Executor, seed: int = 0
) -> Iterator[ExperimentResult]:
    """The results of all trials on the Specs in these files, in order."""
    files = tuple(paths)
    _, half_splits = _halves(files, seed)
    splits = {
        "random": protocols(loaded(files), seed)["random"],
        "family": [*by_related_family(loaded(files))],
        PROTOCOL: half_splits,
    }
    jobs: dict[Hashable, list[Future[Predictions]]] = {}
    todo = list(trials(seeds))
    for trial in todo:
        for n in range(trial.seeds):
            if trial.key(n) not in jobs:  # a trial in several tables runs once
                jobs[trial.key(n)] = [
                    workers.submit(_job, files, trial, split, n, seed)
                    for split in splits[trial.protocol]
                ]
    for trial in todo:
        by_seed = [_gathered(jobs[trial.key(n)]) for n in range(trial.seeds)]
        groups = _groups(files, trial.protocol, seed)
        scores = [_scored(trial, groups, of_seed) for of_seed in by_seed]
        yield ExperimentResult(trial, scores, _scored(trial, groups, together(by_seed)))


@cache
def _halves(paths: tuple[Path, ...], seed: int) -> tuple[list[ProgramGroup], list[TrainTestSplit]]:
    """The groups in these files halved, once in a process."""
    return halved(loaded(paths), seed)


def _groups(paths: tuple[Path, ...], protocol: str, seed: int) -> Sequence[ProgramGroup]:
    """The groups that the splits of a protocol number."""
    return _halves(paths, seed)[0] if protocol == PROTOCOL else loaded(paths)


def together(several: Sequence[Predictions]) -> Predictions:
    """The mean of the predictions of models that were trained alike."""
    return {
        number: np.mean([predicted[number] for predicted in several], axis=0)
        for number in several[0]
    }


def _gathered(futures: Sequence[Future[Predictions]]) -> Predictions:
    predicted: dict[int, Floats] = {}
    for future in futures:
        predicted |= future.result()
    return predicted


def _scored(trial: Experiment, groups: Sequence[ProgramGroup], predicted: Predictions) -> Score:
    if trial.with_cost:
        costs = {number: Affine().predict(groups[number]) for number in predicted}
        predicted = together([predicted, costs])
    judged = judge(groups, predicted, absolute=trial.make().absolute)
    return score(trial.protocol, trial.name, judged, judged_by_cost(groups, predicted))


def _job(
    paths: tuple[Path, ...], trial: Experiment, split: TrainTestSplit, seed: int, split_seed: int
) -> Predictions:
    def make() -> Predictions:
        return _predictions(paths, trial, split, seed, split_seed)

    what = f"{trial.key(seed)} {sorted(trial.blind)} {split} {split_seed}"
    return predicted(paths, what, make, CODE)


def _predictions(
    paths: tuple[Path, ...], trial: Experiment, split: TrainTestSplit, seed: int, split_seed: int
) -> Predictions:
    groups = _groups(paths, trial.protocol, split_seed)
    if trial.part < 1.0:
        kept = Random(seed).sample(split.train, max(1, round(trial.part * len(split.train))))
        split = replace(split, train=tuple(sorted(kept)))
    if trial.blind:
        groups = [blinded(group, trial.blind) for group in groups]
    return predictions(trial.make, groups, [split], seed)


def of_machine(name: str, outcomes: Iterable[Score]) -> Iterator[ExperimentResult]:
    """The results of predicting the programs of the machine of this name."""
    for outcome in outcomes:
        trial = Experiment("machines", f"{name}: {outcome.model}", Affine, outcome.protocol)
        yield ExperimentResult(trial, [outcome], outcome)


def again(corpus: Sequence[Path]) -> ExperimentResult:
    """How well one half of the measurements in these files predicts the other half."""
    outcome = measured_again(map(read, corpus))
    return ExperimentResult(
        Experiment("limits", outcome.model, Affine, outcome.protocol), [outcome], outcome
    )

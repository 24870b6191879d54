"""The study: models that differ in one thing each, judged on Specs that they have not seen.

Needs `morello[learn]`. Every fit is a job of its own, so that all of a machine's CPUs work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from morello.learn.affine import Affine, Model
from morello.learn.corpus import read
from morello.learn.dataset import load, loaded
from morello.learn.evaluate import (
    Floats,
    Predictions,
    Score,
    baselines,
    judge,
    predictions,
    protocols,
    score,
    together,
)
from morello.learn.features import PROGRAM_FEATURES
from morello.learn.groups import Group
from morello.learn.limits import PROTOCOL, blinded, halved, measured_again, starting
from morello.learn.network import Shape
from morello.learn.splits import Split
from morello.learn.training import Network, Recipe
from morello.learn.transfer import transferred
from morello.learn.trees import Trees

BEST = Recipe()
"""What ships."""

Make = Callable[[], Model]


@dataclass(frozen=True)
class Trial:
    """A model under a protocol, trained so many times; `part` of the training Specs are used."""

    table: str
    name: str
    make: Make
    protocol: str = "random"
    seeds: int = 1
    part: float = 1.0
    blind: frozenset[str] = frozenset()
    """Features that it does not see."""

    def key(self, seed: int) -> Hashable:
        """What decides its predictions."""
        return repr(self.make), self.protocol, self.part, self.blind, seed


@dataclass(frozen=True)
class Result:
    """What a trial gave: each seed's score, and that of the mean of their predictions."""

    trial: Trial
    each: Sequence[Score]
    mean: Score


def network(**changes: object) -> Make:
    """The best recipe, changed in some respect; names of `Shape`'s fields change its shape."""
    shape = {name: value for name, value in changes.items() if hasattr(Shape, name)}
    others = {name: value for name, value in changes.items() if name not in shape}
    recipe = replace(BEST, shape=replace(BEST.shape, **shape), **others)  # type: ignore[arg-type]
    return partial(Network, recipe)


def trials(seeds: int) -> Iterator[Trial]:
    """All of them; those of the main table with so many seeds."""
    for protocol in ("random", "family"):
        for name, make in baselines().items():
            yield Trial("models", name, make, protocol)
        yield Trial("models", "trees, LambdaRank", partial(Trees, "rank"), protocol)
        yield Trial("models", "trees, residual", partial(Trees, "residual"), protocol)
        yield Trial("models", "network", network(), protocol, seeds)
    for reduction in ("nodes", "columns", "lstm", "transformer"):
        yield Trial("reductions", reduction, network(reduction=reduction))
    yield Trial("reductions", "columns, no residual", network(reduction="columns", residual=False))
    yield Trial("reductions", "coefficients", network())
    for loss in ("hinge", "logistic", "listmle", "mse", "both"):
        yield Trial("losses", loss, network(loss=loss))
    yield Trial("features", "all", network())
    yield Trial("features", "no graph", network(layers=0))
    yield Trial("features", "two layers", network(layers=2))
    yield Trial("features", "program after the reduction", network(program_at_nodes=False))
    for name, blind in BLIND.items():
        yield Trial("features", f"without {name}", network(), blind=blind)
    for part in (0.125, 0.25, 0.5, 1.0):
        yield Trial("curve", f"{part:.0%} of the Specs", network(), part=part)
    trees = partial(Trees, "residual")
    yield Trial("limits", "affine", Affine, PROTOCOL)
    for name, seen in SEEN.items():
        blind = starting("") - seen
        yield Trial("limits", f"trees, {name}", trees, PROTOCOL, blind=blind)
        yield Trial("limits", f"trees, {name}", trees, blind=blind)
    yield Trial("limits", "network", network(), PROTOCOL)


BLIND = {
    "caches": starting("L1_", "L2_", "pages_", "footprint", "fetch_"),
    "bounds": starting("bound_", "excess_", "sums", "part_"),
    "accesses": starting("load_", "store_", "still", "near", "far", "carried"),
}
SEEN = {
    "terms of the affine cost": starting("share_", "cost"),
    "features of the whole": frozenset(PROGRAM_FEATURES),
    "all features": starting(""),
}


def run(paths: Sequence[Path], seeds: int, workers: Executor, seed: int = 0) -> Iterator[Result]:
    """The results of all trials on the Specs in these files, in order."""
    files = tuple(paths)
    groups = loaded(files)
    halves, half_splits = halved(groups, seed)
    splits = {**protocols(groups, seed), PROTOCOL: half_splits}
    jobs: dict[Hashable, list[Future[Predictions]]] = {}
    todo = list(trials(seeds))
    for trial in todo:
        for n in range(trial.seeds):
            if trial.key(n) not in jobs:  # what is in several tables is done once
                jobs[trial.key(n)] = [
                    workers.submit(_job, files, trial, split, n, seed)
                    for split in splits[trial.protocol]
                ]
    for trial in todo:
        found = [_gathered(jobs[trial.key(n)]) for n in range(trial.seeds)]
        judged_by = halves if trial.protocol == PROTOCOL else groups
        scores = [_scored(trial, judged_by, one) for one in found]
        yield Result(trial, scores, _scored(trial, judged_by, together(found)))


def _gathered(futures: Sequence[Future[Predictions]]) -> Predictions:
    found: dict[int, Floats] = {}
    for one in futures:
        found |= one.result()
    return found


def _scored(trial: Trial, groups: Sequence[Group], found: Predictions) -> Score:
    judged = judge(groups, found, absolute=trial.make().absolute)
    return score(trial.protocol, trial.name, judged)


def _job(
    paths: tuple[Path, ...], trial: Trial, split: Split, seed: int, split_seed: int
) -> Predictions:
    groups: Sequence[Group] = loaded(paths)
    if trial.protocol == PROTOCOL:
        groups, _ = halved(groups, split_seed)
    if trial.part < 1.0:
        kept = Random(seed).sample(split.train, max(1, round(trial.part * len(split.train))))
        split = replace(split, train=tuple(sorted(kept)))
    if trial.blind:
        groups = [blinded(group, trial.blind) for group in groups]
    return predictions(trial.make, groups, [split], seed)


def elsewhere(
    paths: Sequence[Path], others: Sequence[Path], machine: str, name: str
) -> Iterator[Result]:
    """How models trained on a machine of this name predict another's programs, in these files."""
    for found in transferred(loaded(tuple(paths)), load(others), machine):
        trial = Trial("machines", f"{name}: {found.model}", Affine, found.protocol)
        yield Result(trial, [found], found)


def again(corpus: Sequence[Path]) -> Result:
    """How well the programs in these files are predicted by measuring them again."""
    found = measured_again(map(read, corpus))
    return Result(Trial("limits", found.model, Affine, found.protocol), [found], found)

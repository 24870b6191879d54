"""The programs of corpora, each predicted by a network that was trained on other Specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from morello.base.workers import local_workers
from morello.frontends.text import parse
from morello.learn.corpus import MeasuredSpec, files, read
from morello.learn.dataset import cached_features, loaded
from morello.learn.evaluate import Floats, protocols
from morello.learn.families import family_of
from morello.learn.fits import fold
from morello.learn.groups import ProgramGroup
from morello.learn.shipping import by_machine
from morello.learn.splits import TrainTestSplit
from morello.learn.training import Recipe
from morello.runtime.threads import available_threads

RELATED = (
    ("products", "narrow products"),
    ("convolutions", "pools"),
    ("attention", "softmaxes"),
    ("norms", "reductions"),
    ("maps", "copies"),
)
"""Families that are held out together: a model that knows one of them almost knows the other."""


@dataclass(frozen=True)
class Predicted:
    """A Spec of a corpus: its file, its programs that are still legal, and their log seconds."""

    corpus: str
    measured: MeasuredSpec
    group: ProgramGroup
    logarithms: Floats


def held_out(
    corpora: Sequence[Path], recipe: Recipe, protocol: str = "random", most: int | None = None
) -> Iterator[Predicted]:
    """The Specs of all corpora, each held out once from a network of this recipe.

    What is held out at once says the protocol, a key of `PROTOCOLS`. Of each Spec, there are at
    most so many programs.
    """
    with local_workers(available_threads()) as workers:
        features = tuple(
            path for corpus in corpora for path in cached_features(corpus, workers, most)
        )
        groups = loaded(features)
        jobs = [
            workers.submit(fold, features, split, recipe, 0)
            for split in PROTOCOLS[protocol](groups)
        ]
        predicted = {n: logarithms for job in jobs for n, logarithms in job.result().items()}
    paths = [(corpus.name, path) for corpus in corpora for path in files(corpus)]
    for number, (corpus, path) in enumerate(paths):
        measured = read(path)
        if most is not None:
            measured = measured.sample(most)
        yield Predicted(corpus, measured, groups[number], predicted[number])


def random_folds(groups: Sequence[ProgramGroup]) -> Iterator[TrainTestSplit]:
    """Folds of Specs, in which similar shapes are together."""
    yield from protocols(groups, 0)["random"]


def by_related_family(groups: Sequence[ProgramGroup]) -> Iterator[TrainTestSplit]:
    """The families of each part of `RELATED` held out once."""
    yield from related_apart([group.expression for group in groups])


def related_apart(expressions: Sequence[str]) -> Iterator[TrainTestSplit]:
    """`by_related_family`, of Specs by their expressions."""
    families = [family_of(parse(expression)) for expression in expressions]
    for related in RELATED:
        sides: tuple[list[int], list[int]] = [], []
        for number, family in enumerate(families):
            sides[family in related].append(number)
        if all(sides):
            yield TrainTestSplit(", ".join(related), *map(tuple, sides))


PROTOCOLS: Mapping[str, Callable[[Sequence[ProgramGroup]], Iterator[TrainTestSplit]]] = {
    "random": random_folds,
    "family": by_related_family,
    "machine": by_machine,
}
"""Splits of Specs: random ones, those that leave out related families, and machines."""

"""The programs of corpora, each predicted by a network that was trained on other Specs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from morello.base.workers import local_workers
from morello.learn.corpus import MeasuredSpec, files, read
from morello.learn.dataset import cached_features, load
from morello.learn.evaluate import Floats, predictions, protocols
from morello.learn.groups import ProgramGroup
from morello.learn.training import NetworkEstimator, Recipe
from morello.runtime.threads import available_threads


@dataclass(frozen=True)
class Predicted:
    """A Spec of a corpus: its file, its programs that are still legal, and their log seconds."""

    corpus: str
    measured: MeasuredSpec
    group: ProgramGroup
    logarithms: Floats


def held_out(corpora: Sequence[Path], recipe: Recipe) -> Iterator[Predicted]:
    """The Specs of all corpora, each held out once from a network of this recipe."""
    with local_workers(available_threads()) as workers:
        features = [path for corpus in corpora for path in cached_features(corpus, workers)]
    groups = load(features)
    splits = protocols(groups, 0)["random"]
    predicted = predictions(lambda: NetworkEstimator(recipe), groups, splits, 0)
    paths = [(corpus.name, path) for corpus in corpora for path in files(corpus)]
    for number, (corpus, path) in enumerate(paths):
        yield Predicted(corpus, read(path), groups[number], predicted[number])

"""Splits of Specs into those that a model is trained on, and those that it is evaluated on.

Similar shapes are in the same fold: a model that has seen one has almost seen the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from morello.frontends.text import parse
from morello.ir.spec import Spec

NEAR = 1.5
"""Specs of a family are near each other if no size of one is this many times the other's."""


@dataclass(frozen=True)
class TrainTestSplit:
    """Specs to train on and to evaluate on, by number, and the name of what is held out."""

    name: str
    train: tuple[int, ...]
    test: tuple[int, ...]


def by_spec(families: Sequence[str], expressions: Sequence[str], folds: int, seed: int
            ) -> Iterator[TrainTestSplit]:  # fmt: skip
    """Random folds of Specs, each held out once; clusters of similar shapes are not divided."""
    clusters = _clusters(families, [parse(text) for text in expressions])
    Random(seed).shuffle(clusters)
    clusters.sort(key=len, reverse=True)  # so that folds are of one size, or nearly
    held: list[list[int]] = [[] for _ in range(folds)]
    for cluster in clusters:
        min(held, key=len).extend(cluster)
    for number, test in enumerate(held):
        if test:
            yield _split(f"fold {number}", test, len(expressions))


def by_family(families: Sequence[str]) -> Iterator[TrainTestSplit]:
    """Each family held out once."""
    for family in dict.fromkeys(families):
        test = [number for number, member in enumerate(families) if member == family]
        yield _split(family, test, len(families))


def _split(name: str, test: Sequence[int], count: int) -> TrainTestSplit:
    held = set(test)
    train = tuple(number for number in range(count) if number not in held)
    return TrainTestSplit(name, train, tuple(sorted(held)))


def _clusters(families: Sequence[str], specs: Sequence[Spec]) -> list[list[int]]:
    """Clusters of Specs: the transitive closure of being near each other."""
    clusters: list[list[int]] = []
    for number in range(len(specs)):
        near = [
            cluster
            for cluster in clusters
            if any(
                families[number] == families[other] and _near(specs[number], specs[other])
                for other in cluster
            )
        ]
        clusters = [cluster for cluster in clusters if cluster not in near]
        clusters.append([*(member for cluster in near for member in cluster), number])
    return clusters


def _near(a: Spec, b: Spec) -> bool:
    if a.operation is not b.operation or a.dtypes != b.dtypes:
        return False
    ratio = np.abs(np.log(np.array(a.sizes) / np.array(b.sizes)))
    return bool((ratio < np.log(NEAR)).all())

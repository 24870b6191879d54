"""The model that ships: networks trained on the corpora of all machines, and their error.

Needs `morello[learn]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from morello.base.status import tell
from morello.frontends.text import parse
from morello.learn.dataset import loaded
from morello.learn.evaluate import Predictions, protocols
from morello.learn.families import family_of
from morello.learn.fits import fold, network
from morello.learn.groups import ProgramGroup
from morello.learn.intervals import Intervals, intervals_of
from morello.learn.model import Model
from morello.learn.splits import TrainTestSplit
from morello.learn.training import Recipe, continued

MEMBERS = 5
"""Networks whose predictions are averaged."""

MORE = Recipe(steps=800, rate=1e-3)
"""How a model is trained further."""


def train(paths: Sequence[Path], seed: int, workers: Executor) -> Model:
    """Train a model on the programs in these files, measured on one machine or several.

    Networks that were trained before are not trained again (see `fits`).
    """
    files = tuple(paths)
    groups = loaded(files)
    networks = [workers.submit(network, files, Recipe(), seed + n) for n in range(MEMBERS)]
    seen, unseen = (
        [workers.submit(fold, files, split, Recipe(), seed) for split in splits]
        for splits in (protocols(groups, seed)["random"], machines_apart(groups))
    )
    tasks: list[Future[Any]] = [*networks, *seen, *unseen]
    for done, _ in enumerate(as_completed(tasks), start=1):
        tell(done=done, count=len(tasks))
    models = [future.result() for future in networks]
    members = [member for model in models for member in model.members]
    intervals = _intervals(groups, seen), _intervals(groups, unseen)
    return replace(models[0], members=members, seen=intervals[0], unseen=intervals[1])


def go_on(start: Model, paths: Sequence[Path], seed: int, workers: Executor) -> Model:
    """A model trained further on the programs in these files, each of its networks apart.

    Its intervals stay: they are of Specs that were held out, and `start` may know all of these.
    """
    files = tuple(paths)
    alone = [replace(start, members=[member]) for member in start.members]
    networks = [workers.submit(_continued, model, files, seed + n) for n, model in enumerate(alone)]
    for done, _ in enumerate(as_completed(networks), start=1):
        tell(done=done, count=len(networks))
    models = [future.result() for future in networks]
    return replace(models[0], members=[member for model in models for member in model.members])


def by_machine(groups: Sequence[ProgramGroup]) -> Iterator[TrainTestSplit]:
    """Each machine held out once, if there are several."""
    machines = dict.fromkeys(group.machine for group in groups)
    for machine in machines if len(machines) > 1 else ():
        sides: tuple[list[int], list[int]] = [], []
        for number, group in enumerate(groups):
            sides[group.machine == machine].append(number)
        yield TrainTestSplit(machine, *map(tuple, sides))


def machines_apart(groups: Sequence[ProgramGroup]) -> Iterator[TrainTestSplit]:
    """Each machine held out once that leaves at least half of the Specs to train on.

    Models of fewer err more on a new machine than one that was trained on all.
    """
    for split in by_machine(groups):
        if len(split.train) >= len(split.test):
            yield split


def _intervals(groups: Sequence[ProgramGroup], fits: Iterable[Future[Predictions]]) -> Intervals:
    """The intervals of measured minus predicted log times of Specs that were held out."""
    return intervals_of(
        [
            (family_of(parse(groups[n].expression)), np.log(groups[n].seconds) - logarithms)
            for future in fits
            for n, logarithms in future.result().items()
        ]
    )


def _continued(start: Model, paths: tuple[Path, ...], seed: int) -> Model:
    return continued(start, loaded(paths), MORE, seed)

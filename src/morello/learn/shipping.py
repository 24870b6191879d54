"""The model that ships for a machine: networks trained on all of its corpus, and their error.

Needs `morello[learn]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from morello.learn.dataset import load
from morello.learn.evaluate import predictions, protocols
from morello.learn.model import Model
from morello.learn.training import Network, Recipe

MEMBERS = 3
"""Networks whose predictions are averaged."""

INSIDE = 0.9
"""The part of programs whose time is in the interval that is told."""


def train(paths: Sequence[Path], machine: str, seed: int, workers: Executor) -> Model:
    """A model of the programs in these files, measured on a machine of this name."""
    files = tuple(paths)
    groups = load(files)
    hertz = float(np.median([group.hertz for group in groups]))
    members = [workers.submit(_fitted, files, seed + n) for n in range(MEMBERS)]
    errors = [
        workers.submit(_errors, files, number, seed)
        for number in range(len(protocols(groups, seed)["random"]))
    ]
    networks = [one.result() for one in members]
    low, high = np.quantile(
        np.concatenate([one.result() for one in errors]), [(1 - INSIDE) / 2, (1 + INSIDE) / 2]
    )
    return Model(
        machine,
        hertz,
        networks[0].recipe.shape,
        networks[0].nodes,
        networks[0].configs,
        [one.parameters for one in networks],
        float(low),
        float(high),
    )


def _fitted(paths: tuple[Path, ...], seed: int) -> Network:
    network = Network(Recipe())
    network.fit(load(paths), seed)
    return network


def _errors(paths: tuple[Path, ...], fold: int, seed: int) -> np.ndarray:
    """By how much the logarithms of a fold's times are more than predicted without it."""
    groups = load(paths)
    split = protocols(groups, seed)["random"][fold]
    found = predictions(lambda: Network(Recipe()), groups, [split], seed)
    return np.concatenate([np.log(groups[n].seconds) - told for n, told in found.items()])

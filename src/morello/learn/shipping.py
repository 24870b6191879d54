"""The model that ships for a machine: networks trained on all of its corpus, and their error.

Needs `morello[learn]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np

from morello.learn.dataset import loaded
from morello.learn.evaluate import Floats, predictions, protocols
from morello.learn.model import Model
from morello.learn.splits import TrainTestSplit
from morello.learn.training import NetworkEstimator, Recipe, model_of

MEMBERS = 3
"""Networks whose predictions are averaged."""

INSIDE = 0.9
"""The fraction of programs whose time is in the predicted interval."""


def train(paths: Sequence[Path], machine: str, seed: int, workers: Executor) -> Model:
    """Train a model on the programs in these files, measured on a machine of this name."""
    files = tuple(paths)
    splits = protocols(loaded(files), seed)["random"]
    networks = [workers.submit(_fitted, files, machine, seed + n) for n in range(MEMBERS)]
    errors = [workers.submit(_errors, files, split, seed) for split in splits]
    models = [future.result() for future in networks]
    low, high = np.quantile(
        np.concatenate([future.result() for future in errors]), [(1 - INSIDE) / 2, (1 + INSIDE) / 2]
    )
    members = [member for model in models for member in model.members]
    return replace(models[0], members=members, low=float(low), high=float(high))


def _fitted(paths: tuple[Path, ...], machine: str, seed: int) -> Model:
    return model_of(loaded(paths), Recipe(), seed, machine)


def _errors(paths: tuple[Path, ...], split: TrainTestSplit, seed: int) -> Floats:
    """Measured minus predicted log times of a split's held-out programs."""
    groups = loaded(paths)
    predicted = predictions(lambda: NetworkEstimator(Recipe()), groups, [split], seed)
    return np.concatenate([np.log(groups[n].seconds) - logs for n, logs in predicted.items()])

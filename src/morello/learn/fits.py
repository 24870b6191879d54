"""Networks and predictions, kept in Morello's cache: training that ended early goes on there.

A network is trained again if the features or the code that it depends on have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from morello.base.errors import CorpusError
from morello.base.stamps import imported, stamps
from morello.learn.archive import read_arrays, write_arrays
from morello.learn.dataset import loaded
from morello.learn.evaluate import Predictions, predictions
from morello.learn.model import Model, read_model, write_model
from morello.learn.splits import TrainTestSplit
from morello.learn.training import NetworkEstimator, Recipe, model_of
from morello.native.cache import default_cache

_code = partial(imported, "morello.learn", Path(__file__).parent)
CODE = sorted(_code(["training", "evaluate"]) - _code(["features", "corpus"]))
"""The code on which all that is trained depends, without that of features: their files have stamps
of their own."""


def network(paths: tuple[Path, ...], recipe: Recipe, seed: int) -> Model:
    """A model of one network, trained on all Specs in these files, as files have it."""
    path = _path(paths, f"network {recipe} {seed}", ())
    try:
        return read_model(path)
    except CorpusError:  # there is none yet, or it is damaged
        write_model(path, model_of(loaded(paths), recipe, seed))
        return read_model(path)


def fold(paths: tuple[Path, ...], split: TrainTestSplit, recipe: Recipe, seed: int) -> Predictions:
    """The predictions for the Specs in these files that a split holds out from a network."""

    def make() -> Predictions:
        return predictions(lambda: NetworkEstimator(recipe), loaded(paths), [split], seed)

    return predicted(paths, f"fold {split} {recipe} {seed}", make)


def predicted(
    paths: Sequence[Path], what: str, make: Callable[[], Predictions], code: Sequence[Path] = ()
) -> Predictions:
    """The predictions that are made for Specs in these files; `what` tells them from others.

    They depend on this `code` besides `CODE`.
    """
    path = _path(paths, what, code)
    try:
        return _read(path)
    except CorpusError:
        new = make()
        arrays = {"numbers": np.array([*new]), "counts": np.array([*map(len, new.values())])}
        write_arrays(path, arrays | {"logarithms": np.concatenate([*new.values()])}, {})
        return new


def _read(path: Path) -> Predictions:
    damaged = "has no predictions, or is damaged."
    arrays = read_arrays(path, damaged)
    try:
        ends = np.cumsum(arrays["counts"])[:-1]
        several = np.split(arrays["logarithms"], ends)
        return dict(zip(arrays["numbers"].tolist(), several, strict=True))
    except (KeyError, ValueError):
        raise CorpusError(f"{path} {damaged}") from None


def _path(paths: Sequence[Path], what: str, code: Sequence[Path]) -> Path:
    """The file of what is trained on these features, with this code."""
    text = "\n".join([*stamps([*map(str, (*paths, *CODE, *code))]), what])
    return default_cache() / "fits" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"

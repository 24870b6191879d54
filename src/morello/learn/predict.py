"""Predicted times of programs: what ranks, explains, tunes and fuses them asks here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.errors import CorpusError
from morello.learn.dataset import of_programs
from morello.learn.features import Featurizer
from morello.learn.model import Model, read_model
from morello.rewrites.impl import Impl, replay
from morello.targets.catalog import recorded
from morello.targets.machines import MACHINES
from morello.targets.target import Target

Floats = npt.NDArray[np.float64]

SHIPPED = Path(__file__).parent / "models"
"""A model for each kind of machine that a corpus was taken on."""


class Predictor(Protocol):
    """Predicts how long calls of programs take."""

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        ...


class ByCost:
    """The affine cost at a clock of so many cycles a second."""

    def __init__(self, hertz: float) -> None:
        self.hertz = hertz

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        return np.array([impl.cost for impl in impls]) / self.hertz


class Learned:
    """A learned model, for one target.

    It learned from programs that cost what comes with Morello, so what was measured of costs on
    this machine is left aside.
    """

    def __init__(self, model: Model, target: Target) -> None:
        self.model = model
        capacities = {level.name: level.capacity for level in target.levels[1:]}
        self._target = recorded(target.machine, capacities)
        self._featurizer = Featurizer(self._target)

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        own = [replay(impl.spec, self._target, impl.decisions()) for impl in impls]
        group = of_programs(self._featurizer, own)
        seconds: Floats = np.exp(self.model.log_cycles(group)) / self.model.hertz
        return seconds


@dataclass(frozen=True)
class Prediction:
    """Seconds of a call of a program; nine of ten of its kind are between `low` and `high`."""

    seconds: float
    low: float
    high: float


def learned(target: Target) -> Learned | None:
    """The model that ships with Morello for a target's machine; None if there is none."""
    key = next((one.key for one in MACHINES if one.name == target.machine), "")
    model = shipped(key)
    return None if model is None else Learned(model, target)


def predict(impl: Impl) -> Prediction | None:
    """How long a call of a complete program for one thread takes, if there is a model for it."""
    model = None if impl.spec.parallel else learned(impl.target)
    if model is None:
        return None
    (seconds,) = model.seconds([impl]).tolist()
    low, high = (seconds * float(np.exp(x)) for x in (model.model.low, model.model.high))
    return Prediction(seconds, low, high)


def ranked(impls: Sequence[Impl]) -> list[Impl]:
    """Programs of one goal for one thread, the fastest by prediction first.

    Raises `CorpusError` if no model ships for their machine.
    """
    target = impls[0].target
    model = learned(target)
    if model is None:
        kinds = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.npz"))) or "no machine"
        raise CorpusError(
            f"no learned model ships for {target.machine or target.name}, only for {kinds}; "
            "leave out the ranking."
        )
    order = np.argsort(model.seconds(impls), kind="stable")
    return [impls[number] for number in order.tolist()]


@cache
def shipped(key: str) -> Model | None:
    """The model of a kind of machine, "zen5" say; None if there is none."""
    path = SHIPPED / f"{key}.npz"
    return read_model(path) if key and path.exists() else None

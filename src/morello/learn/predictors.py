"""Predictors of the times of programs, for ranking, explaining, tuning and fusing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError, SearchError
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.learn.adapt import Correction, corrected_and_error, error_of_costs
from morello.learn.features import Featurizer
from morello.learn.groups import ProgramGroup, of_programs
from morello.learn.local import Local, local_path, read_local
from morello.learn.model import Model, read_model
from morello.request import Ranking
from morello.targets.calibration import chosen_path
from morello.targets.catalog import recorded
from morello.targets.cpu import host_cpu
from morello.targets.machines import MACHINES
from morello.targets.target import Target

Floats = npt.NDArray[np.float64]

LEAST_SPECS = 5
"""The least Specs for a correction: with fewer, held-out Specs do not show whether it is right."""

NATIVE = "native"
SHIPPED = Path(__file__).parent / "models"
"""The folder of models, one for each kind of machine that a corpus was collected on."""


class Predictor(Protocol):
    """Predicts how long calls of programs take."""

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        ...


class ByCost:
    """Predicts by the affine cost, at a clock of `hertz` cycles per second."""

    def __init__(self, hertz: float) -> None:
        self.hertz = hertz

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        return np.array([impl.cost for impl in impls]) / self.hertz


class Learned:
    """Predicts by a learned model, for one target.

    The model was trained with the costs that ship with Morello, so it is given these, not the
    costs calibrated on this machine.
    """

    def __init__(self, model: Model, target: Target, correction: Correction | None = None) -> None:
        self.model, self._correction = model, correction
        capacities = {level.name: level.capacity for level in target.levels[1:]}
        self._target = recorded(target.machine, capacities)
        self._featurizer = Featurizer(self._target)

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        group = self.group(impls)
        logarithms = self.model.log_cycles(group)
        if self._correction is not None:
            logarithms += self._correction.of(self.model.configs(group.configs))
        seconds: Floats = np.exp(logarithms) / self.model.hertz
        return seconds

    def group(self, impls: Sequence[Impl]) -> ProgramGroup:
        """The graphs of these programs, with the costs that ship with Morello."""
        own = [replay(impl.spec, self._target, impl.decisions()) for impl in impls]
        return of_programs(self._featurizer, own)


@dataclass(frozen=True)
class Prediction:
    """Seconds of a call of a program; nine of ten of its kind are between `low` and `high`."""

    seconds: float
    low: float
    high: float


def learned(target: Target) -> Learned | None:
    """The model for a target's machine, with any correction of `morello calibrate`.

    None if there is no model. Raises `CorpusError` if the correction's file is damaged.
    """
    local = here() if target.name == NATIVE else None
    model = shipped(_kind(target) if local is None else local.model)
    return None if model is None else Learned(model, target, local.correction if local else None)


def predict(impl: Impl) -> Prediction | None:
    """Predict how long a call of a complete one-thread program takes; None without a model."""
    model = None if impl.spec.parallel else learned(impl.target)
    if model is None:
        return None
    (seconds,) = model.seconds([impl]).tolist()
    low, high = (seconds * float(np.exp(x)) for x in (model.model.low, model.model.high))
    return Prediction(seconds, low, high)


def ranked(impls: Sequence[Impl]) -> list[Impl]:
    """Programs of one goal for one thread, the fastest by prediction first.

    There must be a model for their machine (see `check_ranked`).
    """
    model = learned(impls[0].target)
    assert model is not None
    order = np.argsort(model.seconds(impls), kind="stable")
    return [impls[number] for number in order.tolist()]


def check_ranked(goal: Spec, target: Target) -> None:
    """Raise `MorelloError` if a learned model cannot rank a goal's programs."""
    if goal.parallel:
        raise SearchError(
            "a learned model knows programs for one thread; leave out the threads or the ranking."
        )
    if learned(target) is None:
        kinds = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.npz"))) or "no machine"
        raise CorpusError(
            f"no learned model ships for {target.machine or target.name}, only for {kinds}; "
            "leave out the ranking."
        )


LEARNED = Ranking(50, ranked, check_ranked)
"""The cheapest programs of different structures, in the order of predicted times."""


def here() -> Local | None:
    """The correction of a model for this machine, if `morello calibrate` wrote one."""
    path = chosen_path(host_cpu())
    return None if path is None else read_local(local_path(path))


@cache
def shipped(key: str) -> Model | None:
    """The model of a kind of machine, "zen5" say; None if there is none."""
    path = SHIPPED / f"{key}.npz"
    return read_model(path) if key and path.exists() else None


def _kind(target: Target) -> str:
    """The kind of machine that a target is for, as its files are named; "" if it has none."""
    return next((machine.key for machine in MACHINES if machine.name == target.machine), "")


def correction(target: Target, timed: Sequence[tuple[Impl, float]]) -> Local | None:
    """Correct a model with measured programs of this machine and the seconds of their calls.

    It is the model of the machine's kind, or if none ships for that, any. None if there is no
    model, if there are too few Specs, or if the corrected model is no better than costs on held-out
    Specs.
    """
    keys = [_kind(target), *sorted(path.stem for path in SHIPPED.glob("*.npz"))]
    model_key = next((key for key in keys if shipped(key) is not None), None)
    by_spec: dict[Spec, list[tuple[Impl, float]]] = {}
    for impl, seconds in timed:
        if not impl.spec.parallel:
            by_spec.setdefault(impl.spec, []).append((impl, seconds))
    if model_key is None or len(by_spec) < LEAST_SPECS:
        return None
    model = shipped(model_key)
    assert model is not None
    learned = Learned(model, target)
    groups = [
        replace(learned.group([impl for impl, _ in pairs]), seconds=np.array([s for _, s in pairs]))
        for pairs in by_spec.values()
    ]
    fitted, error = corrected_and_error(model, groups)
    costs = error_of_costs(groups)
    if error >= costs:
        return None
    return Local(model_key, fitted, len(timed), float(np.expm1(costs)), float(np.expm1(error)))

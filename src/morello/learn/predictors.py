"""Predictors of the times of programs, for ranking, explaining, tuning and fusing them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import exp
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError, MorelloError, SearchError
from morello.impl.tree import Impl, replay
from morello.ir.spec import Spec
from morello.learn.adapt import Correction, corrected, error_of_costs
from morello.learn.families import COPIES, family_of
from morello.learn.features import Featurizer
from morello.learn.groups import ProgramGroup, of_programs
from morello.learn.local import Local, local_path, read_local
from morello.learn.model import Model, read_model
from morello.request import Ranking
from morello.targets.calibration_path import chosen_path
from morello.targets.catalog import recorded
from morello.targets.costs import coefficients, with_coefficients
from morello.targets.cpu import host_cpu
from morello.targets.target import Target

Floats = npt.NDArray[np.float64]

LEAST_SPECS = 5
"""The least Specs for a correction: with fewer, held-out Specs do not show whether it is right."""

SURER = 0.98
"""Others come before the cheapest if their product of time and cost is less than this part of its:
smaller differences are mostly mistakes of predictions.
"""

LARGE_COPY = 4 << 20
"""Of copies of more bytes the cheapest comes first: features hardly tell the others apart."""

NATIVE = "native"
SHIPPED = Path(__file__).parent / "models" / "x86-64.npz"
"""The model that ships, trained on the corpora of several machines."""

VARIABLE = "MORELLO_MODEL"
"""The environment variable that names the file of another model."""


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


@dataclass(frozen=True)
class Prediction:
    """Seconds of a call of a program; nine of ten of its family are between `low` and `high`."""

    seconds: float
    low: float
    high: float

    def __add__(self, other: Prediction) -> Prediction:
        """The prediction for two programs, one after the other."""
        return Prediction(
            self.seconds + other.seconds, self.low + other.low, self.high + other.high
        )


class Learned:
    """Predicts by a learned model, for one target.

    The model was trained with the costs that ship with Morello, so it is given these, not the
    costs calibrated on this machine, nor those of operands that exceed all caches.
    """

    def __init__(self, model: Model, target: Target, correction: Correction | None = None) -> None:
        self.model, self._correction = model, correction
        capacities = {level.name: level.capacity for level in target.levels[1:]}
        shipped = coefficients(recorded(target.machine, capacities))
        known = coefficients(target)
        own = {name: value for name, value in shipped.items() if name in known}
        self._target = replace(with_coefficients(target, own), from_memory=False)
        self._featurizer = Featurizer(self._target)
        self.hertz = model.hertz(target.machine)
        self.errors = model.errors(target.machine) if correction is None else model.seen

    def seconds(self, impls: Sequence[Impl]) -> Floats:
        """Seconds of a call of each of these complete programs of one goal (n,)."""
        seconds, _ = self._told(self.group(impls))
        return seconds

    def prediction(self, impl: Impl) -> Prediction:
        """The time of a complete program, and an interval.

        That of a program that the networks cannot predict has all that programs of corpora take
        of their cost.
        """
        seconds, within = self._told(self.group([impl]))
        reach = self.model.reach
        low, high = reach.low - reach.mostly, reach.high - reach.mostly
        if within.all():
            low, high = self.errors.of(family_of(impl.spec))
        (time,) = seconds.tolist()
        return Prediction(time, time * exp(low), time * exp(high))

    def _told(self, group: ProgramGroup) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The seconds of each program, and whether the networks predict them."""
        logarithms, within = self.model.within_reach(group)
        if self._correction is not None:
            logarithms += self._correction.of(self.model.configs(group.configs))
        return np.exp(logarithms) / self.hertz, within

    def group(self, impls: Sequence[Impl]) -> ProgramGroup:
        """The graphs of these programs, with the costs that ship with Morello."""
        own = map(self._with_shipped_costs, impls)
        return replace(of_programs(self._featurizer, [*own]), hertz=self.hertz)

    def _with_shipped_costs(self, impl: Impl) -> Impl:
        if impl.target is self._target:
            return impl
        return replay(impl.spec, self._target, impl.decisions())


def learned(target: Target) -> Learned | None:
    """The model of a target: that of `$MORELLO_MODEL`, or the one that ships.

    The latter with any correction of `morello calibrate`. None for a target that is not x86-64.
    Raises `CorpusError` if the file of the model or of the correction is damaged.
    """
    model = model_for(target)
    if model is None:
        return None
    ships = target.name == NATIVE and model is shipped()
    local = here() if ships else None
    return Learned(model, target, local.correction if local else None)


def model_for(target: Target) -> Model | None:
    """The model of `learned`, without any correction."""
    if not target.machine:
        return None
    named = os.environ.get(VARIABLE, "")
    return _model(Path(named)) if named else shipped()


def predict(impl: Impl) -> Prediction | None:
    """Predict how long a call of a complete one-thread program takes; None without a model."""
    model = None if impl.spec.parallel else learned(impl.target)
    return None if model is None else model.prediction(impl)


def ranked(impls: Sequence[Impl]) -> list[Impl]:
    """Programs of one goal for one thread, by the product of predicted time and cost.

    The first by either alone is slower on average: the model knows more, but errs more on programs
    unlike those that it was trained on. There must be a model for their machine (see `refusal`).
    """
    model = learned(impls[0].target)
    assert model is not None
    costs = np.array([impl.cost for impl in impls])
    order = in_order(model.seconds(impls), costs, surer_for(impls[0].spec))
    return [impls[number] for number in order]


def surer_for(goal: Spec) -> float:
    """`SURER`, or 0 for a large copy."""
    return 0.0 if family_of(goal) == COPIES and goal.bytes > LARGE_COPY else SURER


def in_order(seconds: Floats, costs: Floats, surer: float = SURER) -> list[int]:
    """The numbers of programs by the product of time and cost; the cheapest counts as `surer`."""
    products = seconds * costs
    products[costs.argmin()] *= surer
    order: list[int] = np.argsort(products, kind="stable").tolist()
    return order


def refusal(goal: Spec, target: Target) -> MorelloError | None:
    """The error of a goal whose programs a learned model cannot rank; None if it can."""
    if goal.parallel:
        return SearchError(
            "a learned model knows programs for one thread; leave out the threads or the ranking."
        )
    if model_for(target) is None:
        return CorpusError(
            f"the learned model knows x86-64 machines by their CPU, which {target.name} does not "
            "tell; leave out the ranking."
        )
    return None


LEARNED = Ranking("learned", 20, 1.05, ranked, refusal)
"""The cheapest programs of different structures, in the order of `ranked`.

More programs, or dearer ones, are no better on corpora: the model errs most on those that are
unlike the cheapest.
"""


def here() -> Local | None:
    """The correction of a model for this machine, if `morello calibrate` wrote one."""
    path = chosen_path(host_cpu())
    return None if path is None else read_local(local_path(path), shipped_name())


_model = cache(read_model)


def shipped() -> Model:
    """The model that ships."""
    return _model(SHIPPED)


def shipped_name() -> str:
    """The name of the model that ships: a correction is right for no other."""
    return _name_of(SHIPPED)


@cache
def _name_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def correction(target: Target, timed: Sequence[tuple[Impl, float]]) -> Local | None:
    """Correct the model with measured programs of this machine and the seconds of their calls.

    None if the model is not for the target, if there are too few Specs, or if the corrected model
    is no better than costs on held-out Specs.
    """
    by_spec: dict[Spec, list[tuple[Impl, float]]] = {}
    for impl, seconds in timed:
        if not impl.spec.parallel:
            by_spec.setdefault(impl.spec, []).append((impl, seconds))
    if not target.machine or len(by_spec) < LEAST_SPECS:
        return None
    model = shipped()
    learned = Learned(model, target)
    groups = [
        replace(learned.group([impl for impl, _ in pairs]), seconds=np.array([s for _, s in pairs]))
        for pairs in by_spec.values()
    ]
    fitted, error = corrected(model, groups)
    costs = error_of_costs(groups)
    if error >= costs:
        return None
    return Local(shipped_name(), fitted, len(timed), float(np.expm1(costs)), float(np.expm1(error)))

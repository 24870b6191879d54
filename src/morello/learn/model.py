"""Trained models: ensembles of networks whose predictions are averaged, in one file.

A file is a NumPy archive without pickles, so that reading it runs no code: the parameters of each
network, the scales of features, and JSON of the machines and the shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from math import inf, log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import CorpusError
from morello.learn.archive import Array, read_about, read_arrays, write_arrays
from morello.learn.batches import Examples, Scale, graphs
from morello.learn.features import NODE_FEATURES, PROGRAM_FEATURES, VERSION
from morello.learn.groups import ProgramGroup
from morello.learn.intervals import Interval, Intervals
from morello.learn.network import CoefficientNetwork, GraphNetwork, OnNumpy

AT_ONCE = 64
"""The most programs in a batch of predictions."""

MARGIN = 2.0
"""Programs may take so many times more or less of their cost than those of corpora do."""

FEW = 0.001
"""The part of a corpus that may take more of its cost, or less, and be a mistake of measuring."""


@dataclass(frozen=True)
class Reach:
    """Between which logarithms programs of corpora take of their cost, and what they `mostly` do.

    Predictions beyond it are of programs that the networks cannot tell anything of.
    """

    low: float = -inf
    mostly: float = 0.0
    high: float = inf

    @classmethod
    def of(cls, groups: Sequence[ProgramGroup]) -> Reach:
        """The reach of these programs, with a margin."""
        taken = np.concatenate([np.log(g.seconds * g.hertz / g.cost) for g in groups])
        low, mostly, high = np.quantile(taken, (FEW, 0.5, 1 - FEW)).tolist()
        return cls(low - log(MARGIN), mostly, high + log(MARGIN))

    def joined(self, other: Reach) -> Reach:
        """The reach of the programs of both; what most of these do is as the other's do."""
        return Reach(min(self.low, other.low), other.mostly, max(self.high, other.high))


@dataclass(frozen=True)
class Model:
    """Networks that predict the cycles of programs, alike but for their parameters.

    `clocks` are the cycles per second of the microarchitectures that it was trained on, by name.
    `nodes` and `configs` are the scales of features, `members` the parameters of each network.
    `seen` are its errors on programs of unseen Specs, and `unseen` those on machines which were
    left out of training. Beyond its `reach`, the affine cost decides.
    """

    clocks: Mapping[str, float]
    network: GraphNetwork
    nodes: Scale
    configs: Scale
    members: Sequence[Mapping[str, Array]]
    seen: Intervals = field(default_factory=Intervals)
    unseen: Intervals = field(default_factory=Intervals)
    reach: Reach = field(default_factory=Reach)

    def hertz(self, machine: str) -> float:
        """The cycles per second of a microarchitecture; if it is unknown, of a typical one."""
        return self.clocks.get(machine, median(self.clocks.values()))

    def errors(self, machine: str) -> Intervals:
        """Its errors on a microarchitecture."""
        return self.seen if machine in self.clocks else self.unseen

    def log_cycles(self, group: ProgramGroup) -> npt.NDArray[np.float64]:
        """The predicted logarithms of the cycles of a group's programs.

        Up to a constant if it was trained on ranks alone.
        """
        logarithms, _ = self.within_reach(group)
        return logarithms

    def within_reach(
        self, group: ProgramGroup
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The logarithms of cycles, and which of them the networks predict, not the cost."""
        of_networks, costs = self._of_networks(group), np.log(group.cost)
        taken = of_networks - costs
        within = np.asarray((taken >= self.reach.low) & (taken <= self.reach.high))
        return np.where(within, of_networks, costs + self.reach.mostly), within

    def _of_networks(self, group: ProgramGroup) -> npt.NDArray[np.float64]:
        """The mean of what the networks predict, in logarithms of cycles."""
        examples = Examples.of(group, self.nodes, self.configs)
        predicted = []
        for first in range(0, len(group.seconds), AT_ONCE):
            rows = np.arange(first, min(first + AT_ONCE, len(group.seconds)))
            batch = graphs([(examples, rows)])
            predicted.append(
                [self.network.predict(member, batch, OnNumpy()) for member in self.members]
            )
        mean: npt.NDArray[np.float64] = np.mean(np.concatenate(predicted, axis=1), axis=0)
        return mean


def write_model(path: Path, model: Model) -> None:
    """Write a file, with parameters in float16. Raises `FileError`."""
    about = {
        "features": VERSION,
        "clocks": dict(model.clocks),
        "shape": asdict(model.network),
        "members": len(model.members),
        "seen": asdict(model.seen),
        "unseen": asdict(model.unseen),
        "reach": astuple(model.reach),
    }
    arrays: dict[str, Array] = {}
    for name, scale in (("nodes", model.nodes), ("configs", model.configs)):
        arrays |= {f"{name}.mean": scale.mean, f"{name}.deviation": scale.deviation}
    for number, member in enumerate(model.members):
        arrays |= {f"{number}.{name}": a.astype(np.float16) for name, a in member.items()}
    write_arrays(path, arrays, about)


def read_model(path: Path) -> Model:
    """Read a model. Raises `CorpusError` for other files, or for another version of features."""
    damaged = "is no learned model, or is damaged; train it again."
    arrays = read_arrays(path, damaged)
    try:
        about = read_about(arrays)
        if about["features"] != VERSION:
            raise CorpusError(
                f"{path} is of features of version {about['features']}, and this Morello makes "
                f"{VERSION}; train it again."
            )
        model = Model(
            {str(name): float(hertz) for name, hertz in about["clocks"].items()},
            CoefficientNetwork(**{f.name: about["shape"][f.name] for f in fields(GraphNetwork)}),
            Scale(arrays["nodes.mean"], arrays["nodes.deviation"]),
            Scale(arrays["configs.mean"], arrays["configs.deviation"]),
            [_member(arrays, number) for number in range(about["members"])],
            _intervals(about["seen"]),
            _intervals(about["unseen"]),
            _reach(about["reach"]),
        )
    except (AttributeError, ValueError, KeyError, TypeError):
        raise CorpusError(f"{path} {damaged}") from None
    _check(path, model)
    return model


def _intervals(about: Mapping[str, Any]) -> Intervals:
    families = about["families"].items()
    return Intervals(
        _interval(about["every"]), {str(family): _interval(ends) for family, ends in families}
    )


def _reach(about: Sequence[float]) -> Reach:
    low, mostly, high = about
    return Reach(float(low), float(mostly), float(high))


def _interval(ends: Sequence[float]) -> Interval:
    low, high = ends
    return float(low), float(high)


def _member(arrays: Mapping[str, Array], number: int) -> dict[str, Array]:
    start = f"{number}."
    return {
        name.removeprefix(start): array.astype(np.float32)
        for name, array in arrays.items()
        if name.startswith(start)
    }


def _check(path: Path, model: Model) -> None:
    """Raise `CorpusError` if the arrays do not have the networks' shapes, or are not finite."""
    sizes = (len(model.nodes.mean), len(model.configs.mean))
    if sizes != (len(NODE_FEATURES), len(PROGRAM_FEATURES)) or not (model.members and model.clocks):
        raise CorpusError(f"{path} does not match the features of programs; train it again.")
    wanted = model.network.initial(*sizes, seed=0)
    for member in model.members:
        if {name: a.shape for name, a in member.items()} != {n: a.shape for n, a in wanted.items()}:
            raise CorpusError(f"{path} has parameters of another network; train it again.")
    arrays = [a for member in model.members for a in member.values()]
    scales = (model.nodes.mean, model.nodes.deviation, model.configs.mean, model.configs.deviation)
    if not all(np.isfinite(a).all() for a in (*arrays, *scales)):
        raise CorpusError(f"{path} has parameters that are no numbers; train it again.")

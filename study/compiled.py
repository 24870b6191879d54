"""Whether machine code tells more of a program's time than its statements do.

    python -m study.compiled CORPUS FOLDER [--compiler gcc] [--seeds 1] [--json]

Every program of a corpus is compiled, and run once to count its instructions (`machine_code`). The
counts are kept in FOLDER; those that are there are not made again. Then models with and without
them predict the times, each Spec held out once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from morello.base.errors import MorelloError
from morello.base.workers import Worker, local_workers
from morello.learn.affine import Affine, Estimator, Floats
from morello.learn.archive import read_arrays, write_arrays
from morello.learn.corpus import files, read
from morello.learn.dataset import cached_features, load
from morello.learn.evaluate import described, judge, judged_by_cost, predictions, protocols, score
from morello.learn.features import EXECUTED, PROGRAM_FEATURES
from morello.learn.groups import ProgramGroup
from morello.learn.training import NetworkEstimator
from morello.measure.calibrate.fit import nonnegative
from morello.native.toolchain import find_compiler
from study.command import exit_code
from study.experiments import SHORT, Experiment, ExperimentResult, together
from study.limits import PROTOCOL, halved
from study.machine_code import CLASSES, FEATURES, features
from study.report import table_of
from study.trees import Trees

SECONDS = 600.0
"""How long the programs of one Spec may take to be compiled and run."""

ROUNDS = 10
"""Least squares are weighted anew so often."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    return exit_code("study.compiled", lambda: _compare(arguments, console))


def _compare(arguments: argparse.Namespace, console: Console) -> None:
    groups = list(_groups(arguments, console))
    results = list(results_of(groups, arguments.seeds))
    if arguments.json:
        print(json.dumps([described(result.mean) for result in results], indent=2))
    else:
        print("\n".join(table_of(results)))


def _groups(arguments: argparse.Namespace, console: Console) -> Iterator[ProgramGroup]:
    """The programs of each Spec that could be counted, with `FEATURES` as their last configs."""
    find_compiler(arguments.compiler)
    with local_workers(1) as workers:
        archives = cached_features(arguments.corpus, workers)
    with Worker() as worker:
        for path, group in zip(files(arguments.corpus), load(archives), strict=True):
            kept = arguments.folder / path.name
            if not kept.exists():
                try:
                    totals = worker.run(_counted, path, arguments.compiler, seconds=SECONDS)
                except MorelloError as error:
                    console.print(f"{group.expression}: left out, as {error}", markup=False)
                    totals = np.empty((0, len(FEATURES)))
                write_arrays(kept, {"totals": totals}, {"features": FEATURES})
            totals = read_arrays(kept, "is damaged; delete it.")["totals"]
            if len(totals) == len(group.seconds):
                yield replace(group, configs=np.hstack([group.configs, totals]))


def _counted(path: Path, compiler: str | None) -> Floats:
    return features(read(path), find_compiler(compiler))[1]


def _totals(group: ProgramGroup) -> Floats:
    totals: Floats = group.configs[:, -len(FEATURES) :].astype(np.float64)
    return totals


def _fetched(group: ProgramGroup) -> Floats:
    cycles: Floats = group.fetches.astype(np.float64)
    return cycles


def without(group: ProgramGroup) -> ProgramGroup:
    """The group without what machine code tells."""
    return replace(group, configs=group.configs[:, : -len(FEATURES)])


def relative(group: ProgramGroup) -> ProgramGroup:
    """The group with logarithms of what machine code tells, relative to the cost."""
    logs = np.log2(_totals(group) / group.cost[:, None] + 1e-3)
    return replace(group, configs=np.hstack([without(group).configs, logs]))


def alone(group: ProgramGroup) -> ProgramGroup:
    """The group with nothing but what machine code tells, and the fetches."""
    fetches = np.log2(_fetched(group) / group.cost[:, None] + 1e-3)
    configs = relative(group).configs[:, -len(FEATURES) :]
    return replace(group, configs=np.hstack([configs, fetches]), nodes=np.zeros_like(group.nodes))


class Seeing:
    """A model that is given each group as a function changes it."""

    def __init__(self, see: Callable[[ProgramGroup], ProgramGroup], model: Estimator) -> None:
        self._see, self._model = see, model
        self.absolute = model.absolute

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        self._model.fit([self._see(group) for group in groups], seed)

    def predict(self, group: ProgramGroup) -> Floats:
        return self._model.predict(self._see(group))


class Counted:
    """Cycles as a sum of terms with non-negative coefficients, fitted to relative errors."""

    absolute = True

    def __init__(self, terms: Callable[[ProgramGroup], Floats], fitted: bool = True) -> None:
        self._terms, self._fitted = terms, fitted
        self._factors: Floats = np.ones(0)

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        terms = np.concatenate([self._terms(group) for group in groups])
        cycles = np.concatenate([group.seconds * group.hertz for group in groups])
        self._factors = np.ones(terms.shape[1])
        for _ in range(ROUNDS if self._fitted else 0):
            scale = 1.0 / np.sqrt(np.maximum(terms @ self._factors, 1.0) * cycles)
            rows = terms * scale[:, None]
            size = np.maximum(np.sqrt((rows**2).sum(axis=0)), 1e-12)  # unused ones become 0
            rows = np.vstack([rows / size, 1e-3 * np.eye(len(size))])
            wanted = np.concatenate([cycles * scale, np.zeros(len(size))])
            self._factors = nonnegative(rows, wanted) / size

    def predict(self, group: ProgramGroup) -> Floats:
        cycles = np.maximum(self._terms(group) @ self._factors, 1.0)
        logarithms: Floats = np.log(cycles / group.hertz)
        return logarithms


def counts(group: ProgramGroup) -> Floats:
    """Executions of each class, fetches, and a call."""
    return np.hstack([_totals(group)[:, : len(CLASSES)], _fetched(group)])


def statements(group: ProgramGroup) -> Floats:
    """Executions of each class and parts of loops, as statements have them, and fetches."""
    first = PROGRAM_FEATURES.index(f"executed_{EXECUTED[0]}")
    executed = np.exp2(group.configs[:, first : first + len(EXECUTED)].astype(np.float64))
    cycles = np.maximum(executed - 1e-3, 0.0) * group.cost[:, None]
    loops = np.add.reduceat(group.parts.astype(np.float64), group.node_splits[:-1])
    terms: Floats = np.hstack([cycles, loops, _fetched(group)])
    return terms


def bounds(group: ProgramGroup) -> Floats:
    """A lower bound on cycles: the maximum of port and latency bounds, plus those of fetches."""
    core = _totals(group)[:, [FEATURES.index("core")]]
    cycles: Floats = core + _fetched(group).sum(axis=1, keepdims=True)
    return cycles


def parts(group: ProgramGroup) -> Floats:
    """The terms of `bounds`, apart."""
    totals = _totals(group)
    columns = totals[:, [FEATURES.index(name) for name in ("ports", "core", "instructions")]]
    return np.hstack([columns, _fetched(group)])


MODELS: Mapping[str, Callable[[], Estimator]] = {
    "affine": Affine,
    "counts of statements, least squares": partial(Counted, statements),
    "counts of instructions, least squares": partial(Counted, counts),
    "ports, latency and lines": partial(Counted, bounds, False),
    "ports, latency and lines, least squares": partial(Counted, parts),
    "trees": lambda: Seeing(without, Trees("residual")),
    "trees, machine code alone": lambda: Seeing(alone, Trees("residual")),
    "trees, and machine code": lambda: Seeing(relative, Trees("residual")),
    "network": lambda: Seeing(without, NetworkEstimator(SHORT)),
    "network, and machine code": lambda: Seeing(relative, NetworkEstimator(SHORT)),
}


def results_of(
    groups: Sequence[ProgramGroup],
    seeds: int,
    models: Mapping[str, Callable[[], Estimator]] = MODELS,
) -> Iterator[ExperimentResult]:
    """The results of models with and without machine code: Specs held out, and programs."""
    halves, splits = halved(groups, 0)
    for protocol, members, held in (
        ("random", groups, protocols(groups, 0)["random"]),
        (PROTOCOL, halves, splits),
    ):
        for name, make in models.items():
            if protocol == PROTOCOL and name.startswith("network"):
                continue
            predicted = [predictions(make, members, held, seed) for seed in range(seeds)]
            mean = together(predicted)
            judged = judge(members, mean, absolute=make().absolute)
            outcome = score(protocol, name, judged, judged_by_cost(members, mean))
            trial = Experiment("code", name, make, protocol)
            yield ExperimentResult(trial, [outcome], outcome)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study.compiled", description="Predict times from machine code."
    )
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="measured programs")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where counts are kept")
    parser.add_argument("--compiler", help="as of the corpus (default: $CC, clang, zig, gcc)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="of each model (1)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    from study import compiled  # under its own name, so that processes find its functions

    sys.exit(compiled.main())

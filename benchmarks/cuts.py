"""Cuts compositions into kernels in three ways, and predicts and measures each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.frontends.text import parse_tensor
from morello.fusion.fuse import fuse
from morello.fusion.operation_graph import OperationGraph, cut
from morello.fusion.partition import Partition, apart, by_rule
from morello.fusion.prices import SECONDS, Prices
from morello.fusion.program import FusedProgram, compile_partition
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.predictors import Predictor
from morello.measure.timing import measure
from morello.memo import Table

MEASURED_S = 2.0
"""How long each program is timed."""


@dataclass(frozen=True)
class CutTiming:
    """A composition cut into kernels: how many, and predicted and measured seconds a call.

    The measured time is the minimum of the samples.
    """

    kernels: int
    predicted: float
    measured: float


@dataclass(frozen=True)
class Row:
    """A composition, cut by prediction, by the rule, and into single operations."""

    name: str
    fused: CutTiming
    by_rule: CutTiming
    apart: CutTiming


def study(
    compositions: Mapping[str, str],
    predictor: Predictor,
    seconds: float = SECONDS,
    table: Table | None = None,
) -> Iterator[Row]:
    """Cut, compile and time each composition on one CPU; the cuts are timed in turns.

    Identical cuts are timed once. The search for a kernel may take `seconds`, unless the table has
    its result. Raises `MorelloError`.
    """
    prices = Prices(predictor, seconds, table=table)
    for name, expression in compositions.items():
        graph = OperationGraph(parse_tensor(expression))
        cuts = [fuse(graph, prices, prices.proven), by_rule(graph), apart(graph)]
        different = [partition for n, partition in enumerate(cuts) if partition not in cuts[:n]]
        programs = [compile_partition(partition, _impl(prices)) for partition in different]
        calls = {str(n): _call(program) for n, program in enumerate(programs)}
        timings = measure(calls, seconds=MEASURED_S)
        outcomes = [
            CutTiming(
                len(partition.groups),
                predicted(partition, prices),
                timings[str(different.index(partition))].min_s,
            )
            for partition in cuts
        ]
        yield Row(name, *outcomes)


def predicted(partition: Partition, prices: Prices) -> float:
    """The predicted seconds of all kernels of a partition together."""
    return sum(prices.found(cut(group).spec).seconds for group in partition.groups)


def _impl(prices: Prices) -> Callable[[Spec], Impl]:
    return lambda spec: prices.found(spec).impl


def _call(program: FusedProgram) -> Callable[[], object]:
    """A call of a program on random data of its own."""
    random = np.random.default_rng(0)
    *inputs, output = program.arguments
    return partial(program, *(argument.random(random) for argument in inputs), out=output.empty())

"""Evaluates fusion by prediction: compositions cut in three ways, predicted and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.frontends.text import parse_tensor
from morello.fusion.fuse import fuse
from morello.fusion.graph import OperationGraph, cut
from morello.fusion.partition import Partition, apart, by_rule
from morello.fusion.prices import SECONDS, Prices
from morello.fusion.program import FusedProgram, compile_all
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.learn.predict import Predictor
from morello.measure.timing import measure
from morello.memo import Table

MEASURED_S = 2.0
"""How long each program is timed."""


@dataclass(frozen=True)
class CutTiming:
    """A way to cut a composition: its number of kernels, and predicted and measured seconds a call.

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
    """Cut, compile and time each composition on one CPU; the ways to cut it are timed in turns.

    Identical ways are timed once. The search for a kernel may take `seconds`, unless the table has
    its result. Raises `MorelloError`.
    """
    prices = Prices(predictor, seconds, table=table)
    for name, expression in compositions.items():
        graph = OperationGraph(parse_tensor(expression))
        ways = [fuse(graph, prices, prices.proven), by_rule(graph), apart(graph)]
        different = [way for n, way in enumerate(ways) if way not in ways[:n]]
        programs = [compile_all(way, _impl(prices)) for way in different]
        calls = {str(n): _call(program) for n, program in enumerate(programs)}
        timings = measure(calls, seconds=MEASURED_S)
        outcomes = [
            CutTiming(
                len(way.groups), predicted(way, prices), timings[str(different.index(way))].min_s
            )
            for way in ways
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

"""Cuts compositions into kernels in three ways, and predicts and measures each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.graph.fusing import by_cost
from morello.graph.partition import GraphPartition, apart, by_rule
from morello.importers.text import graph_of
from morello.learn.predictors import Predictor
from morello.measure.timing import measure
from morello.memo import Table
from morello.models import CompiledGraph, Segment, compile_partition
from morello.models.prices import Prices
from morello.options import Options
from morello.runtime.argument import Array, argument

SECONDS = 10.0
"""The default time limit of the search for a kernel."""

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
    options: Options = {"budget": seconds, "gap": 0.0, "table": table}
    prices = Prices(predictor, **options)
    for name, expression in compositions.items():
        graph = graph_of(expression)
        cuts = [by_cost(graph, prices, prices.finished), by_rule(graph), apart(graph)]
        different = [cut for number, cut in enumerate(cuts) if cut not in cuts[:number]]
        programs = [compile_partition(partition, **options) for partition in different]
        calls = {str(n): _call(program) for n, program in enumerate(programs)}
        timings = measure(calls, seconds=MEASURED_S)
        outcomes = [
            CutTiming(
                len(cut.groups), predicted(cut, prices), timings[str(different.index(cut))].min_s
            )
            for cut in cuts
        ]
        yield Row(name, *outcomes)


def predicted(partition: GraphPartition, prices: Prices) -> float:
    """The predicted seconds of all kernels of a partition together."""
    return sum(prices.of(group.lowered.spec).seconds for group in partition.groups)


def _call(program: CompiledGraph) -> Callable[[], object]:
    """A call of a program, which is one segment, on random data of its own."""
    (segment,) = program.segments
    random, addresses, arrays = np.random.default_rng(0), [], []
    for node in (*segment.inputs, *segment.outputs):
        assert node.type.element is not None
        arrays.append(argument("", node.type.element, node.shape).random(random))
        addresses.append(arrays[-1].ctypes.data)
    return partial(_run, segment, addresses, arrays)


def _run(segment: Segment, addresses: Sequence[int], arrays: Sequence[Array]) -> None:
    """The arrays are kept while their addresses are used."""
    segment.run(addresses)

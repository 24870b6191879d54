"""Partitions into other groups that cost less, which is found out by compiling these."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.base.errors import MorelloError
from morello.graph.graph import Node, TensorType, apply
from morello.graph.improving import Improvement, Wanted, WeighedGroup
from morello.graph.lowering import copied
from morello.graph.operators import Input
from morello.graph.partition import GraphPartition, Group
from morello.ir.tensor import LINE_BYTES
from morello.models.in_place import in_place
from morello.models.kernels import Kernels
from morello.models.schedule import Stage, StoredCall, schedule, whole
from morello.options import Options, requested
from morello.request import answer
from morello.runtime.threads import available_threads, thread_count

SECONDS = 10.0
"""How long other groups than the given ones are tried, if that is expected to be worth it."""

LEAST_EXPECTED = 0.03
"""Other groups are tried if at least this fraction of the cost of all kernels may be saved."""

_COPIED = TensorType((256, 1024), np.dtype(np.float32))
"""An array too large for a cache, which a kernel copies from memory to memory."""


@dataclass(frozen=True)
class Weighing:
    """The costs of groups other than those of a partition.

    To write a cache line and to read it again costs `line` cycles, 0 if that is not known; `groups`
    are those that were priced.
    """

    line: float = 0.0
    groups: tuple[WeighedGroup, ...] = ()


def cheaper(
    partition: GraphPartition, kernels: Kernels, seconds: float | None
) -> tuple[GraphPartition, Weighing]:
    """The cheapest partition that is found in so many seconds; the given one if none is cheaper.

    Without a number of seconds, they are `SECONDS` if estimates expect to save enough, and else
    none. The kernels of the given groups were compiled already, and those of other ones are.
    """
    costs = _known(kernels, partition, partition.groups)
    if len(partition.groups) < 2 or len(costs) < len(partition.groups):
        return partition, Weighing()
    try:
        line = _line(kernels.options)
    except MorelloError:  # options for which a copy has no program
        return partition, Weighing()
    improvement = Improvement(partition, costs, line)
    if seconds is None and improvement.expected < LEAST_EXPECTED:
        return partition, Weighing(line)
    pricing = _Pricing(kernels, SECONDS if seconds is None else seconds)
    cheapest = improvement.cheapest(pricing)
    return cheapest, Weighing(line, improvement.weighed)


class _Pricing:
    """The costs of groups, as long as there is time to compile them.

    No search gets less than its budget for want of time: a later process, which asks for the chosen
    kernels with that budget, would search again.
    """

    def __init__(self, kernels: Kernels, seconds: float) -> None:
        """The time starts now."""
        self._kernels = kernels
        self._budget = min(seconds, kernels.options["budget"])
        self._end = time.monotonic() + seconds

    def __call__(self, wanted: Wanted) -> dict[Group, float]:
        """The costs of those for which there is time, the first ones, and of what is equal.

        Groups of later partitions are compiled where a core would have nothing to do. Once less
        than half of a search's budget is left, no more are compiled.
        """
        left = self._end - time.monotonic()
        if left < self._budget / 2:
            return {}
        cores = available_threads()
        searches = 2 if thread_count(self._kernels.options["threads"]) > 1 else 1
        most = max(1, int(left * cores / (self._budget * searches)))
        chosen: list[StoredCall] = []
        for partition, groups in wanted:
            if len(chosen) < cores:
                calls = _calls(partition)
                chosen += [calls[group.output] for group in groups]
                chosen = self._kernels.different(chosen)[:most]
        self._kernels.compile(chosen, self._budget)
        costs: dict[Group, float] = {}
        for partition, groups in wanted:
            costs |= _known(self._kernels, partition, groups)
        return costs


def _known(
    kernels: Kernels, partition: GraphPartition, groups: Sequence[Group]
) -> dict[Group, float]:
    """The costs of the groups of a partition that were compiled."""
    calls = _calls(partition)
    return {
        group: kernels.cost([calls[group.output]])
        for group in groups
        if calls[group.output] in kernels
    }


def _calls(partition: GraphPartition) -> Mapping[Node, StoredCall]:
    """The call of each group by its output, in place where it can be."""
    calls: dict[Node, StoredCall] = {}
    for stage in schedule(partition):
        if isinstance(stage, Stage):
            computing = [call for call in stage.calls if not call.copies]
            placed = [call for call in in_place(stage).calls if not call.copies]
            calls |= {
                before.output.base: after for before, after in zip(computing, placed, strict=True)
            }
    return calls


def _line(options: Options) -> float:
    """The cycles that it takes to write a cache line and to read it again, by those of a copy."""
    spec = copied(whole(apply(Input(_COPIED)))).spec
    alone: Options = {**options, "threads": 1}
    with requested(spec, **alone) as request:
        impl, _ = answer(request)
    return impl.cost / (_COPIED.bytes / LINE_BYTES)

"""How long the kernels of a program take, each after those that run before it."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from morello.graph.graph import Array
from morello.graph.interpreter import random_values
from morello.models.compiling import CompiledGraph

LEAST_ROUNDS = 5


@dataclass(frozen=True)
class Profile:
    """Seconds: of each kernel, in the order in which they run, and of whole calls.

    The calls are those of segments, without what the framework computes between them.
    """

    kernels: tuple[float, ...]
    calls: float


def timed(compiled: CompiledGraph, seconds: float = 1.0) -> Profile:
    """Run the kernels on random arrays for about so many seconds, and time them.

    Each runs as in a call of the program: what it reads was just written by the kernels before it,
    and its constants were last read a call ago. They are timed in C, in other calls than the whole.
    """
    random = np.random.default_rng(0)
    given = []
    for segment in compiled.segments:
        nodes = (*segment.inputs, *segment.outputs)
        given.append((segment, [random_values(node, random) for node in nodes]))
    runs = [(segment, [array.ctypes.data for array in arrays]) for segment, arrays in given]
    calls: list[list[float]] = []
    kernels: list[list[float]] = []
    end = perf_counter() + seconds
    while len(calls) < LEAST_ROUNDS or perf_counter() < end:
        begin = perf_counter()
        for segment, addresses in runs:
            segment.run(addresses)
        calls.append([perf_counter() - begin])
        kernels.append([time for segment, some in runs for time in segment.step_seconds(some)])
    return Profile(tuple(_typical(np.array(kernels))), float(_typical(np.array(calls))[0]))


def _typical(rounds: Array) -> Array:
    """The means by column of the half of the rows whose sums are in the middle.

    Each kernel has its share of interrupts so, as a call has; medians would leave them out.
    """
    order = rounds.sum(axis=1).argsort()
    skipped = len(rounds) // 4
    return np.asarray(rounds[order[skipped : len(rounds) - skipped]].mean(axis=0))

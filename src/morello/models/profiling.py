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
    """Run the kernels on random arrays for about so many seconds, and time them in C.

    Each runs as in a call of the program: what it reads was just written by the kernels before it,
    and its constants were last read a call ago. Reading the clock takes about 40 ns a kernel.
    """
    random = np.random.default_rng(0)
    given = []
    for segment in compiled.segments:
        nodes = (*segment.inputs, *segment.outputs)
        given.append((segment, [random_values(node, random) for node in nodes]))
    runs = [(segment, [array.ctypes.data for array in arrays]) for segment, arrays in given]
    rounds: list[list[float]] = []
    end = perf_counter() + seconds
    while len(rounds) < LEAST_ROUNDS or perf_counter() < end:
        results = [segment.timed_run(addresses) for segment, addresses in runs]
        calls = sum(whole for _, whole in results)
        rounds.append([*(time for times, _ in results for time in times), calls])
    *kernels, calls = _typical(np.array(rounds))
    return Profile(tuple(map(float, kernels)), float(calls))


def _typical(rounds: Array) -> Array:
    """The means by column of the half of the rows whose last number is in the middle.

    Each kernel has its share of interrupts so, as a call has; medians would leave them out.
    """
    order = rounds[:, -1].argsort()
    skipped = len(rounds) // 4
    return np.asarray(rounds[order[skipped : len(rounds) - skipped]].mean(axis=0))

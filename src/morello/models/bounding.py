"""The rooflines of the kernels of a compiled graph: from where each reads its arrays."""

from __future__ import annotations

from collections.abc import Iterable

from morello.kernel import Kernel
from morello.measure.bounds import Bound, Peak, bound, moved_bytes
from morello.models.compiling import CompiledGraph

CallConstants = tuple[Kernel, tuple[int | None, ...]]
"""A kernel, and for each of its arrays a number that equal constants have; None for others."""


def constants_of_calls(compiled: CompiledGraph) -> list[CallConstants]:
    """The kernels in the order in which they run, with the constants that they read."""
    return [
        (kernel, tuple(None if isinstance(each.base, int) else id(each.base) for each in places))
        for segment in compiled.segments
        for kernel, places in zip(segment.kernels, segment.places, strict=True)
    ]


def kernel_bounds(calls: Iterable[CallConstants], peak: Peak) -> list[Bound]:
    """The bound of each kernel, in the order in which they run.

    A call reads all constants of the graph, so that each of them has to stay in a cache with all
    others until the next call. What kernels hand over is taken to be in the nearest cache that
    holds what one of them reads and writes.
    """
    calls = [*calls]
    moved = {kernel: moved_bytes(kernel.spec) for kernel in dict.fromkeys(k for k, _ in calls)}
    constants: list[list[str]] = []
    sizes: dict[int, int] = {}
    for kernel, numbers in calls:
        names = []
        for name, number in zip(moved[kernel], numbers, strict=True):
            if number is not None:
                names.append(name)
                sizes[number] = max(moved[kernel][name], sizes.get(number, 0))
        constants.append(names)
    resident = sum(sizes.values())
    return [
        bound(kernel.spec, peak, names, resident)
        for (kernel, _), names in zip(calls, constants, strict=True)
    ]

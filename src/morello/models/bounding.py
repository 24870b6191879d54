"""The rooflines of the kernels of a compiled graph: from where each reads its arrays."""

from __future__ import annotations

from collections.abc import Iterator

from morello.kernel import Kernel
from morello.measure.bounds import Bound, Peak, bound, moved_bytes
from morello.models.compiling import CompiledGraph
from morello.models.segment import Place


def kernel_bounds(compiled: CompiledGraph, peak: Peak) -> list[Bound]:
    """The bound of each kernel, in the order in which they run.

    A call reads all constants of the graph, so that each of them has to stay in a cache with all
    others until the next call. What kernels hand over is taken to be in the nearest cache that
    holds what one of them reads and writes.
    """
    constants: list[list[str]] = []
    sizes: dict[int, int] = {}
    calls = [*_calls(compiled)]
    for kernel, places in calls:
        moved, names = moved_bytes(kernel.spec), []
        for name, place in zip(moved, places, strict=True):
            if not isinstance(place.base, int):
                names.append(name)
                sizes[id(place.base)] = max(moved[name], sizes.get(id(place.base), 0))
        constants.append(names)
    resident = sum(sizes.values())
    return [
        bound(kernel.spec, peak, names, resident)
        for (kernel, _), names in zip(calls, constants, strict=True)
    ]


def _calls(compiled: CompiledGraph) -> Iterator[tuple[Kernel, tuple[Place, ...]]]:
    """Each kernel with the places of its arrays."""
    for segment in compiled.segments:
        yield from zip(segment.kernels, segment.places, strict=True)

"""The rooflines of the kernels of a compiled graph: from where each reads its arrays."""

from __future__ import annotations

from morello.measure.bounds import Bound, Peak, bound
from morello.models.compiling import CompiledGraph
from morello.models.segment import Place, Segment


def kernel_bounds(compiled: CompiledGraph, peak: Peak) -> list[Bound]:
    """The bound of each kernel, in the order in which they run.

    A call reads all constants of the graph, so that each of them has to stay in a cache with all
    others until the next call. What kernels hand over is taken to be in the nearest cache that
    holds what one of them reads and writes.
    """
    packed = {
        id(place.base): place.base.nbytes
        for segment in compiled.segments
        for places in segment.places
        for place in places
        if not isinstance(place.base, int)
    }
    resident = sum(packed.values())
    return [
        bound(kernel.spec, peak, _constants(segment, number), resident)
        for segment in compiled.segments
        for number, kernel in enumerate(segment.kernels)
    ]


def _constants(segment: Segment, number: int) -> list[str]:
    """The names of the arrays of a kernel that are constants of the graph."""
    names, places = segment.kernels[number].spec.arrays, segment.places[number]
    return [name for name, place in zip(names, places, strict=True) if _is_constant(place)]


def _is_constant(place: Place) -> bool:
    return not isinstance(place.base, int)

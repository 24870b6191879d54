"""The traits of goals, besides sizes, that decide which tiles and rules their search space has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from morello.ir.axes import axis
from morello.ir.compose import batches_of_some
from morello.ir.dtype import F32, DType
from morello.ir.layout import Layout, row_major
from morello.ir.operation import Operation
from morello.ir.placements import FEW
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, MANY, aliased_at, runs
from morello.targets.target import Target

VECTOR = 16
"""The elements of a long vector, of four bytes each."""

MOST_PRODUCTS = 3
"""The most sums of products in a composition that is not `long`."""


@dataclass(frozen=True)
class RuleTraits:
    """The traits of goals that decide which rules their search space has.

    `odd_even` operands are copied to row-major, as few kernels read them. A `long` composition has
    so many products that its Specs would multiply with the places of each operand: these are
    brought into caches together, and a tensor between products is computed before it is used,
    rather than in parts whose products are summed. Tiles of `crowded` goals may have rows that
    evict each other in a cache, or gaps, so that only parts of them can be brought there (see
    `is_crowded`). Elements of the matrices of a batch may lie beside each other; those of
    `interleaved` goals are copied for several at a time. Maps of `transposed` goals copy operands
    into the order of their results (see `is_transposed`).
    """

    odd_even: bool = False
    long: bool = False
    crowded: bool = False
    interleaved: bool = False
    transposed: bool = False

    @staticmethod
    def of(target: Target, *goals: Spec) -> RuleTraits:
        return RuleTraits(
            odd_even=any(each.layout.odd_even for goal in goals for each in goal.placements),
            long=any(map(is_long, {goal.operation for goal in goals})),
            crowded=any(map(is_crowded, goals)),
            interleaved=any(is_interleaved(goal, target) for goal in goals),
            transposed=any(map(is_transposed, goals)),
        )


PLAIN = RuleTraits()


@dataclass(frozen=True)
class TilingTraits:
    """The traits of goals, besides sizes, that decide which tiles and rules their space has.

    Tiles may be cut to the `widths` of panels of operands, and to a long `vector` of all of them,
    which may have more than `VECTOR` elements where all are short integers. Without masks, a
    register of all operands is filled by no fewer than `whole` elements; with masks, that is 0.
    """

    widths: frozenset[int] = frozenset()
    vector: int = VECTOR
    whole: int = 0
    rules: RuleTraits = PLAIN

    @staticmethod
    def of(target: Target, *goals: Spec) -> TilingTraits:
        panels = [each.layout.panel for goal in goals for each in goal.placements]
        register = widest_vector(target, *goals)
        return TilingTraits(
            widths=frozenset(panel[1] for panel in panels if panel is not None),
            vector=max(VECTOR, register),
            whole=0 if target.masks else register,
            rules=RuleTraits.of(target, *goals),
        )


def is_long(operation: Operation) -> bool:
    """Whether an operation is a composition of more than `MOST_PRODUCTS` sums of products."""
    return sum(each.operation.is_product for each in operation.components) > MOST_PRODUCTS


def is_crowded(goal: Spec) -> bool:
    """Whether tiles of a goal, but small ones, may have more lines than a cache, or in few sets.

    So they may if an operand has gaps, and its runs are in few sets or shorter than a line; or if a
    tensor is transposed and both have rows in few sets. Products copy the latter to other layouts.
    """
    for tensor in goal.tensors:
        count, length = runs(tensor.shape, tensor.placement)
        if tensor.placement.apart or (count > 1 and length * tensor.dtype.bytes < LINE_BYTES):
            return True
    if goal.operation.is_product:
        return False
    few = MANY - 1 if any(part.operation.windows for part in goal.parts) else FEW
    return _crosses(goal, lambda step: 0 < aliased_at(step) <= few)


def is_transposed(goal: Spec) -> bool:
    """Whether two tensors of a goal share two dimensions, and have neighbours along one each.

    In other goals, only tensors that programs compute themselves can lie across results of maps.
    """
    return _crosses(goal, lambda _: True)


def _crosses(goal: Spec, counts: Callable[[int], bool]) -> bool:
    """Whether neighbours of one tensor are along a dimension in which those of another are apart by
    steps, in bytes, that count, and the other way round.
    """
    across = {
        (fastest, dim)
        for (fastest, _), *slower in _steps_of_tensors(goal)
        for dim, step in slower
        if counts(step)
    }
    return any((dim, fastest) in across for fastest, dim in across)


def is_interleaved(goal: Spec, target: Target) -> bool:
    """Whether neighbours in memory lie along a batch in operands that do not fit the farthest cache
    beside one matrix of each of the others.

    So these cannot be copied there whole before loops over single matrices, each of which has an
    element of every line.
    """
    if any(part.operation.windows for part in goal.parts):
        return False
    batches = {dim for dim in batches_of_some(goal.operation) if goal.size(dim) > 1}
    whole, lines = False, 0
    for tensor, axes in zip(goal.tensors, goal.operation.axes, strict=True):
        fastest = [d for d in tensor.placement.layout.physical if tensor.shape[d] > 1][-1:]
        names = [batches.intersection(each.names) for each in axes]
        along = any(names[dim] for dim in fastest)
        matrices = 1 if along else prod(map(goal.size, set().union(*names)))
        lines += -(-tensor.bytes // (matrices * LINE_BYTES))
        whole |= along
    return whole and lines > target.levels[1].capacity


def _steps_of_tensors(goal: Spec) -> Iterator[list[tuple[str, int]]]:
    """The dimensions of each tensor with more than one element, fastest first, and the bytes from
    an element to the next along each.
    """
    for operand, tensor in enumerate(goal.tensors):
        dims = [each.names[0] for each in goal.operation.axes[operand]]
        yield from _steps(dims, tensor.placement.layout, tensor.shape, tensor.dtype)
    for part, component in zip(goal.parts, goal.operation.components, strict=False):
        shape = part.operation.extents(part.operation.output, tuple(part.sizes.values()))
        dims = [axis(dim).names[0] for dim in component.result_dims]
        yield from _steps(dims, row_major(len(shape)), shape, component.dtype)


def _steps(
    dims: Sequence[str], layout: Layout, shape: tuple[int, ...], dtype: DType
) -> Iterator[list[tuple[str, int]]]:
    """The steps of one tensor with these dimensions; nothing if it has one element."""
    sizes = zip(layout.physical, layout.strides(shape), layout.extents(shape), strict=True)
    steps = [(dims[dim], step * dtype.bytes) for dim, step, count in sizes if count > 1]
    if steps:
        yield steps[::-1]


def widest_vector(target: Target, *goals: Spec) -> int:
    """The elements of the widest vector that a target has for all operands of goals."""
    dtypes = {dtype for goal in goals for dtype in goal.dtypes}
    dtypes |= {F32 for dtype in dtypes if dtype.is_float}  # what sums are of
    return min(max(target.widths(dtype), default=1) for dtype in dtypes)


PLAIN_TILING = TilingTraits()

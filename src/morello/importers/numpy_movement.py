"""Translations of NumPy's functions that move elements into operators of graphs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Broadcast, Concat, Constant, Dot, Gather, Pad, Slice, Where
from morello.graph.patterns.matching import (
    constant,
    in_dtype,
    in_shape,
    mapped,
    reshaped,
    sliced,
    transposed,
)
from morello.importers.contractions import diagonal, einsum
from morello.importers.numpy_operands import (
    Operand,
    along,
    as_node,
    flat,
    normal_axis,
    promoted,
    sorted_axes,
)
from morello.importers.ranges import known_range, narrowed
from morello.importers.taking import NUMBERS, backwards, from_start, rows_at, taken_along


def _reshape(a: Node, shape: Any, order: str = "C") -> Node:
    wanted = np.broadcast_to(np.empty(()), a.shape).reshape(shape).shape
    if order == "F":
        return _transpose(reshaped(_transpose(a), wanted[::-1]))
    if order != "C":
        raise GraphError("elements are reshaped in row-major or column-major order only.")
    return reshaped(a, wanted)


def _ravel(a: Node, order: str = "C") -> Node:
    return _reshape(a, -1, order)


def _transpose(a: Node, axes: Sequence[int] | None = None) -> Node:
    every = range(a.type.rank)
    return transposed(a, tuple(every[d] for d in axes) if axes is not None else tuple(every[::-1]))


def _swapaxes(a: Node, axis1: int, axis2: int) -> Node:
    order = [*range(a.type.rank)]
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transposed(a, tuple(order))


def _moveaxis(a: Node, source: Any, destination: Any) -> Node:
    sample = np.broadcast_to(np.empty(()), tuple(range(a.type.rank)))
    return transposed(a, np.moveaxis(sample, source, destination).shape)


def _expand_dims(a: Node, axis: Any) -> Node:
    return reshaped(a, np.expand_dims(np.broadcast_to(np.empty(()), a.shape), axis).shape)


def _squeeze(a: Node, axis: Any = None) -> Node:
    return reshaped(a, np.squeeze(np.broadcast_to(np.empty(()), a.shape), axis).shape)


def _broadcast_to(array: Node, shape: Any) -> Node:
    shape = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
    return in_shape(array, shape)


def _full_like(a: Node, fill_value: Operand, dtype: Any = None) -> Node:
    return _broadcast_to(as_node(fill_value, np.dtype(dtype or a.dtype)), a.shape)


def _concatenate(arrays: Sequence[Operand], axis: int | None = 0) -> Node:
    nodes = promoted(*arrays)
    if axis is None:
        return apply(Concat(0), *map(flat, nodes))
    return apply(Concat(normal_axis(axis, nodes[0].type.rank)), *nodes)


def _block(arrays: Any) -> Node:
    """Arrays of lists of lists, of which the innermost lie along the last dimension."""

    def depth(blocks: Any) -> int:
        return 1 + max(map(depth, blocks)) if isinstance(blocks, list) else 0

    def leaves(blocks: Any) -> list[Node]:
        if not isinstance(blocks, list):
            return [as_node(blocks)]
        return [leaf for each in blocks for leaf in leaves(each)]

    deepest = depth(arrays)
    rank = max(deepest, *(leaf.type.rank for leaf in leaves(arrays)))

    def joined(blocks: Any, axis: int) -> Node:
        if not isinstance(blocks, list):
            return _at_least(rank, blocks)
        return _concatenate([joined(each, axis + 1) for each in blocks], axis)

    return joined(arrays, rank - deepest)


def _stack(arrays: Sequence[Operand], axis: int = 0) -> Node:
    return _concatenate([_expand_dims(as_node(x), axis) for x in arrays], axis)


def _at_least(rank: int, x: Operand) -> Node:
    node = as_node(x)
    return reshaped(node, (*(1,) * (rank - node.type.rank), *node.shape))


def _vstack(tup: Sequence[Operand]) -> Node:
    return _concatenate([_at_least(2, x) for x in tup], 0)


def _hstack(tup: Sequence[Operand]) -> Node:
    nodes = [_at_least(1, x) for x in tup]
    return _concatenate(nodes, 0 if nodes[0].type.rank == 1 else 1)


def _dstack(tup: Sequence[Operand]) -> Node:
    return _concatenate([_with_depth(as_node(x)) for x in tup], 2)


def _with_depth(x: Node) -> Node:
    """An array of three dimensions, as `np.atleast_3d` makes it."""
    shape = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}.get(x.type.rank, x.shape)
    return reshaped(x, shape)


def _column_stack(tup: Sequence[Operand]) -> Node:
    nodes = [as_node(x) for x in tup]
    return _concatenate([reshaped(x, (x.type.size, 1)) if x.type.rank < 2 else x for x in nodes], 1)


def _split(ary: Node, indices_or_sections: Any, axis: int = 0) -> list[Node]:
    axis = normal_axis(axis, ary.type.rank)
    size = ary.shape[axis]
    numbers = np.array_split(np.arange(size), indices_or_sections)
    starts = [int(part[0]) if part.size else size for part in numbers]
    return [
        sliced(ary, axis, start, start + part.size)
        for start, part in zip(starts, numbers, strict=True)
    ]


def _repeat(a: Node, repeats: Any, axis: int | None = None) -> Node:
    if not isinstance(repeats, int):
        raise GraphError("all elements are repeated as often.")
    a, axis = along(a, axis)
    before, after = a.shape[: axis + 1], a.shape[axis + 1 :]
    wide = apply(Broadcast((*before, repeats, *after)), reshaped(a, (*before, 1, *after)))
    return reshaped(wide, (*a.shape[:axis], a.shape[axis] * repeats, *after))


def _tile(A: Node, reps: Any) -> Node:  # noqa: N803 (it is called so in NumPy)
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    rank = max(A.type.rank, len(counts))
    shape = _at_least(rank, A).shape
    counts = (*(1,) * (rank - len(counts)), *counts)
    single = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    tiled = _broadcast_to(reshaped(A, single), wide)
    return reshaped(tiled, tuple(c * n for c, n in zip(counts, shape, strict=True)))


_MOVED = ("edge", "reflect", "symmetric", "wrap")
"""The ways of padding in which elements are repeated."""


def _pad(array: Node, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Node:
    widths = np.broadcast_to(pad_width, (array.type.rank, 2)).tolist()
    if mode in _MOVED:
        for axis, width in enumerate(widths):
            if any(width):
                places = np.pad(np.arange(array.shape[axis]), width, mode)
                array = apply(Gather(axis), array, constant(places, NUMBERS))
        return array
    if mode != "constant" or not isinstance(constant_values, int | float | np.generic):
        raise GraphError("arrays are padded with one number, or with their own elements.")
    before, after = (tuple(int(pair[side]) for pair in widths) for side in (0, 1))
    return apply(Pad(before, after), array, as_node(constant_values, array.dtype))


def _atleast(rank: int) -> Callable[..., Node]:
    def expanded(x: Node, /) -> Node:
        return _at_least(rank, x)

    return expanded


def _take(
    a: Node, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise"
) -> Node:
    numbers = _numbers(indices) if isinstance(indices, list) else as_node(indices)
    a, axis = along(a, axis)
    return apply(Gather(axis), a, _within(numbers, a.shape[axis], mode))


def _take_along_axis(arr: Node, indices: Operand, axis: int | None = -1) -> Node:
    numbers = as_node(indices)
    arr, axis = along(arr, axis)
    if numbers.type.rank != arr.type.rank:
        raise GraphError(f"places {numbers.type} along an axis of {arr.type}.")
    numbers = _within(numbers, arr.shape[axis])
    others = np.broadcast_shapes(
        *((*x.shape[:axis], 1, *x.shape[axis + 1 :]) for x in (arr, numbers))
    )
    arr, numbers = (
        in_shape(x, (*others[:axis], x.shape[axis], *others[axis + 1 :])) for x in (arr, numbers)
    )
    return taken_along(arr, numbers, axis)


def _within(numbers: Node, size: int, mode: str = "raise") -> Node:
    """Places of elements among so many, all of which are known to lie there, or are made to."""
    if mode == "raise" and isinstance(numbers.operator, Constant):
        return numbers  # NumPy saw them already
    numbers = narrowed(numbers) or numbers  # to a dtype that has the size, too
    if mode == "clip":
        for name, end in ("maximum", 0), ("minimum", size - 1):
            numbers = mapped(name, numbers, constant(end, numbers.dtype))
    elif mode == "wrap":
        numbers = mapped("remainder", numbers, constant(size, numbers.dtype))
    lie = known_range(numbers)
    if lie is None or lie[0] < -size or lie[1] >= size:
        raise GraphError("NumPy refuses indices that lie outside, and no operator does.")
    return from_start(numbers, size) if lie[0] < 0 else in_dtype(numbers, NUMBERS)


def _compress(condition: Any, a: Node, axis: int | None = None) -> Node:
    """The slices for which a known condition holds."""
    return _take(a, np.flatnonzero(known_index(condition)).tolist(), axis)


def _delete(arr: Node, obj: Any, axis: int | None = None) -> Node:
    """The slices but those of known numbers."""
    arr, axis = along(arr, axis)
    kept = np.delete(np.arange(arr.shape[axis]), known_index(obj))
    return _take(arr, kept.tolist(), axis)


def _numbers(indices: list[Any]) -> Node:
    """A list of indices as a constant."""
    if not all(isinstance(index, int) and not isinstance(index, bool) for index in indices):
        raise GraphError("a list of indices has integers only.")
    return constant(indices, np.dtype(np.intp))


def _roll(a: Node, shift: Any, axis: Any = None) -> Node:
    if axis is None:
        return reshaped(_roll(flat(a), shift, 0), a.shape)
    for each, along_axis in np.broadcast(shift, axis):
        a = _rolled(a, int(each), normal_axis(int(along_axis), a.type.rank))
    return a


def _rolled(a: Node, shift: int, axis: int) -> Node:
    size = a.shape[axis]
    cut = -shift % size if size else 0
    if not cut:
        return a
    parts = [sliced(a, axis, cut, size), sliced(a, axis, 0, cut)]
    return apply(Concat(axis), *parts)


def _diff(a: Node, n: int = 1, axis: int = -1) -> Node:
    if a.dtype == bool:
        raise GraphError("truth values have no difference.")
    axis = normal_axis(axis, a.type.rank)
    for _ in range(n):
        size = a.shape[axis]
        a = mapped("subtract", sliced(a, axis, 1, size), sliced(a, axis, 0, size - 1))
    return a


def diagonal_of(a: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    axis1, axis2 = normal_axis(axis1, a.type.rank), normal_axis(axis2, a.type.rank)
    m, n = a.shape[axis1], a.shape[axis2]
    if offset or m != n:
        numbers = np.diagonal(np.arange(m * n).reshape(m, n), offset)
        if not numbers.size:
            raise GraphError("there is no such diagonal.")
        last = _moveaxis(a, (axis1, axis2), (-2, -1))
        rows = reshaped(last, (*last.shape[:-2], m * n))
        return apply(Gather(rows.type.rank - 1), rows, constant(numbers, NUMBERS))
    product = a.operator
    if product == Dot(contracted=((1, 0),)) and a.type.rank == 2:  # without all the other sums
        return einsum("ij,ji->i", *a.inputs)
    return diagonal(_moveaxis(a, (axis1, axis2), (-2, -1)))


def _diag(v: Node, k: int = 0) -> Node:
    if v.type.rank == 2:
        return diagonal_of(v, k)
    if k:
        raise GraphError("only the main diagonal is known.")
    inside = constant(np.eye(v.type.size), np.dtype(bool))
    return apply(Where(), inside, v, as_node(0, v.dtype))


def _unstack(x: Node, /, *, axis: int = 0) -> tuple[Node, ...]:
    first = _moveaxis(x, axis, 0)
    return tuple(
        reshaped(sliced(first, 0, n, n + 1), first.shape[1:]) for n in range(first.shape[0])
    )


def _triangle(lower: bool) -> Callable[..., Node]:
    def triangle(m: Node, k: int = 0) -> Node:
        inside = np.tri(m.shape[-2], m.shape[-1], k if lower else k - 1, dtype=bool)
        mask = constant(inside if lower else ~inside, inside.dtype)
        return apply(Where(), mask, m, as_node(0, m.dtype))

    return triangle


def _flip(m: Node, axis: Any = None) -> Node:
    for each in sorted_axes(axis, m.type.rank):
        m = backwards(m, each)
    return m


def _rot90(m: Node, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Node:
    first, second = (normal_axis(axis, m.type.rank) for axis in axes)
    if k % 4 == 2:
        return backwards(backwards(m, first), second)
    turned = _swapaxes(m, first, second) if k % 2 else m
    return backwards(turned, {1: first, 3: second}[k % 4]) if k % 4 else m


def _meshgrid(*xi: Operand, indexing: str = "xy", copy: bool = True) -> list[Node]:
    vectors = [flat(as_node(each)) for each in xi]
    if indexing not in ("ij", "xy"):
        raise GraphError(f"there is no indexing {indexing}.")
    order = [*range(len(vectors))]
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = tuple(vectors[d].type.size for d in order)
    alone = (
        reshaped(each, tuple(each.type.size if d == place else 1 for d in order))
        for place, each in enumerate(vectors)
    )
    return [_broadcast_to(each, shape) for each in alone]


def _windows(x: Node, window_shape: Any, axis: Any = None) -> Node:
    """All windows along an axis; the elements of each along a new last dimension."""
    (size,) = (window_shape,) if isinstance(window_shape, int) else window_shape
    (place,) = sorted_axes(axis, x.type.rank)
    numbers = np.arange(x.shape[place] - size + 1)[:, None] + np.arange(size)
    windows = apply(Gather(place), x, constant(numbers, NUMBERS))
    return _moveaxis(windows, place + 1, -1)


def _indexed(x: Node, index: Any) -> Node:
    """`x[index]`, for integers, slices, None, Ellipsis, and arrays.

    One array of integers, beside slices, takes slices of `x`; others take elements, or slices if
    they are for the first dimensions.
    """
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, bool) for item in items):
        raise GraphError("truth values as an index are unknown.")
    items = tuple(_numbers(item) if isinstance(item, list) else item for item in items)
    gathered = [item for item in items if isinstance(item, Node)]
    numbered = any(isinstance(item, int | np.integer) for item in items)
    if len(gathered) > 1 or (numbered and gathered) or any(e.dtype == bool for e in gathered):
        known = all(isinstance(each.operator, Constant) for each in gathered)
        return _at_constants(x, items) if known else rows_at(x, places_of(x, items))
    used = sum(not (item is None or isinstance(item, EllipsisType)) for item in items)
    rest = (slice(None),) * (x.type.rank - used)
    if not any(isinstance(item, EllipsisType) for item in items):
        items = (*items, ...)
    place = next(n for n, item in enumerate(items) if isinstance(item, EllipsisType))
    return _selected(x, (*items[:place], *rest, *items[place + 1 :]))


def _at_constants(x: Node, items: Sequence[Any]) -> Node:
    """`x[items]`, where all arrays among the items are constants: the elements that they choose."""
    places = np.arange(x.type.size).reshape(x.shape)[tuple(map(known_index, items))]
    if not places.size:
        raise GraphError("slices have elements.")
    return apply(Gather(0), reshaped(x, (x.type.size,)), constant(places, NUMBERS))


def places_of(x: Node, items: Sequence[Any]) -> list[Node]:
    """Integers, and arrays of these, as places in the first dimensions, of one shape."""
    known = (_numbers(each) if isinstance(each, list) else each for each in items)
    arrays = [each if isinstance(each, Node) else as_node(np.intp(each)) for each in known]
    if any(each.dtype.kind not in "iu" for each in arrays) or len(arrays) > x.type.rank:
        raise GraphError("such places are unknown.")
    shape = np.broadcast_shapes(*(each.shape for each in arrays))
    placed = (from_start(each, size) for each, size in zip(arrays, x.shape, strict=False))
    return [_broadcast_to(each, shape) for each in placed]


def known_index(index: Any) -> Any:
    """An index that is no array, or a constant one."""
    if not isinstance(index, Node):
        return index
    if not isinstance(index.operator, Constant):
        raise GraphError("elements at places that are not known are left.")
    return index.operator.array


def _selected(x: Node, items: Sequence[Any]) -> Node:
    """`x[items]`, with an item for each dimension of `x`, and None for new ones."""
    bounds: list[range] = []
    shape: list[int] = []
    gathers: list[tuple[int, Node]] = []
    for item in items:
        if item is None:
            shape.append(1)
            continue
        every = range(x.shape[len(bounds)])
        if isinstance(item, Node):
            gathers.append((len(shape), item))
            item = slice(None)
        if isinstance(item, slice):
            bounds.append(every[item])
            shape.append(len(bounds[-1]))
        elif isinstance(item, int | np.integer):
            bounds.append(range(every[item], every[item] + 1))
        else:
            raise GraphError(f"an index of {type(item).__name__} is unknown.")
    if not all(bounds):
        raise GraphError("slices have elements.")
    turned = [axis for axis, part in enumerate(bounds) if part.step < 0]
    bounds = [part[::-1] if part.step < 0 else part for part in bounds]
    starts, stops = tuple(r.start for r in bounds), tuple(r[-1] + 1 for r in bounds)
    slices = Slice(starts, stops, tuple(part.step for part in bounds))
    if stops != x.shape or any(starts) or any(step > 1 for step in slices.steps):
        x = apply(slices, x)
    for axis in turned:
        x = backwards(x, axis) if x.shape[axis] > 1 else x
    x = reshaped(x, tuple(shape))
    for axis, numbers in gathers:
        x = _take(x, numbers, axis)
    return x


MOVEMENTS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.append: lambda arr, values, axis=None: _concatenate([arr, values], axis),
    np.array_split: _split,
    np.atleast_1d: _atleast(1),
    np.atleast_2d: _atleast(2),
    np.atleast_3d: _with_depth,
    np.block: _block,
    np.broadcast_to: _broadcast_to,
    np.column_stack: _column_stack,
    np.compress: _compress,
    np.concatenate: _concatenate,
    np.delete: _delete,
    np.diag: _diag,
    np.diagonal: diagonal_of,
    np.diff: _diff,
    np.dsplit: lambda ary, indices_or_sections: _split(ary, indices_or_sections, 2),
    np.dstack: _dstack,
    np.expand_dims: _expand_dims,
    np.flip: _flip,
    np.full_like: _full_like,
    np.fliplr: lambda m: _flip(m, 1),
    np.flipud: lambda m: _flip(m, 0),
    np.hsplit: lambda ary, indices_or_sections: _split(
        ary, indices_or_sections, min(1, ary.type.rank - 1)
    ),
    np.hstack: _hstack,
    np.lib.stride_tricks.sliding_window_view: _windows,
    np.matrix_transpose: lambda x, /: _swapaxes(x, -1, -2),
    np.meshgrid: _meshgrid,
    np.moveaxis: _moveaxis,
    np.pad: _pad,
    np.ravel: _ravel,
    np.repeat: _repeat,
    np.reshape: _reshape,
    np.roll: _roll,
    np.rot90: _rot90,
    np.split: _split,
    np.squeeze: _squeeze,
    np.stack: _stack,
    np.swapaxes: _swapaxes,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.tile: _tile,
    np.transpose: _transpose,
    np.tril: _triangle(lower=True),
    np.triu: _triangle(lower=False),
    np.unstack: _unstack,
    np.vsplit: _split,
    np.vstack: _vstack,
    operator.getitem: _indexed,
}
"""The translation of each function that moves elements."""

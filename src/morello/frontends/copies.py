"""Copies: moves and casts, and functions that transpose, extend, broadcast or fill tensors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from morello.frontends.values import (
    NEW_AXIS,
    MisuseError,
    Numbers,
    Value,
    apply_operation,
    axis_of,
    broadcast_copy,
    check_expandable,
    check_numbers,
    value_of,
)
from morello.ir.computation import Tensor
from morello.ir.dtype import F32, I32, U32, DType
from morello.ir.primitives import MAX_RANK, fill, scatter
from morello.ir.primitives import move as move_operation
from morello.ir.primitives import one_prefix as one_prefix_operation
from morello.ir.primitives import segment_sum as segment_sum_operation
from morello.ir.primitives import take as take_operation
from morello.ir.text import listed
from morello.targets.kernels import CASTS


def move(x: Value) -> Value:
    """A copy of x, so that the result can have another layout."""
    x = x.without_new_axes
    if x.external and x.materialized is not x:
        return x.materialized
    return apply_operation(move_operation(x.rank), [x], x.shape)


def cast(x: Value, dtype: DType) -> Value:
    """A copy of x with its elements converted to another dtype, by way of others if need be."""
    if dtype is U32 and x.dtype.is_float:
        fix = "cast it to i32, and that to u32"
        raise MisuseError(f"{x.dtype} cannot be cast to u32", fix, at=1)
    for each in _way(x.dtype, dtype):
        x = x.without_new_axes
        source = value_of(x.tensor)
        x = apply_operation(move_operation(x.rank, x.axes), [source], x.shape, each)
    return x


@cache
def _way(source: DType, target: DType) -> tuple[DType, ...]:
    """The dtypes on the shortest way from one to another, by casts that there are kernels for."""
    ways: dict[DType, tuple[DType, ...]] = {source: ()}
    for dtype in (todo := [source]):
        for before, after in CASTS:
            if before is dtype and after not in ways:
                ways[after] = (*ways[dtype], after)
                todo.append(after)
    return ways[target]


def cast_in_place(x: Value, dtype: DType) -> Value:
    """x in another dtype, still without memory for the dimensions of size 1 that it has not."""
    places = iter(range(x.rank))
    axes = tuple(NEW_AXIS if d == NEW_AXIS else next(places) for d in x.axes)
    return x if x.dtype is dtype else Value(cast(x.unexpanded, dtype).tensor, axes)


def widened(x: Value) -> Value:
    """x in f32."""
    return cast_in_place(x, F32)


def transpose(x: Value, *, order: Numbers | None = None) -> Value:
    """x with its dimensions permuted: the result's dimension i is x's dimension order[i]."""
    if order is None:
        if x.rank > 2:
            swapped = listed((*range(x.rank - 2), x.rank - 1, x.rank - 2))
            fix = f"say the order, as in order={swapped}"
            raise MisuseError(f"{x.rank} dimensions may be in many orders", fix, at=0)
        order = tuple(reversed(range(x.rank)))
    order = (order,) if isinstance(order, int) else order
    if sorted(order) != list(range(x.rank)):
        fix = f"name each of the {x.rank} dimensions once, as in {listed(tuple(range(x.rank)))}"
        raise MisuseError(f"{listed(order)} is no order of dimensions", fix, at="order")
    return x.reordered(order)


def expand_dims(x: Value, *, axis: int) -> Value:
    """x with a dimension of size 1 inserted at `axis`, to broadcast along."""
    check_expandable(x)
    return x.expanded(axis_of(axis, x.rank + 1))


def broadcast(x: Value, *, axis: int, size: int) -> Value:
    """x repeated `size` times along a new dimension at `axis`."""
    if not 1 <= size < 2**31:
        raise MisuseError(f"the size is {size}", "use 1 or more", at="size")
    return broadcast_copy(x, axis_of(axis, x.rank + 1), size)


def one_prefix(x: Value) -> Value:
    """x with a leading dimension of size 1."""
    x = x.materialized
    check_expandable(x)
    return apply_operation(one_prefix_operation(x.rank), [x], (1, *x.shape))


def fill_zero(like: Value) -> Value:
    return _filled("zero", like)


def fill_lowest(like: Value) -> Value:
    return _filled("lowest", like)


def fill_highest(like: Value) -> Value:
    return _filled("highest", like)


def _filled(value: str, like: Value) -> Value:
    given = like.external and type(like.tensor) is Tensor and not like.tensor.name
    if not given or like.axes != tuple(range(like.rank)):
        fix = f"write fill_{value}(f32[64,64])"
        raise MisuseError("the tensor to fill must be given as a type", fix, at=0)
    return value_of(replace(like.tensor, operation=fill(like.rank, value)))


def take(table: Value, ids: Value) -> Value:
    """The rows of a matrix that these integers number, as an embedding has them.

    A number below 0 counts from the last row; others outside are taken as the nearest within.
    """
    if table.rank != 2:
        what = f"a table of {table.rank} dimensions"
        raise MisuseError(what, "give it rows and columns, as f32[1000,64] has", at=0)
    check_numbers(ids, "rows", at=1)
    table, ids = table.without_new_axes, ids.without_new_axes
    if ids.rank == MAX_RANK:
        raise MisuseError(f"the result would have {MAX_RANK + 1} dimensions", at=1)
    shape = (*ids.shape, table.shape[1])
    return apply_operation(take_operation(ids.rank), [table, ids], shape)


def scatter_sum(table: Value, ids: Value, rows: Value) -> Value:
    """The matrix `table` with each of the `rows` added to the one that its number says.

    The numbers `ids` are a vector; a row of a number below 0, or of none, is left out.
    """
    return _scattered("sum", table, ids, rows)


def scatter_last(table: Value, ids: Value, rows: Value) -> Value:
    """`scatter_sum`, but the last row of each number replaces that of the table."""
    return _scattered("last", table, ids, rows)


def scatter_max(table: Value, ids: Value, rows: Value) -> Value:
    """`scatter_sum`, but with the larger of each two elements in place of their sum."""
    return _scattered("max", table, ids, rows)


def scatter_min(table: Value, ids: Value, rows: Value) -> Value:
    """`scatter_sum`, but with the smaller of each two elements in place of their sum."""
    return _scattered("min", table, ids, rows)


def _scattered(kind: str, table: Value, ids: Value, rows: Value) -> Value:
    table, ids, rows = (each.without_new_axes.materialized for each in (table, ids, rows))
    if (table.rank, ids.rank, rows.rank) != (2, 1, 2):
        fix = "give two matrices and a vector, as f32[1000,64], i64[8] and f32[8,64]"
        raise MisuseError("these are no rows for the places of a table", fix, at=0)
    check_numbers(ids, "rows", at=1)
    if table.dtype not in (F32, I32) or rows.dtype is not table.dtype:
        what = f"no kernel combines rows of {rows.dtype} with those of {table.dtype}"
        raise MisuseError(what, "cast both to f32", at=2)
    if rows.shape != (*ids.shape, table.shape[1]):
        what = f"there are {ids.shape[0]} numbers, and rows of shape {listed(rows.shape)}"
        raise MisuseError(what, f"give {listed((*ids.shape, table.shape[1]))}", at=2)
    return apply_operation(scatter(kind), [table, ids, rows], table.shape)


def segment_sum(rows: Value, ids: Value, *, count: int) -> Value:
    """A matrix of `count` rows, each the sum of those of the `rows` that have its number.

    The numbers `ids` are a vector; a row of a number below 0, or of none, is left out.
    """
    rows, ids = (each.without_new_axes.materialized for each in (rows, ids))
    if (ids.rank, rows.rank) != (1, 2) or rows.shape[:1] != ids.shape:
        fix = "give a matrix and a vector, as f32[8,64] and i64[8]"
        raise MisuseError("these are no numbered rows", fix, at=0)
    check_numbers(ids, "rows", at=1)
    if rows.dtype not in (F32, I32):
        raise MisuseError(f"no kernel adds rows of {rows.dtype}", "cast them to f32", at=0)
    if count < 1:
        raise MisuseError(f"there are no {count} rows", "give a count of 1 or more")
    return apply_operation(segment_sum_operation(), [rows, ids], (count, rows.shape[1]))


FUNCTIONS = (
    cast, move, transpose, expand_dims, broadcast, one_prefix, fill_zero, fill_lowest, fill_highest,
    take, scatter_last, scatter_max, scatter_min, scatter_sum,
    segment_sum,
)  # fmt: skip
"""The functions of these that an expression can call."""

"""Arrays that are changed in place, as the arrays that they then are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Broadcast, Constant, Where
from morello.graph.patterns.matching import reshaped
from morello.importers.building import GraphBuilder
from morello.importers.numpy_movement import known_index, places_of
from morello.importers.numpy_operands import Operand, as_node
from morello.importers.scattering import check_combined, combined_at
from morello.importers.writing import MOST_WRITTEN, after_writing


def assigned(x: Any, index: Any, value: Any) -> Any:
    """A copy of an array in which some elements have another value."""
    result = np.array(x)
    result[index] = value
    return result


def _assigned(x: Node, index: Any, value: Operand) -> Node:
    """The elements at some places, or where a condition holds, which has the shape of all."""
    given = as_node(value, x.dtype)
    if isinstance(index, Node) and index.dtype == bool and given.type.size == 1:
        if index.shape != x.shape:
            raise GraphError("a condition is for each element.")
        return apply(Where(), index, reshaped(given, ()), x)
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(n, Node) and not isinstance(n.operator, Constant) for n in items):
        return _at_places("last", x, items, value)
    known = tuple(map(known_index, items))
    places = np.arange(x.type.size).reshape(x.shape)[known]
    if len(np.unique(places)) < places.size:
        raise GraphError("an element is assigned twice.")
    if not places.size or places.size > MOST_WRITTEN:
        raise GraphError("no element is assigned, or too many.")
    build = GraphBuilder()
    part = build.apply(Broadcast(places.shape), given) if given.shape != places.shape else given
    return after_writing(build, x, np.asarray(places), part)


CHANGING = frozenset({np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask})
"""NumPy's functions that change their first argument."""


def as_assignment(function: Callable[..., Any], *args: Any, **keywords: Any) -> tuple[Any, ...]:
    """The array, index and value of the assignment that a function is; no index if it is none.

    np.put_along_axis(x, i, y, 0) -> x, (i, [[0, 1, ...]]), y
    """
    if function is np.put_along_axis:
        return _put_along_axis(*args, **keywords)
    if function is np.copyto and len(args) == 2 and not keywords:
        return args[0], ..., args[1]
    array = args[0] if args else next(iter(keywords.values()))
    return array, None, None


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> tuple[Any, ...]:
    if axis is None or np.ndim(arr) != np.ndim(indices):
        return arr, None, values
    others: list[Any] = [*np.ogrid[tuple(slice(size) for size in np.shape(arr))]]
    others[axis] = indices
    return arr, tuple(others), values


def combined(x: Any, ufunc: np.ufunc, index: Any, *values: Any) -> Any:
    """A copy of an array in which `ufunc.at` changed some elements."""
    result = np.array(x)
    ufunc.at(result, index, *values)
    return result


_KINDS: dict[np.ufunc, str] = {np.add: "sum", np.maximum: "max", np.minimum: "min"}
"""The kinds of `Scatter` by the functions that combine two elements."""


def _combined(x: Node, ufunc: np.ufunc, index: Any, value: Operand) -> Node:
    """The rows, or elements, at places that arrays of one shape say, one for each dimension."""
    return _at_places(_KINDS[ufunc], x, index, value)


def _at_places(kind: str, x: Node, index: Any, value: Operand) -> Node:
    check_combined(x.type)
    places = places_of(x, index if isinstance(index, tuple) else (index,))
    wanted = (*places[0].shape, *x.shape[len(places) :])
    if not places[0].type.size:
        raise GraphError("no element is changed.")
    rows = as_node(value, x.dtype)
    rows = rows if rows.shape == wanted else apply(Broadcast(wanted), rows)
    return combined_at(kind, x, places, rows)


WRITING: dict[Callable[..., Any], Callable[..., Any]] = {assigned: _assigned, combined: _combined}
"""The translation of each function."""

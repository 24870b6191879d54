"""Functions of NumPy that store traced arrays in arrays of their own, or change these at places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.importers.test_numpy_tracing import assert_same, random, values

from morello.base.errors import GraphError
from morello.graph.operators import Foreign
from morello.importers.numpy_tracing import trace

Array = npt.NDArray[Any]
PLACES = np.array([3, -1, 0, 3, 2], np.int32)


def zeros(rows: int, *, columns: int = 8) -> Array:
    return np.zeros((rows, columns), np.float32)


def framed(x: Array) -> Array:
    frame = zeros(x.shape[0] + 2)
    frame[1:-1, 1:-1] = x
    return frame[:-2] + frame[2:]


def by_rows(x: Array) -> Array:
    result = np.empty(len(x), np.float32)
    for n in range(len(x)):
        result[n] = x[n] @ x[n]
    return result


def identity(x: Array) -> Array:
    matrix = np.eye(6, dtype=np.float32)
    matrix[0, 1:] = x[0, 1:]
    return x @ matrix


def rotated(x: Array) -> Any:
    cosine, sine = np.cos(x[0, 0]), np.sin(x[0, 0])
    turn = np.array([[cosine, -sine], [sine, cosine]], dtype=np.float32)
    return np.asarray(turn) @ np.ascontiguousarray(x[:, :2].T)


def converted(x: Array) -> Any:
    result = np.zeros(x.shape, np.float32)
    result[:] = x
    same, copy = np.asarray(result, dtype=np.float32), np.array(result, dtype=np.float32)
    same += 1
    copy += 2
    total = x.sum()
    return result, copy, np.array(total, ndmin=2), np.ascontiguousarray(total)


TABLES: dict[int, Array] = {}


def by_a_cached_matrix(x: Array) -> Array:
    if 6 not in TABLES:
        TABLES[6] = np.eye(6, dtype=np.float32)
    result = np.zeros(x.shape, np.float32)
    result[:] = x
    return result @ TABLES[6]


def sums(x: Array, places: Array) -> Array:
    result = np.zeros((4, 6), np.float32)
    np.add.at(result, places, x)
    return result * 2


def largest(x: Array, places: Array) -> Array:
    result = np.full((4, 6), -np.inf, np.float32)
    np.maximum.at(result, places, x)
    np.minimum.at(result, (places, np.array(2)), x[:, 0])
    return result


def scattered(x: Array, places: Array) -> Array:
    result = np.ones((4, 6), np.float32)
    result[places[1:]] = x[1:]
    result[places[1:], [0, 1, 2, 3]] = 7
    return result


def put_along(x: Array, places: Array) -> Any:
    result = np.zeros((5, 6), np.float32)
    np.put_along_axis(result, places[:, None], x[:, :1], axis=1)
    np.put_along_axis(result, places[None, :, None][0], 3, 1)
    copied = x * 2
    np.copyto(copied, x[0])
    return result + copied


def picked(x: Array, places: Array) -> Any:
    return x[np.arange(5), places], x[2, places], x[places[:, None], places]


@pytest.mark.parametrize("function", [framed, by_rows, identity, rotated, converted])
def test_arrays_of_the_function_itself_are_traced(function: Callable[..., Any]) -> None:
    x = random(5, 6)
    assert_same(*values(function, x))
    assert not any(isinstance(n.operator, Foreign) for n in trace(function, (x,), {}).graph.nodes)


@pytest.mark.parametrize("function", [sums, largest, scattered, put_along, picked])
def test_elements_at_computed_places(function: Callable[..., Any]) -> None:
    arrays = random(5, 6), PLACES
    assert_same(*values(function, *arrays))
    assert not any(isinstance(n.operator, Foreign) for n in trace(function, arrays, {}).graph.nodes)


def test_other_ways_to_combine_elements_are_those_of_numpy() -> None:
    def function(x: Array, places: Array) -> Array:
        result = x * 2
        np.subtract.at(result, places, x)
        return result

    (output,) = trace(function, (random(5, 6), PLACES), {}).graph.outputs
    assert isinstance(output.operator, Foreign)


def test_an_argument_is_not_combined_in_place() -> None:
    x = random(5, 6)
    before = x.copy()
    with pytest.raises(GraphError, match="changed in place"):
        trace(lambda x: np.add.at(x, PLACES, x), (x,), {})
    assert np.array_equal(x, before)


def test_a_function_that_changes_an_array_says_so() -> None:
    def function(x: Array) -> Array:
        result = x * 2
        np.put(result, [1, 2], x[0, :2])
        return result

    with pytest.raises(GraphError, match=r"np\.put changes an array in place; assign to its"):
        trace(function, (random(5, 6),), {})


def test_the_names_of_the_module_stay_what_they_are() -> None:
    numpy, function = np, zeros
    trace(framed, (random(5, 6),), {})
    assert (np, zeros) == (numpy, function)
    assert type(framed(random(5, 6))) is np.ndarray


def test_a_cache_of_the_module_keeps_no_traced_arrays() -> None:
    x = random(5, 6)
    TABLES.clear()
    program = trace(by_a_cached_matrix, (x,), {})
    assert not any(isinstance(n.operator, Foreign) for n in program.graph.nodes)
    assert all(type(table) is np.ndarray for table in TABLES.values())

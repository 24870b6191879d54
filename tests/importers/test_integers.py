"""Integers divided, shifted and masked by known numbers, in each door, also at their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.graph.graph import Array, Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Foreign, Input
from morello.importers.integers import (
    divided,
    divided_toward_zero,
    inverted,
    masked,
    shifted_left,
    shifted_right,
)
from morello.importers.numpy_tracing import trace
from morello.models import compile_graph

I32 = np.dtype(np.int32)
LIMITS = np.iinfo(I32)


def numbers(by: int = 1, dtype: np.dtype[Any] = I32) -> Array:
    """Random integers, those near multiples of a number, and the limits of the dtype."""
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    every = random.integers(low, high, 700, np.int64, endpoint=True)
    near = random.integers(low // abs(by), high // abs(by), 700, np.int64) * by
    near += random.integers(-1, 2, 700)
    ends = np.array([low, low + 1, high - 1, high, 0, 1, (1 << 24) + 1])
    result = np.concatenate([every, near, ends])
    return result[(low <= result) & (result <= high)].astype(dtype)


def computed(function: Callable[[Node], Node | tuple[Node, ...]], array: Array) -> list[Array]:
    """The results of a function of integers for an array."""
    x = apply(Input(TensorType(array.shape, array.dtype)))
    results = function(x)
    outputs = results if isinstance(results, tuple) else (results,)
    return [value.astype(I32) for value in evaluate(Graph((x,), outputs), [array])]


DIVISORS = 1, 2, 3, 7, 10, 64, 255, 1000, 65536, 100003, 1 << 19


@pytest.mark.parametrize("by", [sign * n for n in DIVISORS for sign in (1, -1)])
def test_quotients_and_rests_are_exact(by: int) -> None:
    array = numbers(by)
    wide = array.astype(np.int64)
    quotient, rest = computed(lambda x: divided(x, by), array)
    np.testing.assert_array_equal(quotient, np.floor_divide(wide, by).astype(I32))
    np.testing.assert_array_equal(rest, np.mod(wide, by))
    quotient, rest = computed(lambda x: divided_toward_zero(x, by), array)
    toward_zero = np.sign(wide) * np.sign(by) * (np.abs(wide) // abs(by))
    np.testing.assert_array_equal(quotient, toward_zero.astype(I32))
    np.testing.assert_array_equal(rest, np.fmod(wide, by))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_narrow_integers_are_divided_in_32_bits(dtype: Any) -> None:
    array = numbers(dtype=np.dtype(dtype))
    quotient, rest = computed(lambda x: divided(x, 7), array)
    np.testing.assert_array_equal(quotient, array.astype(np.int64) // 7)
    np.testing.assert_array_equal(rest, array.astype(np.int64) % 7)


def test_kernels_divide_as_exactly() -> None:
    array = numbers(1000)
    x = apply(Input(TensorType(array.shape, I32)))
    outputs = *divided(x, 1000), shifted_right(x, 9), masked(x, 0xFF0)
    model = compile_graph(Graph((x,), outputs), budget=0.1, gap=1.0)
    assert not model.left
    wanted = array // 1000, array % 1000, array >> 9, array & 0xFF0
    for result, expected in zip(model(array), wanted, strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("by", [0, 1, 4, 16, 17, 20, 30, 31])
def test_shifts(by: int) -> None:
    array = numbers()
    (right,) = computed(lambda x: shifted_right(x, by), array)
    np.testing.assert_array_equal(right, array >> by)
    (left,) = computed(lambda x: shifted_left(x, by), array)
    np.testing.assert_array_equal(left, array << by)


MASKS = 0, 1, 15, 255, 0xF0, 0x00FF0000, LIMITS.max, -1, -16, -65536, LIMITS.min


@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask: int) -> None:
    array = numbers()
    (result,) = computed(lambda x: masked(x, mask), array)
    np.testing.assert_array_equal(result, array & np.int32(mask))


def test_the_complement() -> None:
    array = numbers()
    (result,) = computed(inverted, array)
    np.testing.assert_array_equal(result, ~array)


def test_what_is_not_exact_is_refused() -> None:
    x, wide = (apply(Input(TensorType((4,), np.dtype(each)))) for each in (I32, np.int64))
    for refused in (
        lambda: divided(x, 0),
        lambda: divided(x, (1 << 19) + 1),
        lambda: divided(wide, 3),
        lambda: shifted_left(x, -1),
        lambda: shifted_right(x, -1),
        lambda: masked(x, 0b101),
        lambda: masked(x, 1 << 31),
    ):
        with pytest.raises(GraphError):
            refused()


TORCH: dict[str, Callable[[Any], Any]] = {
    "//": lambda x: x // 7,
    "// below zero": lambda x: x // -7,
    "%": lambda x: x % 7,
    "% below zero": lambda x: x % -7,
    "trunc": lambda x: x.div(7, rounding_mode="trunc"),
    "floor": lambda x: x.div(7, rounding_mode="floor"),
    "fmod": lambda x: x.fmod(7),
    ">>": lambda x: x >> 3,
    "<<": lambda x: x << 3,
    "&": lambda x: x & 0x0F,
    "high bits": lambda x: (x >> 4) & 0x0F,
    "~": lambda x: ~x,
}


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_integers_of_torch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    if "below" in name and dtype == "uint8":
        pytest.skip("it has no such number")
    x = torch.from_numpy(numbers(7, np.dtype(dtype)))
    result = traced(TORCH[name], x)
    assert not result.left
    (value,) = evaluate(result.graph, [x.numpy()])
    (node,) = result.graph.outputs
    expected = TORCH[name](x).numpy()
    assert node.dtype == expected.dtype
    np.testing.assert_array_equal(value.astype(node.dtype), expected)


def test_what_64_bits_hold_is_left_to_torch() -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    x = torch.arange(3, dtype=torch.int32) * 2**30
    programs: list[Callable[[Any], Any]] = [
        lambda x: x.long() << 1,
        lambda x: (x.long() * 4) >> 1,
        lambda x: x.long() & -1 >> 1,
    ]
    for program in programs:
        result = traced(program, x)
        values = evaluate(result.graph, [x.numpy()]) if not result.left else [program(x).numpy()]
        np.testing.assert_array_equal(values[0], program(x).numpy())
    assert [*traced(lambda x: x.long() << 1, x).left] == ["__lshift__"]


def test_numbers_of_elements_that_are_computed_of_constants_are_known() -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    result = traced(lambda x: x[(torch.arange(6) >> 1) % 2], torch.ones(2, 3))
    assert not any(str(node.operator) == "gather" for node in result.graph.nodes)
    numbers = [n for n in result.graph.nodes if n.dtype.kind == "i"]
    assert all(isinstance(node.operator, Constant) for node in numbers)


JAX: dict[str, Callable[[Any], Any]] = {
    "//": lambda x: x // 7,
    "%": lambda x: x % 7,
    ">>": lambda x: x >> 3,
    "<<": lambda x: x << 3,
    "&": lambda x: x & 0x0F,
    "& before": lambda x: 0xF0 & x,
    "~": lambda x: ~x,
}


@pytest.mark.parametrize("name", JAX)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_integers_of_jax(name: str, dtype: str) -> None:
    pytest.importorskip("jax")
    from tests.importers.test_stablehlo import foreign, imported

    if name == "& before" and dtype == "int8":
        pytest.skip("it has no such number")
    x = numbers(7, np.dtype(dtype))
    graph = imported(JAX[name], x)
    assert not foreign(graph)
    (value,) = evaluate(graph, [x])
    (node,) = graph.outputs
    with np.errstate(all="ignore"):
        expected = JAX[name](x)
    assert node.dtype == expected.dtype
    np.testing.assert_array_equal(value.astype(node.dtype), expected)


NUMPY: dict[str, Callable[[Any], Any]] = {
    "//": lambda x: x // 7,
    "%": lambda x: x % -7,
    "fmod": lambda x: np.fmod(x, 7),
    ">>": lambda x: x >> 3,
    "<<": lambda x: x << 3,
    "&": lambda x: x & 0x0F,
    "of truths": lambda x: (x > 3) & (x < 9),
}


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_integers_of_numpy(name: str, dtype: str) -> None:
    x = numbers(7, np.dtype(dtype))
    graph = trace(NUMPY[name], [x], {}).graph
    assert not any(isinstance(node.operator, Foreign) for node in graph.nodes)
    (value,) = evaluate(graph, [x])
    np.testing.assert_array_equal(value.astype(graph.outputs[0].dtype), NUMPY[name](x))


ONNX = {
    "Div (x, n)": lambda x: np.sign(x) * (abs(x) // 7),
    "Mod (x, n)": lambda x: np.mod(x, 7),
    "Mod <fmod = 1> (x, n)": lambda x: np.fmod(x, 7),
    "BitwiseAnd (x, n)": lambda x: x & 7,
    "BitwiseNot (x)": lambda x: ~x,
    'BitShift <direction = "RIGHT"> (x, n)': lambda x: x >> 7,
    'BitShift <direction = "LEFT"> (x, n)': lambda x: x << 7,
}


@pytest.mark.parametrize("node", ONNX)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_integers_of_onnx(node: str, dtype: str) -> None:
    onnx = pytest.importorskip("onnx")
    from morello.importers.onnx import import_model

    if "Shift" in node and dtype != "uint8":
        pytest.skip("it is for unsigned integers")
    x = numbers(7, np.dtype(dtype))
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]>'
        f"agraph ({dtype}[{x.size}] x) => ({dtype}[{x.size}] y) {{ y = {node} }}"
    )
    seven = np.array(7, dtype)
    model.graph.initializer.append(onnx.numpy_helper.from_array(seven, "n"))
    program = import_model(model)
    assert not program.left and "remainder" not in {str(n.operator) for n in program.graph.nodes}
    (value,) = evaluate(program.graph, [x])
    np.testing.assert_array_equal(value.astype(dtype), ONNX[node](x.astype(np.int64)).astype(dtype))

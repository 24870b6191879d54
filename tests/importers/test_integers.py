"""Quotients, remainders, bits and shifts of integers, in each door, also at their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.graph.graph import Array, Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Cast, Constant, Foreign, Input, Map
from morello.importers.integers import (
    arithmetic_shift,
    bitwise_and,
    floor_quotient,
    floor_remainder,
    left_shift,
    logical_shift,
    of_integers,
    ones,
    or_zero,
    quotient,
    remainder,
    right_shift,
)
from morello.importers.numpy_tracing import trace
from morello.importers.ranges import known_range
from morello.models import compile_graph
from morello.models.compiling import partitioned

DTYPES = "int8", "uint8", "int16", "uint16", "int32", "uint32"


def pairs(dtype: str, *, zeros: bool = True, overflows: bool = True) -> tuple[Array, Array]:
    """All pairs of the limits of a dtype and of small numbers, and pairs of random ones.

    Without `zeros`, no second number is 0; without `overflows`, no lowest number comes with -1.
    """
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    low, high, bits = int(limits.min), int(limits.max), limits.bits
    some = {low, low + 1, low // 2, high, high - 1, high // 2 + 1, 0, 1, 2, 3, 7, bits - 1, bits}
    some |= {bits + 1, *(-1, -2, -7) * (low < 0)}
    first, second = (each.ravel() for each in np.meshgrid([*some], [*some]))
    drawn = random.integers(low, high, (3, 300), np.int64, endpoint=True)
    a = np.concatenate([first, drawn[0], drawn[1]])
    b = np.concatenate([second, drawn[2], drawn[2] >> random.integers(0, bits, 300)])
    kept = (b != 0) | zeros
    kept &= (a != low) | (b != -1) | overflows
    return a[kept].astype(dtype), b[kept].astype(dtype)


def wrapped(values: Any, dtype: str) -> Array:
    """Python's integers as a dtype has them."""
    info = np.iinfo(dtype)
    size = 1 << info.bits
    return np.array([(v - info.min) % size + info.min for v in values], dtype)


def by_python(function: Callable[[int, int], int], a: Array, b: Array) -> Array:
    """A function of Python's integers, which do not overflow."""
    return wrapped([function(int(x), int(y)) for x, y in zip(a, b, strict=True)], str(a.dtype))


def toward_zero(x: int, y: int) -> int:
    """Quotients toward zero; that of a division by 0 is -1, as in XLA."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else -1


def shifted(x: int, y: int, bits: int) -> int:
    """Shifts to the right."""
    return x >> y if 0 <= y < bits else -(x < 0)


def expected(a: Array, b: Array) -> dict[str, Array]:
    """The right result of each function of two integers."""
    bits = a.dtype.itemsize * 8
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    logical = by_python(lambda x, y: shifted(x, y, bits), a.astype(unsigned), b.astype(unsigned))
    return {
        "quotient": by_python(toward_zero, a, b),
        "remainder": by_python(lambda x, y: x - toward_zero(x, y) * y, a, b),
        "floor_quotient": by_python(lambda x, y: x // y if y else 0, a, b),
        "floor_remainder": by_python(lambda x, y: x % y if y else 0, a, b),
        "bitwise_and": a & b,
        "left_shift": by_python(lambda x, y: x << y if 0 <= y < bits else 0, a, b),
        "right_shift": by_python(lambda x, y: shifted(x, y, bits), a, b),
        "logical_shift": logical.astype(a.dtype),
        "arithmetic_shift": by_python(
            lambda x, y: shifted(x, y, bits), a.astype(f"i{a.dtype.itemsize}"),
            b.astype(f"i{a.dtype.itemsize}"),
        ).astype(a.dtype),
    }  # fmt: skip


FUNCTIONS: dict[str, Callable[[Node, Node], Node]] = {
    "quotient": quotient,
    "remainder": remainder,
    "floor_quotient": lambda a, b: or_zero(floor_quotient(a, b), b),
    "floor_remainder": lambda a, b: or_zero(floor_remainder(a, b), b),
    "bitwise_and": bitwise_and,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "logical_shift": logical_shift,
    "arithmetic_shift": arithmetic_shift,
}


def inputs(*arrays: Array) -> tuple[Node, ...]:
    return tuple(apply(Input(TensorType(each.shape, each.dtype))) for each in arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_two_integers(dtype: str) -> None:
    a, b = pairs(dtype)
    nodes = inputs(a, b)
    graph = Graph(nodes, tuple(function(*nodes) for function in FUNCTIONS.values()))
    for name, value in zip(FUNCTIONS, evaluate(graph, [a, b]), strict=True):
        np.testing.assert_array_equal(value, expected(a, b)[name].astype(np.int64), name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_compute_them_as_exactly(dtype: str) -> None:
    a, b = pairs(dtype)
    nodes = inputs(a, b)
    outputs = tuple(function(*nodes) for function in FUNCTIONS.values())
    model = compile_graph(Graph(nodes, (*outputs, ones(nodes[0]))), budget=0.1, gap=1.0)
    assert not model.left
    *results, counted = model(a, b)
    for name, result in zip(FUNCTIONS, results, strict=True):
        np.testing.assert_array_equal(result, expected(a, b)[name], name)
    bits = a.astype(f"u{a.dtype.itemsize}")
    np.testing.assert_array_equal(counted, np.bitwise_count(bits))


@pytest.mark.parametrize("by", [1, 7, 64, 1000, 2**30, -1, -2, -7, -(2**31), 0])
def test_kernels_of_known_numbers(by: int) -> None:
    a, _ = pairs("int32")
    b = np.full(a.shape, by, np.int32)
    (x,) = inputs(a)
    known = apply(Constant(np.array(by, np.int32)))
    outputs = tuple(function(x, known) for function in FUNCTIONS.values())
    model = compile_graph(Graph((x,), outputs), budget=0.1, gap=1.0)
    assert not model.left
    for name, result in zip(FUNCTIONS, model(a), strict=True):
        np.testing.assert_array_equal(result, expected(a, b)[name], name)


def test_a_number_that_is_shifted_or_divided() -> None:
    (b,) = (pairs("int32")[1],)
    (x,) = inputs(b)
    known = apply(Constant(np.array(-1000, np.int32)))
    outputs = quotient(known, x), left_shift(known, x), right_shift(known, x)
    model = compile_graph(Graph((x,), outputs), budget=0.1, gap=1.0)
    assert not model.left
    a = np.full(b.shape, -1000, np.int32)
    for name, result in zip(("quotient", "left_shift", "right_shift"), model(b), strict=True):
        np.testing.assert_array_equal(result, expected(a, b)[name], name)


def test_integers_wrap_around_before_they_are_divided() -> None:
    a, b = pairs("uint32")
    nodes = inputs(a, b)
    product = apply(Map("multiply"), apply(Map("add"), *nodes), nodes[1])
    graph = Graph(nodes, (quotient(product, nodes[0]), right_shift(product, nodes[1])))
    wrapping = (a + b) * b
    wanted = expected(wrapping, a)["quotient"], expected(wrapping, b)["right_shift"]
    model = compile_graph(graph, budget=0.1, gap=1.0)
    for value, result, each in zip(evaluate(graph, [a, b]), model(a, b), wanted, strict=True):
        np.testing.assert_array_equal(value, each.astype(np.int64))
        np.testing.assert_array_equal(result, each)


def test_casts_of_unsigned_integers_and_to_64_bits() -> None:
    a, _ = pairs("uint32")
    b = np.array([0, -1.5, 3e9, -(2.0**40), 2.0**62, 1e10, 2**24 + 2, -0.9] * 9, np.float32)
    x, y = inputs(a, b)
    targets = [(x, np.float32), (x, np.int64), (x, np.int32), (x, np.uint8), (y, np.int64)]
    casts = tuple(apply(Cast(np.dtype(dtype)), source) for source, dtype in targets)
    model = compile_graph(Graph((x, y), casts), budget=0.1, gap=1.0)
    assert not model.left
    for (source, dtype), result in zip(targets, model(a, b), strict=True):
        np.testing.assert_array_equal(result, (a if source is x else b).astype(dtype))


def test_bits_are_those_of_integers() -> None:
    x = apply(Input(TensorType((4,), np.dtype(np.float32))))
    with pytest.raises(GraphError, match="which has no integers"):
        apply(Map("bitwise_or"), x, x)


def test_where_64_bits_are_needed_there_are_no_kernels() -> None:
    (wide,) = inputs(np.zeros(4, np.int64))
    three = apply(Constant(np.array(3)))
    for function in (quotient, floor_remainder, left_shift):
        with pytest.raises(GraphError, match="more than 32 bits"):
            of_integers(function, wide, three)
    low = bitwise_and(wide, three)
    assert low.dtype == np.int64 and low.inputs[0].dtype == np.int32
    graph = Graph((wide,), (low,))
    (value,) = evaluate(graph, [np.array([-1, 2**40 + 2, 2**31, 5])])
    np.testing.assert_array_equal(value, [3, 2, 0, 1])


@pytest.mark.parametrize("buckets", [1, 16, 1 << 14, 1 << 30])
def test_hashes_of_64_bits_need_the_lower_ones_alone(buckets: int) -> None:
    """Products may be large, and negative, where a remainder by a power of two is taken."""
    numbers = np.array([0, 1, -1, 2**40 + 5, -(2**61), 12345])
    (x,) = inputs(numbers)
    product = apply(Map("multiply"), x, apply(Constant(np.array(2654435761))))
    hashed = of_integers(floor_remainder, product, apply(Constant(np.array([buckets]))))
    partition = partitioned(Graph((x,), (hashed,)))
    assert not partition.left
    (value,) = evaluate(partition.graph, [numbers])
    np.testing.assert_array_equal(value, numbers * 2654435761 % buckets)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_hold_all_results(dtype: str) -> None:
    """They hold the results of all pairs between limits, zeros and negative numbers among them."""
    low = 0 if dtype.startswith("u") else -9
    for a, b in ((low, 9), (1, 5), (3, 3), (low, 0)):
        for c, d in ((low, 9), (1, 5), (2, 2), (low, 0)):
            x = apply(Constant(np.array(range(a, b + 1), dtype)[:, None]))
            y = apply(Constant(np.array(range(c, d + 1), dtype)))
            for name in ("divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor",
                         "left_shift", "right_shift"):  # fmt: skip
                node = apply(Map(name), x, y)
                (value,) = evaluate(Graph((), (node,)), [])
                within = known_range(node)
                assert within is not None
                assert within[0] <= value.min() and value.max() <= within[1], (name, x, y)


TORCH: dict[str, Callable[[Any, Any], Any]] = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "trunc": lambda x, y: x.div(y, rounding_mode="trunc"),
    "floor": lambda x, y: x.div(y, rounding_mode="floor"),
    "fmod": lambda x, y: x.fmod(y),
    ">>": lambda x, y: x >> y,
    "<<": lambda x, y: x << y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x.bitwise_xor(y),
    "~": lambda x, y: ~x,
    "// number": lambda x, y: x // 7,
    "// below zero": lambda x, y: x // -7,
    "% below zero": lambda x, y: x % -7,
    ">> number": lambda x, y: x >> 3,
    "| number": lambda x, y: 0x50 | x,
    "high bits": lambda x, y: (x >> 4) & 0x0F,
}


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_integers_of_torch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    if "below" in name and dtype == "uint8":
        pytest.skip("it has no such number")
    arrays = pairs(dtype, zeros=False, overflows=False)
    tensors = [torch.from_numpy(each) for each in arrays]
    result = traced(TORCH[name], *tensors)
    assert not result.left
    graph = result.graph
    (value,) = evaluate(graph, arrays[: len(graph.inputs)])
    (node,) = graph.outputs
    wanted = TORCH[name](*tensors).numpy()
    assert node.dtype == wanted.dtype
    np.testing.assert_array_equal(value.astype(node.dtype), wanted)


def test_what_64_bits_hold_is_left_to_torch() -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    x = torch.arange(3, dtype=torch.int32) * 2**30
    programs: list[Callable[[Any], Any]] = [
        lambda x: x.long() << 1,
        lambda x: (x.long() * 4) >> 1,
        lambda x: x.long() & -1 >> 1,
        lambda x: x.long() // 3,
        lambda x: x.long() ^ 5,
    ]
    for program in programs:
        result = traced(program, x)
        values = evaluate(result.graph, [x.numpy()]) if not result.left else [program(x).numpy()]
        np.testing.assert_array_equal(values[0], program(x).numpy())
    assert [*traced(lambda x: x.long() << 1, x).left] == ["__lshift__"]
    assert not traced(lambda x: x.long() // 3, x).left


def test_numbers_of_elements_that_are_computed_of_constants_are_known() -> None:
    torch = pytest.importorskip("torch")
    from tests.importers.aten_programs import traced

    result = traced(lambda x: x[(torch.arange(6) >> 1) % 2], torch.ones(2, 3))
    assert not any(str(node.operator) == "gather" for node in result.graph.nodes)
    numbers = [n for n in result.graph.nodes if n.dtype.kind == "i"]
    assert all(isinstance(node.operator, Constant) for node in numbers)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    ">>": lambda x, y: x >> y,
    "<<": lambda x, y: x << y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "~": lambda x, y: ~x,
    "// number": lambda x, y: x // 7,
}
"""The operators of Python that JAX and NumPy have."""

JAX: dict[str, Callable[[Any, Any], Any]] = {
    **OPERATORS,
    "-": lambda x, y: -x - y,
    "+": lambda x, y: (x + y) * y,
    "& before": lambda x, y: 0x70 & x,
}


@pytest.mark.parametrize("name", JAX)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_jax(name: str, dtype: str) -> None:
    pytest.importorskip("jax")
    import jax
    from tests.importers.test_stablehlo import foreign, imported

    arrays = pairs(dtype)
    graph = imported(JAX[name], *arrays)
    assert not foreign(graph)
    (value,) = evaluate(graph, arrays)
    (node,) = graph.outputs
    wanted = np.asarray(jax.jit(JAX[name])(*arrays))
    assert node.dtype == wanted.dtype
    np.testing.assert_array_equal(value.astype(node.dtype), wanted)


def test_bits_that_are_counted_and_shifted_by_jax() -> None:
    pytest.importorskip("jax")
    import jax
    from jax import lax
    from tests.importers.test_stablehlo import foreign, imported

    for dtype in DTYPES:
        arrays = pairs(dtype)
        for function in (
            lambda x, y: lax.population_count(x),
            lax.div, lax.rem, lax.shift_right_logical, lax.shift_right_arithmetic,
        ):  # fmt: skip
            graph = imported(function, *arrays)
            assert not foreign(graph)
            (value,) = evaluate(graph, arrays)
            wanted = np.asarray(jax.jit(function)(*arrays))
            np.testing.assert_array_equal(value.astype(wanted.dtype), wanted)


NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    **OPERATORS,
    "fmod": np.fmod,
    "count": lambda x, y: np.bitwise_count(x),
    "of truths": lambda x, y: (x > 3) & (x < 9),
}


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_numpy(name: str, dtype: str) -> None:
    arrays = pairs(dtype)
    with np.errstate(all="ignore"):
        graph, wanted = trace(NUMPY[name], arrays, {}).graph, NUMPY[name](*arrays)
    assert not any(isinstance(node.operator, Foreign) for node in graph.nodes)
    (value,) = evaluate(graph, arrays)
    (node,) = graph.outputs
    assert node.dtype == wanted.dtype
    np.testing.assert_array_equal(value.astype(node.dtype), wanted)


ONNX: dict[str, Callable[[int, int], int]] = {
    "Div (x, n)": toward_zero,
    "Mod (x, n)": lambda x, y: x % y,
    "Mod <fmod = 1> (x, n)": lambda x, y: x - toward_zero(x, y) * y,
    "BitwiseAnd (x, n)": lambda x, y: x & y,
    "BitwiseOr (x, n)": lambda x, y: x | y,
    "BitwiseXor (x, n)": lambda x, y: x ^ y,
    "BitwiseNot (x)": lambda x, y: ~x,
    'BitShift <direction = "RIGHT"> (x, n)': lambda x, y: x >> min(y, 32),
    'BitShift <direction = "LEFT"> (x, n)': lambda x, y: x << min(y, 32),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("node", ONNX)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_onnx(node: str, dtype: str, known: bool) -> None:
    onnx = pytest.importorskip("onnx")
    from morello.importers.onnx import import_model

    if "Shift" in node and dtype[0] != "u":
        pytest.skip("it is for unsigned integers")
    x, n = pairs(dtype, zeros=False)
    n = np.array([7], dtype) if known else n
    given = f"{dtype}[{x.size}] x" + f", {dtype}[{n.size}] n" * (not known)
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]>'
        f"agraph ({given}) => ({dtype}[{x.size}] y) {{ y = {node} }}"
    )
    if known:
        model.graph.initializer.append(onnx.numpy_helper.from_array(n, "n"))
    program = import_model(model)
    assert not program.left
    (value,) = evaluate(program.graph, [x] if known else [x, n])
    wanted = by_python(ONNX[node], x, np.broadcast_to(n, x.shape))
    np.testing.assert_array_equal(value.astype(dtype), wanted)

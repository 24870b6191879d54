"""Graphs as segments of kernels: they compute what the interpreter does, wherever arrays lie."""

import gc
import re
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from morello.base.errors import BuildError, CallError
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Cumulate,
    Dot,
    Gather,
    Input,
    LayerNorm,
    Map,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.partition import by_rule
from morello.models import CompiledGraph, Segment, compile_graph
from morello.models.buffers import arena
from morello.models.reporting import program_report, report_later
from morello.models.schedule import Stage, schedule

F32 = np.dtype(np.float32)


def given(*shape: int) -> Node:
    return apply(Input(TensorType(shape, F32)))


def constant(generator: np.random.Generator, *shape: int) -> Node:
    return apply(Constant(generator.uniform(-1, 1, shape).astype(F32)))


def agrees(graph: Graph, seed: int = 0) -> CompiledGraph:
    generator = np.random.default_rng(seed)
    arrays = [generator.uniform(-1, 1, node.shape).astype(F32) for node in graph.inputs]
    model = compile_graph(graph, budget=0.1, gap=1.0)
    for got, expected in zip(model(*arrays), evaluate(graph, arrays), strict=True):
        np.testing.assert_allclose(got, expected, 1e-4, 1e-4)
    return model


def block(generator: np.random.Generator) -> Graph:
    """Attention of four heads with constant weights, a residual, and a norm."""
    x, w, b = given(1, 16, 64), constant(generator, 64, 64), constant(generator, 64)
    projected = apply(Map("add"), apply(Dot((), ((2, 0),)), x, w), b)
    heads = apply(Transpose((0, 2, 1, 3)), apply(Reshape((1, 16, 4, 16)), projected))
    seen = apply(Attention(0.25), heads, heads, heads)
    back = apply(Reshape((1, 16, 64)), apply(Transpose((0, 2, 1, 3)), seen))
    out = apply(Map("add"), apply(Dot((), ((2, 0),)), back, constant(generator, 64, 64)), x)
    gamma, beta = constant(generator, 64), constant(generator, 64)
    return Graph((x,), (apply(LayerNorm(1e-6), out, gamma, beta),))


@pytest.fixture(scope="module")
def compiled_block() -> CompiledGraph:
    return agrees(block(np.random.default_rng(0)))


def test_a_block_of_a_transformer_is_one_call(compiled_block: CompiledGraph) -> None:
    model = compiled_block
    (segment,) = model.segments
    assert not model.left
    assert len(segment.kernels) == 4  # the transpose back is how attention stores its result
    assert segment.arena.bytes == 2 * 4096  # of three results, two are needed at a time


def test_what_no_kernel_computes_is_left_between_segments() -> None:
    x, w = given(8, 16), given(16, 32)
    product = apply(Map("relu"), apply(Dot((), ((1, 0),)), x, w))
    total = apply(Map("power"), product, product)
    model = agrees(
        Graph((x, w), (apply(Map("tanh"), apply(Dot((), ((1, 1),)), total, w)), product))
    )
    assert [type(step) for step in model.steps] == [Segment, Node, Segment]
    assert model.left == (total,)


def test_tensors_without_elements_are_left() -> None:
    x, w, none = given(6, 8), given(8, 10), given(8, 0)
    product = apply(Dot((), ((1, 0),)), x, w)
    columns = apply(Slice((0, 10), (6, 10), (1, 1)), product)
    joined = apply(Concat(1), columns, columns)
    narrow = apply(Map("exp"), apply(Dot((), ((1, 0),)), x, none))
    zeros = apply(Dot((), ((1, 1),)), none, columns)
    total = apply(Map("exp"), apply(Reduce("sum", (1,)), none))
    model = agrees(Graph((x, w, none), (product, columns, joined, narrow, zeros, total)))
    (segment,) = model.segments
    assert segment.outputs == (product,)


def test_outputs_may_be_views_and_joined() -> None:
    x, w = given(6, 8), given(8, 10)
    product = apply(Dot((), ((1, 0),)), x, w)
    column = apply(Broadcast((6, 2)), constant(np.random.default_rng(5), 6, 1))
    joined = apply(Concat(1), product, x, column)
    part = apply(Slice((1, 2), (5, 16), (2, 3)), joined)
    turned = apply(Transpose((1, 0)), joined)
    model = agrees(Graph((x, w), (joined, part, turned, apply(Reshape((10, 12)), turned))))
    assert not model.left


def test_buffers_that_are_needed_at_once_do_not_overlap() -> None:
    graph = block(np.random.default_rng(1))
    (stage,) = schedule(by_rule(graph))
    assert isinstance(stage, Stage)
    inner = [call.output.base for call in stage.calls]
    places = arena(stage.calls, inner)
    for number, call in enumerate(stage.calls):
        later = {view.base for after in stage.calls[number:] for view in after.inputs}
        live = {call.output.base} | (later & {*inner[:number]})
        spans = sorted((places.offsets[node], node.type.bytes) for node in live)
        for (begin, size), (after, _) in pairwise(spans):
            assert begin + size <= after


def test_many_threads_may_run_a_segment(compiled_block: CompiledGraph) -> None:
    graph, model = block(np.random.default_rng(0)), compiled_block
    generator = np.random.default_rng(3)
    every = [generator.uniform(-1, 1, (1, 16, 64)).astype(F32) for _ in range(32)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: model(x)[0], every))
    for x, result in zip(every, results, strict=True):
        np.testing.assert_allclose(result, evaluate(graph, [x])[0], 1e-4, 1e-4)


def test_arrays_of_other_types_are_refused(compiled_block: CompiledGraph) -> None:
    (segment,) = compiled_block.segments
    with pytest.raises(CallError, match=r"array 0 is float64\[1, 16, 64\]; it should be f32"):
        segment(np.zeros((1, 16, 64)))
    with pytest.raises(CallError, match="2 arrays are given"):
        segment(np.zeros((1, 16, 64), F32), np.zeros(1, F32))


def test_truth_selects() -> None:
    """Bools are bytes in memory, and 0 or 1 of the dtype that they select within kernels."""
    x, y, mask = given(8, 16), given(8, 1), apply(Input(TensorType((16,), np.dtype(bool))))
    half = apply(Constant(np.array(-0.5, F32)))
    between = apply(Map("logical_and"), apply(Map("less"), x, y), apply(Map("greater"), x, half))
    outputs = (
        apply(Where(), mask, x, half),
        apply(Where(), apply(Map("logical_not"), mask), x, y),
        apply(Cast(F32), between),
    )
    graph = Graph((x, y, mask), outputs)
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, node.shape).astype(F32) for node in (x, y)]
    arrays.append(generator.integers(0, 2, 16).astype(bool))
    model = compile_graph(graph, budget=0.1, gap=1.0)
    assert not model.left
    for got, expected in zip(model(*arrays), evaluate(graph, arrays), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_convolutions_and_pools_of_real_nets() -> None:
    """Uneven padding, strides that leave a remainder, groups, dilation, and pools at borders."""
    generator = np.random.default_rng(0)
    image = given(1, 8, 15, 14)
    strided = apply(Conv((2, 2), (0, 1), (1, 1), (1, 1)), image, constant(generator, 16, 8, 3, 3))
    depthwise = apply(
        Conv((1, 1), (1, 1), (1, 1), (1, 1), 16), strided, constant(generator, 16, 1, 3, 3)
    )
    grouped = apply(
        Conv((1, 1), (2, 2), (2, 2), (2, 2), 4), apply(Map("relu"), depthwise),
        constant(generator, 8, 4, 3, 3),
    )  # fmt: skip
    largest = apply(Pooling("max", (3, 3), (2, 2), (1, 1), (1, 1), (1, 1)), grouped)
    mean = apply(Pooling("mean", (2, 2), (2, 2), (1, 1), (0, 0), (1, 1)), largest)
    total = apply(Reduce("mean", (2, 3)), mean)
    model = agrees(Graph((image,), (mean, total)))
    assert not model.left


def test_a_convolution_by_one_pixel_reads_a_copy_of_pixels_that_are_apart() -> None:
    image = given(1, 2, 6, 5)
    active = apply(Map("relu"), image)
    filters = constant(np.random.default_rng(0), 128, 2, 1, 1)
    conv = apply(Conv((2, 2), (0, 0), (0, 0), (1, 1)), active, filters)
    (segment,) = agrees(Graph((image,), (conv, active))).segments
    *copies, product = (kernel.spec.expression for kernel in segment.kernels)
    assert copies == ["relu(f32[2,6,5])", "move(u32[2,3,3]{2,1,0}S(30,10,2))"]
    assert product.startswith("conv(f32[1,2,3,3], f32[128,2,1,1]")  # in whatever layout is best


def test_a_convolution_reads_a_copy_of_what_is_repeated() -> None:
    """Filters that are means, or of one number; numbers that are repeated for all pixels."""
    image, sizes = given(1, 2, 6, 5), given(2, 1, 1, 1)
    conv = Conv((1, 1), (1, 1), (1, 1), (1, 1))
    mean = apply(Broadcast((4, 2, 3, 3)), apply(Constant(np.array(1 / 18, F32))))
    alike = apply(Broadcast((2, 2, 3, 3)), apply(Map("exp"), sizes))
    single = apply(Constant(np.full((1, 1, 1, 1), 2.5, F32)))
    channel = apply(Slice((0, 0, 0, 0), (1, 1, 6, 5), (1, 1, 1, 1)), image)
    outputs = (
        apply(conv, image, mean),
        apply(conv, image, alike),
        apply(conv, apply(Broadcast((2, 1, 6, 5)), apply(Map("exp"), sizes)), single),
        apply(conv, channel, single),
    )
    assert not agrees(Graph((image, sizes), outputs)).left


def test_an_image_of_width_1_is_a_sequence() -> None:
    """It is one even where an epilogue still has the dimension."""
    image, residual = given(1, 4, 19, 1), given(1, 8, 10, 1)
    filters = constant(np.random.default_rng(0), 8, 4, 3, 1)
    sums = apply(Conv((2, 1), (1, 0), (1, 0), (1, 1)), image, filters)
    total = apply(Map("relu"), apply(Map("add"), sums, residual))
    (segment,) = agrees(Graph((image, residual), (total,))).segments
    (kernel,) = [each for each in segment.kernels if "conv" in each.spec.expression]
    shapes = re.sub(r"\{.*?\}", "", kernel.spec.expression)  # in any layout
    assert shapes == "relu(conv(f32[1,4,21], f32[8,4,3], stride=2) + f32[8,10])"


def test_one_row_is_normalized() -> None:
    """A vector, or a matrix of one row, as models of a single input have it."""
    x, row, gamma, beta = given(48), given(1, 1, 48), given(48), given(48)
    normed = apply(LayerNorm(1e-5), x, gamma, beta)
    others = apply(LayerNorm(1e-5), row, gamma, beta), apply(RmsNorm(1e-6), x, gamma)
    assert not agrees(Graph((x, gamma, beta), (normed,))).left
    assert not by_rule(Graph((x, row, gamma, beta), (*others, apply(Softmax(2), row)))).left


def test_a_mask_is_broadcast_in_attention() -> None:
    q, k, v = given(1, 4, 8, 16), given(1, 4, 8, 16), given(1, 4, 8, 16)
    mask = apply(Broadcast((1, 1, 8, 8)), given(1, 1, 1, 8))
    seen = apply(Attention(0.25), q, k, v, mask)
    model = agrees(Graph((q, k, v, mask.inputs[0]), (seen,)))
    assert not model.left and len(model.segments[0].kernels) == 1


def test_an_embedding_is_a_kernel_that_reads_no_row_outside() -> None:
    table, more = constant(np.random.default_rng(0), 10, 8), given(2, 5, 8)
    ids = apply(Input(TensorType((2, 5), np.dtype(np.int64))))
    graph = Graph((ids, more), (apply(Map("add"), apply(Gather(0), table, ids), more),))
    model = compile_graph(graph, budget=0.1, gap=1.0)
    assert not model.left and len(model.partition.groups) == 1
    numbers = np.array([[0, 9, -1, -10, 3], [10, -11, 2**40, -(2**40), 2**32 + 1]])
    arrays = [numbers, np.random.default_rng(1).random((2, 5, 8), np.float32)]
    np.testing.assert_array_equal(model(*arrays)[0], evaluate(graph, arrays)[0].astype(F32))


def test_a_mask_is_made_of_integers_and_reduced() -> None:
    """The transformers package computes so what is hidden, and which rows see anything."""
    shown = apply(Input(TensorType((2, 6), np.dtype(np.int64))))
    seen = apply(Cast(np.dtype(bool)), shown)
    zero, hidden = (apply(Constant(np.array(n, F32))) for n in (0.0, -1e30))
    row = apply(Reshape((2, 1, 1, 6)), apply(Where(), seen, zero, hidden))
    mask = apply(Broadcast((2, 1, 4, 6)), row)
    some = apply(Map("greater"), apply(Reduce("max", (3,), keepdims=True), mask), hidden)
    graph = Graph(
        (shown,), (apply(Map("add"), mask, apply(Constant(np.ones((2, 3, 4, 6), F32)))), some, seen)
    )
    model = compile_graph(graph, budget=0.1, gap=1.0)
    assert not model.left
    arrays = [np.array([[2**32, 0, -1, 1, 0, 0], [0] * 6])]
    for got, expected in zip(model(*arrays), evaluate(graph, arrays), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype in (F32, bool)


def test_a_number_that_is_computed_is_used_within_the_kernel() -> None:
    x, factor = given(4, 6), given()
    total = apply(Reduce("sum", (0, 1)), x)
    graph = Graph((x, factor), (apply(Map("multiply"), apply(Map("divide"), x, total), factor),))
    model = agrees(graph)
    assert not model.left and len(model.partition.groups) == 1


def test_a_compiler_that_is_not_there_is_an_error() -> None:
    x = given(4, 8)
    with pytest.raises(BuildError, match="no such compiler"):
        compile_graph(Graph((x,), (apply(Map("exp"), x),)), compiler="no such compiler")


def test_repeated_constants_of_wide_numbers_are_copied() -> None:
    """A decoder's input begins with one token, repeated for each of several texts."""
    x = apply(Input(TensorType((4, 2), np.dtype(np.int64))))
    joined = []
    for shape in ((4, 1), (1, 1)):  # the dimensions of size 1 are repeated
        numbers = np.arange(7, 7 + np.prod(shape)).reshape(shape) << 30
        repeated = apply(Broadcast(x.shape), apply(Constant(numbers)))
        joined.append(apply(Concat(1), repeated, x))
    graph = Graph((x,), tuple(joined))
    model = compile_graph(graph, budget=0.1, gap=1.0)
    assert not model.left
    given = np.arange(-4, 4).reshape(4, 2)
    for got, expected in zip(model(given), evaluate(graph, [given]), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_places_of_maxima_and_sums_up_to_each_element() -> None:
    x, i64 = given(2, 3, 8), np.dtype(np.int64)
    places = [apply(ArgReduce("max", d, i64, keepdims=d == 1), x) for d in (1, 2)]
    graph = Graph((x,), (*places, apply(Cumulate(1), x)))
    assert not agrees(graph).left
    special = np.array([[[0, 5, 5, 0, 0, 0, 0, 5], [1, np.nan, 2, np.nan, 9, 0, 0, 0]]] * 2, F32)
    short = apply(Input(TensorType((2, 2, 8), F32)))
    graph = Graph((short,), (apply(ArgReduce("max", 2, i64), short),))
    assert compile_graph(graph, gap=1.0)(special)[0].tolist() == [[1, 1]] * 2


@pytest.mark.parametrize(
    "source, target",
    [
        ("i4", "i1"),
        ("i8", "i1"),
        ("u4", "i4"),
        ("i4", "u4"),
        ("u4", "u1"),
        ("?", "u4"),
        ("u4", "?"),
    ],
)
def test_casts_of_integers_wrap_around(source: str, target: str) -> None:
    dtypes = [np.dtype(each) for each in (source, target)]
    x = apply(Input(TensorType((7, 37), dtypes[0])))
    graph = Graph((x,), (apply(Cast(dtypes[1]), x),))
    bits = np.random.default_rng(0).integers(-(2**62), 2**62, (7, 37))
    array = bits.astype(dtypes[0])
    model = compile_graph(graph, budget=0.1, gap=1.0)
    assert not model.left
    (result,) = model(array)
    assert result.dtype == dtypes[1]
    np.testing.assert_array_equal(result, array.astype(dtypes[1]))


def test_a_report_that_is_made_later_keeps_no_constants() -> None:
    x, w = given(4, 64), constant(np.random.default_rng(0), 64, 32)
    graph = Graph((x,), (apply(Map("relu"), apply(Dot((), ((1, 0),)), x, w)),))
    model = compile_graph(graph, budget=0.1, gap=1.0)
    arguments = ("f32[4,64]",)
    expected = program_report(model, arguments)
    later = report_later(model, arguments, str)
    kept = weakref.ref(model)
    del model
    gc.collect()
    assert kept() is None
    assert later() == expected
    (row,) = expected.kernels
    assert (row.times, expected.segments, expected.note) == (1, 1, "")

"""Operators in terms of those that have kernels: the values stay the same."""

import numpy as np
import pytest

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.lowering import lowered
from morello.graph.operators import (
    Attention,
    Broadcast,
    Concat,
    Constant,
    Conv,
    Dot,
    Gather,
    Input,
    Map,
    Pad,
    Pooling,
    Reduce,
    Scatter,
    Transpose,
)
from morello.graph.partition import by_rule
from morello.graph.patterns.expansion import EXPANSIONS
from morello.graph.patterns.padding import STORED_PADDING
from morello.graph.rewriting import rewritten, simplified
from morello.importers.text import graph_of

F32 = np.dtype(np.float32)


@pytest.mark.parametrize("causal, cap", [(False, None), (True, None), (True, 0.25)])
@pytest.mark.parametrize("mask", [None, (5, 9), (1, 1, 5, 9), (2, 1, 5, 9), (1, 6, 5, 9)])
@pytest.mark.parametrize("shared", [6, 3, 1])
def test_attention_keeps_its_values(
    causal: bool, cap: float | None, mask: tuple[int, ...] | None, shared: int
) -> None:
    shapes = [(2, 6, 5, 4), (2, shared, 9, 4), (2, shared, 9, 3), *([mask] if mask else [])]
    inputs = tuple(apply(Input(TensorType(shape, F32))) for shape in shapes)
    graph = Graph(inputs, (apply(Attention(0.5, causal, cap), *inputs),))
    expanded = rewritten(graph, EXPANSIONS)
    (product,) = (node for node in expanded.nodes if node.operator.heavy)
    assert isinstance(product.operator, Attention) and not product.operator.causal
    assert by_rule(expanded).left == ()
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, shape) for shape in shapes]
    expected, values = evaluate(graph, arrays)[0], evaluate(expanded, arrays)[0]
    np.testing.assert_allclose(values, expected, 1e-9, 1e-12)


@pytest.mark.parametrize("heads, mask", [((), None), ((2,), (3, 1)), ((2, 4), (4, 3, 1))])
def test_attention_of_one_key_is_an_outer_product(
    heads: tuple[int, ...], mask: tuple[int, ...] | None
) -> None:
    shapes = [(*heads, 3, 4), (*heads, 1, 4), (*heads, 1, 5), *([mask] if mask else [])]
    inputs = tuple(apply(Input(TensorType(shape, F32))) for shape in shapes)
    graph = Graph(inputs, (apply(Attention(0.5, causal=True), *inputs),))
    expanded = rewritten(graph, EXPANSIONS)
    assert by_rule(expanded).left == ()
    arrays = [np.random.default_rng(0).uniform(-1, 1, shape) for shape in shapes]
    expected = np.broadcast_to(arrays[2], (*heads, 3, 5))
    np.testing.assert_allclose(evaluate(expanded, arrays)[0], expected, 1e-9)
    arrays[0][..., 1, 0] = np.inf
    assert np.isnan(evaluate(expanded, arrays)[0][..., 1, :]).all()


def test_a_kernel_combines_single_rows_of_one_column() -> None:
    table, row = (apply(Input(TensorType((size, 1), F32))) for size in (5, 1))
    numbers = apply(Constant(np.array([3], np.int32)))
    known = apply(Constant(np.array([[2]], np.float32)))
    for rows in (row, known):
        graph = Graph((table, row), (apply(Scatter("sum"), table, numbers, rows),))
        assert by_rule(graph).left == ()


@pytest.mark.parametrize(
    "text", ["sum(tile(f32[1,5], counts=[4,1]), axis=0)", "sum(tile(f32[1], counts=4))"]
)
def test_what_reads_whole_arrays_reads_copies_of_repetitions(text: str) -> None:
    graph = graph_of(text)
    expanded = rewritten(graph, EXPANSIONS)
    assert by_rule(expanded).left == ()
    _same_values(graph, expanded)


def test_sums_of_a_repeated_number_are_constants() -> None:
    whole = apply(Broadcast((4, 3)), apply(Constant(np.array(2, np.float32))))
    (total,) = simplified(Graph((), (apply(Reduce("sum", (1,)), whole),))).outputs
    assert isinstance(total.operator, Constant)
    assert total.operator.array.tolist() == [6] * 4


def test_attention_of_constants_for_all_samples_is_a_kernel() -> None:
    """Queries that a model has learned, as in a Perceiver, are stored for each sample."""
    generator = np.random.default_rng(0)
    latents = apply(Constant(generator.uniform(-1, 1, (2, 4, 8)).astype(np.float32)))
    k, v = (apply(Input(TensorType((3, 2, 9, 8), F32))) for _ in range(2))
    queries = apply(Broadcast((3, 2, 4, 8)), latents)
    graph = Graph((k, v), (apply(Attention(0.3, causal=False), queries, k, v),))
    expanded = rewritten(graph, EXPANSIONS)
    (attention,) = expanded.outputs
    assert isinstance(attention.operator, Attention) and not by_rule(expanded).left
    arrays = [generator.uniform(-1, 1, node.shape).astype(np.float32) for node in (k, v)]
    expected, values = evaluate(graph, arrays)[0], evaluate(expanded, arrays)[0]
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("one", [1, 2])
def test_heads_that_share_keys_or_values_alone_read_no_broadcast(one: int) -> None:
    """`one` of the inputs is the same for all heads, and the other is not."""
    shapes = [(2, 6, 5, 4), (2, 6, 9, 4), (2, 6, 9, 3)]
    given = [*shapes]
    given[one] = (2, 1, *shapes[one][2:])
    inputs = tuple(apply(Input(TensorType(shape, F32))) for shape in given)
    heads = [*inputs]
    heads[one] = apply(Broadcast(shapes[one]), heads[one])
    graph = Graph(inputs, (apply(Attention(0.5), *heads),))
    expanded = rewritten(graph, EXPANSIONS)
    assert by_rule(expanded).left == ()
    _same_values(graph, expanded)


@pytest.mark.parametrize("axes", [(1,), (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_products_are_made_of_halves(axes: tuple[int, ...], keepdims: bool) -> None:
    x = apply(Input(TensorType((2, 11, 3), F32)))
    graph = Graph((x,), (apply(Reduce("prod", axes, keepdims), x),))
    expanded = rewritten(graph, EXPANSIONS)
    assert not any(isinstance(node.operator, Reduce) for node in expanded.nodes)
    array = np.random.default_rng(0).uniform(-2, 2, x.shape)
    np.testing.assert_allclose(evaluate(expanded, [array])[0], evaluate(graph, [array])[0], 1e-12)


def test_means_of_windows_at_borders_are_those_of_the_image() -> None:
    image = apply(Input(TensorType((2, 3, 6, 5), F32)))
    pooling = Pooling("mean", (3, 2), (2, 1), (1, 0), (2, 1), (1, 1))
    graph = Graph((image,), (apply(pooling, image),))
    x = np.random.default_rng(0).uniform(-1, 1, image.shape)
    expanded = rewritten(graph, EXPANSIONS)
    assert len(expanded.nodes) == 4
    np.testing.assert_allclose(evaluate(expanded, [x])[0], evaluate(graph, [x])[0], 1e-6)


@pytest.mark.parametrize(
    "shape, axis", [((9,), 0), ((3, 7), 1), ((1, 7, 5), 1), ((4, 6, 5, 3), 2), ((4, 3, 2), 0)]
)
def test_what_is_taken_along_an_axis_is_rows(shape: tuple[int, ...], axis: int) -> None:
    x, numbers = (
        apply(Input(TensorType(shape, F32))),
        apply(Input(TensorType((2, 3), np.dtype(np.int64)))),
    )
    graph = Graph((x, numbers), (apply(Gather(axis), x, numbers),))
    expanded = rewritten(graph, EXPANSIONS)
    (rows,) = [node for node in expanded.nodes if isinstance(node.operator, Gather)]
    assert rows.operator == Gather(0)
    assert rows.inputs[0].type.rank == 2
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, shape), generator.integers(-4, 5, (2, 3))]
    np.testing.assert_array_equal(evaluate(expanded, arrays)[0], evaluate(graph, arrays)[0])


def test_a_result_in_another_order_keeps_its_dimensions_of_size_1() -> None:
    """The result of a convolution of one image whose channels are last is such a one."""
    image, filters = (
        apply(Input(TensorType(shape, F32))) for shape in ((1, 4, 6, 5), (8, 4, 1, 1))
    )
    none, one = (0, 0), (1, 1)
    result = apply(Conv(one, none, none, one), image, filters)
    spec = lowered((result, apply(Transpose((0, 2, 3, 1)), result))).spec
    assert spec.placements[-1].layout.order == (0, 2, 3, 1)


def test_a_padded_tensor_is_joined_with_constants() -> None:
    x, two = apply(Input(TensorType((2, 3), F32))), apply(Constant(np.array(2, F32)))
    graph = Graph((x,), (apply(Pad((1, 0), (0, 2)), x, two),))
    array = np.random.default_rng(0).uniform(-1, 1, x.shape)
    expanded = rewritten(graph, EXPANSIONS)
    assert sum(isinstance(node.operator, Concat) for node in expanded.nodes) == 2
    np.testing.assert_array_equal(evaluate(expanded, [array])[0], evaluate(graph, [array])[0])


def test_no_constant_of_gigabytes_is_made() -> None:
    image, many, zero = (
        apply(operator)
        for operator in (
            Input(TensorType((1, 1, 4, 5), F32)),
            Input(TensorType((1, 1, 1 << 31, 5), F32)),
            Constant(np.array(0, F32)),
        )
    )
    none, one, far = (0, 0), (1, 1), (1 << 31, 1)
    for huge in (
        apply(Pad((0, 0, 0, 0), (0, 0, *far)), image, zero),
        apply(Pooling("mean", (1 << 31, 2), one, none, far, one), image),
        apply(Attention(1.0, causal=True), many, many, many),
    ):
        nodes = rewritten(Graph((image, many), (huge,)), EXPANSIONS).nodes
        assert all(each.type.size < 10 for each in nodes if isinstance(each.operator, Constant))


def test_filters_that_fill_registers_are_a_few_more() -> None:
    """Functions of them are computed of the added ones too; a tenth more would not be worth it."""
    random = np.random.default_rng(0)
    image = apply(Input(TensorType((1, 3, 4, 5), F32)))
    for filters, computed in (47, 48), (14, 14):
        weights, bias = (
            apply(Constant(random.uniform(-1, 1, shape).astype(F32)))
            for shape in ((filters, 3, 1, 1), (filters, 1, 1))
        )
        sums = apply(Conv((1, 1), (0, 0), (0, 0), (1, 1)), image, weights)
        graph = Graph((image,), (apply(Map("exp"), apply(Map("add"), sums, bias)),))
        expanded = rewritten(graph, EXPANSIONS)
        (exponential,) = (n for n in expanded.nodes if str(n.operator) == "exp")
        assert exponential.shape == (1, computed, 4, 5)
        x = random.uniform(-1, 1, image.shape)
        np.testing.assert_allclose(evaluate(expanded, [x])[0], evaluate(graph, [x])[0], 1e-9)


@pytest.mark.parametrize(
    ("rows", "summed", "columns", "computed"),
    [(4, 64, 481, 496), (4, 64, 480, 480), (3, 64, 481, 481), (4, 63, 481, 481), (4, 64, 33, 33)],
)
@pytest.mark.parametrize("by_columns", [False, True])
def test_columns_that_fill_registers_are_a_few_more(
    rows: int, summed: int, columns: int, computed: int, by_columns: bool
) -> None:
    random = np.random.default_rng(0)
    x = apply(Input(TensorType((2, rows // 2, summed) if rows == 4 else (rows, summed), F32)))
    shape = (columns, summed) if by_columns else (summed, columns)
    weights, bias = (
        apply(Constant(random.uniform(-1, 1, shape).astype(F32))) for shape in (shape, (columns,))
    )
    product = apply(Dot((), ((x.type.rank - 1, 1 if by_columns else 0),)), x, weights)
    graph = Graph((x,), (apply(Map("exp"), apply(Map("add"), product, bias)),))
    expanded = rewritten(graph, EXPANSIONS)
    (exponential,) = (n for n in expanded.nodes if str(n.operator) == "exp")
    assert exponential.shape == (*x.shape[:-1], computed)
    values = random.uniform(-1, 1, x.shape)
    np.testing.assert_allclose(evaluate(expanded, [values])[0], evaluate(graph, [values])[0], 1e-9)


def test_a_convolution_by_windows_stores_what_is_pooled_in_its_padding() -> None:
    random = np.random.default_rng(0)
    image = apply(Input(TensorType((1, 3, 7, 8), F32)))
    for pixels, is_stored in (3, True), (1, False):
        weights = apply(Constant(random.uniform(-1, 1, (4, 3, pixels, pixels)).astype(F32)))
        sums = apply(Conv((1, 1), (0, 0), (0, 0), (1, 1)), image, weights)
        pooling = Pooling("max", (3, 3), (2, 2), (1, 1), (1, 1), (1, 1))
        graph = Graph((image,), (apply(pooling, apply(Map("relu"), sums)),))
        expanded = rewritten(graph, STORED_PADDING)
        assert any(isinstance(n.operator, Concat) for n in expanded.nodes) == is_stored
        x = random.uniform(-1, 1, image.shape)
        np.testing.assert_allclose(evaluate(expanded, [x])[0], evaluate(graph, [x])[0], 1e-9)


@pytest.mark.parametrize("kind", ["max", "mean"])
@pytest.mark.parametrize("counts_padding", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_an_image_that_is_scaled_is_stored_in_its_padding(
    scaled: bool, counts_padding: bool, kind: str
) -> None:
    """Operations on all of an image are not fused with those that compute the image."""
    image = apply(Input(TensorType((2, 3, 7, 8), F32)))
    x = apply(Map("relu"), image)
    if scaled:
        largest = apply(Reduce("max", (2, 3), True), x)
        x = apply(Map("multiply"), x, apply(Broadcast(x.shape), largest))
    pooling = Pooling(kind, (3, 2), (2, 1), (1, 1), (1, 0), (1, 1), counts_padding)
    graph = Graph((image,), (apply(pooling, apply(Map("exp"), x)),))
    expanded = rewritten(graph, STORED_PADDING)
    assert any(isinstance(n.operator, Concat) for n in expanded.nodes) == scaled
    values = np.random.default_rng(0).uniform(-1, 1, image.shape)
    np.testing.assert_allclose(evaluate(expanded, [values])[0], evaluate(graph, [values])[0], 1e-6)


@pytest.mark.parametrize(
    "operator",
    [
        Conv((2, 1, 2), (0, 1, 1), (1, 0, 1), (2, 1, 1), groups=2),
        Conv((1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1)),
        Conv((2, 1, 1), (1, 0, 0), (0, 0, 0), (2, 1, 1)),
        Pooling("max", (2, 3, 2), (2, 2, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)),
        Pooling("mean", (3, 2, 2), (2, 2, 2), (1, 1, 0), (1, 1, 0), (1, 1, 1)),
        Pooling("mean", (2, 2, 2), (1, 2, 2), (1, 0, 1), (1, 0, 1), (1, 1, 1), counts_padding=True),
    ],
)
def test_volumes_are_images(operator: Conv | Pooling) -> None:
    shapes = [(2, 4, 6, 5, 7)]
    if isinstance(operator, Conv):
        taps = (3, 2, 3) if operator.groups > 1 else (1 + 2 * operator.before[0], 1, 1)
        shapes.append((6, 4 // operator.groups, *taps))
    inputs = tuple(apply(Input(TensorType(shape, F32))) for shape in shapes)
    graph = Graph(inputs, (apply(operator, *inputs),))
    expanded = rewritten(graph, EXPANSIONS)
    for node in expanded.nodes:
        if isinstance(node.operator, Conv | Pooling):
            assert len(node.operator.strides) == 2
            lowered([node])
    alone = isinstance(operator, Conv) and operator.groups == 1
    assert not (alone and any(isinstance(node.operator, Concat) for node in expanded.nodes))
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, shape) for shape in shapes]
    expected, values = evaluate(graph, arrays)[0], evaluate(expanded, arrays)[0]
    np.testing.assert_allclose(values, expected, 1e-6, 1e-9)


def test_functions_of_layers_are_of_the_kernel_of_their_convolution() -> None:
    generator = np.random.default_rng(0)
    x, weights = (apply(Input(TensorType(s, F32))) for s in ((2, 4, 3, 4, 5), (6, 4, 3, 1, 1)))
    sums = apply(Conv((1, 1, 1), (1, 0, 0), (1, 0, 0), (1, 1, 1)), x, weights)
    bias = apply(Constant(generator.standard_normal((6, 1, 1, 1)).astype(np.float32)))
    output = apply(Map("relu"), apply(Map("add"), sums, bias))
    graph = Graph((x, weights), (output,))
    expanded = rewritten(graph, EXPANSIONS)
    assert len(by_rule(expanded).groups) == 1
    arrays = [generator.standard_normal(node.shape) for node in graph.inputs]
    expected, values = evaluate(graph, arrays)[0], evaluate(expanded, arrays)[0]
    np.testing.assert_allclose(values, expected, 1e-6, 1e-9)


DOT = ((0, 1), (2, 0)), ((3, 2),)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 2)])
def test_factors_that_a_batch_shares_are_read_once(side: int, shape: tuple[int, int]) -> None:
    """Products of a batch of 3 and 2, in other places of the second factor."""
    shapes = [(3, 5, 2, 4), (2, 3, 4, 6)]
    small = [(shape[0], 5, shape[1], 4), (shape[1], shape[0], 4, 6)][side]
    inputs = [apply(Input(TensorType(each, F32))) for each in (small, shapes[1 - side])]
    factors = [apply(Broadcast(shapes[side]), inputs[0]), inputs[1]]
    graph = Graph((*inputs,), (apply(Dot(*DOT), *(factors if side == 0 else factors[::-1])),))
    expanded = rewritten(graph, EXPANSIONS)
    (dot,) = (node.operator for node in expanded.nodes if isinstance(node.operator, Dot))
    assert len(dot.batch) == 2 - shape.count(1)
    _same_values(graph, expanded)


@pytest.mark.parametrize("side", [0, 1])
def test_rows_that_are_the_same_are_multiplied_once(side: int) -> None:
    x, w = (apply(Input(TensorType(shape, F32))) for shape in ((1, 5, 4), (4, 3)))
    rows = apply(Broadcast((6, 5, 4)), x)
    dot = Dot((), ((2, 0) if side == 0 else (0, 2),))
    graph = Graph((x, w), (apply(dot, *((rows, w) if side == 0 else (w, rows))),))
    expanded = rewritten(graph, EXPANSIONS)
    (product,) = (node for node in expanded.nodes if isinstance(node.operator, Dot))
    assert product.type.size == 5 * 3
    _same_values(graph, expanded)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shape", [(), (1, 1)])
def test_products_by_one_number_are_sums(side: int, shape: tuple[int, ...]) -> None:
    """As the gradient of a sum, whose factor is a number at every place."""
    shapes = [(3, 5, 2, 4), (2, 3, 4, 6)]
    a, x = (apply(Input(TensorType(each, F32))) for each in (shape, shapes[1 - side]))
    factors = [apply(Broadcast(shapes[side]), a), x]
    graph = Graph((a, x), (apply(Dot(*DOT), *(factors if side == 0 else factors[::-1])),))
    expanded = rewritten(graph, EXPANSIONS)
    assert not any(isinstance(node.operator, Dot) for node in expanded.nodes)
    _same_values(graph, expanded)


def test_products_of_16_bits_by_one_number_are_summed_in_f32() -> None:
    """Their sums, 409,600 here, are more than f16 holds."""
    a, x = (apply(Input(TensorType(s, np.dtype(np.float16)))) for s in ((1, 1), (4096, 2)))
    graph = Graph((a, x), (apply(Dot((), ((1, 0),)), apply(Broadcast((3, 4096)), a), x),))
    expanded = rewritten(graph, EXPANSIONS)
    assert not any(isinstance(node.operator, Dot) for node in expanded.nodes)
    arrays = [
        np.full(node.shape, value, np.float16)
        for node, value in zip(graph.inputs, (1 / 4096, 100), strict=True)
    ]
    assert (evaluate(expanded, arrays)[0] == 100).all()


def test_products_that_sum_one_term_are_no_sums() -> None:
    a, b = (apply(Input(TensorType(s, F32))) for s in ((3, 5, 2, 1), (2, 3, 1, 6)))
    graph = Graph((a, b), (apply(Dot(*DOT), a, b),))
    expanded = rewritten(graph, EXPANSIONS)
    assert not any(isinstance(node.operator, Dot) for node in expanded.nodes)
    _same_values(graph, expanded)


@pytest.mark.parametrize("weight, known", [(1.0, True), (np.inf, False), (np.nan, False)])
def test_products_of_zeros_with_finite_weights_are_known(weight: float, known: bool) -> None:
    zeros = apply(Broadcast((2, 4)), apply(Constant(np.zeros((), F32))))
    weights = apply(Constant(np.full((4, 3), weight, F32)))
    graph = Graph((), (apply(Dot((), ((1, 0),)), zeros, weights),))
    expanded = rewritten(graph, EXPANSIONS)
    assert known != any(isinstance(node.operator, Dot | Reduce) for node in expanded.nodes)
    _same_values(graph, expanded)


def _same_values(graph: Graph, expanded: Graph) -> None:
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(-1, 1, node.shape) for node in graph.inputs]
    expected, values = evaluate(graph, arrays)[0], evaluate(expanded, arrays)[0]
    np.testing.assert_allclose(values, expected, 1e-9, 1e-12)


SPECIAL = np.array([
    0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 7.25, 100, 1e-30, -1e30, np.inf, -np.inf, np.nan,
])  # fmt: skip


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_quotients_by_zero_are_infinite(zero: float) -> None:
    x = apply(Input(TensorType((17,), F32)))
    zeros = [np.array(zero, F32), np.full(17, zero, F32)]
    graph = Graph((x,), tuple(apply(Map("divide"), x, apply(Constant(each))) for each in zeros))
    expanded = rewritten(graph, EXPANSIONS)
    assert by_rule(expanded).left == ()
    with np.errstate(all="ignore"):
        expected = SPECIAL / zero
    for found in evaluate(expanded, [SPECIAL]):
        np.testing.assert_array_equal(found, expected)

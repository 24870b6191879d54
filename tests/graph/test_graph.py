"""Graphs: types, values, views, and the groups that become kernels."""

import math

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.base.errors import GraphError, SpecError
from morello.frontends.products import Pairs
from morello.graph.graph import Graph, Node, TensorType, apply, check
from morello.graph.interpreter import evaluate
from morello.graph.lowering import copied, lowered, obstacle
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Constant,
    Conv,
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
)
from morello.graph.partition import by_rule
from morello.graph.printing import text
from morello.graph.views import view_of
from morello.importers.text import graph_of
from morello.ir.layout import Layout
from morello.ir.semantics import evaluate as spec_values
from morello.ir.tensor import gapless

F32 = np.dtype(np.float32)


def given(*shape: int, name: str = "") -> Node:
    return apply(Input(TensorType(shape, F32), name))


def random(generator: np.random.Generator, node: Node) -> np.ndarray:
    return generator.uniform(-1, 1, node.shape).astype(F32)


def block() -> Graph:
    """A block of a transformer: a projection, attention of four heads, a residual, a norm."""
    x, w, b = given(1, 16, 32, name="x"), given(32, 64), given(64)
    hidden = apply(Map("gelu"), apply(Map("add"), apply(Dot((), ((2, 0),)), x, w), b))
    heads = apply(Transpose((0, 2, 1, 3)), apply(Reshape((1, 16, 4, 16)), hidden))
    seen = apply(Attention(0.25), heads, heads, heads)
    back = apply(Reshape((1, 16, 64)), apply(Transpose((0, 2, 1, 3)), seen))
    v, gamma, beta = given(64, 32), given(32), given(32)
    out = apply(Map("add"), apply(Dot((), ((2, 0),)), back, v), x)
    return Graph((x, w, b, v, gamma, beta), (apply(LayerNorm(1e-6), out, gamma, beta),))


def test_a_block_is_four_kernels() -> None:
    graph = block()
    check(graph)
    partition = by_rule(graph)
    assert not partition.left
    assert [len(group.nodes) for group in partition.groups] == [3, 2, 2, 1]
    projection, attention, residual, _ = (g.lowered.spec.expression for g in partition.groups)
    assert projection == "gelu(f32[16,32] @ f32[32,64] + f32[64])"
    # heads are read where they lie, and stored where the transpose back would put them
    assert attention.startswith("a = f32[4,16,16]{2,0,1}; softmax(")
    assert attention.endswith("-> f32[4,16,16]{2,0,1}")
    assert residual == "f32[16,64] @ f32[64,32] + f32[16,32]"


def test_the_text_has_a_line_for_each_node() -> None:
    x, w = given(4, 8, name="x"), given(8, 2)
    graph = Graph((x, w), (apply(Map("exp"), apply(Dot((), ((1, 0),)), x, w)),))
    assert text(graph).splitlines() == [
        "%0 = input x() : f32[4,8]",
        "%1 = input() : f32[8,2]",
        "%2 = dot[contracted=((1,0),)](%0, %1) : f32[4,2]",
        "%3 = exp(%2) : f32[4,2]",
        "return %3",
    ]


def test_views_say_where_elements_lie() -> None:
    x = given(2, 6, 8)
    turned = apply(Transpose((1, 0, 2)), apply(Slice((0, 1, 0), (2, 5, 8), (1, 2, 1)), x))
    view = view_of(turned)
    assert (view.base, view.shape, view.strides, view.offset) == (x, (2, 2, 8), (16, 48, 1), 8)
    copied = apply(Reshape((4, 8)), turned)
    assert view_of(copied).base is copied
    assert view_of(apply(Broadcast((3, 2, 6, 8)), x)).strides[0] == 0


def test_an_invalid_graph_is_refused() -> None:
    x = given(4, 8)
    with pytest.raises(GraphError, match="8 is not 4"):
        apply(Dot((), ((1, 0),)), x, x)
    q = given(2, 4, 3, 8)
    for shape, *mask in (((3, 2, 5, 8),), ((2, 3, 5, 8),), ((2, 2, 5, 8), given(2, 2, 4, 3, 5))):
        keys = given(*shape)
        with pytest.raises(GraphError, match="the shapes do not fit"):
            apply(Attention(0.5), q, keys, keys, *mask)
    with pytest.raises(GraphError, match=r"subtract of bool\[4\], which has no numbers"):
        apply(Map("subtract"), *2 * (apply(Constant(np.ones(4, bool))),))
    none = apply(Constant(np.zeros((0, 8), F32)))
    assert apply(Gather(0), none, apply(Constant(np.zeros(0, np.int64)))).shape == (0, 8)
    with pytest.raises(GraphError, match=r"f32\[0,8\] has no slices along axis 0"):
        apply(Gather(0), none, apply(Constant(np.zeros(3, np.int64))))
    wrong = Node(Map("exp"), (x,), TensorType((8, 4), F32))
    with pytest.raises(GraphError, match=r"computes f32\[4,8\]"):
        check(Graph((x,), (wrong,)))
    with pytest.raises(GraphError, match="the filters have no pixels"):
        apply(Conv((1,), (0,), (0,), (1,)), given(1, 3, 8), given(4, 3, 0))
    with pytest.raises(SpecError, match="reads a broadcast"):
        total = apply(Reduce("sum", (0,)), apply(Broadcast((5, 4, 8)), x))
        lowered([total])
    with pytest.raises(SpecError, match="of a number computes nothing"):
        lowered([apply(Broadcast((2, 3)), apply(Constant(np.array(1, F32))))])
    one = apply(Constant(np.ones(1, F32)))
    with pytest.raises(SpecError, match="no norms of single numbers"):
        lowered([apply(LayerNorm(1e-5), given(4, 1), one, one)])


@pytest.mark.parametrize("shape", [(), (1, 1), (3,), (4, 1, 5)])
def test_one_number_is_copied_to_all_places(shape: tuple[int, ...]) -> None:
    view = view_of(apply(Broadcast(shape), given()))
    for to in (None, tuple(range(2 * len(shape), 0, -2))):
        assert copied(view, to).spec.placements[0].layout.rank == 1
    spec = copied(view).spec
    (result,) = spec_values(spec.operation, [np.array([7], np.uint32)], spec.sizes)
    assert result.ravel().tolist() == [7] * math.prod(shape)


def test_what_is_copied_lies_in_the_order_of_its_strides() -> None:
    """Channels last: else no element of a pixel is known to follow another."""
    image = view_of(given(16, 3, 5))
    turned = copied(image, (1, 80, 16)).spec.placements[1]
    assert turned == gapless(Layout((1, 2, 0)))
    apart = copied(image, (1, 160, 32)).spec.placements[1]
    assert (apart.layout, apart.contiguous) == (turned.layout, 1)


def test_all_elements_are_reduced_to_a_number() -> None:
    x = given(4, 8)
    for keep in (False, True):
        mean = apply(Reduce("mean", (0, 1), keepdims=keep), apply(Map("exp"), x))
        (group,) = by_rule(Graph((x,), (mean,))).groups
        array = random(np.random.default_rng(0), x)
        result = morello.compile(group.lowered.spec, gap=1.0)(array)
        np.testing.assert_allclose(result, [np.exp(array).mean()], 1e-5)


def test_what_a_convolution_reads_keeps_its_dimensions_of_size_1() -> None:
    """Nothing is broadcast for them, though the scale and the shift lack some of them."""
    x, scale, filters = given(1, 3, 4, 4), given(1, 3, 1, 1), given(2, 3, 1, 1)
    shift = apply(Reshape((1, 3, 1, 1)), given(3))
    scaled = apply(Map("add"), apply(Map("multiply"), x, scale), shift)
    active = apply(Map("relu"), scaled)
    conv = apply(Conv((1, 1), (0, 0), (0, 0), (1, 1)), active, filters)
    group = lowered((scaled.inputs[0], scaled, active, conv))
    assert group.spec.expression == (
        "conv(relu(f32[1,3,4,4] * expand_dims(expand_dims(f32[3], axis=1), axis=2)"
        " + expand_dims(expand_dims(f32[3], axis=1), axis=2)), f32[2,3,1,1])"
    )
    generator = np.random.default_rng(0)
    read = {view.base: random(generator, view.base) for view in group.inputs}
    arrays = [
        read[view.base].reshape(group.spec.shape(number))
        for number, view in enumerate(group.inputs)
    ]
    graph = Graph(tuple(read), (conv,))
    (result,) = spec_values(group.spec.operation, arrays, group.spec.sizes)
    np.testing.assert_allclose(result, evaluate(graph, [*read.values()])[0], 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("shapes", "batch", "contracted", "expression"),
    [
        (((2, 4, 8), (8, 3)), (), ((2, 0),), "f32[2,4,8] @ f32[8,3]"),
        (((8,), (8, 3)), (), ((0, 0),), "f32[8] @ f32[8,3]"),
        (((1, 8), (8, 3)), (), ((1, 0),), "f32[8] @ f32[8,3]"),
        (((1, 8), (8, 1)), (), ((1, 0),), "f32[8] @ f32[8]"),
        (((4, 1), (1, 3)), (), ((1, 0),), "expand_dims(f32[4], axis=1) * f32[3]"),
        (
            ((2, 4, 3, 8), (3, 8, 5)), (), ((2, 0), (3, 1)),
            'einsum("ambk,bkn->amn", f32[2,4,3,8], f32[3,8,5])',
        ),
        (
            ((2, 4, 3, 8), (2, 5, 3, 8)), ((0, 0), (2, 2)), ((3, 3),),
            "transpose(f32[2,4,3,8], order=[0,2,1,3]) @ transpose(f32[2,5,3,8], order=[0,2,3,1])",
        ),
    ],
)  # fmt: skip
def test_contractions_of_any_dimensions(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    batch: Pairs,
    contracted: Pairs,
    expression: str,
) -> None:
    dot = apply(Dot(batch, contracted), *(given(*shape) for shape in shapes))
    assert lowered([dot]).spec.expression == expression


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions_agree_with_their_definition(groups: int) -> None:
    generator = np.random.default_rng(groups)
    image, filters = given(2, 4, 7, 6), given(8, 4 // groups, 3, 2)
    conv = apply(Conv((2, 1), (1, 0), (0, 1), (1, 2), groups), image, filters)
    x, w = random(generator, image), random(generator, filters)
    (result,) = evaluate(Graph((image, filters), (conv,)), [x, w])
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 0), (0, 1)])
    for b, f, i, j in np.ndindex(*conv.shape):
        group = f // (8 // groups)
        channels = padded[b, group * (4 // groups) : (group + 1) * (4 // groups)]
        window = channels[:, 2 * i : 2 * i + 3, j : j + 3 : 2]
        np.testing.assert_allclose(result[b, f, i, j], (window * w[f]).sum())


def test_means_of_windows_count_the_padding_if_asked() -> None:
    image = given(1, 1, 2, 2)
    ones = np.ones((1, 1, 2, 2), F32)
    for counts, corner in ((False, 1.0), (True, 0.25)):
        pool = apply(Pooling("mean", (2, 2), (1, 1), (1, 1), (1, 1), (1, 1), counts), image)
        (result,) = evaluate(Graph((image,), (pool,)), [ones])
        assert result.shape == (1, 1, 3, 3)
        assert result[0, 0, 0, 0] == corner


def test_a_softmax_takes_the_elementwise_nodes_before_it() -> None:
    x, scale = given(4, 8), apply(Constant(np.array(0.5, F32)))
    scaled = apply(Map("multiply"), x, scale)
    graph = Graph((x,), (apply(Softmax(1), scaled),))
    (group,) = by_rule(graph).groups
    assert group.lowered.spec.expression == "softmax(f32[4,8] * 0.5)"


def test_norms_of_narrow_numbers_are_computed_in_f32() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    x, gamma = apply(Input(TensorType((4, 8), bf16))), given(8)
    norm = apply(RmsNorm(1e-6), x, gamma)
    expression = lowered([norm]).spec.expression
    assert expression.startswith("a = bf16[4,8]; cast(cast(a, f32) * expand_dims(rsqrt(sum(")
    kernel = morello.compile(expression, gap=1.0)
    generator = np.random.default_rng(3)
    arrays = [random(generator, x).astype(bf16), random(generator, gamma)]
    (expected,) = evaluate(Graph((x, gamma), (norm,)), arrays)
    np.testing.assert_allclose(kernel(*arrays).astype(np.float64), expected, 0.004, 1e-6)


def test_what_is_computed_of_single_numbers_is_a_group() -> None:
    first = apply(Slice((0, 0), (1, 1), (1, 1)), given(4, 8))
    chosen = apply(Cast(np.dtype(np.int32)), apply(Map("greater"), first, first))
    partition = by_rule(Graph((), (apply(Map("tanh"), first), chosen)))
    assert not partition.left and len(partition.groups) == 2


def test_a_view_of_a_number_is_no_kernel() -> None:
    one = apply(Constant(np.ones((), np.float32)))
    assert "computes nothing" in obstacle(apply(Reshape((1, 1)), one))


def test_casts_that_no_kernel_has_are_in_no_group() -> None:
    x = given(4, 8)
    partition = by_rule(Graph((x,), (apply(Cast(np.dtype(np.float64)), x),)))
    assert len(partition.left) == 1 and not partition.groups


def test_floats_are_cast_to_unsigned_integers() -> None:
    """Floats above all signed integers are cast as well; those below 0 wrap around."""
    x = given(5)
    kernel = morello.compile(lowered([apply(Cast(np.dtype(np.uint32)), x)]).spec, gap=1.0)
    numbers = np.array([0.9, 7, 2**31, 2**32 - 256, -3.5], np.float32)
    expected = np.array([0, 7, 2**31, 2**32 - 256, 2**32 - 3], np.uint32)
    np.testing.assert_array_equal(kernel(numbers), expected)


def test_primitive_operations_of_what_has_one_dimension_more() -> None:
    given = apply(Input(TensorType((6, 30, 8), np.dtype(np.float32))))
    rectified = apply(Map("relu"), given)
    image = apply(Reshape((1, 6, 30, 8)), rectified)
    primitive = graph_of("winograd_input(f32[1,6,30,8], layout=NHWC)").outputs[0]
    points = apply(primitive.operator, image)
    spec = lowered([rectified, image, points]).spec
    kernel = morello.compile(spec, gap=1.0, threads=1)
    x = np.random.default_rng(0).standard_normal(given.shape).astype(np.float32)
    (expected,) = evaluate(Graph((given,), (points,)), [x])
    np.testing.assert_allclose(kernel(x), expected, rtol=1e-5, atol=1e-5)

"""Convolutions in fewer multiplications: where they are chosen, what they compute, their error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import normal

from morello.api import implement
from morello.errors import SearchError
from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Concat,
    Constant,
    Conv,
    Input,
    Map,
    PrimitiveOperator,
    Slice,
    Where,
)
from morello.graph.patterns.tiling import cycles, tilings
from morello.graph.patterns.winograd import in_fewer_multiplications
from morello.ir.primitives.winograd import (
    TRANSFORMS,
    winograd_filters,
    winograd_input,
    winograd_output,
)
from morello.ir.semantics import reference
from morello.models import compile_graph
from morello.targets.caches import limited
from morello.targets.catalog import native, tuned

Array = np.ndarray[Any, np.dtype[Any]]

F32 = np.dtype(np.float32)
EPSILON = 2.0**-23
MACHINE = tuned("avx512", "sapphirerapids")


def image(*shape: int) -> Node:
    return apply(Input(TensorType(shape, F32)))


def conv(x: Node, filters: int, padding: int = 1, taps: int = 3, **more: Any) -> Node:
    """A convolution by filters of random numbers, whose results are about as large as x."""
    depth = x.shape[1] // more.get("groups", 1)
    weights = normal(filters, depth, taps, taps) / np.float32(taps * depth**0.5)
    options = {"strides": (1, 1), "dilations": (1, 1), **more}
    pads = (padding, padding)
    return apply(Conv(before=pads, after=pads, **options), x, apply(Constant(weights)))


def relu_of_sum(x: Node, *terms: Node) -> Node:
    bias = apply(Constant(normal(x.shape[1], 1, 1, seed=1)))
    for term in (bias, *terms):
        x = apply(Map("add"), x, term)
    return apply(Map("relu"), x)


def tiles(graph: Graph) -> int:
    """The number of convolutions that are done by tiles."""
    return sum(str(node.operator) == "WinogradOutput" for node in graph.nodes)


def convolutions(graph: Graph) -> int:
    return sum(isinstance(node.operator, Conv) for node in graph.nodes)


@pytest.mark.parametrize("most", [2, 4])
@pytest.mark.parametrize(
    ("shape", "filters", "padding", "stripes"),
    [
        ((1, 64, 28, 28), 64, 1, {2: 7, 4: 1}),
        ((2, 128, 13, 15), 128, 1, {2: 7, 4: 7}),
        ((3, 64, 12, 60), 64, 1, {2: 9, 4: 9}),
        ((1, 64, 45, 60), 64, 0, {2: 11, 4: 11}),
        ((1, 33, 28, 28), 72, 1, {2: 3, 4: 1}),
    ],
)
def test_tiles_compute_the_convolution(
    shape: tuple[int, ...], filters: int, padding: int, stripes: dict[int, int], most: int
) -> None:
    """Sizes are those that tiles divide or reach over; stripes of all images, or of one, and
    epilogues agree in float64.
    """
    x = image(*shape)
    y = conv(x, filters, padding)
    residual = image(*y.shape)
    graph = Graph((x, residual), (relu_of_sum(y, residual),))
    other = in_fewer_multiplications(graph, most, MACHINE)
    assert (tiles(other), convolutions(other)) == (stripes[most], 0)
    values = [np.random.default_rng(0).standard_normal(each.shape) for each in (x, residual)]
    (wanted,), (found,) = evaluate(graph, values), evaluate(other, values)
    # the points of the filters are rounded to f32
    np.testing.assert_allclose(found, wanted, atol=1e-5 if most == 4 else 1e-6)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: conv(x, 64, strides=(2, 2)),
        lambda x: conv(x, 64, dilations=(2, 2)),
        lambda x: conv(x, 64, 0, taps=1),
        lambda x: conv(x, 64, 2, taps=5),
        lambda x: conv(x, 8),
        lambda x: apply(Conv((1, 1), (1, 1), (1, 1), (1, 1)), x, image(64, 64, 3, 3)),
    ],
    ids=["stride", "dilation", "pixels", "taps", "few filters", "weights"],
)
def test_other_convolutions_stay(other: Any) -> None:
    x = image(1, 64, 28, 28)
    graph = Graph((x,), (other(x),))
    assert tiles(in_fewer_multiplications(graph, 4, MACHINE)) == 0


def test_few_channels_are_not_worth_it() -> None:
    x = image(1, 16, 56, 56)
    assert tiles(in_fewer_multiplications(Graph((x,), (conv(x, 16),)), 2, MACHINE)) == 0


def test_choices_are_made_in_stripes() -> None:
    x = image(1, 64, 28, 28)
    y = conv(x, 64)
    zero = apply(Constant(np.zeros((), np.float32)))
    chosen = apply(Where(), apply(Map("greater"), y, zero), y, apply(Map("expm1"), y))
    graph = Graph((x,), (chosen,))
    other = in_fewer_multiplications(graph, 2, MACHINE)
    (output,) = other.outputs
    assert output.operator == Concat(2)
    assert all(isinstance(stripe.operator, Where) for stripe in output.inputs)
    values = [np.random.default_rng(0).standard_normal(x.shape)]
    (wanted,), (found,) = evaluate(graph, values), evaluate(other, values)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_parts_of_channels_stay() -> None:
    """They stay for tiles that reach over the image, and where numbers are added by channel."""
    x = image(1, 128, 13, 13)
    part = apply(Slice((0,) * 4, (1, 32, 13, 13), (1,) * 4), conv(x, 128))
    graph = Graph((x,), (relu_of_sum(part),))
    values = [normal(*x.shape)]
    (wanted,), (found,) = (
        evaluate(g, values) for g in (graph, in_fewer_multiplications(graph, 2, MACHINE))
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("tile", TRANSFORMS)
@pytest.mark.parametrize("machine", [("avx2", "haswell"), ("avx512", "zen4")])
def test_many_channels_have_programs(machine: tuple[str, str], tile: int) -> None:
    """A nearest cache of 8 ways, where few pixels of so many channels stay, has them too."""
    target, pixels = tuned(*machine), tile + 2
    for text in (
        f"winograd_input(f32[1,{pixels},{pixels},1024], tile={tile}, layout=NHWC)",
        f"winograd_output(f32[{pixels**2},1,1,1,1024], tile={tile}, layout=NHWC)",
    ):
        impl, _ = implement(text, target=target, table="off")
        assert impl.complete


def test_images_in_rows_stay() -> None:
    x = image(1, 64, 28, 28)
    graph = Graph((x,), (conv(conv(x, 64), 48, groups=2),))
    assert tiles(in_fewer_multiplications(graph, 2, MACHINE)) == 0


def test_larger_tiles_are_expected_to_take_less_time() -> None:
    node = conv(image(1, 128, 28, 28), 128)
    large, small = (
        min(cycles(node, MACHINE, way) for way in tilings(node, n, MACHINE)) for n in (4, 2)
    )
    assert large < small < cycles(node, MACHINE)


def test_a_program_with_residual() -> None:
    """Kernels of tiles with bias, residual and relu, in stripes, and channels last in between."""
    x = image(1, 64, 14, 14)
    first = relu_of_sum(conv(x, 64, 0, taps=1))
    second = relu_of_sum(conv(first, 64), first)
    graph = Graph((x,), (relu_of_sum(conv(second, 32, 0, taps=1)),))
    small = limited(native(), "L2=4096")  # the lines of the weights, which stay in it
    program = compile_graph(graph, budget=0.5, gap=1.0, target=small, threads=1)
    made = [n.operator for n in program.graph.nodes if isinstance(n.operator, PrimitiveOperator)]
    assert [*map(str, made)] == ["WinogradInput", "WinogradOutput"] * (len(made) // 2)
    assert tiles(program.graph) > 1
    assert not program.left
    values = [normal(*x.shape, seed=3)]
    (wanted,) = evaluate(graph, values)
    np.testing.assert_allclose(program(*values)[0], wanted, atol=2e-5)


def test_refused() -> None:
    x = image(1, 64, 14, 14)
    graph = Graph((x,), (conv(x, 64),))
    assert tiles(in_fewer_multiplications(graph, 0, MACHINE)) == 0
    with pytest.raises(SearchError, match="winograd is the most rows of a tile: 2, 4 or 0"):
        compile_graph(graph, winograd=3)


# ---- the error


def by_steps(x: Array, filters: Array, tile: int) -> Array:
    """A convolution by tiles with products summed in f32, one channel after the other."""
    points = winograd_filters(filters, tile)
    turned = reference(winograd_input(tile))(x)
    sums = np.zeros((*turned.shape[:-1], len(filters)), np.float32)
    for channel in range(x.shape[1]):
        sums += turned[..., channel, None] * points[:, None, None, None, channel]
    return reference(winograd_output(tile))(sums)


def directly(x: Array, filters: Array, dtype: Any) -> Array:
    """The same sums one product after the other, in a dtype."""
    x, filters = x.astype(dtype), filters.astype(dtype)
    size = [n - 2 for n in x.shape[2:]]
    sums = np.zeros((len(x), len(filters), *size), dtype)
    for p, q, channel in np.ndindex(3, 3, x.shape[1]):
        pixels = x[:, channel, p : p + size[0], q : q + size[1]]
        sums += pixels[:, None] * filters[:, channel, p, q, None, None]
    return sums


@pytest.mark.parametrize("channels", [16, 64, 256])
@pytest.mark.parametrize(("tile", "times"), [(2, 1.1), (4, 8.0)])
def test_the_error_beside_that_of_all_products(channels: int, tile: int, times: float) -> None:
    """It is that of `docs/models.md`: the root mean square for random images and filters."""
    x, filters = normal(1, channels, 10, 10), normal(24, channels, 3, 3, seed=1)
    wanted = directly(x, filters, np.float64)
    errors = [
        np.sqrt(np.mean((found - wanted) ** 2))
        for found in (by_steps(x, filters, tile), directly(x, filters, np.float32))
    ]
    assert errors[0] <= times * errors[1]


@pytest.mark.parametrize("tile", TRANSFORMS)
def test_the_bound_of_the_error(tile: int) -> None:
    """|error| <= (channels + 2 n) epsilon |out| |out| (|points of filters| |input| |input| |x|),
    for at most n terms of a transform along both dimensions.
    """
    channels = 64
    x, filters = normal(1, channels, 10, 10), normal(16, channels, 3, 3, seed=1)
    turns = TRANSFORMS[tile]
    terms = max(np.count_nonzero(m, axis=1).max() ** 2 for m in (turns.input, turns.out))
    squares = np.lib.stride_tricks.sliding_window_view(np.abs(x), (tile + 2,) * 2, (2, 3))
    squares = squares[:, :, ::tile, ::tile].astype(np.float64)
    turned, back = np.abs(turns.input), np.abs(turns.out)
    points = np.abs(winograd_filters(filters, tile)).reshape(tile + 2, tile + 2, channels, -1)
    scale = np.einsum("up,vq,bcyxpq,uvcf->bfyxuv", turned, turned, squares, points, optimize=True)
    scale = np.einsum("iu,jv,bfyxuv->bfyixj", back, back, scale, optimize=True)
    limit = (channels + 2 * terms) * EPSILON * scale.reshape(1, 16, 8, 8)
    error = np.abs(by_steps(x, filters, tile) - directly(x, filters, np.float64))
    assert (error <= limit).all()

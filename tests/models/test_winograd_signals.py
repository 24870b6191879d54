"""Convolutions of signals in fewer multiplications: where, what they compute, their error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import normal

from morello.graph.graph import Graph, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Conv, Dot, Input, Map
from morello.graph.patterns.winograd_signals import signals_in_fewer_multiplications, transforms
from morello.ir.primitives.winograd import TRANSFORMS, toom_cook
from morello.models import compile_graph
from morello.targets.catalog import tuned

Array = np.ndarray[Any, np.dtype[Any]]

F32 = np.dtype(np.float32)
EPSILON = 2.0**-23
MACHINE = tuned("avx512", "zen4")


def convolved(
    batch: int, channels: int, length: int, filters: int, taps: int, pads: tuple[int, int] = (0, 0),
    **more: Any,
) -> Graph:  # fmt: skip
    """A convolution of signals by filters whose results are about as large as these."""
    x = apply(Input(TensorType((batch, channels, length), F32)))
    depth = channels // more.get("groups", 1)
    weights = normal(filters, depth, taps) / np.float32((taps * depth) ** 0.5)
    options = {"strides": (1,), "dilations": (1,), **more}
    conv = Conv(before=pads[:1], after=pads[1:], **options)
    return Graph((x,), (apply(conv, x, apply(Constant(weights))),))


def points(graph: Graph) -> int:
    """The number of points of the tiles of a graph's convolution; 0 if it is done by itself."""
    products = (node for node in graph.nodes if isinstance(node.operator, Dot))
    return next((node.shape[0] for node in products), 0)


@pytest.mark.parametrize("taps", range(1, 6))
@pytest.mark.parametrize("tile", [1, 2, 4])
def test_matrices_compute_convolutions(tile: int, taps: int) -> None:
    random = np.random.default_rng(0)
    x, taps_ = random.standard_normal(tile + taps - 1), random.standard_normal(taps)
    turns = toom_cook(tile, taps)
    found = turns.out @ ((turns.filters @ taps_) * (turns.input @ x))
    np.testing.assert_allclose(found, np.correlate(x, taps_), rtol=0, atol=1e-13)


@pytest.mark.parametrize("tile", TRANSFORMS)
def test_matrices_are_those_of_images_but_for_signs(tile: int) -> None:
    for found, wanted in zip(toom_cook(tile, 3), TRANSFORMS[tile], strict=True):
        np.testing.assert_allclose(abs(found), abs(wanted), rtol=1e-15)


@pytest.mark.parametrize("most", [2, 4])
@pytest.mark.parametrize(
    ("batch", "channels", "length", "filters", "taps", "pads", "wanted"),
    [
        (1, 256, 512, 512, 5, (0, 0), {2: 7, 4: 8}),
        (2, 256, 301, 256, 3, (1, 1), {2: 4, 4: 6}),
        (1, 512, 101, 512, 5, (4, 0), {2: 7, 4: 8}),
        (1, 384, 131, 384, 9, (0, 7), {2: 12, 4: 15}),
        (3, 512, 67, 512, 2, (0, 0), {2: 0, 4: 5}),
        (1, 512, 90, 512, 4, (2, 3), {2: 0, 4: 7}),
        (1, 256, 19, 256, 20, (9, 10), {2: 0, 4: 32}),
    ],
)
def test_tiles_compute_the_convolution(
    batch: int, channels: int, length: int, filters: int, taps: int, pads: tuple[int, int],
    wanted: dict[int, int], most: int,
) -> None:  # fmt: skip
    """Sizes are those that tiles divide or reach over; in float64 all agree."""
    graph = convolved(batch, channels, length, filters, taps, pads)
    other = signals_in_fewer_multiplications(graph, most, MACHINE)
    assert points(other) == wanted[most]
    x = np.random.default_rng(0).standard_normal((batch, channels, length))
    (expected,), (found,) = evaluate(graph, [x]), evaluate(other, [x])
    # the points of the filters are rounded to f32
    np.testing.assert_allclose(found, expected, atol=1e-5 if most == 4 else 1e-6)


@pytest.mark.parametrize(
    "other",
    [
        {"strides": (2,)},
        {"dilations": (2,)},
        {"groups": 2},
        {"taps": 1},
        {"taps": 21},
        {"filters": 8},
        {"channels": 16, "filters": 16, "length": 16000},
        {"channels": 32, "filters": 32, "length": 4000},
    ],
    ids=lambda other: " ".join(f"{name} {value}" for name, value in other.items()),
)
def test_other_convolutions_stay(other: dict[str, Any]) -> None:
    """Those of few channels are not worth it."""
    usual: dict[str, Any] = {"batch": 1, "channels": 256, "length": 512, "filters": 256, "taps": 5}
    assert points(signals_in_fewer_multiplications(convolved(**usual), 4, MACHINE)) == 8
    graph = convolved(**usual | other)
    assert points(signals_in_fewer_multiplications(graph, 4, MACHINE)) == 0


def test_refused() -> None:
    graph = convolved(1, 256, 512, 512, 5)
    assert points(signals_in_fewer_multiplications(graph, 0, MACHINE)) == 0


def test_a_program() -> None:
    graph = convolved(1, 128, 45, 64, 5, (2, 2))
    bias = apply(Constant(normal(64, 1, seed=1)))
    (y,) = graph.outputs
    graph = Graph(graph.inputs, (apply(Map("relu"), apply(Map("add"), y, bias)),))
    program = compile_graph(graph, winograd=4, budget=0.2, threads=1)
    assert any(isinstance(node.operator, Dot) for node in program.graph.nodes)
    x = normal(1, 128, 45)
    (found,) = program(x)
    (wanted,) = evaluate(graph, [x.astype(np.float64)])
    np.testing.assert_allclose(found, wanted, atol=2e-5)


# ---- the error


def by_steps(x: Array, filters: Array, tile: int) -> tuple[Array, Array]:
    """A convolution of [c, n] by tiles with all sums in f32, one term after the other,
    and the largest that its error can be, to first order.
    """
    turns = transforms(tile, filters.shape[-1])
    size, channels = turns.input.shape[1], len(x)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, 1)[:, ::tile]  # [c, y, q]
    weights = np.einsum("tq,fcq->tcf", turns.filters, filters, dtype=np.float64).astype(F32)
    turned = summed(turns.input.astype(F32), windows.transpose(2, 0, 1))
    products = np.zeros((len(turned), turned.shape[2], len(filters)), F32)
    for channel in range(channels):
        products += turned[:, channel, :, None] * weights[:, channel, None]
    results = summed(turns.out.astype(F32), products)
    scale = np.einsum(
        "mt,tcf,tq,cyq->fym", *map(abs, (turns.out, weights, turns.input)), abs(windows),
        dtype=np.float64, optimize=True,
    )  # fmt: skip
    limit = (channels + turns.input.shape[1] + turns.out.shape[1]) * EPSILON * scale
    by_filter = results.transpose(2, 1, 0).reshape(len(filters), -1)
    return by_filter, limit.reshape(len(filters), -1)


def summed(matrix: Array, x: Array) -> Array:
    """The product of a matrix and the first dimension of x, one term after the other."""
    sums = np.zeros((len(matrix), *x.shape[1:]), F32)
    for column, each in zip(matrix.T, x, strict=True):
        sums += column.reshape(-1, *[1] * (x.ndim - 1)) * each
    return sums


def directly(x: Array, filters: Array, dtype: Any) -> Array:
    """The same sums one product after the other, in a dtype."""
    x, filters = x.astype(dtype), filters.astype(dtype)
    length = x.shape[1] - filters.shape[-1] + 1
    sums = np.zeros((len(filters), length), dtype)
    for tap, channel in np.ndindex(filters.shape[-1], len(x)):
        sums += x[channel, tap : tap + length] * filters[:, channel, tap, None]
    return sums


@pytest.mark.parametrize("channels", [64, 256])
@pytest.mark.parametrize(
    ("tile", "taps", "times"), [(2, 3, 1.1), (2, 5, 0.9), (4, 3, 2.5), (4, 5, 2.5), (4, 9, 2.5)]
)
def test_the_error_beside_that_of_all_products(
    channels: int, tile: int, taps: int, times: float
) -> None:
    """It is that of `docs/models.md`, and below its bound."""
    x, filters = normal(channels, 40 + taps - 1), normal(24, channels, taps, seed=1)
    wanted = directly(x, filters, np.float64)
    found, limit = by_steps(x, filters, tile)
    assert (abs(found - wanted) <= limit).all()
    errors = [np.sqrt(np.mean((each - wanted) ** 2)) for each in (found, directly(x, filters, F32))]
    assert errors[0] <= times * errors[1]

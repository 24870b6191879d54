"""Volumes as images of their layers: convolutions by tiles, and what is computed of the results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from morello.graph.graph import Graph, Node, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Concat, Constant, Conv, Input, Map, Pooling, Reduce, Slice
from morello.graph.partition import by_rule
from morello.graph.patterns.expansion import EXPANSIONS
from morello.graph.patterns.winograd import in_fewer_multiplications
from morello.graph.patterns.winograd_volumes import volumes_in_fewer_multiplications
from morello.graph.rewriting import rewritten
from morello.importers.normalizing import norm_of_groups
from morello.targets.catalog import tuned

F32 = np.dtype(np.float32)
MACHINE = replace(tuned("avx512", "zen4"), last_cache=1 << 19)
PLAIN = Conv((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1))
SMALL_CACHE = replace(MACHINE, last_cache=0)
"""A machine of which L2 is known to hold points, which are few, so that there are stripes."""


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng([*shape]).standard_normal(shape).astype(np.float32)


def convolved(x: Node, filters: int, layers: int = 3, conv: Conv = PLAIN) -> Node:
    weights = normal(filters, x.shape[1], layers, 3, 3) / np.float32(27 * x.shape[1]) ** 0.5
    return apply(conv, x, apply(Constant(weights)))


def biased(x: Node) -> Node:
    bias = apply(Constant(normal(x.shape[1], 1, 1, 1)))
    return apply(Map("relu"), apply(Map("add"), x, bias))


def volume(*shape: int) -> Node:
    return apply(Input(TensorType(shape, F32)))


def tiled(graph: Graph, machine: object = MACHINE) -> Graph:
    volumes = volumes_in_fewer_multiplications(graph, 2, machine)  # type: ignore[arg-type]
    return in_fewer_multiplications(rewritten(volumes, EXPANSIONS), 2, MACHINE)


def count(graph: Graph, name: str) -> int:
    return sum(str(node.operator) == name for node in graph.nodes)


def check_same(graph: Graph, other: Graph) -> None:
    arrays = [normal(*node.shape).astype(np.float64) for node in graph.inputs]
    expected, values = evaluate(graph, arrays)[0], evaluate(other, arrays)[0]
    np.testing.assert_allclose(values, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("shape", "filters", "layers", "conv", "stripes"),
    [
        ((1, 32, 8, 16, 16), 32, 3, PLAIN, 1),
        ((2, 48, 5, 13, 16), 16, 3, PLAIN, 2),
        ((1, 32, 6, 18, 15), 48, 2, replace(PLAIN, before=(0, 1, 0), after=(1, 1, 1)), 1),
        ((1, 32, 32, 16, 16), 32, 3, replace(PLAIN, before=(2, 1, 1), after=(0, 1, 1)), 8),
    ],
)
def test_volumes_are_convolved_by_tiles_of_their_layers(
    shape: tuple[int, ...], filters: int, layers: int, conv: Conv, stripes: int
) -> None:
    x = volume(*shape)
    graph = Graph((x,), (biased(convolved(x, filters, layers, conv)),))
    result = tiled(graph, MACHINE if stripes < 8 else SMALL_CACHE)
    assert count(result, "WinogradOutput") == stripes
    assert not any(
        len(n.operator.strides) > 1 for n in result.nodes if isinstance(n.operator, Conv)
    )
    check_same(graph, result)


def test_functions_of_volumes_are_computed_with_their_tiles() -> None:
    """A convolution, its bias and relu are the kernels of its tiles and points."""
    x = volume(1, 32, 8, 16, 16)
    result = tiled(Graph((x,), (biased(convolved(x, 32)),)))
    assert len(by_rule(result).groups) == 16 + 2
    twice = tiled(Graph((x,), (biased(convolved(biased(convolved(x, 32)), 32)),)))
    assert len(by_rule(twice).groups) == 2 * (16 + 2)


def test_few_channels_or_strides_are_convolved_layer_by_layer() -> None:
    for channels, conv in ((8, PLAIN), (32, replace(PLAIN, strides=(2, 1, 1)))):
        x = volume(1, channels, 8, 16, 16)
        graph = Graph((x,), (biased(convolved(x, 32, conv=conv)),))
        result = volumes_in_fewer_multiplications(graph, 2, MACHINE)
        assert not count(result, "WinogradOutput")
        check_same(graph, tiled(graph))
    assert volumes_in_fewer_multiplications(graph, 0, MACHINE) is graph


def test_volumes_without_elements_stay_as_they_are() -> None:
    x = volume(0, 32, 8, 16, 16)
    pooled = apply(Pooling("max", (2, 2, 2), (2, 2, 2), (0, 0, 0), (0, 0, 0), (1, 1, 1)), x)
    for node in (convolved(x, 32), pooled):
        assert tiled(Graph((x,), (node,))).outputs == (node,)


def test_norms_of_volumes_read_their_images() -> None:
    """The reductions are of images, and what they scale is computed once, for all stripes."""
    x = volume(1, 32, 32, 16, 16)
    scale, shift = (apply(Constant(normal(32) + n)) for n in (1, 0))
    normed = norm_of_groups(convolved(x, 32), 8, scale, shift, 1e-5)
    graph = Graph((x,), (apply(Map("relu"), normed),))
    result = tiled(graph, SMALL_CACHE)
    assert count(result, "WinogradOutput") == 8
    images = [n.inputs[0].shape for n in result.nodes if isinstance(n.operator, Reduce)]
    assert images[:2] == [(32, 32, 16, 16)] * 2
    relus = [n.shape for n in result.nodes if n.operator == Map("relu")]
    assert relus == [(32, 32, 16, 16)]
    check_same(graph, result)


def test_volumes_are_joined_as_images() -> None:
    """Beside another volume, and for the next convolution, which reads no volume."""
    x = volume(1, 32, 8, 16, 16)
    both = apply(Concat(1), biased(convolved(x, 32)), x)
    graph = Graph((x,), (convolved(both, 32),))
    result = tiled(graph)
    assert count(result, "WinogradInput") == 2
    assert (8, 64, 16, 16) in [n.shape for n in result.nodes if n.operator == Concat(1)]
    assert not any(isinstance(n.operator, Slice) and n.shape[3:] == (16, 16) for n in result.nodes)
    check_same(graph, result)


def test_residuals_are_added_with_the_last_tiles() -> None:
    """Both are of stripes, and one is computed from the other."""
    x = volume(1, 32, 32, 16, 16)
    first = biased(convolved(x, 32))
    graph = Graph((x,), (apply(Map("add"), first, convolved(first, 32)),))
    result = tiled(graph, SMALL_CACHE)
    sums = [
        n.shape
        for n in result.nodes
        if n.operator == Map("add") and n.inputs[0].shape == n.inputs[1].shape
    ]
    assert sums == [(32, 32, 2, 16)] * 8
    check_same(graph, result)

"""Transposed convolutions: what they compute, and that phases have no taps of zeros to multiply."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest
from tests.models.test_compiled_graphs import constant, given

from morello.graph.graph import Graph, Node
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Conv
from morello.importers import gaps
from morello.importers.gaps import transposed_convolution


def transposed(
    image: Node, weight: Node, stride: int, before: int, after: int, groups: int = 1
) -> Graph:
    """The same in both dimensions."""
    strides, first, last = ((n, n) for n in (stride, before, after))
    result = transposed_convolution(image, weight, Conv(strides, first, last, (1, 1), groups))
    return Graph((image,), (result,))


def scattered(image: np.ndarray, weight: np.ndarray, stride: int) -> np.ndarray:
    """Each element of an image [c, h, w] times the filters [c, f, k, l], added up in place."""
    (_, h, w), (_, filters, *taps) = image.shape, weight.shape
    result = np.zeros((filters, (h - 1) * stride + taps[0], (w - 1) * stride + taps[1]))
    for i, j in np.ndindex(h, w):
        rows, columns = (
            slice(n * stride, n * stride + k) for n, k in zip((i, j), taps, strict=True)
        )
        result[:, rows, columns] += np.einsum("c,cfkl->fkl", image[:, i, j], weight)
    return result


@pytest.mark.parametrize("copy", [0, gaps.COPY_PRODUCTS])
def test_random_ones(copy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with phases apart where copies cost nothing."""
    monkeypatch.setattr(gaps, "COPY_PRODUCTS", copy)
    monkeypatch.setattr(gaps, "FILTERS_TOGETHER", 16 if copy else 1)
    cut = 0
    for seed in range(60):
        random, generator = Random(seed), np.random.default_rng(seed)
        taps, stride = random.randint(1, 6), random.randint(2, 4)
        before, after = (random.randrange(taps) for _ in range(2))
        groups = random.randint(1, 2)
        image = generator.standard_normal((1, 4, random.randint(3, 6), random.randint(3, 6)))
        weight = constant(generator, 4, 3, taps, taps)
        assert isinstance(weight.operator, Constant)
        images = np.split(image[0], groups)
        weights = np.split(weight.operator.array, groups)
        whole = np.concatenate(
            [scattered(x, w, stride) for x, w in zip(images, weights, strict=True)]
        )
        if min(whole.shape[1:]) - before - after < 1:
            continue
        graph = transposed(given(*image.shape), weight, stride, before, after, groups)
        (got,) = evaluate(graph, [image])
        sizes = [n - after for n in whole.shape[1:]]
        expected = whole[:, before : sizes[0], before : sizes[1]]
        np.testing.assert_allclose(got[0], expected, 1e-9, 1e-9)
        cut += before > 0
    assert cut > 10


@pytest.mark.parametrize(
    ("taps", "stride", "padding", "kept", "pixels"),
    [(4, 2, 1, 2, 9), (2, 2, 0, 1, 8), (3, 2, 1, 2, 8), (8, 4, 2, 2, 9), (5, 2, 2, 3, 8)],
)
def test_a_phase_has_few_taps(taps: int, stride: int, padding: int, kept: int, pixels: int) -> None:
    """If they divide by the stride, so do those of a phase: more outputs, cut off, cost less."""
    image = given(1, 16, 8, 8)
    weight = constant(np.random.default_rng(0), 16, 8, taps, taps)
    graph = transposed(image, weight, stride, padding, padding)
    (conv,) = [node for node in graph.nodes if isinstance(node.operator, Conv)]
    assert conv.inputs[1].shape[2:] == (kept, kept)
    assert prod(conv.shape[2:]) == pixels**2


@pytest.mark.parametrize(
    ("taps", "stride", "before", "after"),
    [(4, 2, 1, 1), (3, 2, 1, 0), (6, 3, 2, 1), (8, 4, 2, 2)],
)
def test_phases_of_many_filters_take_no_product_in_vain(
    taps: int, stride: int, before: int, after: int
) -> None:
    image = given(1, 16, 8, 8)
    weight = constant(np.random.default_rng(0), 16, 64, taps, taps)
    graph = transposed(image, weight, stride, before, after)
    convs = [node for node in graph.nodes if isinstance(node.operator, Conv)]
    assert len(convs) == stride**2
    products = sum(node.type.size * prod(node.inputs[1].shape[1:]) for node in convs)
    assert products == 8 * 8 * 16 * 64 * taps**2


@pytest.mark.parametrize(
    ("filters", "taps", "stride", "after"),
    [(16, 4, 2, 1), (64, 2, 2, 1), (64, 8, 8, 0), (64, 5, 2, 1), (64, 6, 2, 2)],
)
def test_phases_stay_together(filters: int, taps: int, stride: int, after: int) -> None:
    """If copies would take longer, nothing is wasted, phases are many or have 3x3 taps."""
    weight = constant(np.random.default_rng(0), 16, filters, taps, taps)
    graph = transposed(given(1, 16, 32, 32), weight, stride, (taps - 1) // 2, after)
    convs = [node for node in graph.nodes if isinstance(node.operator, Conv)]
    assert len(convs) == 1


def test_the_filters_of_a_phase_are_beside_each_other() -> None:
    """Where channels are last in memory, whole pixels are then put in their places."""
    weight = constant(np.random.default_rng(0), 16, 8, 2, 2)
    assert isinstance(weight.operator, Constant)
    graph = transposed(given(1, 16, 8, 8), weight, 2, 0, 0)
    (conv,) = [node for node in graph.nodes if isinstance(node.operator, Conv)]
    (filters,) = evaluate(Graph((), (conv.inputs[1],)), [])
    expected = weight.operator.array.transpose(2, 3, 1, 0).reshape(32, 16, 1, 1)
    np.testing.assert_array_equal(filters, expected)

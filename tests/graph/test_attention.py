"""Attention is recognized in its parts, as JAX, torch and ONNX emit them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.graph.nodes import BF16, F32, I32, after, f, fixed, given, names, softmax

from morello.graph.graph import Node, TensorType, apply
from morello.graph.operators import (
    Attention,
    Broadcast,
    Cast,
    Dot,
    Iota,
    Reshape,
    Softmax,
    Transpose,
    Where,
)

BATCH = ((0, 0), (1, 1))


def scores(q: Node, k: Node) -> Node:
    """q @ k^T of [b, h, m, d] and [b, h, n, d], by a transpose as ONNX emits it."""
    return apply(Dot(BATCH, ((3, 2),)), q, apply(Transpose((0, 1, 3, 2)), k))


def weighted(weights: Node, v: Node) -> Node:
    return apply(Dot(BATCH, ((3, 2),)), weights, v)


def qkv(m: int = 5, n: int = 7, heads: int = 3) -> tuple[Node, Node, Node]:
    return given(2, 3, m, 8), given(2, heads, n, 8), given(2, heads, n, 4)


def lower(m: int, n: int, shift: int = 0) -> Node:
    """The lower triangle, as JAX's tril computes it."""
    rows, columns = (apply(Iota(TensorType((m, n), I32), axis)) for axis in (0, 1))
    triangle = f("greater_equal", f("add", rows, shift), columns)
    true, false = (apply(Broadcast((m, n)), fixed(value, np.dtype(bool))) for value in (1, 0))
    return apply(Where(), triangle, true, false)


def hidden(x: Node, visible: Node, value: float) -> Node:
    """where(visible, x, value)."""
    return apply(
        Where(), apply(Broadcast(x.shape), visible), x, apply(Broadcast(x.shape), fixed(value))
    )


def the_attention(result: Node) -> tuple[Attention, Sequence[Node]]:
    """The only operator of a graph but views."""
    views = {"broadcast", "reshape", "transpose"}
    assert [name for name in names(result) if name not in views] == ["attention"]
    while not isinstance(result.operator, Attention):
        (result,) = result.inputs
    return result.operator, result.inputs


@pytest.mark.parametrize("place", ["after", "divided", "query", "key", "both"])
def test_the_scale_may_be_anywhere(place: str) -> None:
    q, k, v = qkv()
    if place == "after":
        scaled = f("multiply", scores(q, k), 0.25)
    elif place == "divided":
        scaled = f("divide", scores(q, k), 4.0)
    elif place == "query":
        scaled = scores(f("multiply", q, 0.25), k)
    elif place == "key":
        scaled = scores(q, f("divide", k, 4.0))
    else:  # as torch exports it
        turned = f("multiply", apply(Transpose((0, 1, 3, 2)), k), 0.5)
        scaled = apply(Dot(BATCH, ((3, 2),)), f("multiply", q, 0.5), turned)
    result = after(weighted(softmax(scaled, 3), v))
    assert (result.operator, result.inputs) == (Attention(0.25), (q, k, v))


@pytest.mark.parametrize("masked", [False, True])
def test_scores_may_have_a_cap(masked: bool) -> None:
    q, k, v = qkv()
    inside = f("divide", f("multiply", scores(q, k), 0.25), 50.0)
    capped = f("multiply", f("tanh", inside), 50.0)
    mask = [given(2, 1, 1, 7)] if masked else []
    for each in mask:
        capped = f("add", capped, apply(Broadcast((2, 3, 5, 7)), each))
    result = after(weighted(softmax(capped, 3), v))
    assert (result.operator, result.inputs) == (Attention(0.25, cap=50.0), (q, k, v, *mask))


def test_what_is_capped_twice_or_after_the_mask_is_left() -> None:
    q, k, v = qkv()
    twice = f("tanh", f("tanh", scores(q, k)))
    late = f("tanh", f("add", scores(q, k), given(5, 7)))
    for each in twice, late:
        assert "attention" not in names(after(weighted(softmax(each, 3), v)))


def test_a_mask_is_added() -> None:
    q, k, v = qkv()
    mask = given(2, 1, 1, 7)
    masked = f("add", f("multiply", scores(q, k), 0.5), apply(Broadcast((2, 3, 5, 7)), mask))
    result = after(weighted(softmax(masked, 3), v))
    assert (result.operator, result.inputs) == (Attention(0.5), (q, k, v, mask))
    swapped = f("add", given(5, 7), scores(q, k))
    assert names(after(weighted(softmax(swapped, 3), v))) == ["reshape", "attention"]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("value", [-np.inf, float(np.finfo(np.float32).min)])
def test_rows_without_any_column_are_0_where_nan_is(value: float) -> None:
    """Torch exports attention with a Boolean mask so; some rows of this mask see nothing.

    Only infinite scores make NaN.
    """
    q, k, v = qkv()
    shape = 2, 1, 5, 7
    zero, hiding = (apply(Broadcast(shape), fixed(each)) for each in (0, value))
    mask = apply(Where(), f("greater", given(*shape), 1.0), zero, hiding)
    weights = softmax(f("add", f("multiply", scores(q, k), 0.5), mask), 3)
    nan, zeros = f("not_equal", weights, weights), apply(Broadcast(weights.shape), fixed(0))
    result = after(weighted(apply(Where(), nan, zeros, weights), v))
    assert "attention" in names(result) and "softmax" not in names(result)
    kept = after(weighted(apply(Where(), nan, weights, zeros), v))
    assert "attention" not in names(kept)


@pytest.mark.parametrize("value", [-np.inf, -1e30, float(np.finfo(np.float32).min)])
def test_a_lower_triangle_makes_it_causal(value: float) -> None:
    q, k, v = qkv(5, 5)
    masked = hidden(f("multiply", scores(q, k), 0.5), lower(5, 5), value)
    result = after(weighted(softmax(masked, 3), v))
    assert (result.operator, result.inputs) == (Attention(0.5, causal=True), (q, k, v))


def test_causal_masks_may_be_added_and_of_fewer_rows() -> None:
    q, k, v = qkv(5, 7)
    triangle = np.where(np.tri(5, 7, 2, dtype=bool), 0, -np.inf)
    added = f("add", scores(q, k), apply(Broadcast((2, 3, 5, 7)), fixed(triangle)))
    assert after(weighted(softmax(added, 3), v)).operator == Attention(1.0, causal=True)
    shifted = hidden(scores(q, k), lower(5, 7, 2), -np.inf)
    assert after(weighted(softmax(shifted, 3), v)).operator == Attention(1.0, causal=True)


def test_other_masks_are_left() -> None:
    q, k, v = qkv(5, 7)
    near = [
        hidden(scores(q, k), lower(5, 7, 1), -np.inf),
        hidden(scores(q, k), lower(5, 7, 3), -np.inf),
        hidden(scores(q, k), lower(5, 7, 2), -10.0),
        hidden(scores(q, k), f("greater", given(5, 7), 0.0), -1e9),
    ]
    for masked in near:
        assert "attention" not in names(after(weighted(softmax(masked, 3), v)))
    more_rows = hidden(scores(*qkv(7, 5)[:2]), lower(7, 5), -np.inf)
    assert "attention" not in names(after(weighted(softmax(more_rows, 3), qkv(7, 5)[2])))


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("biased", ["never", "before", "after"])
def test_a_mask_may_choose_what_is_seen(biased: str, inverted: bool) -> None:
    """So it is in JAX and in models with linear biases; some rows of this mask see nothing."""
    q, k, v = qkv()
    x, bias = f("multiply", scores(q, k), 0.5), apply(Broadcast((2, 3, 5, 7)), given(3, 1, 7))
    if biased == "before":
        x = f("add", x, bias)
    condition = apply(Broadcast(x.shape), f("greater", given(2, 1, 5, 7), 1.0))
    low = apply(Broadcast(x.shape), fixed(-3e38))
    x = apply(Where(), condition, *((low, x) if inverted else (x, low)))
    if biased == "after":
        x = f("add", x, bias)
    computed = names(after(weighted(softmax(x, 3), v)))
    assert "attention" in computed and not {"softmax", "dot"} & {*computed}


def test_a_choice_that_is_added_is_no_choice_of_scores() -> None:
    q, k, v = qkv()
    bias = apply(Broadcast((2, 3, 5, 7)), given(3, 1, 7))
    low = apply(Where(), f("greater", given(5, 7), 0.0), *(
        apply(Broadcast((5, 7)), fixed(each)) for each in (0, -3e38)
    ))  # fmt: skip
    biased = f("add", f("add", scores(q, k), bias), apply(Broadcast((2, 3, 5, 7)), low))
    computed = names(after(weighted(softmax(biased, 3), v)))
    assert "attention" in computed and "softmax" not in computed


def test_scores_scaled_after_the_mask_are_left() -> None:
    q, k, v = qkv()
    masked = f("multiply", f("add", scores(q, k), given(5, 7)), 0.5)
    assert "attention" not in names(after(weighted(softmax(masked, 3), v)))


def test_a_softmax_along_the_rows_is_no_attention() -> None:
    q, k, v = qkv(5, 5)
    assert "attention" not in names(after(weighted(softmax(scores(q, k), 2), v)))
    turned = apply(Dot(BATCH, ((2, 2),)), softmax(scores(q, k), 3), v)
    assert "attention" not in names(after(turned))


def test_dimensions_may_be_in_the_order_of_einsum() -> None:
    q, k, v = given(2, 5, 3, 8), given(2, 7, 3, 8), given(2, 7, 3, 4)
    product = apply(Dot(((0, 0), (2, 2)), ((3, 3),)), q, k)
    weights = softmax(f("multiply", product, 0.5), 3)
    back = apply(Dot(((0, 0), (2, 1)), ((1, 3),)), v, weights)
    result = after(apply(Transpose((0, 3, 1, 2)), back))
    assert the_attention(result)[0] == Attention(0.5)
    # k first: [b, h, n, m], softmax along n
    swapped = apply(Dot(((0, 0), (2, 2)), ((3, 3),)), k, q)
    result = after(apply(Dot(((0, 0), (1, 2)), ((2, 1),)), softmax(swapped, 2), v))
    assert the_attention(result)[0] == Attention(1.0)


def jax_attention(q: Node, k: Node, v: Node, causal: bool) -> Node:
    """Attention as `jax.nn.dot_product_attention` lowers it: groups of heads of q share k."""
    b, m, heads, d = q.shape
    n, kept = k.shape[1:3]
    group = heads // kept
    grouped = apply(Reshape((b, m, kept, group, d)), q)
    y = apply(Dot(((0, 0), (2, 2)), ((4, 3),)), grouped, k)
    y = apply(Transpose((3, 0, 1, 2, 4)), f("multiply", y, 0.5))
    if causal:
        y = hidden(y, lower(m, n), -2.38e38)
    y = apply(Dot(((0, 1), (2, 2)), ((1, 4),)), v, softmax(y, 4))
    y = apply(Transpose((1, 2, 3, 0, 4)), apply(Transpose((3, 0, 4, 1, 2)), y))
    return apply(Reshape((b, m, heads, v.shape[3])), y)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kept", [4, 2, 1])
def test_the_attention_of_jax_is_recognized(kept: int, causal: bool) -> None:
    q, k, v = given(2, 6, 4, 8), given(2, 6, kept, 8), given(2, 6, kept, 8)
    operator, inputs = the_attention(after(jax_attention(q, k, v, causal)))
    assert operator == Attention(0.5, causal)
    assert inputs[1].shape == (2, kept, 6, 8)


def test_repeated_heads_are_read_once() -> None:
    q, k, v = given(2, 6, 5, 8), given(2, 3, 7, 8), given(2, 3, 7, 4)

    def repeated(x: Node) -> Node:
        split = apply(Reshape((2, 3, 1, *x.shape[2:])), x)
        return apply(
            Reshape((2, 6, *x.shape[2:])), apply(Broadcast((2, 3, 2, *x.shape[2:])), split)
        )

    def tiled(x: Node) -> Node:
        split = apply(Reshape((2, 1, 3, *x.shape[2:])), x)
        return apply(
            Reshape((2, 6, *x.shape[2:])), apply(Broadcast((2, 2, 3, *x.shape[2:])), split)
        )

    result = after(weighted(softmax(scores(q, repeated(k)), 3), repeated(v)))
    assert the_attention(result)[0] == Attention(1.0)
    assert the_attention(result)[1][0].shape == (2, 3, 10, 8)
    assert the_attention(result)[1][1:] == (k, v)
    other = after(weighted(softmax(scores(q, tiled(k)), 3), tiled(v)))
    assert other.inputs[1].shape[1] == 6


@pytest.mark.parametrize("kept", [(1, 7, 8), (2, 1, 7, 8)])
def test_all_heads_read_one_key_and_value_as_rows(kept: tuple[int, ...]) -> None:
    batch = kept[0]
    q, k, v = given(batch, 6, 5, 8), given(*kept), given(*kept)
    heads = [apply(Broadcast((batch, 6, 7, 8)), x) for x in (k, v)]
    result = after(weighted(softmax(scores(q, heads[0]), 3), heads[1]))
    assert [x.shape for x in the_attention(result)[1]] == [
        (batch, 1, 30, 8), (batch, 1, 7, 8), (batch, 1, 7, 8)
    ]  # fmt: skip


def test_heads_that_share_keys_become_rows_unless_a_mask_tells_them_apart() -> None:
    q, k, v = given(2, 6, 1, 8), given(2, 3, 7, 8), given(2, 3, 7, 4)
    for causal in (False, True):
        result = after(apply(Attention(0.5, causal), q, k, v))
        assert names(result) == ["reshape", "attention", "reshape"]
        assert the_attention(result)[0] == Attention(0.5)
    assert names(after(apply(Attention(0.5), q, k, v, given(2, 1, 1, 7)))).count("reshape") == 2
    each = ["reshape", "reshape", "attention", "reshape"]
    assert names(after(apply(Attention(0.5), q, k, v, given(2, 6, 1, 7)))) == each
    more = given(2, 6, 5, 8)
    assert names(after(apply(Attention(0.5), more, k, v, given(1, 6, 5, 7)))) == each
    assert names(after(apply(Attention(0.5, True), more, k, v))) == ["attention"]
    for shape in (5, 7), (2, 1, 5, 7), (2, 6, 1, 7):
        assert names(after(apply(Attention(0.5), more, k, v, given(*shape)))) == ["attention"]


def test_attention_of_bf16_with_a_softmax_in_f32() -> None:
    q, k, v = (given(2, 3, 5, 8, dtype=BF16) for _ in range(3))
    product = apply(Dot(BATCH, ((3, 3),), F32), q, k)
    weights = apply(Cast(BF16), softmax(f("multiply", product, 0.5), 3))
    result = after(weighted(weights, v))
    assert (result.operator, result.inputs) == (Attention(0.5), (q, k, v))
    wide = [apply(Cast(F32), x) for x in (q, k, v)]
    inner = weighted(apply(Softmax(3), scores(*wide[:2])), wide[2])
    assert after(apply(Cast(BF16), inner)).inputs == (q, k, v)
    assert names(after(inner)).count("cast") == 3

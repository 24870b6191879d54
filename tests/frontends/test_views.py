"""Views in texts: they are NumPy's, and where they are wrong, an error says so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.base.errors import SeveralKernelsError, SpecError
from morello.frontends import parse
from morello.frontends.text import call_sequence
from morello.graph.graph import check
from morello.graph.interpreter import evaluate
from morello.importers.text import graph_of

CASES: dict[str, Callable[..., Any]] = {
    "x = f32[8,6,4]; x[2:5]": lambda x: x[2:5],
    "x = f32[8,6,4]; x[2:-1:3, :, 1:4:2]": lambda x: x[2:-1:3, :, 1:4:2],
    "x = f32[8,6,4]; x[-1]": lambda x: x[-1],
    "x = f32[8,6,4]; x[..., 0]": lambda x: x[..., 0],
    "x = f32[8,6,4]; x[None, 1, ..., None, :2]": lambda x: x[None, 1, ..., None, :2],
    "x = f32[8,6,4]; x[:100]": lambda x: x[:100],
    "x = f32[8,6,4]; x[1:][2][:, ::3]": lambda x: x[1:][2][:, ::3],
    "f32[8,6][3:]": lambda x: x[3:],
    "(f32[8,6] * 2)[3:] + f32[6][None]": lambda x, y: (x * 2)[3:] + y[None],
    "x = f32[8,6]; -x[2:3] + x[3]": lambda x: -x[2:3] + x[3],
    "reshape(f32[4,6], shape=[3,8])": lambda x: x.reshape(3, 8),
    "reshape(f32[4,6], shape=[2,-1,3])": lambda x: x.reshape(2, -1, 3),
    "reshape(transpose(f32[4,6]), shape=-1)": lambda x: x.T.reshape(-1),
    "reshape(f32[4,6]{0,1}, shape=24)": lambda x: x.reshape(24),
    "transpose(reshape(f32[4,6] @ f32[6,6], shape=[2,2,6]), order=[2,0,1])": (
        lambda x, y: (x @ y).reshape(2, 2, 6).transpose(2, 0, 1)
    ),
    "reshape(expand_dims(f32[4,6], axis=1), shape=[2,12])": lambda x: x.reshape(2, 12),
    "concat(f32[4,8], f32[4,3], axis=1) @ f32[11,5]": (
        lambda a, b, c: np.concatenate([a, b], 1) @ c
    ),
    "x = f32[4,3]; concat(x, relu(x), f32[2,3], x, axis=-2)": (
        lambda x, y: np.concatenate([x, np.maximum(x, 0), y, x])
    ),
    "x = f32[6,4]; concat(transpose(x)[:, None, :4], x[2:][:, None], axis=1)": (
        lambda x: np.concatenate([x.T[:, None, :4], x[2:][:, None]], 1)
    ),
    "x = f32[2,8]; x * f32[8] + concat(-x[..., 4:], x[..., :4], axis=-1) * f32[8]": (
        lambda x, c, s: x * c + np.concatenate([-x[..., 4:], x[..., :4]], -1) * s
    ),
    "f32[6,4][1:] -> f32[5,4]{0,1}": lambda x: x[1:].T,
    "sum(f32[6,4][1:5], axis=0)": lambda x: x[1:5].sum(0),
    "take(f32[6,4][1:5], i32[2])": lambda x, i: x[1:5][i],
    "broadcast(f32[6,4][2], axis=0, size=3)": lambda x: np.broadcast_to(x[2], (3, 4)),
    "f32[5,6][::-1, 4:0:-2]": lambda x: x[::-1, 4:0:-2],
    "f32[5,6][:0:-3, :2]": lambda x: x[:0:-3, :2],
    "x = f32[8]; x[-1:-4:-1]": lambda x: x[-1:-4:-1],
    "flip(f32[2,3,4], axis=[0,-1])": lambda x: x[::-1, :, ::-1],
    "roll(f32[5,6], shift=2, axis=1)": lambda x: np.roll(x, 2, 1),
    "roll(f32[5,6], shift=[-1,7], axis=[0,1]) * 2": lambda x: np.roll(x, (-1, 7), (0, 1)) * 2,
    "stack(f32[4,5], f32[4,5] * 2, axis=-1)": lambda x, y: np.stack([x, y * 2], -1),
    "squeeze(f32[4,2,5][:, 1:], axis=1)": lambda x: x[:, 1],
    "repeat(f32[3,4], count=2, axis=0)": lambda x: np.repeat(x, 2, 0),
    "tile(f32[3,4], counts=[2,3])": lambda x: np.tile(x, (2, 3)),
    "tile(f32[3,4], counts=3)": lambda x: np.tile(x, 3),
    "pad(f32[3,4], padding=1) @ f32[6,2]": lambda x, y: np.pad(x, 1) @ y,
    "pad(f32[3,4], padding=[0,2], value=-inf)": lambda x: np.pad(
        x, ((0, 0), (2, 2)), constant_values=-np.inf
    ),
    "pad(f32[3,4], padding=[1,0,2,3], value=0.5)": lambda x: np.pad(
        x, ((1, 0), (2, 3)), constant_values=0.5
    ),
    "pad(f32[3,4], padding=[1,2], mode=reflect)": lambda x: np.pad(x, ((1, 1), (2, 2)), "reflect"),
    "tril(f32[4,5], diagonal=-1) + triu(f32[4,5])": lambda x, y: np.tril(x, -1) + np.triu(y),
    "diff(f32[4,5], axis=0)": lambda x: np.diff(x, axis=0),
    "group_norm(f32[2,6,3], f32[6], f32[6], groups=2)": lambda x, g, b: (
        standard(x.reshape(2, 2, 9)).reshape(2, 6, 3) * g[:, None] + b[:, None]
    ),
    "attention(f32[2,6,8], f32[2,7,8], f32[2,7,4], f32[6,7])": lambda q, k, v, m: attention(
        q, k, v, m
    ),
    "attention(f32[2,6,8], f32[2,7,8], f32[2,7,4], i32[2,6,7])": lambda q, k, v, m: attention(
        q, k, v, np.where(m > 0, 0, -np.inf)
    ),
    "attention(f32[6,8], f32[7,8], f32[7,4], f32[6,1] > f32[7])": lambda q, k, v, a, b: attention(
        q, k, v, np.where(a.reshape(6, 1) > b, 0, -np.inf)
    ),
    "x = f32[6,7]; attention(f32[6,8], f32[7,8], f32[7,4], ((x < 1) * (x > -1))[:])": (
        lambda q, k, v, x: attention(q, k, v, np.where(np.abs(x) < 1, 0, -np.inf))
    ),
    "attention(f32[4,3,8], f32[1,5,8], f32[1,5,8], i32[5])": lambda q, k, v, m: attention(
        q, k, v, np.where(m > 0, 0, -np.inf)
    ),
    "attention(f32[4,8], f32[6,8], f32[6,4], causal=True)": lambda q, k, v: attention(
        q, k, v, np.where(np.tri(4, 6, 2) > 0, 0, -np.inf)
    ),
    "attention(f32[6,8], f32[4,8], f32[4,3], causal=True)": lambda q, k, v: attention(
        q, k, v, np.where(np.tri(6, 4, -2) > 0, 0, -np.inf)
    ),
    "attention(f32[4,8], f32[6,8], f32[6,4], i32[4,6], causal=True)": lambda q, k, v, m: attention(
        q, k, v, np.where(np.tri(4, 6, 2) * m > 0, 0, -np.inf)
    ),
    "attention(f32[6,8], f32[4,8], f32[4,3], f32[6,4], causal=True)": lambda q, k, v, m: attention(
        q, k, v, np.where(np.tri(6, 4, -2) > 0, m, -np.inf)
    ),
    "attention(f32[1,4,3,8], f32[1,2,5,8], f32[1,2,5,8])": lambda q, k, v: attention(
        q, np.repeat(k, 2, 1), np.repeat(v, 2, 1)
    ),
}


def standard(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(q: Any, k: Any, v: Any, mask: Any = 0.0) -> Any:
    """Attention with an added mask; a row that sees nothing is 0."""
    weights = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + mask)
    return np.nan_to_num(weights / weights.sum(-1, keepdims=True)) @ v


@pytest.mark.parametrize("text", CASES)
def test_views_are_those_of_numpy(text: str) -> None:
    graph = graph_of(text)
    check(graph)
    random = np.random.default_rng(0)
    stored = [
        random.integers(0, 4, node.shape)
        if node.dtype.kind == "i"
        else random.standard_normal(node.shape)
        for node in graph.inputs
    ]
    given = [each.T for each in stored] if "{0,1}," in text else stored
    expected = CASES[text](*given)
    assert graph.outputs[0].shape == expected.shape
    np.testing.assert_allclose(evaluate(graph, stored)[0], expected, 1e-12, 1e-12)


def test_given_names_and_types_take_subscripts() -> None:
    x, w = np.ones((8, 6), np.float32), np.ones((3, 4), np.float32)
    assert graph_of("double[:2, 3:] @ w", double=x, w=w).outputs[0].shape == (2, 4)
    assert parse("double = f32[8,6]; double * 2").shape(1) == (8, 6)


WRONG = [
    ("x = f32[8]; x[8]", "there is no 8 among 8", "8]"),
    ("x = f32[8]; x[-9:0]", "no element of 8 is between these", "-9"),
    ("x = f32[8]; x[::0]", "a step of 0", "::"),
    ("flip(f32[4,5], axis=[0,0])", "an axis is there twice", "[0"),
    ("roll(f32[4,5], shift=[1,2], axis=0)", "2 shifts for 1 axes", "[1"),
    ("pad(f32[4,5], padding=[1,2,3])", "no padding of all axes", "[1"),
    ("pad(f32[4,5], padding=-1)", "no padding of all axes", "-1"),
    ("pad(f32[4,5], padding=1, mode=around)", "there is no mode around", "around"),
    ("pad(i32[4,5], padding=1, value=0.5)", "0.5 is no i32", "pad"),
    ("squeeze(f32[4,5], axis=1)", "axis 1 has a size of 5", "1)"),
    ("stack(f32[4])", "one tensor is nothing to stack", "stack"),
    ("tile(f32[4], counts=[2,2])", "2 counts for 1 axes", "[2"),
    ("repeat(f32[4], count=0, axis=0)", "would have 0 elements", "0,"),
    ("tril(f32[4])", "a vector has no diagonal", "f32"),
    ("tril(f32[4,5], diagonal=-4)", "no element of 4x5", "-4"),
    ("triu(f32[4,5], diagonal=5)", "no element of 4x5", "5)"),
    ("diff(f32[4,1])", "one element has no neighbour", "diff"),
    ("group_norm(f32[2,6,3], groups=4)", "6 channels are not 4 equal groups", "4)"),
    ("attention(f32[4,8], f32[5,8], f32[5,8], f32[4])", "and the mask of [4]", "f32[4])"),
    ("attention(f32[4,8], f32[5,8], f32[6,8], causal=True)", "no queries, keys", "f32[5"),
    ("attention(f32[3,4,8], f32[2,5,8], f32[2,5,8], causal=True)", "q is of shape", "f32[2"),
    ('einsum("ii->i", f32[3,3])', "i is named twice", '"ii'),
    ('einsum("ij,jk->ik", f32[3,3])', "is no einsum of 1 tensor", '"ij'),
    ("swish(f32[4])", "unknown function 'swish'", "swish"),
    ("f32[4] % 2", "'%' means nothing here", "%"),
    ("x = f32[8]; x[0]", "a single number is no tensor", "x[0]"),
    ("x = f32[8]; x[0:1, 0:1]", "2 subscripts for 1 dimensions", "x[0"),
    ("x = f32[8]; x[..., ...]", "... is there twice", "...]"),
    ("x = f32[8]; x[y]", "'y' is no subscript", "y]"),
    ("x = f32[8]; x[1.5]", "1.5 is no number", "1.5"),
    ("x = f32[8]; x[0:1:1:1]", "':' is not expected here", ":1]"),
    ("x = f32[8]; x[0:1", "the text ends too soon", ""),
    ("x = f32[8]; x[None,None,None,None,None,None]", "would have 7 dimensions", "x[N"),
    ("y[0:1]", "unknown dtype 'y'", "y["),
    ("(2)[0]", "a number has no parts", "2)"),
    ("w = i4g32[64,16]; w[0:1]", "these are weights in groups", "w[0"),
    ("reshape(f32[4,6], shape=[5,5])", "[4,6] has 24 elements", "[5"),
    ("reshape(f32[4,6], shape=[-1,-1])", "[4,6] has 24 elements", "[-1"),
    ("reshape(f32[4,6], shape=[-1,7])", "[4,6] has 24 elements", "[-1"),
    ("reshape(f32[4,6], shape=[0,-1])", "[4,6] has 24 elements", "[0"),
    ("reshape(f32[4], shape=[1,1,1,1,1,1,4])", "would have 7 dimensions", "[1"),
    ("concat(f32[4], axis=0)", "one tensor is nothing to join", "concat"),
    ("concat(axis=0)", "one tensor is nothing to join", "concat"),
    ("concat(f32[4], f32[4])", "concat needs axis", "concat"),
    ("concat(f32[4], 2, axis=0)", "a number cannot stand here", "2,"),
    ("concat(f32[4], bf16[4], axis=0)", "one part is f32, another bf16", "bf16"),
    ("concat(f32[4,2], f32[4,3], axis=0)", "[4,2] and [4,3] cannot be joined", "f32[4,3"),
    ("concat(f32[4,2], f32[4], axis=0)", "[4,2] and [4] cannot be joined", "f32[4],"),
    ("concat(f32[4], f32[4], axis=1)", "there is no axis 1", "1)"),
    ("concat(fill_zero(f32[4]), f32[4], axis=0)", "a filled tensor", "concat"),
    ("fill_zero(reshape(f32[4], shape=[2,2]))", "must be given as a type", "reshape"),
    ("y = f32[8][2:4]; y += sum(f32[2,4])", "y is no tensor that is given", "y +="),
]


@pytest.mark.parametrize(("text", "said", "at"), WRONG, ids=[text for text, *_ in WRONG])
def test_wrong_views_get_one_clear_error(text: str, said: str, at: str) -> None:
    with pytest.raises(SpecError) as caught:
        graph_of(text)
    problem, line, caret = str(caught.value).splitlines()
    assert said in problem
    assert line[caret.index("^") :].startswith(at)


def test_a_spec_has_no_views() -> None:
    for text in ("x = f32[8]; relu(x[2:]) + x[:6]", "concat(f32[4], f32[4], axis=0)"):
        with pytest.raises(SeveralKernelsError, match="has no views, such as this one"):
            parse(text)


def test_calls_take_the_inputs_of_a_program_in_its_order() -> None:
    text = "y = f32[4]; x = f32[8]; concat(x[4:] + f32[1], y, axis=0)"
    shapes = [tensor.shape for tensor in call_sequence(text).inputs]
    assert shapes == [node.shape for node in graph_of(text).inputs] == [(8,), (1,), (4,)]

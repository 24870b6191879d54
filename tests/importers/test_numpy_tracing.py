"""Functions written in NumPy as graphs that compute the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from morello.base.errors import GraphError
from morello.graph.graph import check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Foreign
from morello.importers.numpy_tracing import ReturnedArray, mapped, memory_order, trace

Function = Callable[..., Any]
Array = npt.NDArray[Any]

GENERATOR = np.random.default_rng(0)


def random(*shape: int) -> Array:
    return GENERATOR.uniform(0.1, 1.0, shape).astype(np.float32)


def attention(q: Array, k: Array, v: Array) -> Any:
    scores = q @ k.T * 0.25
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def layer_norm(x: Array, gamma: Array, beta: Array) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * gamma + beta


def in_place(x: Array) -> Any:
    y = x * 2
    same = y
    y += 1
    np.multiply(y, x, out=y)
    return same + y


def total(x: Array) -> Any:
    before = after = x.sum()
    after += 1
    return before, after


def heat(x: Array) -> Any:
    """A step of a stencil, whose parts are assigned, changed, and read again."""
    y = x.copy()
    for _ in range(2):
        around = y[2:, 1:-1] + y[:-2, 1:-1] + y[1:-1, 2:] + y[1:-1, :-2]
        y[1:-1, 1:-1] = y[1:-1, 1:-1] + np.float32(0.1) * (around - 4 * y[1:-1, 1:-1])
    y[0] = y[-1] = 0.5
    y[:, ::2] *= 2
    y[1, 2] -= y[2, 1]
    y[y > 1] = 1
    out = np.zeros_like(x)
    out[[2, 0]] = y[1:3]
    out[np.array([1]), ROWS] = 7
    out[-1] += y[0] * 3
    return out, y


def borders(x: Array) -> Any:
    """Parts are assigned to others, beside a row that is read later."""
    y = x * 2
    y[0] = y[1]
    y[:, -1] = y[:, -2]
    y[-1] = y[-2]
    first = y[0]
    y[2] = first
    return first + 1, y


MASK = GENERATOR.uniform(size=(4, 6)) > 0.5
WEIGHTS = random(6, 5)
ROWS = np.array([2, 0, -1])
ROW = np.arange(4)[:, None]
COEFFICIENTS = np.array([2, 0.5, -1], np.float32)
LIMITS = np.array([0.5, np.inf, 0.1, np.nan, 1, 0.6], np.float32)
COUNTS = np.array([1, 2, 3, 0, 1, 5], np.float32)


def without(function: Function, x: Array) -> Any:
    """A function of rows in which elements are NaN, all of them in the last row."""
    return function(np.where(MASK & (ROW != 3), x, np.nan), axis=1)


TRACED: list[tuple[Function, tuple[int, ...]]] = [
    (lambda x: x + 1, (4, 6)),
    (heat, (4, 6)),
    (borders, (4, 6)),
    (lambda x: 2 - x / 3, (4, 6)),
    (lambda x: 1 / x, (4, 6)),
    (lambda x: -abs(x), (4, 6)),
    (lambda x: x**2 + x**3 + x**7 + x**-1 + x**0.5 + x**-0.5 + x**-2, (4, 6)),
    (lambda x: np.power(x, 1.5) + x**x, (4, 6)),
    (lambda x: np.float32(2) * x, (4, 6)),
    (lambda x: WEIGHTS.T[:4] * x, (4, 6)),
    (lambda x: np.maximum(x, 0.5) + np.minimum(0.5, x), (4, 6)),
    (lambda x: np.exp(x) + np.exp2(x) + np.expm1(x), (4, 6)),
    (lambda x: np.log(x) + np.log1p(x) + np.log2(x), (4, 6)),
    (lambda x: np.sqrt(x) + np.square(x) + np.tanh(x) + np.reciprocal(x), (4, 6)),
    (lambda x: np.sinh(x) + np.cosh(x) + np.tan(x) + np.log10(x) + np.cbrt(x), (4, 6)),
    (lambda x: np.arcsin(x / 9) + np.arctan2(x, 1 - x) * np.hypot(x, 2), (4, 6)),
    (lambda x: np.sinc(x - x.round()) + np.heaviside(x.round(), 0.5), (4, 6)),
    (lambda x: np.isclose(x, LIMITS, rtol=0.5), (4, 6)),
    (lambda x: (np.compress([True, False], x, axis=0), np.compress(COUNTS > 1, x, 1)), (4, 6)),
    (lambda x: (np.delete(x, 2, axis=1), np.delete(x, ROWS, 0), np.delete(x, np.s_[::3])), (4, 6)),
    (lambda x: np.linalg.matrix_power(x, 5) + np.matrix_transpose(x), (3, 6, 6)),
    (lambda x: np.arcsinh(x) + np.arccosh(x + 1) + np.arctanh(x), (4, 6)),
    (lambda x: np.sin(x) + np.cos(x) + np.sign(x - 0.5) + np.fabs(x), (4, 6)),
    (lambda x: np.floor(4 * x) + np.ceil(4 * x) + np.rint(4 * x) + np.round(4 * x), (4, 6)),
    (lambda x: (x > 0.5) & (x <= 0.9) | ~(x == 0.3), (4, 6)),
    (lambda x: np.logical_and(x, x > 0.4) ^ np.logical_not(x != x), (4, 6)),
    (lambda x: np.where(x > 0.5, x, 0), (4, 6)),
    (lambda x: np.where(MASK, x, -np.inf).max(axis=1), (4, 6)),
    (lambda x: np.where(np.isnan(x), 0, x), (4, 6)),
    (lambda x: np.clip(x, 0.2, 0.8) + x.clip(0.3) + np.clip(x, None, 0.4), (4, 6)),
    (lambda x: x.sum() + np.sum(x, axis=0) + x.sum(axis=(0, 1), keepdims=True), (4, 6)),
    (lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=0), (4, 6)),
    (lambda x: x.mean(-1) * x.max(1) * np.min(x, axis=1) * np.amax(x, 1) * x.prod(1), (4, 6)),
    (lambda x: x.var() + np.std(x, axis=0) + x.var(axis=0, ddof=1) + np.ptp(x), (4, 6)),
    (lambda x: np.stack([x, x + 1, 2 * x]).sum(0) - np.stack([x, 2 * x], 1).max(1), (4, 6)),
    (lambda x: np.concatenate([x[:1], x[1:2]]).prod(0, keepdims=True) + x[:1], (4, 6)),
    (lambda x: x.argmax() + np.argmin(x, axis=0) + x.argmax(0, keepdims=True), (4, 6)),
    (lambda x: np.roll(x, (1, -2), (0, 1)) + np.roll(x, 1, (0, 1)) + np.roll(x, (2, 3), 1), (4, 6)),
    (lambda x: np.add.outer(x[0], x[1:3]) + np.maximum.outer(x[0], x[:2] > 0.5), (4, 6)),
    (lambda x: x.sum(1, where=MASK) + np.prod(x, 1, where=x > 0.5, initial=2), (4, 6)),
    (lambda x: np.max(x, 0, where=MASK, initial=-1) + np.add.reduce(x, initial=3), (4, 6)),
    (lambda x: np.round(9 * x, 1) + (99 * x).round(-1) + np.fix(9 * x - 4), (4, 6)),
    (lambda x: np.deg2rad(x) + np.radians(x) + np.degrees(x) + np.rad2deg(x), (4, 6)),
    (lambda x: (x.ravel("F"), x.reshape((2, 3, 4), order="F")), (4, 6)),
    (lambda x: (np.diagonal(x, 1), np.diagonal(x, -2), x[None].trace(-1, 1, 2)), (4, 6)),
    (lambda x: np.column_stack([x, x[:, 0], x]) + np.hsplit(x, [2])[1].sum(), (4, 6)),
    (lambda x: np.dstack([x, x]) + np.atleast_3d(x) + np.dstack([x[0]])[0, 0, 0], (4, 6)),
    (lambda x: np.append(x, x[:1], 0) + np.append(np.vsplit(x, 2)[1], x)[:6], (4, 6)),
    (lambda x: without(np.nanmean, x) * without(np.nanvar, x) - without(np.nanstd, x), (4, 6)),
    (lambda x: without(np.nanmax, x) + without(np.nanmin, x) * np.nanprod(x), (4, 6)),
    (lambda x: np.nansum(np.where(MASK, x, np.nan), 0, keepdims=True) + np.nancumsum(x, 1), (4, 6)),
    (lambda x: np.cumsum(x, axis=1) + x.cumsum().reshape(4, 6) + (x > 0).cumsum(1), (4, 6)),
    (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=0), (4, 6)),
    (lambda x: np.linalg.norm(x, 1, axis=0) + np.linalg.norm(x, np.inf, 0), (4, 6)),
    (lambda x: np.linalg.norm(x, -np.inf, 0) + np.linalg.norm(x.round(), 0, 0), (4, 6)),
    (lambda x: np.linalg.norm(x, 3, 0, True) + np.linalg.norm(x, 0.5, axis=1)[:, None], (4, 6)),
    (lambda x: np.linalg.norm(x, 1) * np.linalg.norm(x, -1) + np.linalg.norm(x, "fro"), (4, 6)),
    (lambda x: np.linalg.norm(x, np.inf, (2, 0)) + np.linalg.norm(x, axis=(0, 2)), (4, 3, 6)),
    (lambda x: np.linalg.norm(x, -np.inf, (0, 1), True), (4, 6)),
    (lambda x: x @ WEIGHTS, (4, 6)),
    (lambda x: WEIGHTS.T @ x, (6, 3)),
    (lambda x: x @ WEIGHTS, (6,)),
    (lambda x: x @ x, (6,)),
    (lambda x: x @ WEIGHTS, (2, 3, 4, 6)),
    (lambda x: WEIGHTS.T @ x, (2, 3, 6, 4)),
    (lambda x: x @ x.swapaxes(-1, -2), (2, 3, 4, 6)),
    (lambda x: x[:1] @ x.swapaxes(-1, -2), (2, 3, 4, 6)),
    (lambda x: x @ x[0, 0, 0], (2, 3, 4, 6)),
    (lambda x: x.dot(WEIGHTS), (4, 6)),
    (lambda x: np.dot(x, WEIGHTS), (2, 4, 6)),
    (lambda x: np.dot(x, x.transpose(1, 2, 0)), (2, 4, 6)),
    (lambda x: np.tensordot(x, x, axes=([0, 2], [0, 2])), (2, 4, 6)),
    (lambda x: np.tensordot(x, WEIGHTS, 1), (2, 4, 6)),
    (lambda x: np.inner(x, WEIGHTS.T) + np.outer(x[0, :3], x[1, :5])[0], (4, 6)),
    (lambda x: np.vdot(x, x) + np.vecdot(x, x), (4, 6)),
    (lambda x: np.einsum("ij,jk->ik", x, WEIGHTS), (4, 6)),
    (lambda x: np.einsum("ij,ij->i", x, x) + np.einsum("ij->i", x), (4, 6)),
    (lambda x: np.einsum("ii->i", x) + np.einsum("ii", x), (4, 4)),
    (lambda x: np.einsum("bij,bkj->bik", x, x), (3, 4, 6)),
    (lambda x: np.einsum("...ij,kj->...ik", x, x[0]), (3, 4, 6)),
    (lambda x: np.einsum("bi,ij,bj->b", x, x.T @ x, x), (4, 6)),
    (lambda x: np.einsum("i,j,k->kij", x, x, x), (4,)),
    (lambda x: np.einsum("bhqd,bhkd->bhqk", x, x), (2, 3, 4, 5)),
    (lambda x: np.einsum("bqhd,bkhd->bhqk", x, x), (2, 3, 4, 5)),
    (lambda x: np.einsum("ij,j", x, x[0]) + np.einsum("ij,kl->jl", x, x)[0, 0], (4, 6)),
    (lambda x: x.reshape(-1, 4).T.ravel(), (4, 6)),
    (lambda x: x.reshape(2, 2, 6).transpose(2, 0, 1).flatten(), (4, 6)),
    (lambda x: np.moveaxis(x, 0, -1) + np.swapaxes(x, 0, 1), (4, 6)),
    (lambda x: np.expand_dims(x, 1) + np.squeeze(x[None]), (4, 6)),
    (lambda x: np.concatenate([x, 2 * x], axis=1) + np.hstack([x, x]), (4, 6)),
    (lambda x: np.stack([x, x + 1], axis=-1).sum(0) + np.vstack([x[0], x[1]]).T, (4, 6)),
    (lambda x: [a - b for a, b in [np.split(x, 2, axis=1)]], (4, 6)),
    (lambda x: np.array_split(x, [1, 3])[1], (4, 6)),
    (lambda x: np.broadcast_to(x[0], (4, 6)) * x, (4, 6)),
    (lambda x: np.repeat(x, 3, axis=0) + np.tile(x, (3, 1)), (4, 6)),
    (lambda x: x.repeat(2) + np.tile(x, 2).ravel(), (4, 6)),
    (lambda x: np.pad(x, 1) + np.pad(x, ((0, 2), (1, 1)), constant_values=2), (4, 6)),
    (lambda x: x.take(ROWS, axis=0) + x[ROWS] + x[:, ROWS].sum(), (4, 6)),
    (lambda x: x[[0, -1]] + np.take(x, [1, 2], 0) + np.atleast_2d(x[0])[[0, 0]], (4, 6)),
    (lambda x: x[ROWS, [0, 2, -1]] + x[1, ROWS] + x[np.ix_([0, 1, 3], [1, 2, 0])], (4, 6)),
    (lambda x: x[MASK].sum() + x[np.array([True, False, True, True])][..., None, 1:3], (4, 6)),
    (lambda x: np.rint(x.sum()).astype(np.float16).astype(np.float32), (4, 6)),
    (lambda x: x[x.argmax(0)] + np.take(x, x.argmin(1) % 3, 0, mode="clip")[:, :1].sum(), (4, 6)),
    (lambda x: np.take_along_axis(x, x.argmax(1, keepdims=True), 1), (4, 6)),
    (lambda x: np.take_along_axis(x, np.argsort(x[:1], 1)[:, ::-1] - 6, 1), (4, 6)),
    (lambda x: np.take(x, (9 * x).astype(np.int32), mode="clip"), (4, 6)),
    (lambda x: np.take(x, (-99 * x).astype(np.int32), 1, mode="wrap"), (4, 6)),
    (lambda x: np.take(x, [9, -1], 0, mode="clip") + np.take(x, [-9, 7], 0, mode="wrap"), (4, 6)),
    (lambda x: np.take(x, (99 * x[:9]).astype(np.int8), mode="clip"), (200,)),
    (lambda x: np.take(x, (99 * x[:9]).astype(np.int8), mode="wrap"), (300,)),
    (lambda x: np.block([[x, x[:, :1]], [x[:1], 2]]) + np.block([x[0], 1]), (4, 6)),
    (lambda x: np.unstack(x, axis=1)[2] + np.logaddexp2(x[:, 0], x[:, 1]), (4, 6)),
    (lambda x: np.tril(x) + np.triu(x, 1) + np.diag(np.diag(x)), (4, 4)),
    (lambda x: x.trace() + np.trace(x @ x) + np.diagonal(x), (4, 4)),
    (lambda x: np.roll(x, 1, axis=1) + np.roll(x, -2), (4, 6)),
    (lambda x: np.diff(x) + np.diff(x, axis=1), (4, 6)),
    (lambda x: x[1:, None, ::2] + x[-1, 0] + x[..., -1:, :1], (4, 6)),
    (lambda x: sum(row * n for n, row in enumerate(x)), (4, 6)),
    (lambda x: x.astype(np.int32).astype(np.float32) + x.astype(np.float64), (4, 6)),
    (lambda x: np.full_like(x, x.mean()) + np.full_like(x, 2) * np.full_like(x, x[0]), (4, 6)),
    (lambda x: np.zeros_like(x) + np.ones(x.shape, x.dtype) * x, (4, 6)),
    (lambda x: {"sums": (x.sum(0), x.sum(1)), "size": x.size}, (4, 6)),
    (lambda x: np.convolve(x, x[:5]) + np.convolve(x[:5], x, "same").sum(), (8,)),
    (lambda x: np.convolve(x, x[:4], "same") + np.correlate(x, x[3:]).sum(), (8,)),
    (lambda x: np.correlate(x, x[:3], "full")[:8] * np.correlate(x, x[:4], "same"), (8,)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1) @ x[0, :3], (4, 6)),
    (lambda x: np.gradient(x)[0] + np.gradient(x, axis=1), (4, 6)),
    (lambda x: np.gradient(x, 0.5, 2, axis=(1, 0)), (4, 2)),
    (lambda x: np.trapezoid(x) + np.trapezoid(x, dx=0.5, axis=0)[:4] + np.ediff1d(x).sum(), (4, 6)),
    (lambda x: np.cross(x, x[::-1]) + np.cross(x[0], x * x), (5, 3)),
    (
        lambda x: np.kron(x, x.T) + np.polyval(COEFFICIENTS, np.polyval(x[0], x)).sum(),
        (4, 6),
    ),
    (
        lambda x: np.meshgrid(x[0], x[:, 0], x[0, :2]) + np.meshgrid(x[0], x[1], indexing="ij"),
        (4, 6),
    ),
    (lambda x: np.select([x < 0.3, x < 0.6], [x, 2 * x], -1) + np.trunc(9 * x), (4, 6)),
    (lambda x: 9 * x % 0.7 + (-9 * x) % (x.T + 0.1) + 5 % x + np.fmod(-9 * x, 0.3), (4, 4)),
    (lambda x: 9 * x // 0.7 - divmod(-9 * x, x.T + 0.1)[0] + divmod(5, x)[1] + x // -0.3, (4, 4)),
    (lambda x: np.copysign(x, x.T - 0.5) + np.fmax(x, x.T) + np.fmin(0.5, x), (4, 4)),
    (lambda x: np.logaddexp(x, x.T) + (9 * x) % 2 + (-9 * x) % 4 + np.fmod(-9 * x, 2), (4, 4)),
    (lambda x: np.sort(x) + np.sort(x, 0)[::-1] + np.argsort(x) + x.argsort(0), (4, 6)),
    (lambda x: np.median(x) + np.median(x, 0) + np.median(x[1:], 0), (4, 6)),
    (lambda x: np.percentile(x, 30) + np.quantile(x, 0.9, axis=0) + np.percentile(x, 100), (4, 6)),
    (lambda x: np.quantile(x, 0.5, 1, keepdims=True) * np.percentile(x, 0, axis=1)[0], (4, 6)),
    (lambda x: np.rot90(x) + np.rot90(x, -1) + np.rot90(x.T, 2) + np.rot90(x.T, 4), (4, 6)),
    (lambda x: np.cumprod(x, 1) + np.maximum.accumulate(x) + np.minimum.accumulate(x, 1), (4, 6)),
    (lambda x: np.add.accumulate(x, 1) + np.multiply.accumulate(x), (4, 6)),
    (lambda x: (x > 0.5).all(1) | np.any(x > 0.9, axis=1) ^ np.logical_and.reduce(x.T > 0), (4, 6)),
    (lambda x: np.count_nonzero(x > 0.5, 0) + (x > 0.2).sum(0) * (x.argmax(0) == 2), (4, 6)),
    (
        lambda x: np.searchsorted([0.2, 0.5, 0.8], x) + np.digitize(x, [0.2, 0.5], right=True),
        (4, 6),
    ),
    (lambda x: np.searchsorted(np.sort(x), x, "right") + np.digitize(x, [0.3, 0.6]), (7,)),
    (lambda x: np.average(x, 1, COUNTS), (4, 6)),
    (
        lambda x: x[::-1, 4:0:-2] + np.flip(x, 0)[:, :2] + np.flip(x)[:, 1:3] * np.fliplr(x)[:, :2],
        (4, 6),
    ),
    (
        lambda x: np.pad(x, ((1, 2), (0, 3)), "edge") + np.pad(x, ((3, 0), (2, 1)), "reflect"),
        (4, 6),
    ),
    (lambda x: np.pad(x, 2, "symmetric") - np.pad(x, 2, "wrap"), (4, 6)),
    (lambda x: (x > 0.5) * 3 + np.maximum((x > 0.1).sum(1), 2)[:, None] // 2, (4, 6)),
    (in_place, (4, 6)),
    (total, (4, 6)),
    (lambda x: attention(x, x + 1, x + 2), (8, 16)),
    (lambda x: layer_norm(x, x[0], x[1]), (8, 16)),
]
"""Functions of one array that operators compute, and its shape."""


def values(function: Function, *arrays: Array) -> tuple[Any, Any]:
    """The results of a function's graph, and of the function itself, in float64."""
    traced = trace(function, arrays, {})
    check(traced.graph)
    outputs = evaluate(traced.graph, [x.transpose(memory_order(x)) for x in arrays])
    computed = mapped(
        lambda x: outputs[x.output] if isinstance(x, ReturnedArray) else x, traced.returned
    )
    return computed, function(*arrays)


def assert_same(computed: Any, expected: Any) -> None:
    assert type(computed) is type(expected) or not isinstance(computed, list | tuple | dict)
    if isinstance(computed, dict):
        assert isinstance(expected, dict)
        computed, expected = [*computed.items()], [*expected.items()]
    if isinstance(computed, list | tuple):
        assert isinstance(expected, list | tuple)
        for pair in zip(computed, expected, strict=True):
            assert_same(*pair)
    elif isinstance(computed, np.ndarray):
        assert computed.shape == np.shape(expected)
        np.testing.assert_allclose(computed, expected, 1e-4, 1e-5)
    else:
        assert computed == expected


@pytest.mark.parametrize("number", range(len(TRACED)))
def test_operators_compute_what_numpy_does(number: int) -> None:
    function, shape = TRACED[number]
    x = random(*shape)
    assert_same(*values(function, x))
    assert not any(
        isinstance(node.operator, Foreign) for node in trace(function, (x,), {}).graph.nodes
    )


SPECIAL = np.array([[np.nan, 1, -np.inf, 3, 0, -0.0], [2, np.inf, 5, 5, -1, 2]], np.float32)


@pytest.mark.parametrize("function", [
    lambda x: (np.isfinite(x), np.isinf(x), np.isnan(x), np.isfinite(x).all(0), np.isnan(x).any(1)),
    lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=3, posinf=1, neginf=-1)),
    lambda x: (np.hypot(x, x[::-1]), np.hypot(x, np.inf)),
    lambda x: (np.sort(x), np.sort(x, 0), np.argsort(x, 1, kind="stable"), np.median(x, 1)),
    lambda x: (np.median(x), np.quantile(x[1], 0.3), np.percentile(x, 50, 0)),
    lambda x: (np.quantile(x, 0, 0), np.quantile(x, 1, 1), np.quantile(x, 0.0, 0)),
    lambda x: (np.maximum.accumulate(x, 1), np.minimum.accumulate(x, 1)),
    lambda x: (np.searchsorted([0, 2, 5], x), np.digitize(x, [0, 2, 5]), np.digitize(x, [0], True)),
    lambda x: (np.logaddexp(x, x), np.logaddexp(x[0], x[1]), np.trunc(x), np.isfinite([1, 2])),
    lambda x: (np.isfinite(x.shape), np.select([x > 1, x < 1], [x, 2 * x]), np.fmod(x, 2), x % 2),
])  # fmt: skip
def test_infinities_and_nan_are_as_numpy_has_them(function: Function) -> None:
    with np.errstate(all="ignore"):
        assert_same(*values(function, SPECIAL))
        traced = trace(function, (SPECIAL,), {})
    assert not any(isinstance(node.operator, Foreign) for node in traced.graph.nodes)


def test_what_fills_an_array_is_no_constant() -> None:
    (filled,) = trace(lambda x: np.full_like(x, x.max()), (random(4),), {}).graph.outputs
    assert [node.shape for node in filled.inputs] == [()]
    given, computed = values(lambda x: np.full_like(x, x.max()), random(5))
    assert_same(given, computed)


def test_elements_that_come_from_elsewhere_are_assigned_by_numpy() -> None:
    def function(x: Array, places: Array) -> Any:
        y = x * 2
        y[places] = 0
        y[y > 1] = y[y > 1][::-1]
        return y

    x = np.array([0.9, 0.7, 0.8, 0.6], np.float32)
    traced = trace(function, (x, np.array([2, 0])), {})
    assert "assigned" in {str(n.operator).split()[-1] for n in traced.graph.nodes}


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.convolve(x[0], [2]),
        lambda x: np.gradient(x, axis=np.int64(1)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
        lambda x: np.matmul([[1.0, 2.0, 3.0, 4.0]], x),
        lambda x: np.median(x, axis=(0, 1)),
        lambda x: np.pad(x, {1: (2, 0)}),
        lambda x: np.quantile(x, 0.3, axis=(0, 1)),
        lambda x: np.tril(x[0]),
    ],
)
def test_calls_of_other_forms_are_computed_by_numpy(function: Function) -> None:
    traced = trace(function, (random(4, 6),), {})
    assert isinstance(traced.graph.outputs[0].operator, Foreign)


def test_erf_is_that_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    traced = trace(lambda x: special.erf(x) + special.erfc(x), (random(3),), {})
    assert [str(node.operator) for node in traced.graph.nodes][1:] == ["erf", "erfc", "add"]


def test_arrays_are_read_as_they_lie() -> None:
    x = np.asfortranarray(random(4, 6))
    traced = trace(lambda x: x.T * 2, (x,), {})
    assert traced.graph.inputs[0].shape == (6, 4)
    assert_same(*values(lambda x: x.T * 2, x))
    assert_same(*values(lambda x: x @ WEIGHTS, random(4, 9)[:, 1:7]))
    assert_same(*values(lambda x: x @ WEIGHTS, random(4, 6, 3).transpose(2, 0, 1)))


def test_dtypes_are_those_of_numpy() -> None:
    x, wide = random(3), random(3).astype(np.float64)
    small, half = np.array([250, 3, 9], np.uint8), random(3).astype(np.float16)
    cases: list[Function] = [
        lambda x, wide, small, half: x * 0.1,
        lambda x, wide, small, half: x * np.float64(0.1),
        lambda x, wide, small, half: x + wide,
        lambda x, wide, small, half: small / 2,
        lambda x, wide, small, half: small.sum() + small.mean(),
        lambda x, wide, small, half: half.mean() + half.var() + half.sum(),
        lambda x, wide, small, half: np.sqrt(small) * half,
        lambda x, wide, small, half: np.where(x > 0, small, 1),
        lambda x, wide, small, half: np.stack([x, half, small]),
        lambda x, wide, small, half: x.astype(int) // 2,
        lambda x, wide, small, half: x == 1,
    ]
    for function in cases:
        expected = function(x, wide, small, half)
        (output,) = trace(function, (x, wide, small, half), {}).graph.outputs
        assert isinstance(expected, np.ndarray | np.generic)
        assert (output.dtype, output.shape) == (expected.dtype, expected.shape)


def test_what_no_operator_computes_is_left_to_numpy() -> None:
    traced = trace(lambda x, y: np.fft.rfft(x).real @ np.sort(y * 2), (random(8), random(5)), {})
    calls = [node for node in traced.graph.nodes if isinstance(node.operator, Foreign)]
    assert [node.operator.name for node in calls][:2] == ["rfft", "real"]  # type: ignore[attr-defined]


def test_lists_and_dictionaries_may_have_arrays_in_them() -> None:
    parameters = {"weights": [random(6, 5), random(5, 2)], "scale": 2}

    def network(x: Array, parameters: dict) -> Any:  # type: ignore[type-arg]
        for weights in parameters["weights"]:
            x = np.tanh(x @ weights)
        return x * parameters["scale"]

    assert len(trace(network, (random(4, 6), parameters), {}).graph.inputs) == 3


def test_constants_are_those_of_the_time_of_use() -> None:
    def function(x: Array) -> Any:
        table = np.ones(6, np.float32)
        y = x * table
        table[0] = 5
        return y + x * table

    assert_same(*values(function, random(4, 6)))


def branches(x: Array) -> Any:
    return x if x.sum() > 0 else -x


def catches(x: Array) -> Any:
    try:
        return x + float(x[0, 0])
    except Exception:
        return x


def assigns(x: Array) -> Any:
    x[0] = 0
    return x


def assigns_to_a_view(x: Array) -> Any:
    y = x * 2
    rows = y[:2]
    y[1] = 0
    return rows


def assigns_twice_beside_a_view(x: Array) -> Any:
    y = x * 2
    row = y[0]
    y[1] = 1
    y[0] = 2
    return row


def assigns_to_a_view_after_all(x: Array) -> Any:
    y = x * 2
    row = y[1]
    y[0] = 1
    later = y[1]
    del y
    later[2] = 5
    return row


def changes(x: Array) -> Any:
    x += 1
    return x


def changes_a_view(x: Array) -> Any:
    y = x * 2
    row = y[0]
    row += 1
    return y


def assigns_a_changed_view_elsewhere(x: Array) -> Any:
    y, z = x * 2, x * 3
    row = y[0]
    row += 1
    z[3] = row
    return y, z


def assigns_a_changed_view_to_another_row(x: Array) -> Any:
    y = x * 2
    row = y[0]
    row += 1
    y[1] = row
    return y


def changes_a_view_that_was_assigned_back(x: Array) -> Any:
    y = x * 2
    row = y[0]
    row += 1
    y[0] = row
    y[0] *= 2
    return row


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (branches, "use np.where"),
        (catches, "no Python number"),
        (assigns, "changed in place"),
        (assigns_to_a_view, "changed in place"),
        (assigns_twice_beside_a_view, "changed in place"),
        (assigns_to_a_view_after_all, "changed in place"),
        (assigns_a_changed_view_elsewhere, "changed in place"),
        (assigns_a_changed_view_to_another_row, "changed in place"),
        (changes_a_view_that_was_assigned_back, "changed in place"),
        (changes, "changed in place"),
        (changes_a_view, "changed in place"),
        (lambda x: [1, 2][x.argmax()], "no Python number"),
        (lambda x: np.sum(x, axis=0, out=np.empty(6, np.float32)), "written to"),
        (lambda x: np.allclose(x, 1), "returns no arrays"),
        (lambda x: x.tofile("nowhere"), "tofile cannot be traced"),
    ],
)
def test_what_depends_on_values_is_refused(function: Function, message: str) -> None:
    x = random(4, 6)
    before = x.copy()
    with pytest.raises((GraphError, AttributeError)) as error:
        trace(function, (x,), {})
    assert message in str(error.value) or "has no tofile" in str(error.value)
    assert np.array_equal(x, before)


def test_an_argument_that_is_neither_array_nor_constant_is_refused() -> None:
    with pytest.raises(GraphError, match="MaskedArray is no array of NumPy"):
        trace(lambda x: x, (np.ma.masked_array([1.0]),), {})


def test_tuples_with_names_stay_what_they_are() -> None:
    def function(x: Array) -> Any:
        found = np.linalg.slogdet(x)
        return found, found.logabsdet + 1

    described, _ = trace(function, [random(4, 4)], {}).returned
    assert described._fields == ("sign", "logabsdet")
    assert all(isinstance(each, ReturnedArray) for each in described)

"""StableHLO: every operation against JAX's own results, and which are left to the framework."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import export, lax

from morello.base.errors import GraphError
from morello.graph.graph import Graph, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Dot, Foreign, Where
from morello.graph.rewriting import simplified
from morello.importers.mlir import captured, type_of
from morello.importers.stablehlo import StableOperation, from_module, parse, read

Function = Callable[..., Any]


def imported(function: Function, *arrays: Any) -> Graph:
    lowered = jax.jit(function, keep_unused=True).lower(*arrays)
    return from_module(lowered.compiler_ir("stablehlo"))


def foreign(graph: Graph) -> list[str]:
    """The names of the operations that are left to JAX."""
    return [n.operator.name for n in graph.nodes if isinstance(n.operator, Foreign)]


def agrees(function: Function, *arrays: Any, tolerance: float = 1e-5) -> Graph:
    """The graph of a function, after its values were compared with JAX's."""
    graph = imported(function, *arrays)
    check(graph)
    assert foreign(graph) == []
    results = evaluate(graph, [np.asarray(array) for array in arrays])
    expected = jax.tree.leaves(jax.jit(function)(*arrays))
    assert [node.shape for node in graph.outputs] == [array.shape for array in expected]
    assert [node.dtype for node in graph.outputs] == [array.dtype for array in expected]
    for result, array in zip(results, expected, strict=True):
        wide = np.asarray(array)
        wide = wide.astype(np.float64) if wide.dtype.kind not in "biu" else wide
        np.testing.assert_allclose(result, wide, tolerance, tolerance)
    return graph


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    generator = np.random.default_rng((seed, *shape))
    if np.dtype(dtype).kind in "iu":
        return generator.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape, dtype)
    return jnp.asarray(generator.uniform(-2, 2, shape), dtype)


X, Y = random(4, 6), random(4, 6, seed=1)
I, J = random(4, 6, dtype=np.int32), random(4, 6, dtype=np.int32, seed=1)  # noqa: E741
B = np.asarray(X) > 0
IMAGE, TAPS = random(2, 9, 8, 4), random(3, 2, 4, 6)

FUNCTIONS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "abs": (lax.abs, (X,)),
    "add": (lax.add, (X, Y)),
    "angles": (lambda x, y: (jnp.arcsin(x / 2), jnp.arccos(y / 2), jnp.arctan(x),
                             jnp.arctan2(x, y), jnp.hypot(x, y)), (X, Y)),
    "and": (lax.bitwise_and, (B, ~B[::-1])),
    "add_int": (lax.add, (I, J)),
    "argmax": (lambda x: jnp.argmax(x, 1), (X,)),
    "argmin": (lambda x: jnp.argmin(x, 0), (X,)),
    "argmax_int": (lambda x: jnp.argmax(x, 1), (I,)),
    "argmax_bool": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (B,)),
    "average": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"),
                (IMAGE,)),
    "batched": (lambda a, b: jnp.einsum("bsd,btd->bst", a, b), (random(3, 4, 5), random(3, 6, 5))),
    "bfloat16": (lambda x: x * jnp.asarray([[1.5], [2.25], [-jnp.inf], [3e-20]], jnp.bfloat16),
                 (random(4, 6, dtype=jnp.bfloat16),)),
    "big_bfloat16": (lambda x: x + jnp.asarray(np.arange(400).reshape(20, 20), jnp.bfloat16),
                     (random(20, 20, dtype=jnp.bfloat16),)),
    "bits_of_bfloat16": (lambda x: (lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 8, 23),
                                    lax.reduce_precision(x.astype(jnp.bfloat16), 8, 10)),
                         (X * 1e30,)),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (4, 3, 6)), (X,)),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (6, 2, 4), (2, 0)), (X,)),
    "ceil": (lax.ceil, (X,)),
    "clamp": (lambda x: lax.clamp(-1.0, x, 0.5), (X,)),
    "clip": (lambda x: jnp.clip(x, -1, 3), (I,)),
    "compare": (lambda x, y: [f(x, y) for f in (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)],
                (I, J)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), (X, Y)),
    "constants": (lambda x: (x + np.arange(6, dtype=np.float32), jnp.array([True, False]),
                             jnp.array([True, True]), np.full(3, 7, np.uint8)), (X,)),
    "branches": (
        lambda x, y, i: (lax.cond(x[0, 0] > 0, lambda: x + y, lambda: y), jnp.diag(x @ y.T),
                         [lax.switch(n, (lambda: (x, y), lambda: (-y, x * y), lambda: (x - y, x)))
                          for n in (i, 5 * i, -i)]),
        (X, Y, jnp.int32(1)),
    ),
    "convert": (lambda x: ((x > 0).astype(x.dtype), x.astype(bool)), (X,)),
    "convert_to_integers": (lambda x: [(x * 1e9).astype(dtype) for dtype in (int, "int8", "uint8")]
                            + [jnp.where(x > 0, jnp.nan, jnp.inf).astype(int)], (X,)),
    "cos": (lambda x: lax.cos(x) + lax.sin(x), (X,)),
    "cumsum": (lambda x: jnp.cumsum(x, 1), (X,)),
    "cumulated": (lambda x: (jnp.cumprod(x, 0), lax.cummin(x, 1), lax.cumsum(x, 1, reverse=True),
                             lax.cumprod(x, 1, reverse=True)), (X,)),
    "cumulated_int": (lambda i: (jnp.cumsum(i, 1), lax.cummax(i, 0)), (I,)),
    "divide": (lax.div, (X, Y)),
    "divide_places": (lambda x: (jnp.argsort(x, 1) // 4, jnp.argsort(x, 1) % 4), (X,)),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (jnp.int32(3), jnp.int32(1)), (2, 3)), (X,)),
    "dynamic_slice_at_places": (
        lambda x, i: (lax.dynamic_slice(x, (i, 9 * i), (2, 3)), lax.dynamic_index_in_dim(x, -i)),
        (X, jnp.int32(1)),
    ),
    "dynamic_update_slice": (
        lambda x, y, i: (lax.dynamic_update_slice(x, y[:2, :3], (1, 9)),
                         lax.dynamic_update_slice(x, y[1:2], (i, 0)),
                         lax.dynamic_update_slice(x, y[:, :1], (i, i - 8)),
                         lax.dynamic_update_slice(x, y[:2], (i, 0)),
                         lax.dynamic_update_slice(x, y[:2, :3], (i, 9 * i))),
        (X, Y, jnp.int32(3)),
    ),
    "erf": (lambda x: (lax.erf(x), lax.erfc(x), lax.erfc(jnp.float32(0.5)) * x), (X,)),
    "erf_inv": (lax.erf_inv, (jnp.concatenate([jnp.linspace(-1, 1, 99), 1e-6 * X[0],
                                               jnp.float32([1 - 2**-24, 2**-23 - 1, 2])]),)),
    "exp": (lambda x: (lax.exp(x), lax.expm1(x)), (X,)),
    "floor": (lax.floor, (X,)),
    "fractions": (
        lambda x: (x % 1.0, jnp.fmod(9 * x, 4.0), lax.round(2 * x), 9 * x % 0.7, x // -0.3), (X,)),
    "sorted": (lambda x, y: (jnp.sort(x), jnp.argsort(jnp.round(x), 0), -jnp.sort(-y, 0),
                             lax.sort((x, y), dimension=0, num_keys=1)), (X, Y)),
    "searched": (lambda x, y: (jnp.searchsorted(jnp.sort(x[0]), y), jnp.digitize(y, x[0, :1]),
                               jnp.interp(y, jnp.arange(3.0), x[0, :3])),
                 (X, jnp.where(Y > 1, jnp.nan, Y))),
    "sorted_int": (lambda i: (jnp.argsort(i, 1, descending=True), jnp.sort(i, 0)), (I,)),
    "top_k": (lambda x: (lax.top_k(x, 2), lax.top_k(jnp.concatenate([x, x], 1), 9)), (X,)),
    "full": (lambda x: jnp.full((3, 4), 2, x.dtype), (X,)),
    "gaps": (lambda x, y: lax.pad(x, 7.0, ((1, -2, 2), (0, 1, 1))), (X, Y)),
    "gather_elements": (
        lambda x, i: (x[jnp.arange(4), i[:, 0]], jnp.take_along_axis(x, i, 1),
                      x[:, None][i[0], 0, i[1]], x[i[0], :, None][:, i[1]]),
        (X, abs(I) % 4),
    ),
    "gather": (lambda x, i: (jnp.take(x, i, 0, mode="clip"), jnp.take(x, i, 1, mode="clip")),
               (random(12, 10, 3), random(2, 5, dtype=np.int32))),
    "gather_fill": (lambda x, i: (jnp.take(x, i, 1), x[i]),
                    (random(10, 10, 3), random(7, dtype=np.int32))),
    "gather_windows": (
        lambda x, i: (jax.vmap(lambda row, n: row[n])(x, i),
                      jax.vmap(lambda row, n: lax.dynamic_slice(row, (n,), (3,)))(x, 3 * i),
                      jax.vmap(lambda n: lax.dynamic_slice(x, (n, 2 * n), (2, 3)))(i),
                      jax.vmap(lambda n, m: lax.dynamic_slice(m, (0, n), (4, 1)), (0, None))(i, x)),
        (X, np.array([1, -3, 0, 7], np.int32)),
    ),
    "gradients_of_elements": (
        lambda x, i: (jax.grad(lambda x: (jnp.take_along_axis(x, i[:, None], 1) ** 2).sum())(x),
                      jax.vmap(lambda row, n: row.at[n].add(2))(x, i),
                      jax.vmap(lambda row, n: row.at[n].set(2))(x, 3 * i)),
        (X, np.array([1, -3, 0, 7], np.int32)),
    ),
    "gradients_of_largest": (
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 3, 1),
                                              "VALID") ** 2).sum()),
        (jnp.round(2 * IMAGE[:, :5]),),
    ),
    "hyperbolic": (lambda x: (jnp.sinh(x), jnp.cosh(x), jnp.arcsinh(x), jnp.arctanh(x / 3),
                              jnp.arccosh(x + 4), jnp.tan(x), jnp.cbrt(x)), (X,)),
    "iota": (lambda x: x + lax.broadcasted_iota(x.dtype, (4, 6), 1), (X,)),
    "is_finite": (lambda x: lax.is_finite(x / jnp.floor(x)), (X,)),
    "log": (lambda x: (lax.log(lax.abs(x)), lax.log1p(lax.abs(x))), (X,)),
    "logistic": (lambda x: (lax.logistic(x), jax.nn.sigmoid(x)), (X,)),
    "matmul": (lambda x, y: (x @ y.T, x.T @ y, x[0] @ y.T, jnp.vdot(x, y)), (X, Y)),
    "maximum": (lambda x, y: (lax.max(x, y), lax.min(x, y)), (X, Y)),
    "max_pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                                             ((0, 0), (1, 1), (0, 1), (0, 0)), None, (1, 2, 1, 1)),
                 (IMAGE,)),
    "mixed": (lambda x, y: jnp.dot(x, y, preferred_element_type=jnp.float32),
              (random(4, 6, dtype=jnp.bfloat16), random(6, 5, dtype=jnp.bfloat16))),
    "neg": (lax.neg, (X,)),
    "not": (lax.bitwise_not, (B,)),
    "pad": (lambda x: lax.pad(x, jnp.float32(2.5), ((1, 2, 0), (-1, 3, 0))), (X,)),
    "power": (lambda x, y: (lax.pow(lax.abs(x), y), x**3, lax.abs(x) ** 0.3), (X, Y)),
    "quantized": (lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
                  (random(4, 6, dtype=np.int8), random(6, 5, dtype=np.int8))),
    "reduce": (lambda x: (x.sum(), x.max(0), x.min((0, 1)), x.prod(1), x.mean(1, keepdims=True)),
               (X,)),
    "reduce_bool": (lambda b: (b.all(1), b.any(0)), (B,)),
    "reduce_from": (lambda x: lax.reduce(x, jnp.float32(1.5), lax.add, (1,)), (X,)),
    "reduce_max_from": (lambda x: lax.reduce(x, jnp.float32(0.5), lax.max, (1,)), (X,)),
    "reduce_int": (lambda i: (i.sum(0), i.max(1), i.min(0)), (I,)),
    "remainder": (lax.rem, (X, Y)),
    "reshape": (lambda x: x.reshape(3, 8), (X,)),
    "round": (lambda x: lax.round(2 * x, lax.RoundingMethod.TO_NEAREST_EVEN), (X,)),
    "rsqrt": (lambda x: (lax.rsqrt(lax.abs(x)), lax.sqrt(lax.abs(x))), (X,)),
    "random": (lambda x: [jax.random.uniform(key, (3, 5), dtype) for dtype in (jnp.float32,
               jnp.float16, jnp.bfloat16) for key in jax.random.split(jax.random.PRNGKey(7))]
               + [jax.random.bits(jax.random.PRNGKey(1), (9,), dtype)
                  for dtype in (jnp.uint8, jnp.uint16, jnp.uint32)], (X,)),
    "random_normal": (lambda key: (jax.random.normal(key, (7, 11)),
                                   jax.random.bernoulli(key, 0.3, (8,)),
                                   jax.random.randint(key, (2, 9), -5, 1000),
                                   jax.random.gumbel(key, (9,)),
                                   jax.random.categorical(key, jnp.zeros((3, 4)))),
                      (np.array([3, 2**31 + 5], np.uint32),)),
    "select": (lambda b, x, y: (lax.select(b, x, y), jnp.where(x[0] > y[0], x, 0)), (B, X, Y)),
    "sign": (lambda x, i: (lax.sign(x), lax.sign(i)), (X, I)),
    "slice": (lambda x: (x[1:3, ::2], x[0], x[-1, 2:]), (X,)),
    "square": (lambda x: (lax.square(x), x**2), (X,)),
    "tanh": (lax.tanh, (X,)),
    "transpose": (lambda x: jnp.transpose(x, (2, 0, 3, 1)), (IMAGE,)),
    "unused": (lambda x, y: y + 1, (X, Y)),
    "xor": (lax.bitwise_xor, (B, ~B[::-1])),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operation_computes_what_jax_does(name: str) -> None:
    function, arrays = FUNCTIONS[name]
    agrees(function, *arrays, tolerance=1e-2 if "bfloat16" in name else 1e-5)


def test_functions_of_narrow_floats_are_those_of_wide_ones() -> None:
    x = random(4, 6, dtype=jnp.bfloat16) / 4
    every = jnp.arccos, jnp.arcsinh, jnp.arctan, jnp.cosh, lax.erf_inv, lax.tan
    graph = agrees(lambda x: [f(x) for f in every], x, tolerance=1e-2)
    assert not any(isinstance(node.operator, Foreign) for node in graph.nodes)


def test_the_largest_of_no_elements_are_none() -> None:
    graph = agrees(lambda x: lax.top_k(x, 0), X)
    assert [output.shape for output in graph.outputs] == [(4, 0), (4, 0)]


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "nhwc": {"dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    "same": {"dimension_numbers": ("NHWC", "HWIO", "NCHW"), "window_strides": (2, 1)},
    "dilated": {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "rhs_dilation": (1, 2)},
    "grouped": {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": 2},
    "gaps": {
        "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        "lhs_dilation": (2, 3),
        "padding": ((1, 2), (3, 0)),
    },
    "turned": {"dimension_numbers": ("HNCW", "OIHW", "CNWH"), "padding": ((2, 0), (0, 3))},
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_computes_what_jax_does(name: str) -> None:
    options = {"window_strides": (1, 1), "padding": "SAME", **CONVOLUTIONS[name]}
    taps = random(3, 2, 4 // options.get("feature_group_count", 1), 6)
    image = IMAGE
    if name == "turned":
        image, taps = random(9, 2, 4, 8), random(6, 4, 3, 2)
    agrees(lambda x, k: lax.conv_general_dilated(x, k, **options), image, taps, tolerance=1e-4)


def attention(x: Any, w: dict[str, Any], heads: int = 12) -> Any:
    b, s, d = x.shape
    q, k, v = ((x @ w[name]).reshape(b, s, heads, d // heads) for name in ("query", "key", "value"))
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / np.sqrt(d // heads).astype(x.dtype)
    mixed = jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, axis=-1), v)
    return mixed.reshape(b, s, d) @ w["out"]


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.var(x, -1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gamma + beta


def block(x: Any, w: dict[str, Any]) -> Any:
    x = x + attention(norm(x, w["gamma"], w["beta"]), w)
    hidden = jax.nn.gelu(norm(x, w["gamma"], w["beta"]) @ w["up"] + w["bias"])
    return x + hidden @ w["down"]


def weights(d: int, dtype: Any = np.float32) -> dict[str, Any]:
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("query", "key", "value", "out"), (d, d))
    vectors = {"gamma": (d,), "beta": (d,), "bias": (4 * d,)}
    shapes |= {"up": (d, 4 * d), "down": (4 * d, d), **vectors}
    return {
        name: (random(*shape, seed=n) / np.sqrt(d)).astype(dtype)
        for n, (name, shape) in enumerate(shapes.items())
    }


def over(function: Function, tree: Any) -> tuple[Function, list[Any]]:
    """A function of a tree as one of its leaves, and the leaves."""
    leaves, form = jax.tree.flatten(tree)
    return lambda *arrays: function(*jax.tree.unflatten(form, arrays)), leaves


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
def test_a_transformer_block_is_a_graph(dtype: Any) -> None:
    x = random(2, 16, 48, dtype=dtype)
    function, leaves = over(block, (x, weights(48, dtype)))
    graph = agrees(function, *leaves, tolerance=1e-4 if dtype == np.float32 else 0.1)
    assert not {n.operator.name for n in graph.nodes if isinstance(n.operator, Foreign)}


def network(image: Any, first: Any, depthwise: Any, last: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    x = lax.conv_general_dilated(image, first, (2, 2), "SAME", dimension_numbers=numbers)
    x = jax.nn.relu(x)
    x = lax.conv_general_dilated(
        x, depthwise, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=8
    )
    x = lax.reduce_window(jax.nn.relu6(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.nn.log_softmax(x.mean((1, 2)) @ last)


FUNCTIONS_IN_USE: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "linear": (lambda x, w, b: jax.nn.gelu(x @ w + b), (X, random(6, 8), random(8))),
    "gelu_erf": (lambda x: jax.nn.gelu(x, approximate=False), (X,)),
    "softmax": (lambda x: jax.nn.softmax(x, axis=0), (X,)),
    "masked": (lambda x: jax.nn.softmax(jnp.where(jnp.tri(4, 6, dtype=bool), x, -jnp.inf)), (X,)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=1), (X,)),
    "silu": (jax.nn.silu, (X,)),
    "network": (network, (IMAGE, random(3, 3, 4, 8), random(3, 3, 1, 8), random(8, 5))),
    "one_hot": (lambda i: jax.nn.one_hot(i, 10), (J,)),
    "fused": (lambda q, k: jax.nn.dot_product_attention(q, k, k), (random(2, 5, 3, 4),) * 2),
    "scatter": (
        lambda x, y, i: (
            x.at[i].add(y[jnp.array([0, 1, 1, 2, 3])]),
            x.at[:, i].max(y[:, :5]),
            x.at[i, i - 1].min(-9.0),
            x.at[i[:2, None], i].set(y[:2, :5]),
            x.at[jnp.array([1, 3])].set(y[:2]),
            x.at[i].add(1.0, mode="drop"),
            jax.ops.segment_sum(y[:1].repeat(5, 0), i, 4),
        ),
        (X, Y, np.array([3, 1, -1, 7, 3], np.int32)),
    ),
    "assigned": (
        lambda x: (
            x.at[1:-1, 1:-1].add(x[2:, 2:]),
            x.at[0].set(1.0),
            x.at[:, 2:4].max(0.0),
            x.at[::2].set(x[1::2]),
            x.at[-1, ::3].min(x[0, :2]),
            x.at[jnp.array([0, 3]), 1:3].set(0.0),
            x.at[1:3, jnp.array([1, 4])].add(1.0),
        ),
        (X,),
    ),
    "powers": (lambda x, t: (2.0**x, 0.9**t, 10 ** (x * t)), (X, jnp.float32(3))),
    "shuffled": (lambda key: jax.random.permutation(key, 20), (np.array([3, 5], np.uint32),)),
    "truncated": (
        lambda key: jax.nn.initializers.glorot_normal()(key, (8, 6)),
        (np.array([3, 5], np.uint32),),
    ),
    "vmap": (jax.vmap(lambda x, y: x @ y), (random(3, 4, 5), random(3, 5, 6))),
    "checkpoint": (jax.checkpoint(lambda x: jnp.tanh(x) * 2), (X,)),
    "gradient": (jax.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T))), (X,)),
}


@pytest.mark.parametrize("name", FUNCTIONS_IN_USE)
def test_a_function_computes_what_jax_does(name: str) -> None:
    function, arrays = FUNCTIONS_IN_USE[name]
    agrees(function, *arrays, tolerance=1e-4)


def scanned(steps: int, reverse: bool = False) -> Function:
    """A recurrent layer, with all its states and the last one."""

    def function(x: Any, w: Any) -> Any:
        def step(h: Any, each: Any) -> Any:
            h = jnp.tanh(each + h @ w)
            return h, h

        return lax.scan(step, x[0], jnp.tile(x, (steps, 1))[:steps], reverse=reverse)

    return function


def test_products_are_summed_in_f32_where_their_algorithm_is_that() -> None:
    """As the products of heads are that `jax.nn` has of bf16."""
    q, k, v = (random(2, 5, 3, 4, dtype=jnp.bfloat16, seed=n) for n in range(3))
    agrees(partial(jax.nn.dot_product_attention, is_causal=True), q, k, v, tolerance=2e-2)
    agrees(lambda x, y: product(x, y.T, "F32_F32_F32"), X, Y)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_known_length_is_its_steps(reverse: bool) -> None:
    square = random(6, 6)
    graph = agrees(scanned(5, reverse), X, square)
    assert sum(isinstance(node.operator, Dot) for node in simplified(graph).nodes) == 5


@pytest.mark.parametrize("sizes", [[3, 0, 7, 2, 9, 3], [0, 5, 1, 0, 4, 6], [0] * 6])
def test_a_ragged_product_is_one_of_rows_in_groups(sizes: list[int]) -> None:
    """Rows after the last group are zero."""
    graph = imported(lax.ragged_dot, random(24, 8), random(6, 8, 5), np.array(sizes, np.int32))
    x, matrices = random(24, 8), random(6, 8, 5)
    product = simplified(graph)
    assert not any(isinstance(node.operator, Dot | Where) for node in product.nodes)
    (result,) = evaluate(product, [np.asarray(x), np.asarray(matrices), np.array(sizes, np.int32)])
    np.testing.assert_allclose(result, lax.ragged_dot(x, matrices, np.array(sizes)), 1e-5, 1e-5)


def test_loops_within_loops_and_counters_that_bodies_read() -> None:
    def function(x: Any) -> Any:
        def outer(i: Any, y: Any) -> Any:
            return lax.fori_loop(0, 3, lambda j, z: z * 0.5 + x[i] + j, y)

        return lax.fori_loop(1, 4, outer, x), lax.fori_loop(3, 3, outer, x)

    agrees(function, X)


def test_a_long_scan_is_left_to_jax() -> None:
    assert foreign(imported(scanned(129), X, random(6, 6))) == ["while"] * 2


def test_a_loop_of_what_no_operator_does_is_left_whole() -> None:
    """JAX runs it once, not each of its steps."""

    def function(x: Any) -> Any:
        return lax.fori_loop(0, 4, lambda _, y: lax.lgamma(y + x), x)

    assert foreign(imported(function, X)) == ["while"]


def test_gradients_of_layers_that_keep_only_products_are_whole() -> None:
    """JAX rounds what is kept to the bits that it has."""
    policy = jax.checkpoint_policies.dots_saveable

    def layer(x: Any, w: Any) -> Any:
        return jnp.tanh(jnp.tanh(x @ w) @ w.T), None

    def loss(w: Any, x: Any) -> Any:
        return lax.scan(jax.checkpoint(layer, policy=policy), x, w)[0].sum()

    graph = agrees(jax.grad(loss), random(3, 6, 5), X)
    assert not foreign(graph)


def product(left: Any, right: Any, algorithm: str) -> Any:
    return lax.dot(left, right, precision=lax.DotAlgorithmPreset[algorithm])


LEFT: dict[str, tuple[Function, tuple[Any, ...], list[str]]] = {
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.int32) + 1, (X,), ["bitcast_convert"]),
    "base_dilation": (
        lambda x, k: lax.conv_general_dilated(x, k, (2, 1), [(1, 1)] * 2, (2, 1)),
        (random(1, 2, 5, 5), random(3, 2, 3, 3)), ["convolution"],
    ),
    "complex": (lambda x: lax.complex(x, x) * 2, (X,), ["complex", "constant", "broadcast_in_dim",
                                                         "multiply"]),
    "floats of 8 bits": (
        lambda x: (x * 2).astype(jnp.float8_e4m3fn).astype(jnp.float32) + 1, (X,), ["convert"],
    ),
    "cond": (lambda x, y: lax.cond(x[0, 0] > 0, lambda: x @ y.T @ y, lambda: y), (X, Y), ["case"]),
    "rounded_factors": (lambda x, y: product(x, y.T, "BF16_BF16_F32"), (X, Y), ["dot_general"]),
    "scatter": (lambda x: x.at[jnp.array([0, 2])].multiply(2.0), (X,), ["scatter"]),
    "sort": (lambda x, y: lax.sort((x, y), num_keys=2)[1], (X, Y), ["sort"]),
    "many_sorted": (jnp.sort, (random(300),), ["sort"]),
    "while": (lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + x, x), (abs(X),),
              ["while"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_no_operator_computes_is_left_to_jax(name: str) -> None:
    function, arrays, expected = LEFT[name]
    graph = imported(function, *arrays)
    check(graph)
    assert [*dict.fromkeys(foreign(graph))] == expected
    for node in graph.nodes:
        if isinstance(node.operator, Foreign):
            assert isinstance(node.operator.key, StableOperation)
            operation = node.operator.key.operation
            inputs = [*operation.operands, *captured(operation)]
            assert [type_of(value) for value in inputs] == [source.type for source in node.inputs]


def test_files_are_text_or_artifacts(tmp_path: Path) -> None:
    exported = export.export(jax.jit(lambda x: jnp.tanh(x) + 1))(X)
    text, artifact = exported.mlir_module().encode(), exported.mlir_module_serialized
    for data, step in ((text, len(text) // 40), (artifact, len(artifact) // 3)):
        path = tmp_path / "program"
        path.write_bytes(data)
        (result,) = evaluate(read(path), [np.asarray(X)])
        np.testing.assert_allclose(result, np.tanh(np.asarray(X)) + 1, 1e-6)
        for length in range(0, len(data), step):
            with pytest.raises(GraphError):
                from_module(parse(data[:length]))
    with pytest.raises(GraphError, match="cannot be read"):
        read(tmp_path / "missing.mlir")


def test_damaged_artifacts_crash_only_what_reads_them() -> None:
    """This process survives each, and still reads the whole one."""
    artifact = export.export(jax.jit(lambda x: jnp.tanh(x) + 1))(X).mlir_module_serialized
    generator = np.random.default_rng(0)
    for _ in range(3):
        damaged = bytearray(artifact)
        for place in generator.integers(4, len(damaged), 3):
            damaged[place] = generator.integers(256)
        with suppress(GraphError):
            from_module(parse(bytes(damaged)))
    assert len(from_module(parse(artifact)).outputs) == 1


def test_wide_numbers_are_kept() -> None:
    with jax.enable_x64(True):
        agrees(lambda x: jnp.exp(x) @ x.T, np.asarray(X, np.float64), tolerance=1e-12)


def test_what_is_left_says_why() -> None:
    def function(a: Any, b: Any) -> Any:
        solved = jax.scipy.linalg.solve_triangular(a, b)
        return solved, jnp.fft.fft(b), lax.reduce_precision(b, 5, 9)

    graph = imported(function, np.eye(3, dtype=np.float32), np.ones((3, 2), np.float32))
    reasons = {}
    for node in graph.nodes:
        if isinstance(node.operator, Foreign):
            assert isinstance(node.operator.key, StableOperation)
            reasons[node.operator.name] = node.operator.key.reason
    assert reasons["custom_call"].startswith("it calls lapack")
    assert reasons["fft"] == "it has complex numbers"
    assert reasons["reduce_precision"] == "no operator computes it"

"""A transformer block of JAX on Morello's kernels: norm, attention of 12 heads, MLP with gelu."""

import importlib.util
import sys
import time
from typing import Any

import numpy as np

if importlib.util.find_spec("jax") is None:
    print("skipped: this needs JAX, pip install 'morello[jax]'")
    sys.exit()

import jax
import jax.numpy as jnp

import morello.jax

TOKENS, WIDTH, HEADS, CALLS = 32, 96, 12, 200


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gamma + beta


def attention(x: Any, w: dict[str, Any]) -> Any:
    query, key, value = ((x @ w[name]).reshape(TOKENS, HEADS, -1) for name in ("q", "k", "v"))
    scores = jnp.einsum("shd,thd->hst", query, key) / np.float32(np.sqrt(WIDTH // HEADS))
    mixed = jnp.einsum("hst,thd->shd", jax.nn.softmax(scores), value)
    return mixed.reshape(TOKENS, WIDTH) @ w["out"]


def block(x: Any, w: dict[str, Any]) -> Any:
    x = x + attention(norm(x, w["gamma"], w["beta"]), w)
    hidden = jax.nn.gelu(norm(x, w["gamma"], w["beta"]) @ w["up"] + w["bias"])
    return x + hidden @ w["down"]


random = np.random.default_rng(0)
shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "k", "v", "out"), (WIDTH, WIDTH))
shapes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
shapes |= {"gamma": (WIDTH,), "beta": (WIDTH,), "bias": (4 * WIDTH,)}
scale = np.float32(1 / np.sqrt(WIDTH))
weights = {
    name: jnp.asarray(random.standard_normal(shape, np.float32) * scale)
    for name, shape in shapes.items()
}
x = jnp.asarray(random.standard_normal((TOKENS, WIDTH), np.float32))

ours, theirs = morello.jax.jit(block, gap=0.1, budget=2), jax.jit(block)
error = jnp.abs(ours(x, weights) - theirs(x, weights)).max()
assert error < 1e-4
(report,) = morello.jax.report(ours)
print(f"{report.kernel_count} kernels in {report.segments} calls, by JAX: {len(report.left)}")

for name, function in (("jax.jit", theirs), ("morello.jax.jit", ours)):
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        function(x, weights).block_until_ready()
        times.append(time.perf_counter() - began)
    print(f"{name}: {np.median(times) * 1e6:.0f} us")
print(f"largest error: {error:.1e}")

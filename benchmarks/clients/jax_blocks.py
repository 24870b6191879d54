"""A transformer block of JAX, compiled by `morello.jax.jit`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.clients.client import Client, Contest, Fast, same_values

TOKENS, WIDTH, HEADS = 128, 768, 12
ALLOWED = {"float32": 1e-5, "bfloat16": 2e-2}


def _norm(x: Any, gamma: Any, beta: Any) -> Any:
    import jax.numpy as jnp

    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5).astype(x.dtype) * gamma + beta


def _block(x: Any, w: dict[str, Any]) -> Any:
    import jax
    import jax.numpy as jnp

    h = _norm(x, w["gamma"], w["beta"])
    query, key, value = ((h @ w[n]).reshape(TOKENS, HEADS, -1) for n in ("q", "k", "v"))
    scores = jnp.einsum("shd,thd->hst", query, key) * (WIDTH / HEADS) ** -0.5
    mixed = jnp.einsum("hst,thd->shd", jax.nn.softmax(scores), value)
    x = x + mixed.reshape(TOKENS, WIDTH) @ w["out"]
    hidden = jax.nn.gelu(_norm(x, w["gamma"], w["beta"]) @ w["up"] + w["bias"])
    return x + hidden @ w["down"]


def block(threads: int, dtype: str) -> Contest:
    """Norm, attention of 12 heads, and a perceptron with gelu, for 128 tokens; weights are
    inputs, and the same arrays in all calls.

    XLA's threads are set by the environment of the process.
    """
    import jax
    import jax.numpy as jnp

    import morello.jax

    random = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "k", "v", "out"), (WIDTH, WIDTH))
    shapes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    shapes |= {"gamma": (WIDTH,), "beta": (WIDTH,), "bias": (4 * WIDTH,)}
    scale = WIDTH**-0.5
    weights = {
        name: jnp.asarray(random.standard_normal(shape) * scale, dtype)
        for name, shape in shapes.items()
    }
    x = jnp.asarray(random.standard_normal((TOKENS, WIDTH)), dtype)
    theirs, ours = jax.jit(_block), morello.jax.jit(_block, threads=threads, weights="constant")

    def compiled() -> Fast:
        for _ in range(2):  # weights that are passed again are packed
            jax.block_until_ready(ours(x, weights))
        reports = morello.jax.report(ours)[-1:]
        left = sum(len(report.left) for report in reports)
        return Fast(lambda: jax.block_until_ready(ours(x, weights)), lambda: reports, left)

    return Contest(
        lambda: jax.block_until_ready(theirs(x, weights)),
        compiled,
        lambda a, b: same_values([np.asarray(a)], [np.asarray(b)], ALLOWED[dtype]),
    )


CLIENTS = (
    Client(
        "jax-block", "A transformer block of 12 heads, 128 tokens by 768, f32, morello.jax.jit",
        "jax.jit", ("jax",), partial(block, dtype="float32"),
    ),
    Client(
        "jax-block-bf16", "The same in bf16", "jax.jit", ("jax",),
        partial(block, dtype="bfloat16"),
    ),
)  # fmt: skip

"""Loops and branches that JAX controls, and whose contents are kernels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from tests.doors.test_jax import compared, jit
from tests.importers.test_stablehlo import random

import morello.jax

SIZE = 16
X, W = random(4, SIZE), random(SIZE, SIZE) / 4
LONG = 200
"""More steps than become part of a graph."""


def long_scan(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(x + h @ w)
        return h, h.sum(axis=1)

    return lax.scan(step, X, xs)


def test_the_steps_of_long_loops_run_on_kernels() -> None:
    report = compared(long_scan, W, random(LONG, 4, SIZE) / 8)
    assert re.search(r"foreign while\S* \(kernels compute what it contains\)", report)
    assert "tanh(" in report


def test_a_loop_ends_when_its_condition_says_so() -> None:
    """Tokens are generated until one of them is 0, with a cache that is written to in place."""
    embedded, out = random(11, SIZE), random(SIZE, 11)

    def generate(w: Any, embedded: Any, out: Any, first: Any) -> Any:
        def step(state: Any) -> Any:
            place, cache, tokens = state
            x = embedded[tokens[place]]
            cache = lax.dynamic_update_slice(cache, jnp.tanh(x @ w)[None], (place, 0))
            seen = jnp.arange(len(cache)) <= place
            weights = jax.nn.softmax(jnp.where(seen, cache @ x, -jnp.inf))
            token = jnp.argmax((weights @ cache + x) @ out)
            return place + 1, cache, tokens.at[place + 1].set(token)

        def goes_on(state: Any) -> Any:
            place, _, tokens = state
            return (place < LONG - 1) & (tokens[place] > 0)

        start = 0, jnp.zeros((LONG, SIZE)), jnp.zeros(LONG, jnp.int32).at[0].set(first)
        return lax.while_loop(goes_on, step, start)

    for first in (3, 7):
        report = compared(generate, W, embedded, out, np.int32(first), tolerance=1e-3)
        assert "while" in report
        assert "foreign dynamic_update_slice" in report
        assert "softmax" in report


def test_branches_of_products_are_kernels() -> None:
    def function(n: Any, x: Any, w: Any) -> Any:
        first = lax.cond(x[0, 0] > n, lambda x: x @ w @ w, lambda x: jnp.tanh(x @ w), x)
        branches = [lambda x: x @ w + 1, lambda x: (x @ w) * 2, lambda x: -x]
        return first, lax.switch(n, branches, x)

    compiled = jit(function)
    for n in (-2, 0, 1, 2, 5):
        ours, theirs = (f(np.int32(n), X, W) for f in (compiled, jax.jit(function)))
        for each, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(each, expected, rtol=1e-4, atol=1e-4)
    text = "\n".join(map(str, morello.jax.report(compiled)))
    assert "2 x foreign case (kernels compute what it contains)" in text
    assert "case(" in text


def test_loops_within_loops_run_on_kernels() -> None:
    """The weights are constants, which no step changes."""
    w = np.asarray(W)

    def function(x: Any, xs: Any) -> Any:
        def inner(h: Any, y: Any) -> Any:
            return jnp.tanh((h + y) @ w), None

        def outer(h: Any, _: Any) -> Any:
            return lax.scan(inner, h, xs)[0], h[0, 0]

        return lax.scan(outer, x, None, LONG)

    report = compared(function, X, random(LONG, SIZE) / 8, tolerance=1e-3)
    assert "while while(" in report


def test_light_loops_are_left_to_jax() -> None:
    def function(x: Any) -> Any:
        return lax.while_loop(lambda c: jnp.abs(c[0, 0]) > 1e-3, lambda c: c * 0.5, x @ x.T)

    assert "foreign while (no operator computes it)" in compared(function, X)


def test_loops_of_batches_and_gradients() -> None:
    xs = random(3, LONG, 4, SIZE) / 8
    compiled = jit(long_scan)
    ours = jax.vmap(compiled, (None, 0))(W, xs)
    theirs = jax.vmap(long_scan, (None, 0))(W, xs)
    for each, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-4, atol=1e-4)

    def loss(w: Any, xs: Any) -> Any:
        return long_scan(w, xs)[1].mean()

    report = compared(jax.grad(loss), W, xs[0], tolerance=1e-3)
    assert "kernels compute what it contains" in report

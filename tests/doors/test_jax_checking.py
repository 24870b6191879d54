"""The first call of a function of JAX is compared with what JAX computes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from tests.doors.test_jax import OPTIONS, agree
from tests.importers.test_stablehlo import random

import morello.jax
from morello.base.errors import FallbackWarning
from morello.frameworks import jax_weights
from morello.frameworks.jax_checking import mistake
from morello.frameworks.xla import TARGET, SegmentCall

X, W = random(8, 16), random(16, 16)


def layer(x: Any, w: Any) -> Any:
    return {"y": jnp.tanh(x @ w), "sum": x.sum()}


@pytest.fixture
def mistaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels change their results by mistake."""
    right = SegmentCall.__call__

    def wrong(self: SegmentCall, *arrays: Any) -> tuple[Any, ...]:
        return tuple(each + each // 8 + 1 for each in right(self, *arrays))

    monkeypatch.setattr(SegmentCall, "__call__", wrong)


@pytest.mark.usefixtures("mistaken")
def test_a_mistake_leaves_the_function_to_jax() -> None:
    function = morello.jax.jit(layer, **OPTIONS)
    with pytest.warns(FallbackWarning, match="layer is left to JAX, as the kernels .* an error of"):
        agree(function(X, W), layer(X, W))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (X, X[:3]):
            agree(function(x, W), jax.jit(layer)(x, W))
        agree(jax.jit(function)(X, W), layer(X, W))
    (report,) = morello.jax.report(function)
    assert "JAX computes all of it, as the kernels do not do what JAX does" in str(report)


@pytest.mark.usefixtures("mistaken")
def test_integers_are_compared_exactly() -> None:
    n = jnp.arange(64, dtype=jnp.int32)
    function = morello.jax.jit(lambda n: (n * 3 + 1) & 0xFF, **OPTIONS)
    with pytest.warns(FallbackWarning, match="other elements of int32"):
        agree(function(n), (n * 3 + 1) & 0xFF)


@pytest.mark.usefixtures("mistaken")
def test_what_cannot_be_repeated_or_is_not_to_be_is_not_compared() -> None:
    def called_back(x: Any, w: Any) -> Any:
        return jax.pure_callback(np.sin, x, x), x @ w

    donating = morello.jax.jit(layer, donate_argnums=0, **OPTIONS)
    unverified = morello.jax.jit(layer, verify=False, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        donating(jnp.array(X), W)
        unverified(X, W)
        jax.jit(morello.jax.jit(layer, **OPTIONS))(X, W)
        morello.jax.jit(called_back, **OPTIONS)(X, W)
    assert (np.abs(unverified(X, W)["y"] - layer(X, W)["y"]) > 0.5).any()


@pytest.mark.usefixtures("mistaken")
def test_functions_within_are_computed_by_jax_as_well() -> None:
    inner = morello.jax.jit(lambda x, w: jnp.tanh(x @ w), **OPTIONS)
    outer = morello.jax.jit(lambda x, w: inner(x, w) * 2, **OPTIONS)
    assert TARGET in outer.lower(X, W).as_text()
    with pytest.warns(FallbackWarning):
        agree(outer(X, W), jnp.tanh(X @ W) * 2)


def test_the_first_call_with_packed_weights_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    right = jax_weights._Weights.__call__

    def wrong(self: Any, leaves: Any) -> Any:
        return jax.tree.map(lambda each: each * 1.5, right(self, leaves))

    monkeypatch.setattr(jax_weights, "LEAST_GAIN", -10.0)
    monkeypatch.setattr(jax_weights._Weights, "__call__", wrong)
    x, w = random(8, 96), random(96, 256) / 10
    function = morello.jax.jit(lambda x, w: jnp.tanh(x @ w), weights="constant", **OPTIONS)
    agree(function(x, w), jnp.tanh(x @ w))
    with pytest.warns(FallbackWarning, match="weights stay arguments"):
        agree(function(x, w), jnp.tanh(x @ w))
    agree(function(x, w), jnp.tanh(x @ w))


def test_what_rounding_changes_as_much_is_no_mistake() -> None:
    """A loop whose steps choose a row by the largest number: rounding changes all that follows."""

    def walk(x: Any, w: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            return jnp.sin(x * 50) + w[jnp.argmax(x @ w, axis=-1)], x[:, 0]

        return lax.scan(step, x, None, 40)

    function = morello.jax.jit(walk, **OPTIONS)
    function.lower(X, W)
    graphs = function._unverified[0].program.graphs
    plain = jax.jit(walk)

    def right(*arrays: Any) -> list[Any]:
        return [*jax.tree.leaves(plain(*arrays))]

    other = right(X * (1 + 1e-6), W)
    assert np.linalg.norm(other[0] - right(X, W)[0]) > 0.1 * np.linalg.norm(other[0])
    assert mistake(graphs, right, (X, W), other) == ""

    steady = right(X, W)
    assert mistake(graphs, lambda *_: steady, (X, W), other).startswith("an error of")

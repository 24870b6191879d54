"""Functions of `morello.jax.jit` do what users of `jax.jit` expect."""

from __future__ import annotations

import copy
import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, PartitionSpec
from tests.doors.test_jax import UNVERIFIED, W, agree
from tests.importers.test_stablehlo import X, random

import morello.jax
from morello.base.errors import SearchError
from morello.frameworks import jax_weights

jit: Any = partial(morello.jax.jit, **UNVERIFIED)


def layer(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def step(x: Any, w: Any, cache: Any, place: Any) -> Any:
    """A step of a model with a cache, of which it writes two parts."""
    for part in (x @ w, layer(x, w)):
        cache = lax.dynamic_update_slice(cache, part, (place, 0))
        place += len(x)
    return layer(x @ w, cache.T), cache


def test_donated_arrays_are_written_in_place() -> None:
    function, plain = jit(step, donate_argnames="cache"), jax.jit(step)
    cache = given = jnp.zeros((24, 8), np.float32)
    ours, cache = function(X, W, cache, 4)
    agree((ours, cache), plain(X, W, jnp.zeros((24, 8), np.float32), 4))
    assert given.is_deleted() and not cache.is_deleted()
    (report,) = morello.jax.report(function)
    assert "2 x foreign dynamic_update_slice" in str(report)


def test_arrays_are_donated_to_programs_with_packed_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jax_weights, "LEAST_GAIN", -10.0)  # also if packing gains nothing
    w, state = random(96, 256), random(4, 96)
    function = jit(
        lambda state, w: state + layer(state, w) @ w.T, donate_argnums=0, weights="constant"
    )
    for _ in range(4):
        given, expected = state, state + layer(state, w) @ w.T
        state = function(jnp.asarray(state), w)
        agree(state, expected)
    assert given.is_deleted()
    assert "packed float32[96,256]" in str(morello.jax.report(function)[-1])


def test_other_options_are_those_of_jax() -> None:
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    function = jit(
        lambda x, unused, w: layer(x, w),
        keep_unused=True, inline=True, in_shardings=place, out_shardings=place,
        compiler_options={"xla_cpu_enable_fast_math": False},
    )  # fmt: skip
    result = function(X, np.ones(3, np.float32), W)
    agree(result, layer(X, W))
    assert result.sharding == place
    assert len(jax.tree.leaves(function.lower(X, X, W).compile().input_shardings)) == 3
    with pytest.raises(SearchError, match=r"no option device; .* donate_argnums"):
        jit(layer, device=jax.devices()[0])


def test_wrappers_of_functions_do_not_take_on_their_methods() -> None:
    function, batch = jit(layer), np.stack([X, X])
    for wrapped in (jax.vmap(function, (0, None)), jax.named_call(function)):
        for outer in (jax.jit(wrapped), jit(wrapped)):
            assert outer.eval_shape(batch, W).shape == (2, 4, 8)
            agree(outer.lower(batch, W).compile()(batch, W), layer(batch, W))
    assert function.__wrapped__ is layer and copy.deepcopy(function) is copy.copy(function)
    assert inspect.signature(function) == inspect.signature(layer)


def test_methods_are_functions() -> None:
    class Model:
        @partial(morello.jax.jit, static_argnums=0, **UNVERIFIED)
        def __call__(self, x: Any) -> Any:
            return layer(x, W)

    agree(Model()(X), layer(X, W))


def test_linear_functions_are_transposed() -> None:
    product = jit(lambda x, w, y: (x @ w + y @ w, y * 2, jnp.zeros(3)))
    back = jax.linear_transpose(lambda x, y: product(x, W, y), X, X)
    given = random(4, 8), X, np.ones(3, np.float32)
    agree(back(given), (given[0] @ W.T, given[0] @ W.T + 2 * X))


def test_without_jit_the_function_runs_as_it_is() -> None:
    def function(x: Any) -> Any:
        return layer(x, W) if x[0, 0] == X[0, 0] else x

    for weights in ("plain", "constant"):
        with jax.disable_jit():
            agree(jit(function, weights=weights)(X), layer(X, W))


def test_errors_name_the_function_and_its_argument() -> None:
    def chosen(tree: Any, scale: float) -> Any:
        return tree["x"] if tree["x"].sum() > scale else tree

    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"chosen at .*tree\['x'\]"):
        jit(chosen)({"x": X}, 1.0)
    with pytest.raises(TypeError, match=r"test_jax_uses.py:\d+ .* returned a value of type"):
        jit(lambda x: f"{layer(x, W)}")(X)


def test_what_runs_on_several_devices_is_left_to_jax() -> None:
    rows, whole = PartitionSpec("rows"), PartitionSpec()
    mesh = AbstractMesh((2,), ("rows",), axis_types=(AxisType.Auto,))
    spread = jax.shard_map(layer, mesh=mesh, in_specs=(rows, whole), out_specs=rows)
    function = jit(lambda x, w: lax.fori_loop(0, 3, lambda _, x: spread(x, w), x))
    function.trace(X, random(6, 6))
    (report,) = morello.jax.report(function)
    assert "runs on several devices; put jax.shard_map around" in report.note


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="arrays do not vary before JAX 0.6")
def test_functions_on_each_device_have_kernels() -> None:
    """Also loops, whose steps have to return arrays that vary as those that they are given."""
    rows, whole = PartitionSpec("rows"), PartitionSpec()
    mesh = Mesh(np.array(jax.devices()[:1]), ("rows",))

    def looped(x: Any, w: Any, times: Any) -> Any:
        steps = lax.fori_loop(0, times, lambda _, x: layer(x, w), x)
        return lax.scan(lambda x, _: (layer(x, w), x.sum()[None]), steps, length=2)

    def slope(x: Any, w: Any, times: Any) -> Any:
        return jax.grad(lambda x: layer(x, w).sum())(x) * times

    w, times = random(6, 6), np.int32(3)
    for function, results in ((looped, (rows, PartitionSpec(None, "rows"))), (slope, rows)):
        compiled = jit(function)
        spread = partial(jax.shard_map, mesh=mesh, in_specs=(rows, whole, whole))
        agree(spread(compiled, out_specs=results)(X, w, times), function(X, w, times))
        assert sum(report.kernel_count for report in morello.jax.report(compiled))

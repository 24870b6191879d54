"""Weights that are passed to functions of JAX again: packed, and told apart by identity."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from tests.doors.test_jax import UNVERIFIED, agree
from tests.importers.test_stablehlo import random
from tests.support import in_threads
from tests.waiting import PATIENCE_S

import morello.jax
from morello.base.errors import SpecError
from morello.frameworks import jax_weights
from morello.frameworks.jax_models import model_of
from morello.frameworks.jax_programs import JaxProgram

jit = partial(morello.jax.jit, **{"weights": "constant", **UNVERIFIED})

X = random(8, 96)

EXITS = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import jax.numpy as jnp

import morello.jax
from morello.frameworks import jax_weights

begun = Event()


def compiled_forever(graph, options):
    ended = Event()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(ended.wait)
        begun.set()
        try:
            while True:
                options["progress"](0, 0)
        finally:
            ended.set()


jax_weights._calls_before = lambda _: 2.0
jax_weights.model_of = compiled_forever
function = morello.jax.jit(lambda x, w: jnp.tanh(x @ w), gap=1.0)
x, w = jnp.ones((8, 96)), jnp.ones((96, 256))
while not begun.is_set():
    function(x, w)
"""
"""A program that ends while weights are packed."""


@pytest.fixture(autouse=True)
def any_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a wide gap need not be faster with packed weights."""
    monkeypatch.setattr(jax_weights, "LEAST_GAIN", -10.0)


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[weakref.ref[Any]]]:
    """Weak references to what is packed for programs."""
    made: list[weakref.ref[Any]] = []

    class Recorded(jax_weights._Contents):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(weakref.ref(self))

    monkeypatch.setattr(jax_weights, "_Contents", Recorded)
    yield made


def weights(seed: int = 0) -> dict[str, Any]:
    return {"up": random(96, 256, seed=seed) / 10, "bias": random(256, seed=seed),
            "down": random(256, 96, seed=seed) / 10}  # fmt: skip


def layer(x: Any, w: dict[str, Any]) -> Any:
    return x + jax.nn.relu(x @ w["up"] + w["bias"]) @ w["down"]


def packed(function: Any) -> list[str]:
    """The heads of the reports of programs with packed weights."""
    return [text for each in morello.jax.report(function) if "packed" in (text := str(each))]


def finish_packing() -> None:
    """Wait for the threads that pack weights."""
    for thread in threading.enumerate():
        if thread.name == jax_weights.THREAD:
            thread.join()


def call_until_due(function: Any, w: dict[str, Any]) -> None:
    """Call a function until its weights are packed, by another thread: here after 100 calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax_weights, "_calls_before", lambda _: 100.0)
        for _ in range(3):
            function(X, w)
    assert packed(function) == []
    for _ in range(100):
        function(X, w)


def test_weights_are_packed_once_calls_took_as_long_as_that_is_expected_to_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That is 2 searches of 0.1 seconds, or as long as the first compilation."""
    waits: list[float] = []
    calls_before = jax_weights._calls_before

    def recorded(program: JaxProgram) -> float:
        waits.append(calls_before(program))
        return waits[-1]

    monkeypatch.setattr(jax_weights, "_calls_before", recorded)
    function, w = morello.jax.jit(layer, **UNVERIFIED), weights()
    for _ in range(3):
        function(X, w)
    (report,) = morello.jax.report(function)
    assert waits == [pytest.approx(max(0.2, report.compiling.whole) / report.seconds)]


def test_weights_that_are_passed_again_are_packed() -> None:
    function, w = jit(layer), weights()
    agree(function(X, w), layer(X, w))
    assert packed(function) == []
    for n in range(3):
        x = random(8, 96, seed=n)
        agree(function(x, w), layer(x, w))
    (report,) = packed(function)
    assert report.startswith("(float32[8,96], packed float32[256], packed float32[256,9")


def test_weak_types_stay_beside_packed_weights() -> None:
    def function(x: Any, w: dict[str, Any]) -> Any:
        return layer(x, w), lax.fori_loop(0, 3, lambda _, n: n + 1, 0)

    compiled, w = jit(function), weights()
    for _ in range(3):
        assert [each.weak_type for each in compiled(X, w)] == [False, True]
    assert len(packed(compiled)) == 1


def test_the_same_weights_serve_other_shapes() -> None:
    function, w = jit(layer), weights()
    for rows in (8, 8, 3, 3, 8, 3):
        x = random(rows, 96)
        agree(function(x, w), layer(x, w))
    assert len(packed(function)) == 2


def test_a_changed_weight_changes_the_result() -> None:
    function, w = jit(layer), weights()
    for _ in range(3):
        function(X, w)
    for n in range(3):
        w = {**w, "up": w["up"].at[0].add(1.0 + n)}
        agree(function(X, w), layer(X, w))
        agree(function(X, w), layer(X, w))


def test_sets_of_weights_take_turns() -> None:
    function, sets = jit(layer), [weights(1), weights(2)]
    for _ in range(4):
        for w in sets:
            agree(function(X, w), layer(X, w))
    assert len(packed(function)) == 2


def test_weights_that_change_with_each_call_are_never_packed() -> None:
    function, w = jit(layer), weights()
    for _ in range(jax_weights.MOST_WITHOUT + 4):
        w = jax.tree.map(lambda each: each * 0.99, w)
        result = function(X, w)
    agree(result, layer(X, w))
    function(X, w)
    agree(function(X, w), layer(X, w))
    assert packed(function) == []


def test_weights_that_seldom_stay_are_packed_a_few_times() -> None:
    function, w = jit(layer), weights()
    for _ in range(jax_weights.MOST_IN_VAIN + 3):
        w = jax.tree.map(lambda each: each * 0.99, w)
        for _ in range(3):
            agree(function(X, w), layer(X, w))
    assert len(packed(function)) <= jax_weights.MOST_IN_VAIN + 1


def test_what_is_packed_is_freed_with_the_weights(contents: list[weakref.ref[Any]]) -> None:
    function, w = jit(layer), weights()
    for _ in range(3):
        result = function(X, w)
    assert [each() is not None for each in contents] == [True]
    arrays = [weakref.ref(each) for each in contents[0]().packed]  # type: ignore[union-attr]
    result.block_until_ready()
    del w["up"]
    gc.collect()
    assert {each() for each in (*contents, *arrays)} == {None}


def test_deleted_weights_are_refused_and_given_ones_are_not_packed() -> None:
    function, w = jit(layer), weights()
    step = jax.jit(lambda w: jax.tree.map(lambda each: each * 0.5, w), donate_argnums=0)
    for _ in range(3):
        agree(function(X, w), layer(X, w))
        agree(function(X, w), layer(X, w))
        before, w = w, step(w)
        if before["up"].is_deleted():
            with pytest.raises((RuntimeError, ValueError), match="deleted"):
                function(X, before)
        agree(function(X, w), layer(X, w))


def test_weights_of_loops_are_packed_and_freed(contents: list[weakref.ref[Any]]) -> None:
    def function(x: Any, w: dict[str, Any]) -> Any:
        return lax.while_loop(lambda x: jnp.abs(x).max() < 1e3, lambda x: layer(x, w), x)

    compiled, w = jit(function), weights()
    expected = jax.jit(function)(X, w)
    for _ in range(3):
        agree(compiled(X, w), expected, 1e-3)
    assert "packed float32[256,96]" in packed(compiled)[0]
    assert len([each for each in contents if each()]) == 1
    del w
    gc.collect()
    assert [each() for each in contents] == [None]


def test_within_programs_of_jax_weights_are_arguments() -> None:
    function, w = jit(layer), weights()
    for _ in range(2):
        function(X, w)
    agree(jax.jit(lambda x: function(x, w) + function(x, w))(X), 2 * layer(X, w))
    agree(
        jax.grad(lambda w: function(X, w).sum())(w), jax.grad(lambda w: layer(X, w).sum())(w), 1e-3
    )
    xs = random(2, 8, 96)
    agree(jax.vmap(function, (0, None))(xs, w), layer(xs, w))


def test_other_arguments_are_as_they_were_traced() -> None:
    def scaled(tree: Any, w: Any, kind: str, n: int, scale: float = 1.0) -> Any:
        y = tree["x"] @ w["up"] * scale + n
        return {"y": y.sum() if kind == "sum" else y, "none": None}

    function, w = jit(scaled, static_argnames="kind"), weights()
    for kind, n, scale in [("sum", 1, 2.0), ("sum", 2, 3.0), ("all", 3, 1.5), ("all", 4, 0.5)] * 2:
        agree(
            function({"x": X}, w, kind, n, scale=scale), scaled({"x": X}, w, kind, n, scale), 1e-3
        )
    for k in range(3):
        x = np.asarray(X) + k
        agree(function({"x": x}, w, "all", 1), scaled({"x": X + k}, w, "all", 1))
    assert len(packed(function)) >= 2


def test_a_cleared_cache_forgets_what_was_traced(contents: list[weakref.ref[Any]]) -> None:
    factor = 1.0
    function: Any = jit(lambda x, w: layer(x, w) * factor)
    w = weights()
    for _ in range(3):
        function(X, w)
    factor = 2.0
    function.clear_cache()
    gc.collect()
    assert [each() for each in contents] == [None]
    for _ in range(3):
        agree(function(X, w), 2 * layer(X, w), 1e-3)
    assert len(packed(function)) == 2


def test_images_are_no_weights() -> None:
    function = jit(lambda a, b: jnp.tanh(a @ b) @ b.T)
    a, b = random(96, 128), random(128, 256)
    for _ in range(4):
        agree(function(a, b), jnp.tanh(a @ b) @ b.T, 1e-3)
    for text in packed(function):
        assert "(float32[96,128], packed" in text


def test_weights_are_packed_once_that_would_have_been_worth_it() -> None:
    function, w = morello.jax.jit(layer, **UNVERIFIED), weights()
    call_until_due(function, w)
    finish_packing()
    assert len(packed(function)) == 1
    agree(function(X, w), layer(X, w))


def test_calls_go_on_while_weights_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def compiled_later(*arguments: Any) -> Any:
        begun.set()
        may_end.wait(PATIENCE_S)
        return model_of(*arguments)

    function, w = morello.jax.jit(layer, **UNVERIFIED), weights()
    function(X, w)
    monkeypatch.setattr(jax_weights, "model_of", compiled_later)
    call_until_due(function, w)
    assert begun.wait(PATIENCE_S)
    for _ in range(jax_weights.MOST_WITHOUT + 1):
        agree(function(X, w), layer(X, w))
    assert packed(function) == []
    may_end.set()
    finish_packing()
    agree(function(X, w), layer(X, w))
    assert len(packed(function)) == 1


def test_weights_of_several_functions_are_packed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_weights, "_calls_before", lambda _: 2.0)
    may_end, packing = threading.Event(), []

    def compiled_later(*arguments: Any) -> Any:
        packing.append(arguments)
        may_end.wait(PATIENCE_S)
        return model_of(*arguments)

    functions, w = [morello.jax.jit(layer, **UNVERIFIED) for _ in range(2)], weights()
    for function in functions:
        function(X, w)
    monkeypatch.setattr(jax_weights, "model_of", compiled_later)
    for function in 2 * functions:
        for _ in range(5):
            function(X, w)
    assert len(packing) == 1
    may_end.set()
    finish_packing()
    for function in functions:
        function(X, w)
        finish_packing()
        agree(function(X, w), layer(X, w))
        assert len(packed(function)) == 1


def compiled_forever(graph: Any, options: Any) -> Any:
    while True:
        options["progress"](0, 0)


def test_weights_that_are_freed_while_they_are_packed(
    monkeypatch: pytest.MonkeyPatch, contents: list[weakref.ref[Any]]
) -> None:
    function, w = morello.jax.jit(layer, **UNVERIFIED), weights()
    function(X, w)

    monkeypatch.setattr(jax_weights, "model_of", compiled_forever)
    call_until_due(function, w)
    del w["up"]
    gc.collect()
    finish_packing()
    assert contents == packed(function) == []


def test_threads_that_pack_end_when_the_function_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    function: Any = morello.jax.jit(layer, **UNVERIFIED)
    w = weights()
    function(X, w)

    monkeypatch.setattr(jax_weights, "model_of", compiled_forever)
    call_until_due(function, w)
    function.clear_cache()
    finish_packing()
    assert packed(function) == []


def test_no_process_waits_for_weights_to_be_packed() -> None:
    """Not even while they are packed with other threads, as kernels are compiled."""
    subprocess.run([sys.executable, "-c", EXITS], check=True, timeout=PATIENCE_S)


def test_weights_are_packed_in_contexts_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_weights, "_calls_before", lambda _: 2.0)
    with jax.enable_x64(True):
        steps = np.arange(2, 258, dtype=np.int64) << 40

        def counted(x: Any, w: dict[str, Any], n: Any) -> Any:
            return layer(x, w), n * steps

        function, w, n = morello.jax.jit(counted, **UNVERIFIED), weights(), jnp.arange(256)
        for _ in range(5):
            function(X, w, n)
        finish_packing()
        assert len(packed(function)) == 1
        agree(function(X, w, n), counted(X, w, n))


def test_plain_weights_are_never_packed() -> None:
    function, w = jit(layer, weights="plain"), weights()
    for _ in range(3):
        agree(function(X, w), layer(X, w))
    assert packed(function) == []
    with pytest.raises(SpecError, match="plain or constant"):
        jit(layer, weights="plane")


def test_threads_may_call_with_packed_weights() -> None:
    function, sets = jit(layer), [weights(1), weights(2)]
    expected = [layer(X, w) for w in sets]
    failed: list[int] = []

    def work(number: int) -> None:
        for n in range(30):
            which = (number + n // 5) % 2
            if not np.allclose(function(X, sets[which]), expected[which], 1e-4, 1e-4):
                failed.append(number)

    in_threads(work, 4)
    assert failed == []

"""Functions of JAX on kernels: the values are those of `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax
from tests.importers.test_stablehlo import (
    FUNCTIONS_IN_USE,
    IMAGE,
    Function,
    X,
    Y,
    block,
    random,
    weights,
)
from tests.models.test_threads import program
from tests.sampling import some
from tests.support import in_threads

import morello
import morello.jax
from morello.base.errors import CallError
from morello.frameworks.xla import TARGET, SegmentCall
from morello.memo.program_table import ProgramTable

OPTIONS: Any = {"budget": 0.1, "gap": 1.0, "table": ProgramTable(":memory:")}
"""Any program will do, and one that was found before does again."""

UNVERIFIED: Any = {**OPTIONS, "verify": False}
"""The options of functions whose results tests compare with JAX's themselves."""

jit = partial(morello.jax.jit, **UNVERIFIED)

W, BIAS = random(6, 8), random(8)


def layer(x: Any, w: Any, b: Any) -> Any:
    return jax.nn.gelu(x @ w + b)


def agree(result: Any, expected: Any, tolerance: float = 1e-4) -> None:
    assert jax.tree.structure(result) == jax.tree.structure(expected)
    leaves = (map(np.asarray, jax.tree.leaves(each)) for each in (result, expected))
    for ours, theirs in zip(*leaves, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        wide = np.complex128 if ours.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), tolerance, tolerance)


def compared(function: Function, *args: Any, tolerance: float = 1e-4, **keywords: Any) -> str:
    """The report of a function, after its values were compared with JAX's."""
    compiled = jit(function)
    agree(compiled(*args, **keywords), jax.jit(function)(*args, **keywords), tolerance)
    return "\n".join(map(str, morello.jax.report(compiled)))


@pytest.mark.parametrize("name", some(sorted({*FUNCTIONS_IN_USE} - {"one_hot"}), 6))
def test_a_function_computes_what_jax_does(name: str) -> None:
    function, arrays = FUNCTIONS_IN_USE[name]
    assert "predicted" in compared(function, *arrays)


@pytest.mark.parametrize("dtype", some([jnp.bfloat16, np.float32], 2))
def test_a_transformer_block_runs_on_kernels(dtype: Any) -> None:
    x, w = random(1, 4, 24, dtype=dtype), weights(24, dtype)
    report = compared(block, x, w, tolerance=1e-4 if dtype == np.float32 else 0.1)
    assert "foreign" not in report


def counted(x: Any) -> Any:
    """A loop whose body calls another function, and a branch that reads values from outside."""
    y = jnp.tanh(x @ x.T)
    turned = lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) > 1, lambda c: jax.nn.relu(c) * 0.5, y)
    branch = lax.cond(y[0, 0] > 0, lambda: y @ turned, lambda: y - turned)
    narrow = lax.reduce_precision(branch, 5, 10)
    return narrow, lax.top_k(branch, 2), branch.at[0].multiply(2.0), branch.argmax()


def test_what_no_kernel_computes_stays_with_jax() -> None:
    report = compared(counted, X)
    for name in ("while", "case", "reduce_precision", "scatter"):
        assert f"foreign {name}" in report


class Pair(NamedTuple):
    first: Any
    second: Any


def test_arguments_and_results_are_pytrees() -> None:
    def function(pair: Pair, *, tree: dict[str, Any], scale: float = 2.0) -> Any:
        y = layer(pair.first, *pair.second) * scale
        return {"y": [y, None], "pair": Pair(y.sum(), tree["x"])}

    report = compared(function, Pair(X, (W, BIAS)), tree={"x": Y, "none": None}, scale=3.0)
    assert "predicted" in report


def test_static_arguments_are_part_of_the_program() -> None:
    def function(x: Any, axis: int, kind: str, twice: bool = False) -> Any:
        result = {"softmax": jax.nn.softmax, "max": jnp.max}[kind](x, axis=axis)
        return result * 2 if twice else result

    compiled = jit(function, static_argnums=(1, 2), static_argnames="twice")
    for case in ((0, "softmax"), (1, "softmax"), (1, "max")):
        agree(compiled(X, *case), function(X, *case))
    agree(compiled(X, 1, "max", twice=True), function(X, 1, "max", twice=True))
    agree(compiled(X, 1, "max", twice=True), function(X, 1, "max", twice=True))
    assert len(morello.jax.report(compiled)) == 4


def test_it_is_a_decorator() -> None:
    @morello.jax.jit
    def double(x: Any) -> Any:
        return x * 2 + x

    @morello.jax.jit(static_argnums=1, **UNVERIFIED)
    def power(x: Any, n: int) -> Any:
        return x**n + x

    assert double.__name__ == "double"
    agree(double(X), X * 3)
    agree(power(X, 2), X**2 + X)


def test_it_works_within_programs_of_jax() -> None:
    compiled = jit(layer)
    agree(jax.jit(lambda x: compiled(x, W, BIAS) + 1)(X), layer(X, W, BIAS) + 1)
    square = jit(lambda x: jnp.tanh(x @ x))
    start = random(4, 4)
    _, ours = lax.scan(lambda c, _: (square(c), c), start, None, 3)
    _, theirs = lax.scan(lambda c, _: (jnp.tanh(c @ c), c), start, None, 3)
    agree(ours, theirs)


def test_a_batch_is_compiled_as_a_whole() -> None:
    compiled = jit(layer)
    xs = random(3, 4, 6)
    agree(jax.vmap(compiled, (0, None, None))(xs, W, BIAS), layer(xs, W, BIAS))
    assert "float32[3,4,6]" in str(morello.jax.report(compiled)[-1])
    nested = jax.vmap(jax.vmap(compiled, (0, None, None)), (None, None, 0))
    agree(nested(xs, W, random(2, 8)), jnp.stack([layer(xs, W, b) for b in random(2, 8)]))


def test_derivatives_are_jaxs() -> None:
    def loss(function: Function, x: Any, w: Any, b: Any) -> Any:
        return jnp.sum(function(x, w, b) ** 2)

    compiled = jit(layer)
    ours, theirs = partial(loss, compiled), partial(loss, layer)
    for derive in (
        jax.grad,
        jax.hessian,
        partial(jax.value_and_grad, argnums=(0, 1, 2)),
        lambda f: jax.vmap(jax.grad(f), (None, None, 0)),
        lambda f: jax.grad(lambda *a: jax.vmap(f, (None, None, 0))(*a).sum()),
    ):
        b = BIAS if derive in (jax.grad, jax.hessian) or isinstance(derive, partial) else None
        args = (X, W, random(2, 8) if b is None else b)
        agree(jax.jit(derive(ours))(*args), derive(theirs)(*args))
    agree(jax.jvp(compiled, (X, W, BIAS), (Y, W, BIAS)), jax.jvp(layer, (X, W, BIAS), (Y, W, BIAS)))


def test_integers_have_no_derivatives() -> None:
    def rows(x: Any, numbers: Any) -> Any:
        return jnp.tanh(x[numbers] @ x.T).sum()

    numbers = np.array([0, 3])
    agree(jax.grad(jit(rows))(X, numbers), jax.grad(rows)(X, numbers))


NOTES: dict[str, tuple[Function, tuple[Any, ...], str]] = {
    "callbacks": (
        lambda x: jax.pure_callback(np.sin, x, x) @ x.T, (X,), "custom_call cannot stand alone",
    ),
    "complex": (lambda x: lax.complex(x, x), (X,), "no kernel computes any of it"),
    "complex numbers": (
        lambda x: lax.complex(x, x) * 1j + jnp.tanh(x), (X,), "a kernel would save less",
    ),
    "effects": (
        lambda x: [jax.debug.print("{}", x[0, 0]), jnp.tanh(x @ x.T)][1], (X,), "side effects",
    ),
    "keys": (lambda key: jax.random.normal(key, (4,)), (jax.random.key(0),), "key<fry>"),
    "nothing": (lambda x: x, (X,), "no kernel computes any of it"),
    "none": (lambda: jnp.arange(4), (), "no kernel computes any of it"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_what_is_no_graph_is_left_to_jax_with_a_note(name: str) -> None:
    function, arrays, note = NOTES[name]
    report = compared(function, *arrays)
    assert "JAX computes all of it" in report
    assert note in report


def test_results_of_weak_types_stay_weak() -> None:
    def function(x: Any, n: Any) -> Any:
        return x @ x.T, n * 2

    compiled = jit(function)
    for each in (compiled, jax.jit(compiled), jax.jit(function)):
        assert [(y.dtype, y.weak_type) for y in each(X, 3.0)] == [(X.dtype, False), (X.dtype, True)]
    assert "left to JAX" not in str(morello.jax.report(compiled)[0])


def test_random_numbers_are_computed_by_kernels() -> None:
    def function(key: Any, x: Any) -> Any:
        return jax.random.uniform(key, x.shape) + x @ x.T @ x

    report = compared(function, jax.random.PRNGKey(0), X)
    assert "left to JAX" not in report and "JAX computes" not in report


def test_a_mistake_of_the_compiler_leaves_the_function_to_jax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("morello.frameworks.jax_models.compile_graph", failing)
    function = jit(jnp.exp)
    agree(function(X), np.exp(X))
    (report,) = morello.jax.report(function)
    assert report.note == "the compiler failed with KeyError('lost')"


def test_arrays_of_the_function_around_are_read_by_jax() -> None:
    inner: list[Any] = []

    def outer(x: Any) -> Any:
        inner.append(jit(lambda w: jnp.tanh(x @ w)))
        return inner[-1](W)

    agree(jax.jit(outer)(X), jnp.tanh(X @ W))
    assert "pass them as arguments" in str(morello.jax.report(inner[-1])[0])


def test_wide_numbers_are_computed_by_jax() -> None:
    with jax.enable_x64(True):
        x = np.asarray(X, np.float64)
        compiled = jit(lambda x, y: (jnp.exp(x), jnp.tanh(y @ y.T)))
        wide, narrow = compiled(x, X)
        assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(wide, np.exp(x), 1e-14)


def test_errors_are_jaxs() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jit(lambda x: x if x[0, 0] > 0 else -x)(X)
    with pytest.raises(TypeError, match="contracting"):
        jit(lambda x: x @ x)(X)
    with pytest.raises(morello.MorelloError, match="unknown target"):
        morello.jax.jit(lambda x: x @ x.T, target="abacus")(X)
    with pytest.raises(CallError, match="no report"):
        morello.jax.report(jax.jit(lambda x: x))
    with pytest.raises(CallError, match=r"morello\.jax\.jit takes a function, not 3"):
        morello.jax.jit(3)  # type: ignore[call-overload]


def test_constants_are_packed() -> None:
    constant = np.asarray(random(96, 64))
    x = random(8, 96)
    assert "predicted" in compared(lambda x: jax.nn.relu(x @ constant), x)


def test_threads_may_call_at_once() -> None:
    compiled = jit(lambda x: jax.nn.softmax(jnp.tanh(x @ x.T)) @ x)
    inputs = [random(16, 16, seed=n) for n in range(8)]
    expected = [jax.nn.softmax(jnp.tanh(x @ x.T)) @ x for x in inputs]
    compiled(inputs[0])
    failed = []

    def work(number: int) -> None:
        for _ in range(50):
            if not np.allclose(compiled(inputs[number]), expected[number], 1e-4, 1e-4):
                failed.append(number)

    in_threads(work, 8)
    assert failed == []


def test_kernels_run_on_the_threads_of_xla() -> None:
    x = random(12, 16)
    (segment,) = program().segments
    call = jax.jit(SegmentCall(segment))
    for _ in range(20):
        agree(call(x)[0], segment(x)[0])


def test_a_number_of_another_process_is_refused() -> None:
    jit(layer)(X, W, BIAS)
    stale = jax.ffi.ffi_call(TARGET, (X, jax.ShapeDtypeStruct((0,), np.uint8)))
    for number in (0, -1, 2**62):
        with pytest.raises(jax.errors.JaxRuntimeError, match="compile it again"):
            stale(X, number=np.int64(number))
    with pytest.raises(jax.errors.JaxRuntimeError, match="no number"):
        stale(X)


KERNELS: dict[str, tuple[str, Callable[..., Any], tuple[Any, ...]]] = {
    "plain": ("relu(f32[4,6] @ f32[6,8])", lambda x, w: jax.nn.relu(x @ w), (X, W)),
    "column_major": ("f32[4,6]{0,1} @ f32[6,8]{0,1}", lambda x, w: x @ w, (X, W)),
    "bfloat16": (
        "bf16[4,6] @ bf16[6,8] -> bf16[4,8]", lambda x, w: x @ w,
        (X.astype(jnp.bfloat16), W.astype(jnp.bfloat16)),
    ),
    "conv": (
        "conv(f32[2,9,8,4]{0,3,1,2}, f32[6,9,3,2])",
        lambda x, k: lax.conv(x, k, (1, 1), "VALID"), (IMAGE, random(6, 9, 3, 2)),
    ),
    "integers": (
        "i8[4,6] @ i8[6,8] -> i32[4,8]",
        lambda x, w: lax.dot(x, w, preferred_element_type=jnp.int32),
        (random(4, 6, dtype=np.int8), random(6, 8, dtype=np.int8)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(KERNELS, 2))
def test_a_kernel_is_a_function_of_jax(name: str) -> None:
    expression, function, arrays = KERNELS[name]
    tolerance = 1e-2 if name == "bfloat16" else 1e-4
    kernel = morello.jax.call(expression, **OPTIONS)
    agree(kernel(*arrays), function(*arrays), tolerance)
    agree(jax.jit(lambda *a: kernel(*a) * 2)(*arrays), function(*arrays) * 2, tolerance)
    batched = [jnp.stack([array, array + 1]) for array in arrays]
    agree(jax.vmap(kernel)(*batched), jax.vmap(function)(*batched), tolerance)


def test_a_kernel_takes_packed_weights() -> None:
    kernel = morello.compile("f32[4,96] @ f32[96,64]", weights="constant", **OPTIONS)
    x, w = random(4, 96), random(96, 64)
    name = kernel.arguments[1].name
    agree(morello.jax.call(kernel)(x, kernel.pack(name, np.asarray(w))), x @ w)


def test_a_kernel_is_given_a_derivative_by_its_user() -> None:
    kernel = morello.jax.call("f32[4,6] @ f32[6,8]", **OPTIONS)
    product = jax.custom_vjp(kernel)
    product.defvjp(
        lambda x, w: (kernel(x, w), (x, w)), lambda kept, g: (g @ kept[1].T, kept[0].T @ g)
    )
    agree(
        jax.grad(lambda x: jnp.sin(product(x, W)).sum())(X),
        jax.grad(lambda x: jnp.sin(x @ W).sum())(X),
    )


def test_a_kernel_refuses_other_arrays() -> None:
    kernel = morello.jax.call("f32[4,6] @ f32[6,8]", **OPTIONS)
    with pytest.raises(CallError, match=r"float32\[6, 4\] is given"):
        kernel(X.T, W)
    with pytest.raises(CallError, match="bfloat16"):
        kernel(X.astype(jnp.bfloat16), W)
    with pytest.raises(CallError, match="1 arrays are given"):
        kernel(X)
    with pytest.raises(CallError, match="has gaps"):
        morello.jax.call("f32[4,6]{1,0}S(7,1) + f32[4,6]", **OPTIONS)

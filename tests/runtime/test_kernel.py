from __future__ import annotations

import gc
import inspect
import sys
import threading
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.kernels import MATMUL, NOTHING, K, M, N, compile_kernel, matmul_arguments
from tests.waiting import PATIENCE_S

from morello.base.errors import BuildError, CallError
from morello.ir.dtype import BF16, F16, F32, I8, U8, U16, DType
from morello.runtime.argument import Argument, Array, argument, row_major_strides
from morello.runtime.kernel import CompiledKernel


@pytest.fixture
def a() -> Array:
    return np.random.default_rng(0).standard_normal((M, K), np.float32)


@pytest.fixture
def b() -> Array:
    return np.random.default_rng(1).standard_normal((K, N), np.float32)


@pytest.fixture
def out() -> Array:
    return np.full((M, N), np.nan, np.float32)


def test_every_way_to_call(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    new = matmul(a, b)
    assert isinstance(new, np.ndarray)
    assert new.dtype == np.float32
    np.testing.assert_allclose(new, a @ b, rtol=1e-5)
    assert matmul(a, b, out=out) is out
    np.testing.assert_array_equal(out, new)
    out[...] = 0
    assert matmul(a, b, out) is out
    np.testing.assert_array_equal(out, new)
    np.testing.assert_array_equal(matmul(a, b, None), new)
    np.testing.assert_array_equal(matmul(a, b, out=None), new)
    np.testing.assert_array_equal(matmul.fast(a, b), new)
    matmul.bare(a.ctypes.data, b.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(out, new)


def test_repr(matmul: CompiledKernel) -> None:
    text = "<CompiledKernel kernel(a: f32[5,7] row-major, b: f32[7,6] row-major) -> c: f32[5,6] "
    assert repr(matmul) == text + "row-major>"


def test_anything_with_a_buffer(matmul: CompiledKernel, a: Array, b: Array) -> None:
    expected = matmul(a, b)
    memory = memoryview(array("f", a.ravel().tolist())).cast("B").cast("f", (M, K))
    np.testing.assert_array_equal(matmul(memory, b), expected)
    a.flags.writeable = False
    np.testing.assert_array_equal(matmul(a, b), expected)
    np.testing.assert_array_equal(matmul(a.astype("=f4"), b), expected)


def refused(call: Callable[..., object], *args: object, **keywords: object) -> str:
    """The message of the `CallError` that the call must raise."""
    # Not `pytest.raises`, which keeps memory of its own and would look like a leak.
    try:
        call(*args, **keywords)
    except CallError as error:
        return str(error)
    pytest.fail("the call was accepted")


def test_number_of_arrays(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    few = "expected 2 inputs and perhaps an output, got 1 arrays; call kernel(a, b, out=None)."
    assert refused(matmul, a) == few
    assert "got 0 arrays" in refused(matmul)
    assert "got 1 arrays" in refused(matmul, a, out=out)
    assert "got 4 arrays" in refused(matmul, a, b, out, out)
    assert "by position and out as well" in refused(matmul, a, b, out, out=out)
    assert "unexpected keyword 'b'" in refused(matmul, a, b=b)
    assert "unexpected keyword 'c'" in refused(matmul, a, b, c=out)
    assert "unexpected keyword 'x'" in refused(matmul, a, b, out=out, x=1)


def test_wrong_dtype(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    assert refused(matmul, a, b.astype("f8")) == (
        "argument b: expected f32[7,6] row-major, got float64[7,6] row-major; "
        "convert with b.astype('float32')."
    )
    assert "got int32[5,7]" in refused(matmul, a.view("i4"), b)
    assert "got byte-swapped float32[5,7]" in refused(matmul, a.astype(">f4"), b)
    assert "got object[5,7]" in refused(matmul, a.astype(object), b)
    assert "got datetime64[s][5,7]" in refused(matmul, np.zeros((M, K), "M8[s]"), b)
    assert refused(matmul, a, b, out=np.empty((M, N))) == (
        "out: expected f32[5,6] row-major, got float64[5,6] row-major; "
        "pass np.empty((5, 6), 'float32'), or omit out."
    )


def test_its_signature_has_its_arguments(matmul: CompiledKernel) -> None:
    assert str(inspect.signature(matmul)) == "(a, b, /, out=None)"
    assert "release_gil" in str(inspect.signature(CompiledKernel))


def test_not_an_array(matmul: CompiledKernel, a: Array, b: Array) -> None:
    assert refused(matmul, a.tolist(), b) == (
        "argument a: expected f32[5,7] row-major, got an object of type list; "
        "convert with np.asarray(a, dtype='float32')."
    )
    assert "got an object of type NoneType" in refused(matmul, a, None)
    assert "got an object of type pathlib." in refused(matmul, a, Path())
    assert "so pass a.detach()." in refused(matmul, SimpleNamespace(requires_grad=True), b)
    traced = type("Tracer", (), {})
    assert "call morello.jax.call(kernel)." in refused(matmul, traced(), b)
    message = refused(matmul, a, b, out=7)
    assert message.endswith("of type int; pass np.empty((5, 6), 'float32'), or omit out.")


def test_wrong_shape(matmul: CompiledKernel, a: Array, b: Array) -> None:
    assert refused(matmul, b, a) == (
        "argument a: expected f32[5,7] row-major, got float32[7,6] row-major; "
        "pass an array of shape (5, 7)."
    )
    assert "got float32[35] row-major" in refused(matmul, a.ravel(), b)
    assert "got float32[] row-major" in refused(matmul, np.float32(1), b)
    assert "got float32[0,7]" in refused(matmul, a[:0], b)


def test_wrong_strides(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    assert refused(matmul, np.asfortranarray(a), b) == (
        "argument a: expected f32[5,7] row-major, got float32[5,7] column-major; "
        "convert with np.ascontiguousarray(a)."
    )
    wide = np.zeros((M, 2 * K), np.float32)
    assert "with strides (14, 1);" in refused(matmul, wide[:, :K], b)
    assert "with strides (14, 2);" in refused(matmul, wide[:, ::2], b)
    assert "with strides (-7, 1);" in refused(matmul, a[::-1], b)
    assert "with strides (0, 1);" in refused(matmul, np.broadcast_to(a[0], a.shape), b)
    records = np.zeros((M, K), np.dtype([("pad", "u1"), ("x", "f4")]))
    assert "strides of (35, 5) bytes" in refused(matmul, records["x"], b)
    message = refused(matmul, a, b, out=np.empty((N, M), np.float32).T)
    assert message.endswith("column-major; pass np.empty((5, 6), 'float32'), or omit out.")


def test_misaligned(matmul: CompiledKernel, a: Array, b: Array) -> None:
    memory = np.zeros(M * K * 4 + 1, np.uint8)
    crooked = memory[1:].view(np.float32).reshape(M, K)
    assert refused(matmul, crooked, b) == (
        "argument a: expected f32[5,7] row-major, got float32[5,7] row-major at a misaligned "
        "address; align it with a.copy()."
    )
    straight = np.zeros(M * K + 1, np.float32)[1:].reshape(M, K)
    matmul(straight, b)


def test_read_only_output(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    out.flags.writeable = False
    assert refused(matmul, a, b, out=out) == (
        "out is read-only; pass np.empty((5, 6), 'float32'), or omit out."
    )


def test_aliased_output(matmul: CompiledKernel) -> None:
    memory = np.zeros(1000, np.float32)
    a, b = memory[: M * K].reshape(M, K), memory[500 : 500 + K * N].reshape(K, N)
    for start in (M * K, 500 - M * N):  # right after a, right before b
        matmul(a, b, out=memory[start : start + M * N].reshape(M, N))
    overlapping = memory[M * K - 1 : M * K - 1 + M * N].reshape(M, N)
    message = refused(matmul, a, b, out=overlapping)
    assert message.startswith("out shares memory with argument a, ")
    before = memory[500 - M * N + 1 : 501].reshape(M, N)
    assert "with argument b, " in refused(matmul, a, b, out=before)


def test_no_reference_leaks(matmul: CompiledKernel, a: Array, b: Array, out: Array) -> None:
    wrong = b.astype("f8")
    # What NumPy remembers of an exported buffer it remembers from the first time on.
    objects = (a, b, out, wrong, None, matmul.fast)
    calls = (
        lambda: matmul(a, b, out=out),
        lambda: matmul(a, b, out),
        lambda: matmul(a, b),
        lambda: matmul(a, b, out=None),
        lambda: refused(matmul, a, wrong, out=out),
        lambda: refused(matmul, a, b, out=wrong),
        lambda: refused(matmul, a, b, out=a),
        lambda: refused(matmul, a),
        lambda: refused(matmul, a, b, out=out, x=1),
    )
    for call in calls:
        call()
        gc.collect()
        before = [sys.getrefcount(thing) for thing in objects]
        blocks = sys.getallocatedblocks()
        for _ in range(200):
            call()
        gc.collect()
        grown = [sys.getrefcount(t) - n for t, n in zip(objects, before, strict=True)]
        assert all(abs(n) < 20 for n in grown), grown
        assert sys.getallocatedblocks() - blocks < 150


def test_buffers_are_released(matmul: CompiledKernel, a: Array) -> None:
    memory = bytearray(M * K * 4)
    matmul(memoryview(memory).cast("f", (M, K)), np.zeros((K, N), np.float32))
    refused(matmul, memory, memory)
    memory.append(0)  # refused while anyone holds a buffer of it


def test_unloaded_with_the_last_reference(tmp_path: Path) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    kernel = compile_kernel(NOTHING, "kernel", matmul_arguments(), cache=tmp_path)
    name = str(kernel.library.path)
    fast = kernel.fast
    del kernel
    gc.collect()
    assert name in maps.read_text()
    fast(np.zeros((M, K), "f"), np.zeros((K, N), "f"))
    del fast
    gc.collect()
    assert name not in maps.read_text()


def test_other_threads_run_meanwhile() -> None:
    source = "void kernel(volatile float *a, float *b) { while (*a == 0); *b = *a; }"
    arguments = (argument("a", F32, (1,)), argument("b", F32, (1,), output=True))
    wait = compile_kernel(source, "kernel", arguments, release_gil=True)
    flag, out = np.zeros(1, np.float32), np.zeros(1, np.float32)
    thread = threading.Thread(target=wait, args=(flag, out), daemon=True)
    thread.start()
    flag[0] = 3
    thread.join(PATIENCE_S)
    assert out[0] == 3


@pytest.mark.parametrize("count", range(1, 9))
def test_number_of_pointers(count: int) -> None:
    names = [f"p{i}" for i in range(count)]
    total = " + ".join(f"{i + 2} * p{i}[0]" for i in range(count - 1)) or "1"
    parameters = ", ".join(f"float *{name}" for name in names)
    source = f"void kernel({parameters}) {{ {names[-1]}[0] = {total}; }}"
    arguments = [argument(name, F32, (1,)) for name in names[:-1]]
    arguments.append(argument(names[-1], F32, (1,), output=True))
    kernel = compile_kernel(source, "kernel", tuple(arguments))
    inputs = [np.array([10.0**i], np.float32) for i in range(count - 1)]
    expected = sum((i + 2) * 10.0**i for i in range(count - 1)) or 1.0
    assert kernel(*inputs)[0] == np.float32(expected)


def test_output_is_made_with_its_strides() -> None:
    shape = (300, 200)
    strides = {
        "row-major": (800, 4),
        "column-major": (4, 1200),
        "with strides (256, 1)": (1024, 4),
    }
    for name, steps in strides.items():
        kernel = compile_kernel(NOTHING, "one", (Argument("c", F32, shape, steps, output=True),))
        out = kernel()
        assert out.shape == shape
        assert out.strides == steps
        assert out.ctypes.data % 64 == 0
        assert name in repr(kernel)
        message = refused(kernel, out=np.empty((1, 1), np.float32))
        made = {"row-major": "'float32')", "column-major": "order='F')"}.get(name, "empty()")
        assert f"{made}, or omit out." in message


def test_no_memory_leaks_with_outputs_that_begin_with_a_line() -> None:
    kernel = compile_kernel(NOTHING, "one", (argument("c", F32, (300, 200), output=True),))
    kernel()
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        kernel()
    assert sys.getallocatedblocks() - blocks < 150


def test_what_no_kernel_can_have(tmp_path: Path) -> None:
    a, b, c = matmul_arguments()
    wrong: list[tuple[tuple[Argument, ...], str]] = [
        ((), "takes 1 to 8 arrays, this one 0"),
        ((a,) * 8 + (c,), "takes 1 to 8 arrays, this one 9"),
        ((a, b), "outputs must be its last arguments"),
        ((c, a), "outputs must be its last arguments"),
        ((argument("x", F32, (1,) * 9), c), "x has 9 dimensions"),
        ((Argument("x", F32, (2, 2), (4,)), c), "2 dimensions and 1 strides"),
        ((Argument("x", F32, (2,), (-4,)), c), "negative"),
    ]
    for arguments, message in wrong:
        with pytest.raises(BuildError, match=message):
            compile_kernel(NOTHING, "kernel", arguments)
    with pytest.raises(BuildError, match="defines no function 'absent'"):
        compile_kernel(NOTHING, "absent", (a, b, c))
    (tmp_path / "bad.so").write_text("not a shared object")
    with pytest.raises(BuildError, match=r"bad.so was built but cannot be loaded.*MORELLO_CACHE"):
        CompiledKernel(tmp_path / "bad.so", "kernel", (a, b, c))


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, and strides in bytes: a permuted order, some dimensions padded."""
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=4)))
    step = 4
    strides = [0] * len(shape)
    for dimension in draw(st.permutations(range(len(shape)))):
        strides[dimension] = step
        step *= shape[dimension] + draw(st.sampled_from([0, 0, 0, 1]))
    return shape, tuple(strides)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(wanted=layouts(), given_layout=layouts(), same_shape=st.booleans())
def test_accepts_exactly_the_layout_compiled_for(
    wanted: tuple[tuple[int, ...], tuple[int, ...]],
    given_layout: tuple[tuple[int, ...], tuple[int, ...]],
    same_shape: bool,
) -> None:
    shape, strides = wanted
    x = Argument("x", F32, shape, strides)
    y = Argument("y", F32, shape, row_major_strides(shape, 4), output=True)
    kernel = compile_kernel(NOTHING, "two", (x, y))
    kernel(x.empty(), out=y.empty())

    other, steps = given_layout
    if same_shape:
        other, steps = shape, (*steps, *strides)[: len(shape)]
    array = Argument("x", F32, other, steps).empty()
    fits = other == shape and all(
        n == 1 or s == t for n, s, t in zip(shape, strides, array.strides, strict=False)
    )
    if fits:
        kernel(array)
    else:
        assert refused(kernel, array).startswith("argument x: expected f32[")


# ---- dtypes that NumPy knows, and bfloat16, which it does not

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

ADD_ONE = """
void kernel(const unsigned short *x, unsigned short *y)
{
    for (int i = 0; i < 6; i++)
        y[i] = x[i] + 1;
}
void widened(const unsigned short *x, float *y)
{
    for (int i = 0; i < 6; i++) {
        unsigned bits = x[i] << 16;
        __builtin_memcpy(&y[i], &bits, 4);
    }
}
"""


def half_kernel() -> CompiledKernel:
    x, y = argument("x", BF16, (2, 3)), argument("y", BF16, (2, 3), output=True)
    return compile_kernel(ADD_ONE, "kernel", (x, y))


def test_bfloat16_goes_in_and_comes_out() -> None:
    kernel = half_kernel()
    x = np.arange(6, dtype=np.float32).reshape(2, 3).astype(BFLOAT16) + BFLOAT16.type(1)
    y = kernel(x)
    assert y.dtype == BFLOAT16 and y.shape == (2, 3)
    np.testing.assert_array_equal(y.view(np.uint16), x.view(np.uint16) + 1)
    out = np.zeros((2, 3), BFLOAT16)
    for call in (partial(kernel, x, out=out), partial(kernel, x, out)):
        out[...] = 0
        assert call() is out
        np.testing.assert_array_equal(out.view(np.uint16), x.view(np.uint16) + 1)
    assert kernel(x, None).dtype == kernel(x, out=None).dtype == BFLOAT16


def test_bits_of_bfloat16_have_to_be_viewed_as_such() -> None:
    """Integers of this dtype may be meant as numbers, too."""
    kernel, x = half_kernel(), np.ones((2, 3), BFLOAT16)
    bits = x.view(np.uint16)
    assert refused(kernel, bits) == (
        "argument x: expected bf16[2,3] row-major, got uint16[2,3] row-major; convert with "
        "x.astype(ml_dtypes.bfloat16), or pass x.view(ml_dtypes.bfloat16) if these are its bits."
    )
    for odd in (bits.data, array("H", [1] * 6), bits.astype(np.int16)):
        assert "ml_dtypes.bfloat16" in refused(kernel, odd)
    assert refused(kernel, x, out=bits.copy()).endswith(
        "got uint16[2,3] row-major; pass np.empty((2, 3), ml_dtypes.bfloat16), or omit out."
    )
    np.testing.assert_array_equal(kernel.fast(bits), bits + 1)
    with pytest.raises(CallError, match=r"expected u16\[2,3\] row-major, got bfloat16"):
        kernel.fast(x)


def test_outputs_beside_bfloat16() -> None:
    x, y = argument("x", BF16, (6,)), argument("y", F32, (6,), output=True)
    kernel = compile_kernel(ADD_ONE, "widened", (x, y))
    values = np.array([1, -2, 0.5, 3, 1e30, 7], np.float32).astype(BFLOAT16)
    assert kernel(values).dtype == np.float32
    np.testing.assert_array_equal(kernel(values), values.astype(np.float32))


def test_large_bfloat16_outputs_start_on_a_cache_line() -> None:
    y = argument("y", BF16, (300, 200), output=True)
    out = compile_kernel(NOTHING, "one", (y,))()
    assert out.dtype == BFLOAT16 and out.shape == (300, 200) and out.ctypes.data % 64 == 0


def test_what_does_not_fit_bfloat16() -> None:
    kernel, x = half_kernel(), np.ones((2, 3), BFLOAT16)
    assert refused(kernel, x.astype(np.float32)) == (
        "argument x: expected bf16[2,3] row-major, got float32[2,3] row-major; "
        "convert with x.astype(ml_dtypes.bfloat16)."
    )
    assert "got float16[2,3]" in refused(kernel, x.astype(np.float16))
    assert "got bfloat16[3,2] row-major; pass an array of shape (2, 3)" in refused(
        kernel, x.reshape(3, 2)
    )
    assert "got bfloat16[2,3] column-major" in refused(kernel, np.asfortranarray(x))
    assert "with strides (-3, 1)" in refused(kernel, x[::-1])
    assert "out shares memory with argument x" in refused(kernel, x, out=x)
    assert "out shares memory with argument x" in refused(kernel, x, out=x[:])
    assert "unexpected keyword 'y'" in refused(kernel, x, y=x)
    assert "got 3 arrays" in refused(kernel, x, x, x)
    assert "np.asarray(x, dtype=ml_dtypes.bfloat16)" in refused(kernel, [[1.0] * 3] * 2)
    message = refused(kernel, x, out=np.ones((2, 3)))
    assert message.endswith("pass np.empty((2, 3), ml_dtypes.bfloat16), or omit out.")
    read_only = x.copy()
    read_only.flags.writeable = False
    assert "out is read-only" in refused(kernel, x, out=read_only)
    kernel(read_only)
    crooked = np.zeros(13, np.uint8)[1:].view(BFLOAT16).reshape(2, 3)
    assert "misaligned" in refused(kernel, crooked)


def test_no_references_leak_with_bfloat16() -> None:
    kernel, x = half_kernel(), np.ones((2, 3), BFLOAT16)
    out = np.ones((2, 3), BFLOAT16)
    before = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(1000):
        kernel(x)
        kernel(x, out=out)
        refused(kernel, x, out=x)
    gc.collect()
    assert sys.getrefcount(x) - before[0] < 50 and sys.getrefcount(out) - before[1] < 50


@pytest.mark.parametrize("dtype", [F16, U8, I8, U16], ids=str)
def test_narrow_dtypes(dtype: DType) -> None:
    source = f"""
    #include <stdint.h>
    void kernel(const {dtype.c} *x, {dtype.c} *y) {{ for (int i = 0; i < 5; i++) y[i] = 2 * x[i]; }}
    """
    x, y = argument("x", dtype, (5,)), argument("y", dtype, (5,), output=True)
    kernel = compile_kernel(source, "kernel", (x, y))
    values = np.arange(5).astype(dtype.np)
    assert kernel(values).dtype == dtype.np
    np.testing.assert_array_equal(kernel(values), 2 * values)
    assert f"convert with x.astype('{dtype.np.name}')" in refused(kernel, values.astype("f8"))
    if dtype is not U16:
        refused(kernel, values.astype(np.uint16))


def test_kernels_without_inputs() -> None:
    y = argument("y", F32, (3,), output=True)
    source = "void kernel(float *y) { y[0] = 1; y[1] = 2; y[2] = 3; }"
    kernel = compile_kernel(source, "kernel", (y,))
    out = np.zeros(3, np.float32)
    assert kernel(out) is out and kernel(out=out) is out
    np.testing.assert_array_equal(kernel(), [1, 2, 3])
    np.testing.assert_array_equal(out, [1, 2, 3])
    expected = "expected 0 inputs and perhaps an output, got 2 arrays; call kernel(out=None)."
    assert refused(kernel, out, out) == expected
    assert "out: expected f32[3]" in refused(kernel, np.zeros(4, np.float32))


def test_misaligned_and_negative_outputs(matmul: CompiledKernel, a: Array, b: Array) -> None:
    memory = np.zeros(M * N * 4 + 1, np.uint8)
    crooked = memory[1:].view(np.float32).reshape(M, N)
    assert "out: expected" in refused(matmul, a, b, out=crooked)
    assert "at a misaligned address" in refused(matmul, a, b, out=crooked)
    backwards = np.zeros((M, N), np.float32)[::-1]
    assert "with strides (-6, 1)" in refused(matmul, a, b, out=backwards)


def test_source_is_shared_between_symbols() -> None:
    one = compile_kernel(MATMUL, "kernel", matmul_arguments())
    two = compile_kernel(MATMUL, "misses_one_product", matmul_arguments())
    assert one.library.path == two.library.path
    assert one.address != two.address

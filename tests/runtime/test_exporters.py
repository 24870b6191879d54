"""Objects that offer their memory in odd ways, or not, or say wrong things about it."""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.kernels import NOTHING, compile_kernel

from morello.base.errors import CallError
from morello.ir.dtype import BF16, F32
from morello.runtime.argument import Argument, Array, argument
from morello.runtime.kernel import CompiledKernel

ROWS, COLUMNS = 3, 4

DOUBLE = """
void kernel(const float *x, float *y) { for (int i = 0; i < 12; i++) y[i] = 2 * x[i]; }
void one(const float *x, float *y) { *y = 2 * *x; }
"""


@pytest.fixture(scope="module")
def double() -> CompiledKernel:
    """y = 2 x, row-major."""
    x, y = argument("x", F32, (ROWS, COLUMNS)), argument("y", F32, (ROWS, COLUMNS), output=True)
    return compile_kernel(DOUBLE, "kernel", (x, y))


@pytest.fixture
def values() -> Array:
    return np.arange(1, 13, dtype=np.float32).reshape(ROWS, COLUMNS)


def refused(call: Callable[..., object], *args: object, **keywords: object) -> str:
    with pytest.raises(CallError) as caught:
        call(*args, **keywords)
    assert caught.value.__context__ is None, "and of nothing else"
    return str(caught.value)


# ---- ctypes, whose arrays have no strides

Matrix = (ctypes.c_float * COLUMNS) * ROWS


def test_ctypes_arrays(double: CompiledKernel, values: Array) -> None:
    x, y = Matrix.from_buffer_copy(values.tobytes()), Matrix()
    np.testing.assert_array_equal(double(x), 2 * values)
    assert id(double(x, out=y)) == id(y)
    np.testing.assert_array_equal(np.asarray(y), 2 * values)
    message = refused(double, x, out=x)
    assert message.startswith("out shares memory with argument x")
    assert "got float32[4]" in refused(double, (ctypes.c_float * 4)())
    assert "got float32[4,3]" in refused(double, ((ctypes.c_float * 3) * 4)())
    assert "got float32[12]" in refused(double, (ctypes.c_float * 12)())
    assert "got float64[3,4]" in refused(double, ((ctypes.c_double * 4) * 3)())
    assert "got float32[0,4]" in refused(double, ((ctypes.c_float * 4) * 0)())
    assert "got float32[]" in refused(double, ctypes.c_float(1))
    swapped = (ctypes.c_float.__ctype_be__ * COLUMNS) * ROWS
    assert "got byte-swapped float32" in refused(double, swapped())
    assert "of type" in refused(double, ((ctypes.c_void_p * 4) * 3)())
    message = refused(double, x, out=(ctypes.c_float * 4)())
    assert message.startswith("out: expected f32[3,4] row-major, got float32[4]")


def test_structures_and_unions(double: CompiledKernel) -> None:
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_double)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "argument x: expected" in refused(double, (Pair * 2)())


def test_ctypes_arrays_lie_in_rows_only(values: Array) -> None:
    steps = (4, 4 * ROWS)
    x = Argument("x", F32, (ROWS, COLUMNS), steps)
    y = Argument("y", F32, (ROWS, COLUMNS), steps, output=True)
    kernel = compile_kernel(DOUBLE, "kernel", (x, y))
    np.testing.assert_array_equal(kernel(np.asfortranarray(values)), 2 * values)
    message = refused(kernel, Matrix())
    assert "expected f32[3,4] column-major, got float32[3,4] row-major" in message
    assert "out: expected" in refused(kernel, np.asfortranarray(values), Matrix())


def test_numbers_of_ctypes() -> None:
    x, y = argument("x", F32, ()), argument("y", F32, (), output=True)
    kernel = compile_kernel(DOUBLE, "one", (x, y))
    out = ctypes.c_float()
    assert id(kernel(ctypes.c_float(3), out=out)) == id(out) and out.value == 6
    assert kernel(np.float32(3)) == 6


# ---- whatever an exporter may say


class Buffer(ctypes.Structure):
    """CPython's Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class TypeSpec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(Slot)),
    ]


GET_BUFFER = 1  # Py_bf_getbuffer
Getter = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)

_kept: list[object] = []  # types that C made of what Python would forget


def exporter(memory: Array, **said: Any) -> Any:
    """An object that lends `memory`, and says of it what a Py_buffer may: None for NULL."""
    told: dict[str, Any] = {
        "ndim": memory.ndim,
        "itemsize": memory.itemsize,
        "len": memory.nbytes,
        "readonly": 0,
        "format": b"f",
        "shape": memory.shape,
        "strides": memory.strides,
        "suboffsets": None,
        **said,
    }

    def get(self: object, view: Any, flags: int) -> int:
        filled = view.contents
        filled.buf = memory.ctypes.data
        filled.internal = None
        for name, value in told.items():
            if isinstance(value, tuple):
                value = (ctypes.c_ssize_t * len(value))(*value)
                _kept.append(value)
                value = ctypes.cast(value, ctypes.POINTER(ctypes.c_ssize_t))
            setattr(filled, name, value)
        filled.obj = id(self)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        return 0

    getter = Getter(get)
    slots = (Slot * 2)(Slot(GET_BUFFER, ctypes.cast(getter, ctypes.c_void_p)), Slot(0, None))
    spec = TypeSpec(b"odd.Exporter", object.__basicsize__, 0, 0, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype = ctypes.py_object
    made = make(ctypes.byref(spec))
    _kept.extend((getter, slots, spec, made, memory))
    return made()


def test_an_exporter_as_it_should_be(double: CompiledKernel, values: Array) -> None:
    np.testing.assert_array_equal(double(exporter(values)), 2 * values)
    out = np.zeros_like(values)
    double(values, out=exporter(out))
    np.testing.assert_array_equal(out, 2 * values)


@pytest.mark.parametrize(
    "said", [{"strides": None}, {"readonly": 1}, {"format": b"@f"}, {"format": b"=f"}], ids=str
)
def test_what_is_as_good(double: CompiledKernel, values: Array, said: dict[str, Any]) -> None:
    np.testing.assert_array_equal(double(exporter(values, **said)), 2 * values)


@pytest.mark.parametrize(
    "said",
    [
        {"ndim": 0, "shape": None, "strides": None},
        {"ndim": 1, "shape": None, "strides": None},
        {"suboffsets": (0, -1)},
        {"suboffsets": (-1, -1)},
        {"format": None},
        {"format": b""},
        {"format": b"ff"},
        {"format": b">f"},
        {"format": b"!f"},
        {"format": b"T{f:x:}"},
        {"format": b"\xff\xfe"},
        {"itemsize": 0},
        {"itemsize": 8},
        {"itemsize": -4},
        {"ndim": 64, "shape": (1,) * 64, "strides": (4,) * 64},
        {"ndim": 65, "shape": (1,) * 65, "strides": (4,) * 65},
        {"ndim": 100_000, "shape": (1,) * 100_000, "strides": (4,) * 100_000},
        {"shape": (0, 4), "len": 0},
        {"shape": (-3, 4)},
        {"shape": (1 << 62, 1 << 62)},
        {"strides": (-16, 4)},
        {"strides": (0, 0)},
        {"strides": (16, 1)},
    ],
    ids=lambda said: str(said)[:40],
)
def test_what_is_refused(double: CompiledKernel, values: Array, said: dict[str, Any]) -> None:
    odd = exporter(values, **said)
    assert refused(double, odd)
    out = np.zeros_like(values)
    assert refused(double, values, out=exporter(out, **said))
    assert not out.any()


def test_an_output_that_is_read_only(double: CompiledKernel, values: Array) -> None:
    assert "out" in refused(double, values, out=bytes(48))
    frozen = memoryview(bytes(48)).cast("f", (ROWS, COLUMNS))
    assert "out is read-only" in refused(double, values, out=frozen)
    np.testing.assert_array_equal(double(frozen), np.zeros((ROWS, COLUMNS)))


def test_memory_of_other_libraries(double: CompiledKernel, values: Array) -> None:
    assert "got float32[12]" in refused(double, array("f", values.ravel().tolist()))
    assert "got uint8[48]" in refused(double, values.tobytes())
    released = memoryview(values.tobytes())
    released.release()
    assert "of type memoryview" in refused(double, released)


class BrokenError(Exception):
    pass


def broken(self: object, *_: object, **__: object) -> Any:
    raise BrokenError


class Broken:
    __array__ = __buffer__ = __len__ = __getitem__ = __repr__ = __str__ = broken
    __array_interface__ = __array_struct__ = property(broken)


class BrokenArray(np.ndarray[Any, Any]):
    """An array that fits, of a subclass that does not work."""

    __array__ = __repr__ = __str__ = view = astype = broken
    __array_interface__ = __array_struct__ = ctypes = property(broken)


def test_broken_objects(double: CompiledKernel, values: Array) -> None:
    assert "test_exporters.Broken; convert with" in refused(double, Broken())
    assert "out: expected" in refused(double, values, out=Broken())
    still = np.ndarray.view(values, BrokenArray)
    np.testing.assert_array_equal(double(still), 2 * values)
    assert "got float32[4,3]" in refused(double, np.ndarray.view(values.T, BrokenArray))
    assert "shares memory" in refused(double, still, out=still)


# ---- masks


class OwnMasked(np.ma.MaskedArray[Any, Any]):
    pass


def test_masked_arrays_are_refused(double: CompiledKernel, values: Array) -> None:
    some: list[Any] = [np.ma.masked_array(values, mask=values > 5), np.ma.masked_array(values)]
    for x in (*some, values.view(OwnMasked)):
        for call in (double, double.fast):
            assert refused(call, x) == (
                "argument x is a masked array, whose mask no kernel sees; pass x.filled(0), or "
                "x.data if its mask means nothing."
            )
        np.testing.assert_array_equal(double(x.filled(0)), 2 * x.filled(0))
    message = refused(double, values, out=some[1])
    assert message.startswith("out is a masked array, whose mask no kernel sees; pass np.empty(")


def test_masked_arrays_of_bfloat16_are_refused() -> None:
    x, y = argument("x", BF16, (2, 3)), argument("y", BF16, (2, 3), output=True)
    kernel = compile_kernel(NOTHING, "two", (x, y))
    array = np.ones((2, 3), BF16.np)
    kernel(array)
    assert "x is a masked array" in refused(kernel, np.ma.masked_array(array))
    assert "out is a masked array" in refused(kernel, array, out=np.ma.masked_array(array.copy()))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_other_arrays_are_fine(double: CompiledKernel, values: Array, tmp_path: Path) -> None:
    expected = 2 * values
    np.testing.assert_array_equal(double(np.matrix(values)), expected)
    mapped = np.memmap(tmp_path / "file", np.float32, "w+", shape=(ROWS, COLUMNS))
    mapped[...] = values
    np.testing.assert_array_equal(double(mapped), expected)
    np.testing.assert_array_equal(double(values.view(np.recarray)), expected)
    double(values, out=mapped)
    np.testing.assert_array_equal(mapped, expected)

"""Kernels and functions called with odd arguments of all kinds.

A case is a Python expression of the names in `_names`; calls of kernels are compared with NumPy if
NumPy can convert the arguments to numbers.
"""

from __future__ import annotations

import array
import ctypes
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import morello
from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError, from_morello
from morello.base.errors import MorelloError

LONGEST = 2000
"""The most characters of an error message, without the path that it names."""
_PATH = "text" * 1000

KERNELS = {
    "add": "f32[4] + f32[4]",
    "product": "f32[4,4] @ f32[4,4]",
    "turned": "transpose(f32[4,4]) + f32[4,4]{0,1}",
    "gaps": "relu(f32[4,4]S(6,1))",
    "half": "f16[4] * f16[4]",
    "brain": "bf16[4] * bf16[4]",
    "octets": "u8[4] + u8[4]",
    "ones": "f32[1,1] * f32[1,1]",
}

_ARRAYS = (
    "np.arange(4, dtype='f4')", "np.ones((4, 4), 'f4')", "np.ones((4, 4), 'f4', order='F')",
    "np.ones((4, 6), 'f4')[:, :4]", "np.ones((8, 4), 'f4')[::2]", "np.ones(8, 'f4')[::-2]",
    "np.ones(4, 'f8')", "np.ones(4, '>f4')", "np.ones(4, 'i4')", "np.ones(5, 'f4')",
    "np.ones((4, 1), 'f4')", "np.float32(3)", "np.array(3, 'f4')", "np.ones((1, 1), 'f4')",
    "np.ones(4, 'f2')", "np.ones(4, bfloat16)", "np.ones(4, 'u2')", "np.ones(4, 'u1')",
    "np.ones(4, '?')", "np.array(['a'] * 4)", "np.ones(4, object)", "np.ones((0, 4), 'f4')",
    "np.broadcast_to(np.float32(1), (4, 4))", "np.broadcast_to(np.float32(1), 4)",
    "np.ones((1,) * 32, 'f4')", "np.frombuffer(bytes(17), 'u1')[1:].view('f4')",
    "read_only(np.ones(4, 'f4'))", "read_only(np.ones((4, 4), 'f4'))", "np.ma.ones(4, 'f4')",
    "np.ma.array(np.ones(4, 'f4'), mask=[0, 1, 0, 0])", "np.matrix(np.ones((4, 4), 'f4'))",
    "np.ones((4, 4), 'f4').T", "np.rec.array(np.ones(4, 'f4'))", "np.ones(4, [('a', 'f4')])",
    "(ctypes.c_float * 4)()", "((ctypes.c_float * 4) * 4)()", "(ctypes.c_uint8 * 4)()",
    "(ctypes.c_float * 0)()", "ctypes.c_float(1)", "ctypes.pointer(ctypes.c_float(1))",
    "memoryview(np.ones(4, 'f4'))", "memoryview(bytes(16)).cast('f')", "memoryview(bytearray(4))",
    "memoryview(np.ones((4, 4), 'f4')).cast('B')", "memoryview(np.ones(8, 'f4'))[::2]",
    "memoryview(bytes(64)).cast('f', (4, 4))", "array.array('f', [1] * 4)", "bytes(4)", "bytes(16)",
    "bytearray(16)", "array.array('d', [1] * 4)", "None", "3", "1.5", "'text'", "[1.0] * 4",
    "[[1.0] * 4] * 4", "(1.0,) * 4", "{}", "object()", "np", "Sub((4,), 'f4')", "Lying()",
    "Broken({})", "Broken(None)", "Broken({'shape': (4,), 'typestr': '<f4', 'version': 3})",
    "Broken({'shape': (4,), 'typestr': '<f4', 'data': (0, False), 'version': 3})",
    "Broken({'shape': (-1,), 'typestr': '?', 'data': 'x', 'version': 3})", "Raising()",
    "released(memoryview(bytearray(16)).cast('f'))", "np.datetime64('now')", "Ellipsis",
    "np.ones((4, 4), 'f4')[..., None]", "np.ones(4, 'c8')", "np.ones((2, 2, 2, 2), 'f4')",
)  # fmt: skip
_OUTS = ("a0", "b0", "a0[::-1]", "np.empty(4, 'f4')", "np.empty((4, 4), 'f4')")
_CALLS = (
    "morello.parse({})", "morello.parse('x @ w', x={}, w={})", "morello.parse('x + x', x={})",
    "morello.parse('sum(x)', x={}, y={})", "morello.parse('x * 2', **{{'x': {}}})",
    "morello.matmul({}, {})", "morello.matmul('f32[4,4]', {})",
    "morello.compile({})", "morello.implement({})", "morello.schedule({})",
    "morello.compile('f32[4] + f32[4]', threads={})",
    "morello.compile('f32[4] + f32[4]', target={})",
    "morello.compile('f32[4] + f32[4]', compiler={})",
    "morello.compile('f32[4] + f32[4]', table={})",
    "morello.compile('f32[4] + f32[4]', weights={})",
    "morello.compile('f32[4] + f32[4]', measure={})",
    "morello.compile('f32[4] + f32[4]', budget={})",
    "morello.Table({})", "morello.Table(':memory:', {})",
    "product.pack({}, {})", "product.pack('b', {})", "product.pack({}, np.ones((4, 4), 'f4'))",
    "morello.schedule('f32[4,4] @ f32[4,4]').tile(m={})",
    "morello.schedule('f32[4,4] @ f32[4,4]').move({}, {})",
    "morello.schedule('f32[4,4] @ f32[4,4]').select({})",
)  # fmt: skip
_ODD = (
    "None", "3", "-1", "0", "1.5", "'3'", "''", "' '", "b'f32[4]'", "True", "[]", "{}",
    "np.int64(2)", "np.float32(1)", "float('nan')", "float('inf')", "10**30", "'\\0'", "'\\ud800'",
    "'f32[4,4]'", f"'{_PATH}'",
)  # fmt: skip


class Sub(np.ndarray[Any, Any]):
    """A subclass of NumPy's array."""


class Lying(Sub):
    """An array that reports a wrong shape."""

    def __new__(cls) -> Lying:
        return np.ones(8, np.float32).view(cls)

    shape = property(lambda self: (4,))


class Broken:
    """Has an `__array_interface__` that describes no array."""

    def __init__(self, interface: Any) -> None:
        self.__array_interface__ = interface


class Raising:
    """Raises an exception from every protocol method."""

    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("no")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")


def read_only(x: NDArray[Any]) -> NDArray[Any]:
    x.flags.writeable = False
    return x


def released(view: memoryview) -> memoryview:
    view.release()
    return view


class Arguments(Adversary):
    """Odd arguments are refused with a message, or the result is that of NumPy."""

    name = "arguments"
    what = "odd arguments give the right result or a sentence, and never a crash"

    def case(self, random: Random) -> str:
        if random.random() < 0.4:
            call = random.choice(_CALLS)
            tensors = "x={}" in call or call.startswith(("morello.matmul", "product.pack"))
            odd = _ARRAYS if tensors and random.random() < 0.8 else _ODD
            return call.format(*(random.choice(odd) for _ in range(call.count("{}"))))
        name = random.choice(list(KERNELS))
        count = _inputs(KERNELS[name]) + random.choice((0, 0, 0, 0, 0, 1, -1))
        given = [random.choice(_ARRAYS + _LIKELY * 8) for _ in range(count)]
        if random.random() < 0.3:
            given.append("out=" + random.choice(_OUTS + _ARRAYS))
        if random.random() < 0.02:
            given.append(random.choice(("nonsense=1", "**{'': 1}", "**{'out ': None}")))
        return f"{name}({', '.join(given)})"

    def check(self, case: str) -> str:
        try:
            eval(case, _names(case))
        except MorelloError as error:
            if len(str(error).replace(_PATH, "...")) > LONGEST:
                raise FaultError("a long message", str(error)[:200]) from None
            return REFUSED
        except (FaultError, SystemError):
            raise
        except Exception as error:
            if from_morello(error):
                raise
            return REFUSED  # there is no such argument or option
        return PASSED

    def smaller(self, case: str) -> Iterator[str]:
        name = case.partition("(")[0]
        for part in case[len(name) + 1 : -1].split(", "):
            for simple in ("a0", "b0", "None"):
                yield case.replace(part, simple, 1)


_LIKELY = ("np.arange(4, dtype='f4')", "np.ones((4, 4), 'f4')", "a0", "b0")


def _checking(name: str) -> Any:
    """A function that calls a kernel and compares its result with NumPy's."""
    kernel = _kernel(name)

    def call(*arguments: Any, **options: Any) -> Any:
        copies = [_copy(argument) for argument in arguments]
        result = kernel(*arguments, **options)
        wanted = _wanted(name, copies)
        if wanted is None or not _alike(np.asarray(result), wanted):
            raise FaultError("a wrong result", f"{result!r:.200}, not {wanted!r:.200}")
        return result

    return call


def _alike(result: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Whether arrays are equal, once rounded to the dtype of the result."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype(result.dtype)
    return np.array_equal(result.astype(np.float64), rounded.astype(np.float64), equal_nan=True)


def _copy(value: Any) -> Any:
    """A copy of an argument's numbers, taken before the call; None if it has none."""
    try:
        return np.array(value, copy=True)
    except Exception:
        return None


def _wanted(name: str, given: list[Any]) -> NDArray[Any] | None:
    count = _inputs(KERNELS[name])
    if any(value is None for value in given[:count]):
        return None
    whole = name == "octets"
    kind: Any = np.uint8 if whole else np.float64
    a, *rest = (x.astype(kind) for x in given[:count])
    result = {
        "add": lambda: a + rest[0],
        "product": lambda: a @ rest[0],
        "turned": lambda: a.T + rest[0],
        "gaps": lambda: np.maximum(a, 0),
        "half": lambda: a * rest[0],
        "brain": lambda: a * rest[0],
        "octets": lambda: a + rest[0],
        "ones": lambda: a * rest[0],
    }[name]()
    return np.asarray(result, np.float64)


def _inputs(text: str) -> int:
    return text.count("[")


@cache
def _kernel(name: str) -> morello.Kernel:
    return morello.compile(KERNELS[name])


def _names(case: str) -> dict[str, Any]:
    """The namespace in which a case is evaluated."""
    own = (Sub, Lying, Broken, Raising, read_only, released)
    names: dict[str, Any] = {item.__name__: item for item in own}
    modules = {"np": np, "ctypes": ctypes, "array": array, "morello": morello}
    names |= {"a0": np.ones(4, "f4"), "b0": np.ones((4, 4), "f4")}
    called = re.match(r"\w*", case)
    if called and called[0] in KERNELS:
        packs = case.startswith(f"{called[0]}.")
        names[called[0]] = _kernel(called[0]) if packs else _checking(called[0])
    return {**names, **modules, "bfloat16": ml_dtypes.bfloat16}

"""Arrays of other libraries, by DLPack: the same memory as an array of NumPy."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from morello.ir.dtype import BF16
from morello.runtime.argument import Array

_CPU = 1
_UNSIGNED, _BFLOAT = 1, 4
"""Kinds of elements, as DLPack numbers them."""

_VERSIONED = b"dltensor_versioned"
_HEADER = 32
"""The bytes before the tensor: the version, two pointers, and flags."""


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor, up to the dtype."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class _Exported:
    """A capsule of DLPack, as `np.from_dlpack` takes it."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


def from_dlpack(value: Any) -> Array | None:
    """The memory of an object that has `__dlpack__` as an array; None for any other object.

    None as well if it is not in the memory of the CPU, or has elements that NumPy does not know.
    NumPy knows no bfloat16 here: its bits are exchanged, and viewed as bfloat16.
    """
    if not hasattr(value, "__dlpack__"):
        return None
    try:
        if value.__dlpack_device__()[0] != _CPU:
            return None
        capsule = _capsule(value)
        tensor = _tensor(capsule)
        is_bfloat = (tensor.code, tensor.bits) == (_BFLOAT, 16)
        if is_bfloat:
            tensor.code = _UNSIGNED
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about older versions of the protocol
            array: Array = np.from_dlpack(_Exported(capsule))  # type: ignore[arg-type]
    except Exception:  # an object may raise anything when asked for its memory
        return None
    return array.view(BF16.np) if is_bfloat else array


def _capsule(value: Any) -> object:
    """The DLPack capsule of an object, of version 1 if it can: NumPy takes older as read-only."""
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return value.__dlpack__()


def call_on_arrays(
    function: Callable[..., Array], args: Sequence[Any], keywords: Mapping[str, Any], inputs: int
) -> Array | None:
    """A kernel's call, after `from_dlpack` of its arrays; None if that changes none of them.

    It returns the output as it was given, if it was; it comes after the `inputs`.
    """
    given = [*args, *keywords.values()]
    arrays = [x if isinstance(x, np.ndarray) or (y := from_dlpack(x)) is None else y for x in given]
    if all(x is y for x, y in zip(given, arrays, strict=True)):
        return None
    named = dict(zip(keywords, arrays[len(args) :], strict=True))
    result = function(*arrays[: len(args)], **named)
    out = given[inputs] if len(given) > inputs else None
    return result if out is None else cast(Array, out)


def _tensor(capsule: object) -> _Tensor:
    """The tensor of a capsule, of any version of the protocol."""
    kinds = ctypes.py_object, ctypes.c_char_p
    is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)(("PyCapsule_IsValid", ctypes.pythonapi))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, *kinds)(("PyCapsule_GetPointer", ctypes.pythonapi))
    if is_valid(capsule, _VERSIONED):
        return _Tensor.from_address(pointer(capsule, _VERSIONED) + _HEADER)
    return _Tensor.from_address(pointer(capsule, b"dltensor"))

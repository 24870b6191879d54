"""Element types, named as XLA names them."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from morello.base.errors import SpecError, quoted


@dataclass(frozen=True, eq=False)
class DType:
    """An element type: its XLA name, size in bytes, and C type. Each type is one object.

    `lanes` is above 1 for a *packed* type: a group of that many adjacent narrow numbers
    that kernels multiply and add up together. A packed type has no NumPy type.
    """

    name: str
    bytes: int
    c: str
    numpy: type | None
    lanes: int = 1

    @property
    def np(self) -> np.dtype[np.generic]:
        """The NumPy dtype of arrays of this element type; raises `SpecError` for a packed type."""
        if self.numpy is None:
            raise SpecError(f"{self.name} is a packed type; no NumPy array has it.")
        return np.dtype(self.numpy)

    @property
    def is_float(self) -> bool:
        return self in (F32, F16, BF16)

    def __str__(self) -> str:
        return self.name


U8 = DType("u8", 1, "uint8_t", np.uint8)
I8 = DType("i8", 1, "int8_t", np.int8)
U16 = DType("u16", 2, "uint16_t", np.uint16)
I16 = DType("i16", 2, "int16_t", np.int16)
U32 = DType("u32", 4, "uint32_t", np.uint32)
I32 = DType("i32", 4, "int32_t", np.int32)
I64 = DType("i64", 8, "int64_t", np.int64)
F16 = DType("f16", 2, "_Float16", np.float16)
BF16 = DType("bf16", 2, "uint16_t", ml_dtypes.bfloat16)
F32 = DType("f32", 4, "float", np.float32)

BF16X2 = DType("bf16x2", 4, "uint32_t", None, lanes=2)
U8X4 = DType("u8x4", 4, "uint32_t", None, lanes=4)
I8X4 = DType("i8x4", 4, "uint32_t", None, lanes=4)

DTYPES = {dtype.name: dtype for dtype in (U8, I8, U16, I16, U32, I32, I64, F16, BF16, F32)}
COMPUTED = tuple(dtype for dtype in DTYPES.values() if dtype is not I64)
"""The dtypes that kernels compute with: numbers of 64 bits are only indices, or are cast."""

_NICKNAMES = {"float": F32, "fp32": F32, "half": F16, "fp16": F16, "int": I32}
PACKED = {dtype.name: dtype for dtype in (BF16X2, U8X4, I8X4)}


GROUP_BYTES = 4
"""The bytes of a packed element, as wide as what groups are summed in."""


def parse_dtype(name: str) -> DType:
    """The `DType` called `name`; raises `SpecError` naming the known ones."""
    if name in DTYPES:
        return DTYPES[name]
    meant = meant_dtype(name)
    fix = f"did you mean {meant}" if meant else f"the dtypes are: {', '.join(DTYPES)}"
    raise SpecError(f"unknown dtype {quoted(name)}", fix)


def meant_dtype(name: str) -> DType | None:
    """The `DType` that a name stands for here, in NumPy, or in other languages, if any."""
    elsewhere = {dtype.np.name: dtype for dtype in DTYPES.values()}
    return {**_NICKNAMES, **elsewhere, **DTYPES}.get(name.lower())


def result_dtype(a: DType, b: DType) -> DType | None:
    """The default dtype of sums of products of these types; None if they cannot be multiplied."""
    if a.is_float != b.is_float:
        return None
    if a.is_float:
        return F32
    if U32 in (a, b):
        return U32 if a is b else None
    return I32

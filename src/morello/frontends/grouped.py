"""Types of weights in fewer bits, such as `i4g32[2048,16384]`, which two tensors hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from morello.base.errors import SpecError
from morello.frontends.types import Type, make_type
from morello.ir.dtype import DTYPES, F16, I8, U8, DType
from morello.ir.primitives.quantized import BLOCK, LONGEST, is_grouped

SCALES = ("f16", "bf16", "f32")

_NAME = re.compile(r"i(\d{1,4})g(\d{1,6})(?:_(\w+))?")


@dataclass(frozen=True)
class GroupedType:
    """Weights w of x @ w with 4 or 8 bits, in groups along its columns that have a scale each.

    The tensors are those that `quantized_matmul` takes.
    """

    shape: tuple[int, int]
    bits: int
    group: int
    scale: DType = F16

    @property
    def weights(self) -> Type:
        size, columns = self.shape
        return make_type((columns, size * self.bits // 8), U8 if self.bits == 4 else I8)

    @property
    def scales(self) -> Type:
        size, columns = self.shape
        return make_type((columns, size // self.group), self.scale)


def is_grouped_name(name: str) -> bool:
    """Whether a name is meant as that of weights in groups, as i4g32 is."""
    return _NAME.fullmatch(name) is not None


def grouped_type(name: str, shape: tuple[int, ...]) -> GroupedType:
    """The type with a name such as i4g32 or i8g64_bf16; raises `SpecError`."""
    match = _NAME.fullmatch(name)
    assert match is not None
    bits, group, scale = int(match[1]), int(match[2]), match[3] or F16.name
    if bits not in (4, 8):
        raise SpecError(f"weights of {bits} bits", "give them 4 or 8, as in i4g32[64,16]")
    if scale not in SCALES:
        raise SpecError(f"scales of {scale}", f"{', '.join(SCALES)} are known, as in i4g32_bf16")
    if len(shape) != 2:
        raise SpecError(f"{name} with {len(shape)} dimensions", "give a matrix: i4g32[64,16]")
    size, columns = shape
    if not is_grouped(size, group) or size > LONGEST:
        fix = f"groups are of {BLOCK} times a power of two, which divides the rows"
        raise SpecError(f"groups of {group} in {size} rows", f"{fix}, of which {LONGEST} are most")
    return GroupedType((size, columns), bits, group, DTYPES[scale])

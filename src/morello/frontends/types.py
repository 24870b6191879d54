"""Tensor types: the dtype, shape, layout and strides of an input or of the result."""

from __future__ import annotations

from dataclasses import dataclass

from morello.base.errors import SpecError, quoted
from morello.ir.dtype import GROUP_BYTES, DType
from morello.ir.layout import Layout, row_major
from morello.ir.primitives import MAX_RANK
from morello.ir.spec import MAX_SIZE, Strides, check_bytes, placement_of
from morello.ir.tensor import TensorSpec, canonical


@dataclass(frozen=True)
class Type:
    """A dtype, a shape, a layout, and strides (in elements) if there are gaps between elements."""

    shape: tuple[int, ...]
    dtype: DType
    layout: Layout
    strides: Strides = None

    @property
    def tensor(self) -> TensorSpec:
        """The tensor of this type, in main memory."""
        placement = placement_of(self.shape, self.layout, self.strides, self.dtype)
        return TensorSpec(self.shape, self.dtype, 0, canonical(self.shape, placement))


def make_type(
    shape: tuple[int, ...],
    dtype: DType,
    layout: Layout | None = None,
    strides: Strides = None,
) -> Type:
    """The `Type` in canonical form, so that equivalent types are equal; raises `SpecError`."""
    if not 1 <= len(shape) <= MAX_RANK:
        raise SpecError(f"a tensor has 1 to {MAX_RANK} dimensions, not {len(shape)}.")
    for size in shape:
        if not 1 <= size <= MAX_SIZE:
            raise SpecError(f"a size of {quoted(size)}", f"sizes go from 1 to {MAX_SIZE}")
    layout = layout or row_major(len(shape))
    if strides is not None:
        strides = _checked(shape, layout, strides)
    if layout.groups > 1:
        _check_groups(shape, dtype, layout)
    check_bytes(shape, strides, dtype)
    tensor = Type(shape, dtype, layout, strides).tensor
    return Type(shape, dtype, tensor.placement.layout, strides)


def _check_groups(shape: tuple[int, ...], dtype: DType, layout: Layout) -> None:
    """Raise `SpecError` unless a tensor consists of whole groups of the right size."""
    if layout.groups * dtype.bytes != GROUP_BYTES:
        raise SpecError(
            f"layout {layout} has groups of {layout.groups} {dtype}",
            f"groups have {GROUP_BYTES} bytes",
        )
    dim = layout.order[-1]
    if shape[dim] % layout.groups:
        raise SpecError(
            f"layout {layout} has groups of {layout.groups} along dimension {dim} of {shape[dim]}",
            f"it must be a multiple of {layout.groups}",
        )


def _checked(shape: tuple[int, ...], layout: Layout, strides: tuple[int, ...]) -> Strides:
    """The strides, with 1 for dimensions of size 1; None without gaps. Raises `SpecError`."""
    if layout.panel is not None:
        raise SpecError(f"the panels of {layout} have no gaps", "leave the strides out")
    if len(strides) != len(shape):
        raise SpecError(f"{len(strides)} strides for {len(shape)} dimensions", "give one for each")
    span = dense = 1
    gaps = False
    for dim in reversed(layout.order):
        if shape[dim] == 1:
            continue
        step = strides[dim]
        if not span <= step <= MAX_SIZE:
            raise SpecError(
                f"dimension {dim} has stride {step}",
                f"it must be at least {span}, what the dimensions within it span, and at most "
                f"{MAX_SIZE}",
            )
        gaps |= step != dense
        span, dense = span + (shape[dim] - 1) * step, dense * shape[dim]
    if not gaps:
        return None
    return tuple(1 if size == 1 else step for size, step in zip(shape, strides, strict=True))

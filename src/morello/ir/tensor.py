"""Tensor specs: what a Spec says of one operand.

`Form` is how the elements of a (tile of a) tensor lie: its layout, how many of the
innermost physical dimensions follow each other without gaps, and, in registers, the
elements a register holds. Forms are *canonical* for a shape, so that two tiles which
look the same to every rewrite are the same Spec.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from morello.ir.dtype import DType
from morello.ir.layout import Layout, row_major

ALIAS_BYTES = 2048
"""Rows a multiple of this apart fall into the same few sets of a first-level cache."""


@dataclass(frozen=True)
class Form:
    """A layout with its gaps.

    `contiguous` counts the innermost physical dimensions that have no gaps between
    their elements; `aliased` says that the rows of the tensor it is a part of are a power
    of two apart, and so fall into the same cache sets; `vector` is the elements per
    register (0 in memory), in which case vectors run along the layout's fastest dimension.
    The *ideal* form, of rank 0, stands for the best imaginable layout.
    """

    layout: Layout
    contiguous: int
    aliased: bool = False
    vector: int = 0

    @property
    def gapless(self) -> bool:
        return self.contiguous == len(self.layout.physical)

    @property
    def ideal(self) -> bool:
        return not self.layout.order

    @property
    def fastest(self) -> int:
        """The logical dimension whose neighbours lie next to each other (-1 if ideal)."""
        return self.layout.physical[-1] if self.layout.order else -1

    def __str__(self) -> str:
        if self.vector:
            return f"x{self.vector}" if self.layout.row_major else f"{self.layout}x{self.vector}"
        mark = "~" * (not self.gapless) + "!" * self.aliased
        return f"{self.layout}{mark}"


IDEAL = Form(Layout(()), 0)


def gapless(layout: Layout) -> Form:
    return Form(layout, len(layout.physical))


def canonical(shape: tuple[int, ...], form: Form) -> Form:
    """The one form that stands for all that describe the same elements in the same order.

    Panels as wide as the dimension dissolve; dimensions of size 1 become the slowest.
    """
    if form.ideal or form.vector or form.layout.odd_even:
        return form
    layout = form.layout
    extents = list(layout.extents(shape))
    physical = list(layout.physical)
    if layout.panel is not None and shape[layout.panel[0]] <= layout.panel[1]:
        extents[-1] = shape[layout.panel[0]]
    blocked = len(physical) - form.contiguous
    kept = [
        (d, i >= blocked) for i, (d, n) in enumerate(zip(physical, extents, strict=True)) if n > 1
    ]
    ones = sorted(set(range(layout.rank)) - {d for d, _ in kept})
    panel = layout.panel if len(kept) > len({d for d, _ in kept}) else None
    if panel is not None and kept[-2] == (panel[0], True):  # its pieces follow each other
        panel = None
        kept.pop()
    order = tuple(ones) + tuple(d for d, _ in (kept[:-1] if panel else kept))
    contiguous = sum(tight for _, tight in kept)
    if contiguous == len(kept):
        contiguous = len(order) + (panel is not None)
    return Form(Layout(order, panel), contiguous, form.aliased)


def contiguous_after_cut(shape: tuple[int, ...], tile: tuple[int, ...], form: Form) -> int:
    """How many innermost physical dimensions of a tile are still without gaps.

    Everything inside the first dimension that was cut, and that dimension itself.
    """
    if form.ideal or form.vector:
        return form.contiguous
    before, after = form.layout.extents(shape), list(form.layout.extents(tile))
    panel = form.layout.panel
    if panel is not None and tile[panel[0]] < panel[1]:
        after[-1] = tile[panel[0]]
    uncut = 0
    while uncut < len(before) and before[-1 - uncut] == after[-1 - uncut]:
        uncut += 1
    return min(form.contiguous, uncut + 1, len(before))


def tile_form(
    shape: tuple[int, ...], tile: tuple[int, ...], form: Form, element_bytes: int
) -> Form:
    """The form of a tile of a tensor: cutting an inner dimension leaves gaps."""
    if form.ideal or form.vector:
        return form
    contiguous = contiguous_after_cut(shape, tile, form)
    aliased = form.aliased
    if contiguous < form.contiguous:
        extents = form.layout.extents(shape)
        outer, stride = prod(extents[:-contiguous]), prod(extents[-contiguous:])
        if outer > 1:
            aliased = stride * element_bytes % ALIAS_BYTES == 0
    return canonical(tile, replace(form, contiguous=contiguous, aliased=aliased))


def runs(shape: tuple[int, ...], form: Form) -> tuple[int, int]:
    """How many gapless runs the elements make, and the elements in each."""
    if form.ideal or form.vector:
        return 1, prod(shape)
    extents = form.layout.extents(shape)
    count = prod(extents[: len(extents) - form.contiguous])
    return count, prod(shape) // count


@dataclass(frozen=True)
class TensorSpec:
    """One operand: its shape, dtype, memory level (0 is the farthest) and form."""

    shape: tuple[int, ...]
    dtype: DType
    level: int = 0
    form: Form = IDEAL

    def __post_init__(self) -> None:
        if self.form is IDEAL:
            object.__setattr__(self, "form", gapless(row_major(len(self.shape))))

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.dtype.bytes

    @property
    def type(self) -> str:
        """Dtype and shape as XLA writes them; the layout unless it is row-major."""
        dims = ",".join(map(str, self.shape))
        return f"{self.dtype}[{dims}]{'' if self.plain else self.form.layout}"

    @property
    def plain(self) -> bool:
        """It lies in row-major order, as far as its shape lets that be told."""
        return self.form == canonical(self.shape, gapless(row_major(len(self.shape))))

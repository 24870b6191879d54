"""Placing a tensor in a buffer at a level, or in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from morello.base.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.layout import Layout
from morello.ir.placements import Bools, Ints
from morello.ir.tensor import IDEAL, Placement, gapless
from morello.targets.target import Condition, Target


class PlacingRewrite(Protocol):
    """A rewrite that places a tensor."""

    @property
    def level(self) -> str: ...
    @property
    def layout(self) -> Layout | None: ...
    @property
    def vector(self) -> int: ...


def level_number(rewrite: object, name: str, target: Target) -> int:
    """The index of a level of this name; raises `RewriteError`."""
    try:
        return target.level(name)
    except KeyError:
        names = ", ".join(level.name for level in target.levels)
        raise RewriteError(
            f"{rewrite!s:.100}: {target.name} has no level {quoted(name)}; there are: {names}."
        ) from None


def check_rank(rewrite: object, layout: Layout, rank: int, what: str) -> None:
    """Raise `RewriteError` unless a tensor of this rank can have the layout."""
    if layout != IDEAL.layout and layout.rank != rank:
        raise RewriteError(f"{rewrite}: {what} has {rank} dimensions.")


def buffer_codes(
    batch: Batch, shape: Sequence[Ints], layout: Layout, vector: int, dtype: DType
) -> Ints:
    """The placements, as codes, of new tensors of these shapes."""
    if vector:
        placement = Placement(layout, layout.rank, vector=vector)
        return batch.placements.column(placement, len(batch))
    fresh = batch.placements.column(gapless(layout), len(batch))
    return batch.placements.tile(shape, shape, fresh, dtype.bytes)


def place_text(layout: Layout, vector: int, dims: Sequence[str], dtype: str = "") -> str:
    """The dtype and layout of a tensor in its new place, in words."""
    if not vector:
        return f" as {dtype}{layout}"
    text = f" of {vector}" + (f" {dtype}" if dtype else "")
    return text if layout.row_major else f"{text} along {dims[layout.order[-1]]}"


def buffer_conditions(
    rewrite: PlacingRewrite, shape: Sequence[Ints], dtype: DType, batch: Batch, target: Target
) -> Iterator[Condition]:
    """The layout and the vector size suit the level and the shape."""
    level = level_number(rewrite, rewrite.level, target)
    if level == target.registers:
        yield from register_conditions(rewrite, shape, dtype, target)
    else:
        yield from memory_conditions(rewrite, shape)


def memory_conditions(rewrite: PlacingRewrite, shape: Sequence[Ints]) -> Iterator[Condition]:
    layout = rewrite.layout
    assert layout is not None
    if rewrite.vector:
        raise RewriteError(f"{rewrite}: only registers have a vector size.")
    if layout.panel is not None:
        dim, width = layout.panel
        size = shape[dim]
        fits = ((size > width) | layout.odd_even) & (size % width == 0)
        yield Condition(fits, f"it must hold several whole panels of {width}")


def register_conditions(
    rewrite: PlacingRewrite, shape: Sequence[Ints], dtype: DType, target: Target
) -> Iterator[Condition]:
    layout, vector = rewrite.layout, rewrite.vector
    if layout is None:
        raise RewriteError(f"{rewrite}: registers need a vector size and a layout.")
    widths = target.widths(dtype)
    if vector not in widths:
        known = ", ".join(map(str, widths))
        raise RewriteError(
            f"{rewrite}: {target.name} has registers of {known} {dtype} elements; "
            "give one as vector=."
        )
    if layout.panel is not None:
        raise RewriteError(f"{rewrite}: registers have no panels; give a layout such as {{1,0}}.")
    if layout == IDEAL.layout:
        return
    size = shape[layout.order[-1]]
    if not (target.masks and vector == widths[0]):
        whole = size % vector == 0
        yield Condition(whole, f"the size along registers must be a multiple of {vector}")
    narrower = max((w for w in widths if 1 < w < vector), default=0)
    if narrower:
        yield Condition(size > narrower, f"as few registers of {narrower} elements hold it")
    wider = min((w for w in widths if w > vector), default=0)
    if wider:
        masked = target.masks and wider == widths[0]
        needed: Bools = (size < wider) if masked else (size % wider != 0)
        yield Condition(needed, f"fewer registers of {wider} elements hold it")

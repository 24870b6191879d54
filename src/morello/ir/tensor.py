"""Tensor specs: the shape, dtype, memory level and placement of one operand.

A `Placement` says how the elements of a tensor or tile lie: its layout, how many of the
innermost physical dimensions are contiguous, and, in registers, how many elements a
register holds. Placements are made *canonical* for a shape, so that two tiles that no rewrite
can tell apart are the same Spec.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from morello.ir.dtype import DType
from morello.ir.layout import Layout, row_major

LINE_BYTES = 64
"""The size of a cache line on every supported target."""
PAGE_BYTES = 4096
"""The size of a page of memory, unless the system gives larger ones."""
WAY_BYTES = 4096
"""The size of a way of an L1 cache: what lies so far apart is in the same set."""
MANY = 16
"""Conflict misses are rare among runs that begin at so many places of a way, or more."""

ANY, NONE = -1, -2
"""Neighbours in memory may be along any dimension, or are along none."""


@dataclass(frozen=True)
class Placement:
    """How the elements of a tensor or tile lie: the layout, and where it has gaps.

    `contiguous` counts the innermost physical dimensions without gaps. `aliased` is at how many
    places of a way of an L1 cache runs begin, by the stride over a gap, if these are so few that
    they cause conflict misses, or so many that runs begin inside of cache lines; else it is 0 (see
    `aliased_at`). `vector` is the number of elements per register (0 in memory); vectors run along
    the layout's fastest dimension. *Ideal* placements, of rank 0, stand for the best possible
    layouts, in lower bounds: of all, or of those whose neighbours in memory are `along` a dimension
    only, or along none.
    """

    layout: Layout
    contiguous: int
    aliased: int = 0
    vector: int = 0
    along: int = ANY

    @property
    def gapless(self) -> bool:
        return self.contiguous == len(self.layout.physical)

    @property
    def apart(self) -> int:
        """How many runs are in different sets, if so few that conflicts are likely, else 0."""
        return self.aliased if self.aliased < MANY else 0

    @property
    def step(self) -> int:
        """Runs begin at multiples of so many bytes in cache lines."""
        return min(LINE_BYTES, WAY_BYTES // max(self.aliased, 1))

    @property
    def ideal(self) -> bool:
        return not self.layout.order

    @property
    def fastest(self) -> int:
        """The logical dimension of the innermost physical dimension (negative if not known)."""
        return self.layout.physical[-1] if self.layout.order else self.along

    @property
    def neighbours(self) -> int:
        """The only dimension along which neighbours can be, `NONE`, or `ANY` if it is not known.

        In groups, they are along two.
        """
        if self.ideal:
            return self.along
        if self.layout.groups > 1:
            return ANY
        return self.fastest if self.contiguous else NONE

    def __str__(self) -> str:
        if self.vector:
            return f"x{self.vector}" if self.layout.row_major else f"{self.layout}x{self.vector}"
        mark = "~" * (not self.gapless) + (f"!{self.aliased}" if self.aliased else "")
        return f"{self.layout}{mark}"


def aliased_at(step: int) -> int:
    """At how many places of a way of an L1 cache runs begin that lie so many bytes apart.

    0 if they all begin with a cache line, and are in so many sets that conflict misses are rare.
    """
    places = WAY_BYTES // gcd(step, WAY_BYTES)
    return 0 if MANY <= places <= WAY_BYTES // LINE_BYTES else places


IDEAL = Placement(Layout(()), 0)


def relaxed(placement: Placement) -> Placement:
    """The ideal placement of a tensor in memory, or in registers as wide as its own."""
    return Placement(IDEAL.layout, 0, vector=placement.vector)


def relaxed_along(placement: Placement) -> Placement:
    """The ideal placement whose neighbours are along the same dimension as those of this one."""
    return _ideal_along(placement, placement.neighbours)


def _ideal_along(placement: Placement, along: int) -> Placement:
    return replace(relaxed(placement), contiguous=int(along >= 0), along=along)


def realiased(placement: Placement, aliased: int = 0) -> Placement:
    """The placement with runs that are aliased so; in registers, and if ideal, they never are."""
    fixed = placement.ideal or placement.vector
    return placement if fixed else replace(placement, aliased=aliased)


def ungrouped(placement: Placement) -> Placement:
    """The placement of the groups of a tensor as single elements."""
    layout = placement.layout
    return placement if layout.groups == 1 else replace(placement, layout=replace(layout, groups=1))


def unaliased(placement: Placement) -> Placement:
    """The placement with runs in many sets, which begin as they do in lines."""
    return realiased(placement) if placement.apart else placement


def gapless(layout: Layout) -> Placement:
    return Placement(layout, len(layout.physical))


def canonical(shape: tuple[int, ...], placement: Placement) -> Placement:
    """The canonical placement: the same for all that order the elements of `shape` alike.

    A panel at least as wide as its dimension is dropped; dimensions of size 1 become the
    slowest. Odd-even blocks and groups are canonical as they are.
    """
    layout = placement.layout
    if placement.ideal or placement.vector or layout.odd_even or layout.groups > 1:
        return placement
    if layout.panel is None and 1 not in shape:
        return placement
    extents = list(layout.extents(shape))
    physical = list(layout.physical)
    if layout.panel is not None and shape[layout.panel[0]] <= layout.panel[1]:
        extents[-1] = shape[layout.panel[0]]
    blocked = len(physical) - placement.contiguous
    kept = [
        (d, i >= blocked) for i, (d, n) in enumerate(zip(physical, extents, strict=True)) if n > 1
    ]
    units = sorted(set(range(layout.rank)) - {d for d, _ in kept})
    panel = layout.panel if len(kept) > len({d for d, _ in kept}) else None
    if panel is not None and kept[-2] == (panel[0], True):  # panels are adjacent
        panel = None
        kept.pop()
    order = tuple(units) + tuple(d for d, _ in (kept[:-1] if panel else kept))
    contiguous = sum(tight for _, tight in kept)
    if contiguous == len(kept):
        contiguous = len(order) + (panel is not None)
    return Placement(Layout(order, panel), contiguous, placement.aliased)


def contiguous_after_cut(
    shape: tuple[int, ...], tile: tuple[int, ...], placement: Placement
) -> int:
    """How many innermost physical dimensions of a tile are contiguous.

    These are the innermost dimension that the tile cuts, and all dimensions inside it.
    """
    if placement.ideal or placement.vector:
        return placement.contiguous
    before, after = placement.layout.extents(shape), list(placement.layout.extents(tile))
    panel = placement.layout.panel
    if panel is not None and tile[panel[0]] < panel[1]:
        after[-1] = tile[panel[0]]
    uncut = 0
    while uncut < len(before) and before[-1 - uncut] == after[-1 - uncut]:
        uncut += 1
    return min(placement.contiguous, uncut + 1, len(before))


def tile_placement(
    shape: tuple[int, ...], tile: tuple[int, ...], placement: Placement, element_bytes: int
) -> Placement:
    """The placement of a tile of a tensor: cutting an inner dimension leaves gaps."""
    if placement.vector:
        return placement
    if placement.ideal:
        return _ideal_tile(shape, tile, placement)
    contiguous = contiguous_after_cut(shape, tile, placement)
    aliased = placement.aliased
    if contiguous < placement.contiguous:
        extents = placement.layout.extents(shape)
        outer, stride = prod(extents[:-contiguous]), prod(extents[-contiguous:])
        if outer > 1:
            aliased = aliased_at(stride * element_bytes)
    return canonical(tile, replace(placement, contiguous=contiguous, aliased=aliased))


def _ideal_tile(shape: tuple[int, ...], tile: tuple[int, ...], placement: Placement) -> Placement:
    """The ideal placement of a tile: once the dimension of neighbours is cut to 1, it has none."""
    along = placement.along
    if along == ANY or prod(tile) == 1:
        return relaxed(placement)
    if along == NONE or tile[along] > 1:
        return placement
    return replace(placement, contiguous=0, along=NONE if shape[along] > 1 else ANY)


def squeezed(placement: Placement, kept: tuple[int, ...], strided: bool) -> Placement:
    """The placement of a tensor reduced to the dimensions `kept`; the others must be of size 1.

    If it is `strided`, neighbours are left out.
    """
    if placement.ideal:
        along = placement.along
        if along >= 0:
            along = NONE if strided or along not in kept else kept.index(along)
        return _ideal_along(placement, along)
    layout = placement.layout
    order = tuple(kept.index(d) for d in layout.order if d in kept)
    panel = layout.panel
    if panel is not None:
        panel = (kept.index(panel[0]), panel[1]) if panel[0] in kept else None
    odd_even = layout.odd_even and panel is not None
    left = Layout(order, panel, odd_even, layout.groups)
    contiguous = 0 if strided else min(placement.contiguous, len(left.physical))
    aliased = 0 if placement.vector else placement.aliased
    return Placement(left, contiguous, aliased, placement.vector)


def runs(shape: tuple[int, ...], placement: Placement) -> tuple[int, int]:
    """The number of contiguous runs, and the elements in each."""
    if placement.ideal or placement.vector:
        return 1, prod(shape)
    extents = placement.layout.extents(shape)
    count = prod(extents[: len(extents) - placement.contiguous])
    return count, prod(shape) // count


@dataclass(frozen=True)
class TensorSpec:
    """One operand: its shape, dtype, memory level (0 is the farthest) and placement."""

    shape: tuple[int, ...]
    dtype: DType
    level: int = 0
    placement: Placement = IDEAL

    def __post_init__(self) -> None:
        if self.placement is IDEAL:
            object.__setattr__(self, "placement", gapless(row_major(len(self.shape))))

    @property
    def bytes(self) -> int:
        return prod(self.shape) * self.dtype.bytes

    @property
    def type(self) -> str:
        """Dtype and shape in XLA's syntax, and the layout unless the tensor is `plain`."""
        dims = ",".join(map(str, self.shape))
        return f"{self.dtype}[{dims}]{'' if self.plain else self.placement.layout}"

    @property
    def plain(self) -> bool:
        """Whether the placement is canonical: gapless, and row-major."""
        return self.placement == canonical(self.shape, gapless(row_major(len(self.shape))))

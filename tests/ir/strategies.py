"""Random shapes, layouts, and chains of tiles that rewrites may cut."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from morello.ir.layout import Layout

Shape = tuple[int, ...]

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
"""Of any rank that operands have."""


@st.composite
def layouts(draw: st.DrawFn, rank: int | None = None) -> Layout:
    """Any order of the dimensions, most with a panel along one, or in odd-even blocks."""
    rank = rank or draw(st.integers(1, 4))
    order = tuple(draw(st.permutations(range(rank))))
    kind = draw(st.sampled_from(["plain", "panel", "panel", "odd-even"]))
    if kind == "plain":
        return Layout(order)
    if kind == "odd-even":
        return Layout(order, (order[-1], draw(st.sampled_from([4, 6]))), odd_even=True)
    return Layout(order, (draw(st.integers(0, rank - 1)), draw(st.integers(2, 4))))


@st.composite
def in_groups(draw: st.DrawFn, rank: int) -> Layout:
    """Panels of groups, of a tensor of two dimensions at least."""
    order = tuple(draw(st.permutations(range(rank))))
    panel = draw(st.sampled_from(order[:-1])), draw(st.integers(2, 4))
    return Layout(order, panel, groups=draw(st.sampled_from([2, 4])))


@dataclass(frozen=True)
class Cut:
    """A tile: its shape, and where it begins in what it is cut from."""

    shape: Shape
    start: Shape


@dataclass(frozen=True)
class Chain:
    """A whole tensor and tiles, each cut from the one before."""

    shape: Shape
    layout: Layout
    cuts: tuple[Cut, ...]


@st.composite
def chains(draw: st.DrawFn, whole_panels: bool = False) -> Chain:
    """Legal chains: a tile of more than one panel holds whole ones, but for the tensor's end.

    Odd-even blocks and panels of groups are always whole.
    """
    shape = draw(shapes)
    layout = draw(layouts(len(shape)))
    if len(shape) > 1 and draw(st.integers(0, 3)) == 0:
        layout = draw(in_groups(len(shape)))
    if layout.panel is not None and (whole_panels or _is_whole(layout)):
        dim, width = layout.panel
        shape = (*shape[:dim], shape[dim] * width, *shape[dim + 1 :])
        dim = layout.order[-1]
        shape = (*shape[:dim], shape[dim] * layout.groups, *shape[dim + 1 :])
    cuts = []
    now = shape
    for _ in range(draw(st.integers(1, 4))):
        dim = draw(st.integers(0, len(shape) - 1))
        tile = draw(st.sampled_from(_tiles(now, dim, layout)))
        kind = draw(st.sampled_from(["one", "last", "remainder"]))
        size, begin = tile, tile * draw(st.integers(0, now[dim] // tile - 1))
        if kind == "remainder" and now[dim] % tile:
            size, begin = now[dim] % tile, now[dim] // tile * tile
        elif kind == "last" and now[dim] - tile in _tiles(now, dim, layout):
            begin = now[dim] - tile  # it overlaps the tile before
        start = tuple(begin if d == dim else 0 for d in range(len(now)))
        now = (*now[:dim], size, *now[dim + 1 :])
        cuts.append(Cut(now, start))
    return Chain(shape, layout, tuple(cuts))


def _tiles(shape: Shape, dim: int, layout: Layout) -> list[int]:
    sizes = range(1, shape[dim] + 1)
    if layout.groups > 1 and dim == layout.order[-1]:
        return [t for t in sizes if t % layout.groups == 0]
    if layout.panel is None or layout.panel[0] != dim:
        return list(sizes)
    if shape[dim] <= layout.panel[1] and not _is_whole(layout):
        return list(sizes)
    return [t for t in sizes if t % layout.panel[1] == 0 or t == shape[dim]]


def _is_whole(layout: Layout) -> bool:
    """Whether tiles always have whole panels."""
    return layout.odd_even or layout.groups > 1

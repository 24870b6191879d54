"""Loops as C has them: a program's tiles along one dimension, in as few as can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from morello.codegen.views import MemoryView, View
from morello.ir.spec import Spec
from morello.rewrites import Move, MoveAll, Serial, Split, Tile
from morello.rewrites.impl import Impl

LONG = 32
"""Iterations of a loop that compilers leave one."""


@dataclass(frozen=True)
class Loop:
    """What goes over `size` elements of a dimension of a Spec in steps, from its views on."""

    spec: Spec
    views: Sequence[View]
    dim: str
    size: int
    step: int
    body: Impl

    @property
    def times(self) -> int:
        return self.size // self.step

    def tiles(self, variable: str | None) -> list[View]:
        """What a step is about, by the loop's variable, or the first's."""
        return cut(self.spec, self.body.spec, self.views, self.dim, 0, variable)

    def strides(self) -> list[int]:
        """The elements from one step to the next, of each operand in memory."""
        tiles = [view for view in self.tiles("step") if isinstance(view, MemoryView)]
        return [view.address.terms.get("step", 0) * self.step for view in tiles]

    def starts(self) -> list[int]:
        """Where the first step is, of each operand in memory."""
        return [view.address.constant for view in self.views if isinstance(view, MemoryView)]


def loops(impl: Impl, views: Sequence[View], dim: str) -> list[Loop]:
    """The loops of a program along a dimension, one after the other.

    A loop whose body is another over the same dimension is one, if that is long: a compiler
    leaves such loops nested, and processors guess the end of each inner one wrong, while short
    ones are unrolled. So is a loop with the one that goes on where it ends, doing the same.
    """
    found: list[Loop] = []
    for loop in _nested(impl, views, dim):
        if found and _goes_on(found[-1], loop):
            found[-1] = replace(found[-1], size=found[-1].size + loop.size)
        else:
            found.append(loop)
    return found


def _nested(impl: Impl, views: Sequence[View], dim: str) -> Iterator[Loop]:
    program = impl
    while emits_nothing(program):
        program = program.children[0].impl
    spec, rewrite = program.spec, program.rewrite
    if not isinstance(rewrite, Tile | Split) or rewrite.dim != dim:
        yield Loop(spec, views, dim, spec.size(dim), spec.size(dim), impl)
        return
    body, *others = program.children
    if body.times == 1:
        yield from loops(body.impl, cut(spec, body.impl.spec, views, dim, 0), dim)
    else:
        yield _flat(Loop(spec, views, dim, body.times * rewrite.size, rewrite.size, body.impl))
    for rest in others:
        start = spec.size(dim) // rewrite.size * rewrite.size
        yield from loops(rest.impl, cut(spec, rest.impl.spec, views, dim, start), dim)


def _flat(loop: Loop) -> Loop:
    """A loop and the one that is its body as one, if they can be."""
    inner, *others = loops(loop.body, loop.tiles(None), loop.dim)
    if others or inner.times < LONG:
        return loop
    flat = replace(loop, step=inner.step, body=inner.body)
    per_outer = [stride * inner.times for stride in inner.strides()]
    if loop.strides() != per_outer or flat.strides() != inner.strides():
        return loop  # from panel to panel, and within one
    return flat


def _goes_on(loop: Loop, other: Loop) -> bool:
    """The other begins where the first ends, and does the same."""
    if loop.step != other.step or loop.body != other.body:
        return False
    strides = loop.strides()
    ends = [
        start + stride * loop.times for start, stride in zip(loop.starts(), strides, strict=True)
    ]
    return strides == other.strides() and ends == other.starts()


def emits_nothing(impl: Impl) -> bool:
    """It only says where things are."""
    rewrite = impl.rewrite
    return isinstance(rewrite, Serial | MoveAll) or (
        isinstance(rewrite, Move) and rewrite.layout is None
    )


def cut(
    spec: Spec,
    inner: Spec,
    views: Sequence[View],
    dim: str,
    start: int,
    variable: str | None = None,
) -> list[View]:
    """Every operand's tile along one of the operation's dimensions."""
    places = spec.operation.places
    tiles: list[View] = []
    for operand, view in enumerate(views):
        if (operand, dim) not in places:
            tiles.append(view)
            continue
        position, stride = places[operand, dim]
        size = inner.shape(operand)[position]
        tiles.append(view.cut(position, size, start, variable or None, stride))
    return tiles


def with_size(spec: Spec, dim: str, size: int) -> tuple[int, ...]:
    """The sizes of a Spec, one of them another."""
    return tuple(
        size if d == dim else n for d, n in zip(spec.operation.dims, spec.sizes, strict=True)
    )

"""Where a tile of an operand is: in memory at an affine address, or in registers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from morello.ir.layout import Layout
from morello.ir.spec import Spec


@dataclass(frozen=True)
class Address:
    """base + sum of coefficient * loop variable, in elements."""

    terms: Mapping[str, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, constant: int, variable: str | None = None, coefficient: int = 0) -> Address:
        terms = dict(self.terms)
        if variable is not None and coefficient:
            terms[variable] = terms.get(variable, 0) + coefficient
        return Address(terms, self.constant + constant)

    def divided(self, count: int) -> Address | None:
        """The address in groups of `count` elements; None if it may lie inside a group."""
        if any(number % count for number in (*self.terms.values(), self.constant)):
            return None
        terms = {name: coefficient // count for name, coefficient in self.terms.items()}
        return Address(terms, self.constant // count)

    def text(self, called: Mapping[str, str]) -> str:
        """The address in C, in which `called` are the identifiers of names."""
        parts = [called[v] if c == 1 else f"{c} * {called[v]}" for v, c in self.terms.items()]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


@dataclass(frozen=True)
class MemoryView:
    """A tile in memory: its base pointer, the strides of its buffer, and its address.

    `strides` are in elements, one per physical dimension of `layout`; `shape` is the
    tile's own, by the buffer's dimensions. `dims` are those that the tile still has, and
    `steps` the distance of its neighbours along each, counted in the buffer's elements.
    """

    pointer: str
    layout: Layout
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    steps: tuple[int, ...]
    address: Address = Address()

    @property
    def extents(self) -> tuple[int, ...]:
        """The tile's shape, by the dimensions it has."""
        return tuple(self.shape[d] for d in self.dims)

    @property
    def in_panels(self) -> bool:
        """Whether the buffer holds one panel after the other, not rows."""
        return self.layout.panel is not None

    def cut(self, dim: int, size: int, start: int, variable: str | None, stride: int) -> MemoryView:
        """The tile of `size` along `dim` that begins at (`start` + `variable`) * `stride`."""
        own, step = self.dims[dim], self.steps[dim] * stride
        per_element = self._stride(own) * step
        shape = (*self.shape[:own], size, *self.shape[own + 1 :])
        address = self.address.plus(start * per_element, variable, per_element)
        return MemoryView(  # as `replace` does it, which takes longer: there are many cuts
            self.pointer, self.layout, self.strides, shape, self.dims, self.steps, address
        )

    def step(self, dim: int) -> int:
        """The stride of the tile along one of its dimensions, in elements of memory."""
        return self._stride(self.dims[dim]) * self.steps[dim]

    def spans(self) -> list[tuple[int, int]]:
        """Count and step of the tile's elements along each physical dimension, fastest first."""
        order, panel = self.layout.order, self.layout.panel
        result: list[tuple[int, int]] = []
        for own in reversed(order):
            count, step = 1, 1
            if own in self.dims:
                dim = self.dims.index(own)
                count, step = self.shape[own], self.step(dim)
            if panel is not None and panel[0] == own:
                width = panel[1]
                result.insert(0, (min(count, width), self.strides[-1]))
                count, step = -(-count // width), self.strides[order.index(own)]
            result.append((count, step))
        return result

    @property
    def reach(self) -> int:
        """How many elements of memory lie from the tile's first to its last, with these."""
        return 1 + sum((count - 1) * step for count, step in self.spans())

    def keep(self, dims: Sequence[int], steps: Sequence[int]) -> MemoryView:
        """Every `steps[i]`-th element along `dims[i]` of the tile; its other dimensions are 1."""
        shape = list(self.shape)
        for d, step in zip(dims, steps, strict=True):
            shape[self.dims[d]] = (shape[self.dims[d]] - 1) // step + 1
        return replace(
            self,
            shape=tuple(shape),
            dims=tuple(self.dims[d] for d in dims),
            steps=tuple(self.steps[d] * n for d, n in zip(dims, steps, strict=True)),
        )

    def grouped(self, lanes: int, pointer: str) -> MemoryView:
        """This memory by a pointer to groups of `lanes` elements along the fastest dimension.

        That is the last in order if the layout has groups. The pointer is to the tile's own start
        if that may be inside a group of the buffer.
        """
        layout = replace(self.layout, groups=1)
        inner = len(self.strides) - (1 if self.layout.groups == 1 else 2)
        along = layout.physical[inner]
        strides = tuple(s if i >= inner else s // lanes for i, s in enumerate(self.strides))
        shape = tuple(n // lanes if d == along else n for d, n in enumerate(self.shape))
        address = self.address.divided(lanes) or Address()
        return MemoryView(pointer, layout, strides, shape, self.dims, self.steps, address)

    def _stride(self, dim: int) -> int:
        """The stride of a dimension of the buffer: in a panel, or per element across panels."""
        layout = self.layout
        outer = self.strides[layout.order.index(dim)]
        if layout.panel is None or layout.panel[0] != dim:
            return outer
        width = layout.panel[1]
        return self.strides[-1] if self.shape[dim] <= width else outer // width

    def first(self, called: Mapping[str, str]) -> str:
        """The tile's first element as a C lvalue; `called` are the identifiers of names."""
        return f"{called[self.pointer]}[{self.address.text(called)}]"


@dataclass(frozen=True)
class RegisterView:
    """A tile in registers: an array of registers, and the tile's place in it.

    `shape` and `start` are by the dimensions of the array, `dims` are those the tile has.
    """

    name: str
    shape: tuple[int, ...]
    along: int
    width: int
    start: tuple[int, ...]
    dims: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self.shape[d] for d in self.dims)

    def cut(
        self, dim: int, size: int, start: int, variable: str | None, stride: int
    ) -> RegisterView:
        assert variable is None, "loops over registers are unrolled"
        own = self.dims[dim]
        shape = (*self.shape[:own], size, *self.shape[own + 1 :])
        begin = (*self.start[:own], self.start[own] + start * stride, *self.start[own + 1 :])
        return RegisterView(self.name, shape, self.along, self.width, begin, self.dims)

    def keep(self, dims: Sequence[int], steps: Sequence[int]) -> RegisterView:
        """The tile by some of its dimensions only; the others are 1."""
        assert all(step == 1 for step in steps)
        return replace(self, dims=tuple(self.dims[d] for d in dims))

    def counts(self) -> tuple[int, ...]:
        """Registers along each dimension of the array."""
        return tuple(
            -(-n // self.width) if d == self.along else n for d, n in enumerate(self.shape)
        )

    @property
    def count(self) -> int:
        """Registers of the tile."""
        return math.prod(self.counts())

    def first(self) -> list[int]:
        """The tile's first register along each dimension of the array."""
        return [s // self.width if d == self.along else s for d, s in enumerate(self.start)]

    def registers(self, called: Mapping[str, str]) -> list[str]:
        """Every register of the tile, as a C lvalue, the last dimension fastest."""
        first = self.first()
        registers = [called[self.name]]
        for begin, count in zip(first, self.counts(), strict=True):
            registers = [f"{name}[{begin + i}]" for name in registers for i in range(count)]
        return registers


View = MemoryView | RegisterView


def within(view: View, shape: Sequence[int], starts: Sequence[int]) -> View:
    """The view of this shape in a larger tensor, from these positions on; the rest is left out."""
    for dim, (whole, size, start) in enumerate(zip(view.extents, shape, starts, strict=True)):
        if size < whole:
            view = view.cut(dim, size, start, None, 1)
    return view


def buffer_view(
    pointer: str, layout: Layout, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> MemoryView:
    """A whole tensor; `strides` by logical dimension if it has gaps."""
    rank = len(shape)
    steps = layout.strides(shape)
    if strides is not None:
        steps = tuple(strides[d] for d in layout.order)
    return MemoryView(pointer, layout, steps, shape, tuple(range(rank)), (1,) * rank)


def operand_views(spec: Spec, names: Mapping[str, str]) -> list[MemoryView]:
    """The whole operands of a Spec, by pointers that have these names; see `Spec.arrays`."""
    return [
        buffer_view(
            names[spec.name(index)],
            tensor.placement.layout,
            tensor.shape,
            spec.strides[index] if spec.strides else None,
        )
        for index, tensor in enumerate(spec.tensors)
    ]


def register_view(name: str, layout: Layout, shape: tuple[int, ...], width: int) -> RegisterView:
    """A whole tensor in registers, which run along the layout's fastest dimension."""
    rank = len(shape)
    return RegisterView(name, shape, layout.order[-1], width, (0,) * rank, tuple(range(rank)))

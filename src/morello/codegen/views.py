"""Where a tile of an operand is found: in memory by an affine address, or in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from morello.ir.layout import Layout


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

    def __str__(self) -> str:
        parts = [v if c == 1 else f"{c} * {v}" for v, c in self.terms.items()]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


@dataclass(frozen=True)
class MemoryView:
    """A tile in memory: its base pointer, the strides of its buffer, and its address.

    `strides` are in elements, one per physical dimension of `layout`; `shape` is the
    tile's own.
    """

    pointer: str
    layout: Layout
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    address: Address = Address()

    def cut(self, dim: int, size: int, start: int, variable: str | None = None) -> MemoryView:
        """The tile of `size` along `dim` that begins at `start`, or at a loop variable."""
        per_element = self._stride(dim, size)
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        address = self.address.plus(start * per_element, variable, per_element)
        return replace(self, shape=shape, address=address)

    def _stride(self, dim: int, tile: int) -> int:
        """Elements per step along `dim`, for steps of whole tiles."""
        layout = self.layout
        outer = self.strides[layout.order.index(dim)]
        if layout.panel is None or layout.panel[0] != dim:
            return outer
        width = layout.panel[1]
        return self.strides[-1] if self.shape[dim] <= width else outer // width

    @property
    def element(self) -> str:
        """The tile's first element, as a C lvalue."""
        return f"{self.pointer}[{self.address}]"


@dataclass(frozen=True)
class RegisterView:
    """A tile in registers: an array of registers, and the tile's place in it."""

    name: str
    shape: tuple[int, ...]
    along: int
    width: int
    start: tuple[int, ...]

    def cut(self, dim: int, size: int, start: int, variable: str | None = None) -> RegisterView:
        assert variable is None, "loops over registers are unrolled"
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        begin = (*self.start[:dim], self.start[dim] + start, *self.start[dim + 1 :])
        return replace(self, shape=shape, start=begin)

    def counts(self) -> tuple[int, ...]:
        """Registers along each dimension."""
        return tuple(
            -(-n // self.width) if d == self.along else n for d, n in enumerate(self.shape)
        )

    def names(self) -> list[str]:
        """Every register of the tile, as a C lvalue, the last dimension fastest."""
        first = [s // self.width if d == self.along else s for d, s in enumerate(self.start)]
        found = [self.name]
        for begin, count in zip(first, self.counts(), strict=True):
            found = [f"{name}[{begin + i}]" for name in found for i in range(count)]
        return found


View = MemoryView | RegisterView


def buffer_view(pointer: str, layout: Layout, shape: tuple[int, ...]) -> MemoryView:
    """A whole tensor without gaps."""
    return MemoryView(pointer, layout, layout.strides(shape), shape)

"""Random products of tensors as texts: einsums, and matmuls whose operands differ in rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Product:
    """The text of a product of two tensors of these shapes, and what einsum calls it."""

    text: str
    subscripts: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]

    def value(self, a: Array, b: Array) -> Array:
        """The product, at least a vector."""
        return np.atleast_1d(np.einsum(self.subscripts, a, b))


@st.composite
def einsums(draw: st.DrawFn, largest: int = 5) -> Product:
    """Any number of batch, free and contracted dimensions, in any order in every tensor."""
    letters = iter(draw(st.permutations("abcdefgh")))
    batch, rows, columns, summed = (
        [next(letters) for _ in range(draw(st.integers(least, 2)))] for least in (0, 0, 0, 1)
    )
    sizes = {d: draw(st.integers(1, largest)) for d in (*batch, *rows, *columns, *summed)}
    left, right, result = (
        "".join(draw(st.permutations(dims)))
        for dims in (batch + rows + summed, batch + columns + summed, batch + rows + columns)
    )
    subscripts = f"{left},{right}->{result}"
    shapes = tuple(sizes[d] for d in left), tuple(sizes[d] for d in right)
    operands = ", ".join(_input(draw, shape) for shape in shapes)
    return Product(f'einsum("{subscripts}", {operands})', subscripts, shapes)


@st.composite
def matmuls(draw: st.DrawFn) -> Product:
    """Vectors, matrices and batches of them, some of which are broadcast."""
    lead = draw(st.integers(0, 3))
    sizes = {d: draw(st.integers(1, 5)) for d in "xyzmkn"}
    batch = "xyz"[3 - lead :]
    left, right = (
        batch[draw(st.integers(0, lead)) :] if draw(st.booleans()) else batch for _ in "ab"
    )
    left, right = (left + "mk", right + "kn")
    if len(left) == 2 and draw(st.booleans()):
        left = "k"
    if len(right) == 2 and draw(st.booleans()):
        right = "k"
    shapes = tuple(sizes[d] for d in left), tuple(sizes[d] for d in right)
    result = max(left[:-2], right[:-2], key=len) + "m" * ("m" in left) + "n" * ("n" in right)
    text = " @ ".join(_input(draw, shape) for shape in shapes)
    return Product(text, f"{left},{right}->{result}", shapes)


def _input(draw: st.DrawFn, shape: Sequence[int]) -> str:
    """A type of this shape, its dimensions in memory in some order."""
    text = f"f32[{','.join(map(str, shape))}]"
    if draw(st.integers(0, 3)) == 0:
        text += "{" + ",".join(map(str, draw(st.permutations(range(len(shape)))))) + "}"
    return text

"""Convolutions by 3x3 filters in fewer multiplications, by Winograd's algorithm F(m x m, 3 x 3).

The output is made of tiles of m x m elements, each of a square of (m + 2) x (m + 2) pixels. These
are turned into as many numbers, `points`, by additions (`winograd_input`); each point of all
channels is multiplied by a matrix of filters that were turned in the same way (`winograd_filters`);
and the points of the products are turned into a tile (`winograd_output`). For each channel and
filter, that is (m + 2)^2 multiplications in place of 9 m^2: 2.25 times fewer for m = 2, 4 times
fewer for m = 4.

The numbers that points are turned by grow with m, and so does the error: see `docs/models.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.rounding import Bounded, Bounds, summed
from morello.ir.semantics import unfolded
from morello.ir.text import Result, Text, call, oriented

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from morello.ir.dtype import DType

TAPS = 3
"""The rows, and the columns, of a filter."""


class Transforms(NamedTuple):
    """The matrices along one dimension, each of which has a row for each number that it makes.

    A tile is out @ ((filters @ filter) * (input @ pixels)).
    """

    input: Array
    filters: Array
    out: Array


_PLACES = (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2))
"""The numbers at which polynomials are evaluated, beside infinity."""


def toom_cook(tile: int, taps: int) -> Transforms:
    """The matrices along one dimension, for tiles of so many results of filters of so many taps.

    A filter, and what is multiplied by it, are polynomials. Their values are multiplied at places
    and at infinity, where a value is the last coefficient; the matrices are exact.
    """
    places = [Fraction(place) for place in _PLACES[: tile + taps - 2]]
    count = len(places) + 1
    others = [[q for q in places if q != p] for p in places]
    scales = [
        prod((p - q for q in rest), start=Fraction(1))
        for p, rest in zip(places, others, strict=True)
    ]
    last = [[Fraction(n == size - 1) for n in range(size)] for size in (taps, tile)]
    filters = [[p**n / scale for n in range(taps)] for p, scale in zip(places, scales, strict=True)]
    return Transforms(
        _floats(_monic(roots, count) for roots in (*others, places)),
        _floats([*filters, last[0]]),
        _floats([*([p**n for n in range(tile)] for p in places), last[1]]).T,
    )


def _monic(roots: Sequence[Fraction], count: int) -> list[Fraction]:
    """The first coefficients of the polynomial with these roots, that of the constant first."""
    coefficients = [Fraction(1)]
    for root in roots:
        terms = zip([Fraction(0), *coefficients], [*coefficients, Fraction(0)], strict=True)
        coefficients = [before - root * same for before, same in terms]
    return [*coefficients, *[Fraction(0)] * (count - len(coefficients))]


def _floats(rows: Iterable[Sequence[Fraction]]) -> Array:
    return np.array([[float(each) for each in row] for row in rows])


TRANSFORMS: Mapping[int, Transforms] = {
    2: Transforms(
        np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]),
        np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]) / 2,
        np.array([[1, 1, 1, 0], [0, 1, -1, -1]]),
    ),
    4: toom_cook(4, TAPS),
}
"""The transforms, by the rows and columns m of a tile; with 2, some signs are changed."""


_AT_ONCE = 4096
"""The filters of a channel that are turned at once: what they take stays in a cache."""


def points(tile: int) -> int:
    """The number of points of a tile of so many rows and columns."""
    return (tile + TAPS - 1) ** 2


@cache
def winograd_input(tile: int = 2, channels_last: bool = False) -> Operation:
    """out[t,b,y,x,c] = the point t of image[b, c, m*y+p, m*x+q], for all p and q below m + 2."""
    rows, columns = f"{tile}y+p", f"{tile}x+q"
    image = ("b", rows, columns, "c") if channels_last else ("b", "c", rows, columns)
    return operation(
        WINOGRAD_INPUT,
        ("b", "c", "y", "x", "p", "q", "t"),
        (Operand("image", image), Operand("out", ("t", "b", "y", "x", "c"), written=True)),
        reduced=("p", "q"),
        untiled=("p", "q", "t"),
    )


@cache
def winograd_output(tile: int = 2, channels_last: bool = False) -> Operation:
    """out[b, f, m*y+i, m*x+j] = the element i, j of the tile that has the points x[t,b,y,x,f]."""
    rows, columns = f"{tile}y+i", f"{tile}x+j"
    out = ("b", rows, columns, "f") if channels_last else ("b", "f", rows, columns)
    return operation(
        WINOGRAD_OUTPUT,
        ("b", "f", "y", "x", "i", "j", "t"),
        (Operand("x", ("t", "b", "y", "x", "f")), Operand("out", out, written=True)),
        reduced=("t",),
        untiled=("i", "j", "t"),
    )


def winograd_filters(filters: Array, tile: int) -> Array:
    """The points [t,c,f] of filters[f,c,p,q] for tiles of so many rows and columns."""
    turn = TRANSFORMS[tile].filters
    return filter_points(filters.reshape(*filters.shape[:2], TAPS**2), np.kron(turn, turn))


def filter_points(filters: Array, turn: Array) -> Array:
    """The points [t,c,f] of filters[f,c,q] by a matrix [t,q], in the dtype of the filters.

    Sums are in float64, and are rounded once. Those beyond the dtype's range are infinite.
    """
    count, channels, taps = filters.shape
    turned = np.empty((len(turn), channels, count), filters.dtype)
    step = max(1, _AT_ONCE // count)
    for low in range(0, channels, step):
        some = filters[:, low : low + step].transpose(2, 1, 0).astype(np.float64, order="C")
        sums = turn @ some.reshape(taps, -1)
        with np.errstate(over="ignore"):
            turned[:, low : low + step] = sums.reshape(len(turn), -1, count)
    return turned


def tile_of(turning: Operation) -> int:
    """The rows, and the columns, of the tiles that an operation makes or is for."""
    return turning.places[_windowed(turning.primitive), "y"][1]


def _windowed(primitive: Primitive | None) -> int:
    """The operand that has squares or tiles: the image, or the output."""
    return 0 if primitive is WINOGRAD_INPUT else 1


def _maker(primitive: Primitive | None) -> Callable[[int, bool], Operation]:
    """The function that makes the operations of a primitive."""
    return winograd_input if primitive is WINOGRAD_INPUT else winograd_output


def _variants(primitive: Primitive, like: Operation) -> Iterator[Operation]:
    """The operations for tiles of the same size."""
    place = (_windowed(primitive), "y")
    if len(like.operands) == 2 and place in like.places:
        tile = like.places[place][1]
        if tile in TRANSFORMS:
            yield from (_maker(primitive)(tile, last) for last in (False, True))


# ---- what they compute


def _matrix(turning: Operation) -> Array:
    """The matrix by which an operation multiplies lines of pixels, or of points."""
    turns = TRANSFORMS[tile_of(turning)]
    chosen = turns.input if turning.primitive is WINOGRAD_INPUT else turns.out
    return chosen.astype(np.float64)


def _turned(turning: Operation, source: Array, matrix: Array) -> Array:
    """The operand that is read with its rows, and then its columns, multiplied by a matrix."""
    count, side = matrix.shape
    names = [name for axis in turning.axes[0] for name in axis.names]
    if turning.primitive is WINOGRAD_INPUT:
        value = unfolded(turning, 0, source, {"p": side, "q": side})
        lines = "p", "q"
    else:
        place, lines = names.index("t"), ("i", "j")
        shape = (*source.shape[:place], side, side, *source.shape[place + 1 :])
        value, names = source.reshape(shape), [*names[:place], *lines, *names[place + 1 :]]
    for line in lines:
        value = _multiplied(value, matrix, names.index(line))
    if turning.primitive is WINOGRAD_INPUT:
        first = [names.index(line) for line in lines]
        value = np.moveaxis(value, first, (0, 1)).reshape(count**2, *np.delete(value.shape, first))
        names = ["t", *(name for name in names if name not in lines)]
    written = [name for axis in turning.axes[1] for name in axis.names]
    ordered = value.transpose([names.index(name) for name in written])
    counts = iter(ordered.shape)
    extents = [prod(next(counts) for _ in axis.names) for axis in turning.axes[1]]
    return ordered.reshape(extents)


def _multiplied(value: Array, matrix: Array, axis: int) -> Array:
    """The products of a matrix and the lines along an axis.

    Where the matrix is zero, nothing is added: not even zero times infinity.
    """
    rows = [
        sum(factor * value.take(place, axis) for place, factor in enumerate(row) if factor)
        for row in matrix
    ]
    return np.stack(rows, axis)


def _evaluate(turning: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    (source,) = inputs
    return (_turned(turning, source, _matrix(turning)).astype(source.dtype, copy=False),)


def _bound(turning: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    matrix = _matrix(turning)
    terms = int(np.count_nonzero(matrix, axis=1).max()) ** 2
    factors = [inputs[0], Bounded(matrix)]
    return (summed(partial(_turned, turning), factors, terms, dtypes[-1]),)


# ---- their text


def _text(name: str, turning: Operation, arguments: Sequence[Text], result: Result) -> Text:
    tile = tile_of(turning)
    last = turning.operands[_windowed(turning.primitive)].dims[-1] in ("c", "f")
    wanted = _maker(turning.primitive)(tile, last).operands[0].dims
    source = oriented(arguments[0], turning.operands[0].dims, wanted)
    options: list[tuple[str, str | int]] = [("tile", tile)] if tile != 2 else []
    options += [("layout", "NHWC")] if last else []
    return call(name, [source], options, result.dtype)


WINOGRAD_INPUT: Primitive = Primitive(
    "WinogradInput",
    variants=lambda like: _variants(WINOGRAD_INPUT, like),
    evaluate=_evaluate,
    bound=_bound,
    text=partial(_text, "winograd_input"),
    idle=("t",),
)

WINOGRAD_OUTPUT: Primitive = Primitive(
    "WinogradOutput",
    variants=lambda like: _variants(WINOGRAD_OUTPUT, like),
    evaluate=_evaluate,
    bound=_bound,
    text=partial(_text, "winograd_output"),
)

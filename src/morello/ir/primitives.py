"""The primitive operations, of which compositions are made."""

from __future__ import annotations

from functools import cache

from morello.ir.functions import Function
from morello.ir.operation import Operand, Operation, accumulating, operation

MAX_RANK = 6
MAX_BATCH_DIMS = MAX_RANK - 2

SINGLE = "r"
"""The dimension, of size 1, that a result has if all others were reduced."""

_NAMES = ("i", "j", "k", "l", "m", "n")


def _dims(rank: int) -> tuple[str, ...]:
    return _NAMES[:rank]


# ---- sums of products


@cache
def matmul(batch: int = 0, accumulates: bool = False) -> Operation:
    """c[m,n] = sum over k of a[m,k] * b[k,n], for each of `batch` leading dimensions."""
    lead = ("b",) if batch == 1 else tuple(f"b{i}" for i in range(batch))
    overwriting = operation(
        "Matmul",
        (*lead, "m", "k", "n"),
        (
            Operand("a", (*lead, "m", "k")),
            Operand("b", (*lead, "k", "n")),
            Operand("c", (*lead, "m", "n"), written=True, start="zero"),
        ),
        reduced=("k",),
    )
    return accumulating(overwriting) if accumulates else overwriting


@cache
def conv(
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """out[b,f,y,x] = sum over c, p, q of image[b, c, sy*y+p, sx*x+q] * filter[f,c,p,q].

    `padding` adds that many rows (columns) of zeros at either end of the image. With
    `channels_last`, the operands are image[b,h,w,c], filter[p,q,c,f] and out[b,y,x,f].
    """
    y, x = (
        f"{stride if stride > 1 else ''}{out}+{inner}" + (f"-{2 * pad}" if pad else "")
        for stride, pad, out, inner in zip(strides, padding, "yx", "pq", strict=True)
    )
    shapes = (("b", "c", y, x), ("f", "c", "p", "q"), ("b", "f", "y", "x"))
    if channels_last:
        shapes = (("b", y, x, "c"), ("p", "q", "c", "f"), ("b", "y", "x", "f"))
    image, weights, out = shapes
    overwriting = operation(
        "Conv",
        ("b", "f", "c", "y", "x", "p", "q"),
        (
            Operand("image", image),
            Operand("filter", weights),
            Operand("out", out, written=True, start="zero"),
        ),
        reduced=("c", "p", "q"),
        # a tile of a padded image has padding on some sides only
        whole=("y", "p") * bool(padding[0]) + ("x", "q") * bool(padding[1]),
    )
    return accumulating(overwriting) if accumulates else overwriting


# ---- copies


@cache
def move(rank: int, order: tuple[int, ...] | None = None) -> Operation:
    """dst = src: a copy between levels, layouts, dtypes, or memory and registers.

    With an `order`, dst's dimension i is src's dimension order[i].
    """
    dims = _dims(rank)
    source = dims
    if order is not None:
        source = tuple(dims[order.index(d)] for d in range(rank))
    return operation("Move", dims, (Operand("src", source), Operand("dst", dims, written=True)))


@cache
def fill(rank: int, value: str = "zero") -> Operation:
    """dst = 0 ("zero"), or the lowest value of its dtype ("lowest")."""
    name = {"zero": "FillZero", "lowest": "FillLowest"}[value]
    return operation(name, _dims(rank), (Operand("dst", _dims(rank), written=True),))


@cache
def pack(rank: int, dim: int, lanes: int) -> Operation:
    """dst = src, with each `lanes` neighbours along the dimension `dim` packed in one element."""
    dims = _dims(rank)
    grouped = tuple(f"{lanes}{d}+p" if i == dim else d for i, d in enumerate(dims))
    operands = (Operand("src", grouped), Operand("dst", dims, written=True))
    return operation("Pack", (*dims, "p"), operands, whole=("p",))


# ---- maps


@cache
def elementwise(function: Function, spans: tuple[tuple[int, ...], ...], rank: int) -> Operation:
    """out[...] = function(...): `spans` lists the dimensions of the output that each input has.

    An input that spans fewer dimensions than the output is broadcast along the others.
    The name says whether the function has a constant: AddConstant, Add.
    """
    dims = _dims(rank)
    names = ("x",) if function.arity == 1 else ("a", "b")
    inputs = [
        Operand(name, tuple(dims[d] for d in span)) for name, span in zip(names, spans, strict=True)
    ]
    name = "".join(word.capitalize() for word in function.name.split("_"))
    name += "" if function.constant is None else "Constant"
    out = Operand("out", dims, written=True)
    return operation(name, dims, (*inputs, out), function=function)


def divide_vec(rank: int) -> Operation:
    """out = a / b, element by element."""
    whole = tuple(range(rank))
    return elementwise(Function("divide"), (whole, whole), rank)


@cache
def divide_vec_scalar(rank: int, scan: int) -> Operation:
    """out /= denominator, in place, with one denominator per row along the dimension `scan`."""
    dims, rows, extra = _scanned(rank, scan)
    return operation(
        "DivideVecScalar",
        (*extra, *dims),
        (Operand("denominator", rows), Operand("out", dims, written=True, updated=True)),
    )


@cache
def broadcast(rank: int, dim: int) -> Operation:
    """out[..., d, ...] = x[...] for every d along the output's dimension `dim`."""
    dims, rows, extra = _scanned(rank, dim)
    return operation(
        "Broadcast",
        (*extra, *dims),
        (Operand("x", rows), Operand("out", dims, written=True)),
        function=Function("cast"),
    )


@cache
def one_prefix(rank: int) -> Operation:
    """out[0, ...] = x[...]: a leading dimension of size 1; `rank` is the input's."""
    dims = _dims(rank)
    out = Operand("out", ("z", *dims), written=True)
    return operation(
        "OnePrefix", ("z", *dims), (Operand("x", dims), out), function=Function("cast")
    )


# ---- reductions and the parts of softmax


def _scanned(rank: int, scan: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """All dimensions, those that remain without the scanned one, and any extra dimension.

    Where no dimension remains, `SINGLE` is both the remaining and the extra one.
    """
    dims = _dims(rank)
    rows = tuple(d for d in dims if d != dims[scan])
    extra = () if rows else (SINGLE,)
    return dims, rows or extra, extra


@cache
def reduce(kind: str, rank: int, dim: int, accumulates: bool = False) -> Operation:
    """out = the sum ("Sum") or the maximum ("Max") of x along a dimension."""
    dims, rows, extra = _scanned(rank, dim)
    start = {"Sum": "zero", "Max": "lowest"}[kind]
    overwriting = operation(
        kind,
        (*extra, *dims),
        (Operand("x", dims), Operand("out", rows, written=True, start=start)),
        reduced=(dims[dim],),
    )
    return accumulating(overwriting) if accumulates else overwriting


SOFTMAX_PARTS = (
    "Softmax",
    "SoftmaxComplete",
    "SoftmaxDenominator",
    "SoftmaxDenominatorAndMax",
    "SoftmaxDenominatorAndMaxFromParts",
    "SoftmaxDenominatorAndUnscaled",
    "SoftmaxDenominatorAndUnscaledFromMax",
)


@cache
def softmax(part: str, rank: int, scan: int, accumulates: bool = False) -> Operation:
    """Softmax along the dimension `scan`, or a part of it.

    Softmax: out = exp(x - max) / denominator, with the maximum and the sum over `scan`
    SoftmaxComplete: the same, given max and denominator
    SoftmaxDenominator: denominator = sum of exp(x - max), given max
    SoftmaxDenominatorAndMax: both in one pass; accumulating, a running maximum
    SoftmaxDenominatorAndMaxFromParts: both, from the maxima and denominators of tiles
    SoftmaxDenominatorAndUnscaled: denominator, and out = exp(x - max)
    SoftmaxDenominatorAndUnscaledFromMax: the same, given max
    """
    dims, rows, extra = _scanned(rank, scan)
    scanned = (dims[scan],)
    x, out = Operand("x", dims), Operand("out", dims, written=True)
    given = {"max": Operand("max", rows), "denominator": Operand("denominator", rows)}
    highest = Operand("max", rows, written=True, start="lowest")
    total = Operand("denominator", rows, written=True, start="zero")
    merged = (Operand("max_parts", dims), Operand("denominator_parts", dims))
    operands, reduced, whole = {
        "Softmax": ((x, out), (), scanned),
        "SoftmaxComplete": ((x, given["max"], given["denominator"], out), (), ()),
        "SoftmaxDenominator": ((x, given["max"], total), scanned, ()),
        "SoftmaxDenominatorAndMax": ((x, highest, total), scanned, ()),
        "SoftmaxDenominatorAndMaxFromParts": ((*merged, highest, total), scanned, ()),
        "SoftmaxDenominatorAndUnscaled": (
            (x, Operand("denominator", rows, written=True), out),
            (),
            scanned,
        ),
        "SoftmaxDenominatorAndUnscaledFromMax": ((x, given["max"], total, out), scanned, ()),
    }[part]
    overwriting = operation(part, (*extra, *dims), operands, reduced, whole)
    return accumulating(overwriting) if accumulates else overwriting

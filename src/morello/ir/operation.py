"""Operations: what a Spec computes, as named dimensions and the operands that span them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

MAX_BATCH_DIMS = 2


@dataclass(frozen=True)
class Operand:
    """An operand's name, the operation's dimensions it spans, and whether it is written."""

    name: str
    dims: tuple[str, ...]
    written: bool = False


@dataclass(frozen=True, eq=False)
class Operation:
    """A primitive. Operands are the inputs in order, then the output.

    Each is made once, by its function below, and so is compared by identity.
    `reduced` dimensions are summed over; an operation that `accumulates` adds to
    what its output holds, one that does not overwrites it.
    """

    name: str
    dims: tuple[str, ...]
    operands: tuple[Operand, ...]
    reduced: tuple[str, ...] = ()
    accumulates: bool = False

    @cached_property
    def spans(self) -> tuple[tuple[int, ...], ...]:
        """For each operand, the indices of its dimensions among the operation's."""
        return tuple(tuple(self.dims.index(d) for d in o.dims) for o in self.operands)

    @property
    def output(self) -> int:
        return len(self.operands) - 1

    def reads(self, operand: int) -> bool:
        return operand != self.output or self.accumulates

    def find(self, operand: str) -> int:
        """The index of the operand of this name; raises `KeyError`."""
        for index, candidate in enumerate(self.operands):
            if candidate.name == operand:
                return index
        raise KeyError(operand)

    def __str__(self) -> str:
        return self.name


def matmul(batch: int = 0, accumulates: bool = False) -> Operation:
    """c[m,n] = sum over k of a[m,k] * b[k,n], for each of `batch` leading dimensions."""
    return _matmul(batch, accumulates)


@cache
def _matmul(batch: int, accumulates: bool) -> Operation:
    lead = ("b",) if batch == 1 else tuple(f"b{i}" for i in range(batch))
    return Operation(
        ("Batch" * bool(batch)) + "Matmul" + ("Accum" if accumulates else ""),
        (*lead, "m", "k", "n"),
        (
            Operand("a", (*lead, "m", "k")),
            Operand("b", (*lead, "k", "n")),
            Operand("c", (*lead, "m", "n"), written=True),
        ),
        reduced=("k",),
        accumulates=accumulates,
    )


def _dims(rank: int) -> tuple[str, ...]:
    return ("i", "j", "k", "l")[:rank]


def move(rank: int) -> Operation:
    """dst[...] = src[...]: a copy between levels, layouts, or memory and registers."""
    return _move(rank)


@cache
def _move(rank: int) -> Operation:
    dims = _dims(rank)
    return Operation("Move", dims, (Operand("src", dims), Operand("dst", dims, written=True)))


def fill_zero(rank: int) -> Operation:
    """dst[...] = 0."""
    return _fill_zero(rank)


@cache
def _fill_zero(rank: int) -> Operation:
    dims = _dims(rank)
    return Operation("FillZero", dims, (Operand("dst", dims, written=True),))


def accumulating(operation: Operation) -> Operation:
    """The operation that adds to its output instead of overwriting it."""
    if not operation.reduced or operation.accumulates:
        raise ValueError(f"{operation} has no accumulating form")
    return matmul(len(operation.dims) - 3, accumulates=True)

"""Running recorded operations on columns, for a few rows as well as for many.

A tape has the operations of a trace (see `ir.tracing`) as integers. Rules are sequences of
conditions, and edges to record where these hold. Operations are run for a block of rows at a time,
each at most once, and only those which rules need that are wanted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.engine.arrays import Bools, Ints
from morello.engine.codes import BLOCK, Code
from morello.engine.loops import LOOPS
from morello.engine.recorded import EdgeRoom
from morello.native.loops import address

_NULLARY = {Code.CONSTANT, Code.INPUT}
_UNARY = {
    Code.IS_ZERO, Code.IS_ZERO_BITS, Code.INVERT, Code.LOOKUP_1, Code.LOOKUP_BOOL,
    Code.LOOKUP_FLOAT, Code.TO_INT, Code.TO_FLOAT,
}  # fmt: skip
_TERNARY = {Code.WHERE, Code.WHERE_BITS, Code.WHERE_FLOAT, Code.WHERE_FLOAT_BITS}
_ARITY = np.full(1 + max(Code), 2, np.uint8)
for _count, _codes in ((0, _NULLARY), (1, _UNARY), (3, _TERNARY)):
    _ARITY[[*_codes]] = _count
"""The number of an operation's operands that are other operations, by code."""


class Instructions(NamedTuple):
    """Operations, and rules made of them.

    By operation: its code, and a row of four operands: the numbers of up to three others, and of a
    table. Constants have their place among all constants as the first.
    By rule: its parts, which are its conditions, from `first_condition`, and its edges, from
    `first_edge`. By part: whether it `holds`, -1 if it always does. For an edge also `own`, its
    cost, `allocation`, and its children from `first_child`. By child: its kind, `times`, and the
    `words` of its key. All of these but kinds are numbers of operations.
    """

    code: Ints
    operands: Ints
    inputs: Ints
    first_condition: Ints
    first_edge: Ints
    holds: Ints
    own: Ints
    allocation: Ints
    first_child: Ints
    kind: Ints
    times: Ints
    first_word: Ints
    words: Ints


def pruned(instructions: Instructions) -> tuple[Instructions, list[int], list[int]]:
    """The instructions that rules need, and the constants and tables that these need, in order.

    All are numbered in the order in which rules need them, whatever else there was.
    """
    code, operands, holds = instructions.code, instructions.operands, instructions.holds
    columns = {name: getattr(instructions, name) for name in _NUMBERS}
    needed = np.concatenate([*columns.values(), holds[holds >= 0]])
    kept_code, kept_operands = np.empty_like(code), np.empty_like(operands)
    constants, tables = np.empty((2, len(code)), np.int32)
    numbers, *others = np.full((3, len(code) + 1), -1, np.int32)
    counts = np.zeros(3, np.int64)
    LOOPS.keep_operations(
        code, operands, _ARITY, needed, len(needed),
        (kept_code, kept_operands, constants, tables, numbers, *others), counts,
    )  # fmt: skip
    count, constant_count, table_count = counts.tolist()
    columns = {name: numbers[column] for name, column in columns.items()}
    columns["holds"] = numbers[holds]  # -1 stays so
    columns |= {"code": kept_code[:count].copy(), "operands": kept_operands[:count].copy()}
    kept = instructions._replace(**columns)
    return kept, constants[:constant_count].tolist(), tables[:table_count].tolist()


_NUMBERS = "inputs", "own", "allocation", "times", "words"
"""The columns of numbers of operations that rules need."""


class Tables:
    """The tables of a tape, which are contiguous, and hold integers of 32 bits or floats of 64."""

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        self.arrays = arrays
        shapes = [(address(t), len(t), t.shape[1] if t.ndim > 1 else 1) for t in arrays]
        self.shapes = np.array(shapes, np.int64)

    def are(self, arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Whether the tables are these arrays, by identity."""
        return len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays))


class Tape:
    """Instructions ready to be run."""

    def __init__(self, instructions: Instructions, constants: Sequence[float]) -> None:
        clipped = [int(min(max(v, -(2.0**62)), 2.0**62)) if v else 0 for v in constants]
        code, operands = instructions.code.copy(), instructions.operands.copy()
        numbers = np.concatenate([instructions.allocation, instructions.times, instructions.words])
        LOOPS.use_bits(code, operands, _ARITY, len(code), numbers, len(numbers))
        instructions = instructions._replace(code=code, operands=operands)
        self._columns = (
            *map(np.ascontiguousarray, instructions),
            _ARITY, np.array(clipped, np.int64), np.array(constants, np.float64),
        )  # fmt: skip
        counts = len(instructions.inputs), len(instructions.first_edge)
        self._tape = LOOPS.struct("Tape", (*self._columns, *counts))

    def run(self, tables: Tables, words: Ints, rows: Ints, wanted: Bools, room: EdgeRoom) -> None:
        """Append the edges of the rules for rows to a room, by rule and row where `wanted`.

        The rows are keys, by word and row, and edges tell their numbers in `rows`.
        """
        scratch = _Scratch.for_operations(len(self._columns[0])).struct
        words, wanted = np.ascontiguousarray(words), np.ascontiguousarray(wanted)
        room.runs += 1
        while not LOOPS.run_tape(
            self._tape, scratch, tables.shapes, words, rows, wanted, len(rows), room.record
        ):
            room.enlarge()


class _Scratch:
    """Room for what the operations of a tape give, which all tapes share: one runs at a time."""

    _shared: ClassVar[_Scratch | None] = None

    def __init__(self, count: int) -> None:
        self.count = count
        self.columns = (
            np.zeros((count, BLOCK), np.int64), np.zeros((count, BLOCK)),
            np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, np.uint64),
            np.zeros(count, np.uint64), np.zeros(2, np.int64),
        )  # fmt: skip
        self.struct = LOOPS.struct("Scratch", self.columns)

    @classmethod
    def for_operations(cls, count: int) -> _Scratch:
        """Room for at least so many operations."""
        shared = cls._shared
        if shared is None or shared.count < count:
            shared = cls._shared = cls(2 * count)
        return shared

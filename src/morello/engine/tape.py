"""Running recorded operations on columns, for a few rows as well as for many.

A tape has the operations of a trace (see `ir.tracing`) as integers. Rules are sequences of
conditions, and edges to record where these hold. Operations are run for a block of rows at a time,
each at most once, and only those which rules need that are wanted there. That is done in C
(`tape.c`), which the C compiler that is there anyway builds once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum, auto
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base import debug
from morello.base.errors import MorelloError
from morello.engine.arrays import Bools, Floats, Ints
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler

BLOCK = 32
"""The rows that are run together: `tape.c` has a bit for each in a word of 32."""


class Code(IntEnum):
    """The operations, by their names in a trace."""

    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    FLOOR_DIVIDE = auto()
    REMAINDER = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    LEFT_SHIFT = auto()
    RIGHT_SHIFT = auto()
    EQUAL = auto()
    NOT_EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    BITWISE_AND = auto()
    BITWISE_OR = auto()
    BITWISE_XOR = auto()
    IS_ZERO = auto()
    INVERT = auto()
    WHERE = auto()
    LOOKUP_1 = auto()
    LOOKUP_2 = auto()
    LOOKUP_FLOAT = auto()
    ADD_FLOAT = auto()
    SUBTRACT_FLOAT = auto()
    MULTIPLY_FLOAT = auto()
    DIVIDE_FLOAT = auto()
    MINIMUM_FLOAT = auto()
    MAXIMUM_FLOAT = auto()
    EQUAL_FLOAT = auto()
    NOT_EQUAL_FLOAT = auto()
    LESS_FLOAT = auto()
    LESS_EQUAL_FLOAT = auto()
    TO_INT = auto()
    TO_FLOAT = auto()
    WHERE_FLOAT = auto()
    CONSTANT = auto()
    INPUT = auto()


_UNARY = {Code.IS_ZERO, Code.INVERT, Code.LOOKUP_1, Code.LOOKUP_FLOAT, Code.TO_INT, Code.TO_FLOAT}
_TERNARY = {Code.WHERE, Code.WHERE_FLOAT}
_ARITY = np.array(
    [0, *(1 if code in _UNARY else 3 if code in _TERNARY else 2 for code in Code)], np.uint8
)
"""By code: how many of an operation's operands are other operations."""


class Instructions(NamedTuple):
    """Operations, and rules made of them.

    By operation: its code, and four operands: the numbers of up to three others, and of a table.
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


class Recorded(NamedTuple):
    """Edges: their rows and rules, numbers of children, costs, allocations; and children.

    By child: its kind, how many times it runs, and the words of its key. `unsure` are rules and
    rows for which something is unknown.
    """

    row: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    kind: Ints
    times: Ints
    words: Ints
    unsure_rule: Ints
    unsure_row: Ints


class Tape:
    """Instructions ready to be run, for which there must be a `runner`."""

    def __init__(self, instructions: Instructions, constants: dict[int, float]) -> None:
        operands = instructions.operands.copy()
        for place, number in enumerate(constants):
            operands[4 * number] = place
        instructions = instructions._replace(operands=operands)
        self._instructions = Instructions(*map(np.ascontiguousarray, instructions))
        values = constants.values()
        clipped = [int(min(max(v, -(2.0**62)), 2.0**62)) if v else 0 for v in values]
        self._constants = np.array(clipped, np.int64), np.array([*values], np.float64)
        self._tape = _Tape(
            *map(_address, self._instructions),
            len(instructions.inputs),
            len(instructions.first_edge),
            *map(_address, (_ARITY, *self._constants)),
        )  # fmt: skip

    def run(
        self, tables: Sequence[npt.NDArray[Any]], words: Ints, wanted: Bools, edges: int,
        children: int, width: int,
    ) -> Recorded:  # fmt: skip
        """Apply the rules to rows, by rule and row where they are `wanted`.

        The rows are keys, by word and row. Tables are contiguous, and hold integers of 32 bits or
        floats of 64. There are at most so many edges and children, with keys of `width` words.
        """
        rows = words.shape[1]
        columns: list[npt.NDArray[Any]] = [np.empty(edges, dtype) for dtype in _BY_EDGE]
        columns += [np.empty(children, dtype) for dtype in _BY_CHILD]
        columns.append(np.empty((width, children), np.int64))
        columns[-1][1:] = 0  # of keys of fewer words
        columns += [np.empty(max(1, int(np.count_nonzero(wanted))), np.int32) for _ in range(2)]
        recorded = _Recorded(*map(_address, columns), 0, 0, 0, children)
        shapes = [(_address(t), len(t), t.shape[1] if t.ndim > 1 else 1) for t in tables]
        layout = np.array(shapes, np.int64)
        words, wanted = np.ascontiguousarray(words), np.ascontiguousarray(wanted)
        scratch = _Scratch.for_operations(len(self._instructions.code))
        runner()(
            ctypes.byref(self._tape), ctypes.byref(scratch.pointers), _address(layout),
            _address(words), _address(wanted), rows, ctypes.byref(recorded),
        )  # fmt: skip
        ends = [recorded.edges] * len(_BY_EDGE) + [recorded.children] * (len(_BY_CHILD) + 1)
        ends += [recorded.unsure] * 2
        return Recorded(*(c[..., :end] for c, end in zip(columns, ends, strict=True)))


_BY_EDGE = np.int32, np.uint8, np.uint8, np.float64, np.int64
_BY_CHILD = np.int16, np.int32


class _Tape(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in Instructions._fields),
        ("input_count", ctypes.c_int64), ("rule_count", ctypes.c_int64),
        ("arity", ctypes.c_void_p),
        ("constant_ints", ctypes.c_void_p), ("constant_floats", ctypes.c_void_p),
    ]  # fmt: skip


class _Pointers(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("ints", "floats", "done", "unknown")),
        ("stamp", ctypes.c_int64),
    ]  # fmt: skip


class _Scratch:
    """Room for what the operations of a tape give, which all tapes share: one runs at a time."""

    _shared: ClassVar[_Scratch | None] = None

    def __init__(self, count: int) -> None:
        self.count = count
        self._columns = (
            np.zeros((count, BLOCK), np.int64), np.zeros((count, BLOCK)),
            np.zeros(count, np.int64), np.zeros(count, np.uint32),
        )  # fmt: skip
        self.pointers = _Pointers(*map(_address, self._columns), 0)

    @classmethod
    def for_operations(cls, count: int) -> _Scratch:
        """Room for at least so many operations."""
        shared = cls._shared
        if shared is None or shared.count < count:
            shared = cls._shared = cls(2 * count)
        return shared


class _Recorded(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in Recorded._fields),
        *((name, ctypes.c_int64) for name in ("edges", "children", "unsure", "room")),
    ]


def _address(array: npt.NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


@cache
def runner() -> Any:
    """The function `run_tape` of `tape.c`; None if there is no C compiler, or it is of no use.

    The first time ever, it is built, which takes seconds. It is kept beside this file, as the
    functions that Numba compiles are, or else in the cache of kernels.
    """
    names = ", ".join(f"{code.name} = {code.value}" for code in Code)
    body = Path(__file__).with_name("tape.c").read_text(encoding="utf-8")
    text = f"enum {{ BLOCK = {BLOCK}, {names} }};\n{body}"
    for folder in (Path(__file__).parent / "__pycache__", None):
        try:
            compiler = find_compiler()
            # costs are to be the same as NumPy's: no contraction to fused multiply-adds
            flags = (*arch_flags(compiler, "native"), "-ffp-contract=off")
            library = build(text, compiler=compiler, flags=flags, cache=folder)
            function: Any = ctypes.PyDLL(str(library)).run_tape  # one thread at a time
        except (MorelloError, OSError) as error:
            if debug.shows("search"):
                debug.show("search", f"tape.c: {error}")
            continue
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int64, ctypes.c_void_p]
        return function
    return None

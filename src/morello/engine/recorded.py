"""Edges that tapes record, as columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.engine.arrays import Floats, Ints
from morello.engine.loops import LOOPS
from morello.native.loops import address


class Recorded(NamedTuple):
    """Edges: their rows and rules, numbers of children, costs, allocations; and children.

    By child: its kind, how many times it runs, and a row of the words of its key, which ends in
    zeros if other keys have more. What is unsure are rules and rows for which something is unknown:
    entries of tables that are `missing`, rows of a table and of up to two indices, maybe not all.
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
    missing: Ints = np.empty((0, 3), np.int32)


_MOST_MISSING = 1 << 13
"""The most entries of tables that are told to be missing."""

_BY_EDGE = np.int32, np.uint8, np.uint8, np.float64, np.int64
_BY_CHILD = np.int16, np.int32


class EdgeRoom:
    """Room for the edges that tapes record, one run after another.

    What is unsure or missing is that of the last of these `runs`. Keys have up to `width` words.
    """

    def __init__(self) -> None:
        self.runs, self.width = 0, 1
        self.record = np.zeros(20, np.int64)
        """The struct `Recorded` of tape.c."""
        self._missing = np.empty((_MOST_MISSING, 3), np.int32)
        self._columns = self._new_columns(*_FIRST)
        self._write_record(*_FIRST)

    def clear(self) -> None:
        """Let go of all edges."""
        self.runs = 0
        self.record[_COUNTS] = 0

    def widen(self, width: int) -> None:
        """Make room for keys of so many words."""
        if width > self.width:
            self.width = width
            self.enlarge()

    def enlarge(self) -> None:
        """Make the room that the last run found to need; the edges stay, but not what is unsure."""
        edges, children, unsure = self.record[_ROOM].tolist()
        columns, before = self._new_columns(edges, children, unsure), self.recorded
        for column, kept in zip(columns, before[:7], strict=False):
            column[: len(kept)] = kept
        words = columns[7][: len(before.words)]
        words[:] = 0
        words[:, : before.words.shape[1]] = before.words
        self._columns = columns
        self._write_record(edges, children, unsure)

    def _new_columns(self, edges: int, children: int, unsure: int) -> list[npt.NDArray[Any]]:
        columns: list[npt.NDArray[Any]] = [np.empty(edges, dtype) for dtype in _BY_EDGE]
        columns += [np.empty(children, dtype) for dtype in _BY_CHILD]
        return [
            *columns, np.empty((children, self.width), np.int64),
            np.empty(unsure, np.int32), np.empty(unsure, np.int32),
        ]  # fmt: skip

    def _write_record(self, edges: int, children: int, unsure: int) -> None:
        *places, rules, rows = map(address, self._columns)
        self.record[: _COUNTS.start] = places
        self.record[_COUNTS.stop :] = [
            self.width, rules, rows, address(self._missing), 0, 0, edges, children, unsure,
            _MOST_MISSING,
        ]  # fmt: skip

    @property
    def recorded(self) -> Recorded:
        """The edges, until there are others."""
        edges, children, unsure, missing = self.record[[8, 9, 14, 15]].tolist()
        ends = [edges] * len(_BY_EDGE) + [children] * (len(_BY_CHILD) + 1) + [unsure] * 2
        columns = [c[:end] for c, end in zip(self._columns, ends, strict=True)]
        return Recorded(*[*columns, self._missing[:missing]])


_FIRST = 1 << 12, 1 << 13, 1 << 12
"""The room at first, for edges, children, and what is unsure."""

_COUNTS, _ROOM = slice(8, 10), slice(16, 19)
"""The places in a room's record of its edges and children, and of how many may be in it."""


class RecordedEdges:
    """Edges for loops over them: so many `edges`, with `children` in all."""

    def __init__(self, struct: bytes, edges: int, children: int, kept: object) -> None:
        self.struct, self.edges, self.children, self._kept = struct, edges, children, kept

    @staticmethod
    def of(recorded: Recorded) -> RecordedEdges:
        """Edges in columns of their own."""
        edges, (children, width) = len(recorded.row), recorded.words.shape
        struct = LOOPS.struct("RecordedEdges", (*recorded[:8], edges, children, width))
        return RecordedEdges(struct, edges, children, recorded)

    @staticmethod
    def within(room: EdgeRoom) -> RecordedEdges:
        """The edges in a room, until there are others."""
        edges, children = room.record[_COUNTS].tolist()
        return RecordedEdges(room.record[: _COUNTS.stop + 1].tobytes(), edges, children, room)

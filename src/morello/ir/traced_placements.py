"""Placements as columns of a trace."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from morello.ir.facts import MARKS, NUMBERS, OF_IDEAL, facts
from morello.ir.placements import Bools, Ints, Placements
from morello.ir.tensor import IDEAL, Placement, unaliased
from morello.ir.tracing import Trace, Traced


class TracedPlacements(Placements):
    """Placements to trace rewrites with, whose trace can be run with any others.

    Rewrites of one kind ask for the same tiles and extents many times over, so these are traced
    once.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self._trace = trace
        self._columns: dict[Placement, Traced] = {}
        self._extents: dict[tuple[int, ...], Any] = {}
        self._tiles: dict[tuple[int, ...], Any] = {}

    def column(self, placement: Placement, rows: int) -> Any:
        if placement not in self._columns:
            codes = self._columns[placement] = self._trace.lookup(self.table(placement), (0,))
            self._assume(codes, placement, (*NUMBERS, *MARKS))
        return self._columns[placement]

    def _extent(self, shape: Sequence[Ints], codes: Ints, step: int) -> Any:
        key = step, *map(self._trace.number, (codes, *shape))
        if key not in self._extents:
            self._extents[key] = super()._extent(shape, codes, step)
        return self._extents[key]

    def tile(
        self,
        shape: Sequence[Ints],
        tile: Sequence[Ints],
        codes: Ints,
        element_bytes: int,
        near: Bools | None = None,
    ) -> Any:
        columns = (element_bytes, codes, *shape, *tile, *(() if near is None else (near,)))
        key = tuple(map(self._trace.number, columns))
        if key not in self._tiles:
            self._tiles[key] = super().tile(shape, tile, codes, element_bytes, near)
        return self._tiles[key]

    def assume_ideal(self, codes: Any) -> None:
        """Trace what follows only for rows whose placements in this column are ideal."""
        self._assume(codes, IDEAL, {*NUMBERS, *MARKS}.difference(OF_IDEAL))
        self._trace.assume(self.table(unaliased), codes, codes)

    def _assume(self, codes: Traced, placement: Placement, names: Collection[str]) -> None:
        """Assume that the facts of these names are, for all codes of a column, a placement's."""
        _, numbers, marks = facts(placement)
        for name, fact in zip((*NUMBERS, *MARKS), (*numbers, *marks), strict=True):
            if name in names:
                self._trace.assume(self.table(name), codes, np.array([fact]))

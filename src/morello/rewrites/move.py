"""Bringing an operand one memory level nearer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from morello.errors import RewriteError
from morello.ir.batch import Batch
from morello.ir.forms import Bools, Ints, some
from morello.ir.layout import Layout
from morello.ir.operation import move as move_operation
from morello.ir.spec import Spec
from morello.ir.tensor import Form, gapless
from morello.rewrites.rewrite import Child, Edges, Rewrite, everywhere, operand_index
from morello.targets.target import Condition, Target

PAGE_BYTES = 4096
"""What a run may span before it comes back to the cache sets where it began."""


@dataclass(frozen=True)
class Move:
    """Bring an operand to the next nearer level.

    Without a layout, a cache does it by itself as the operand is used:

    Matmul(a at L2) -> Matmul(a at L1)

    With a layout, or into registers (`vector` elements each), it is copied there before
    the body if the body reads it, and back after the body if the body writes it:

    MatmulAccum(c at L1)
      -> Move(c -> c'); MatmulAccum(c' in registers); Move(c' -> c)
    """

    operand: str
    level: str
    layout: Layout | None = None
    vector: int = 0

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        operand = operand_index(batch, self.operand)
        level = self._level(target)
        below = target.levels[level - 1].name
        yield Condition(
            batch.levels[operand] == level - 1,
            f"{self.operand} must be in {below} to move to {self.level}",
        )
        if self.layout is None:
            if level == target.registers:
                raise RewriteError(f"{self}: a move to registers needs a vector size and a layout.")
            yield Condition(
                self._no_set_conflicts(batch, operand, target),
                f"rows of {self.operand} a power of two apart would evict each other; "
                "copy them with a layout",
            )
            return
        rank = len(batch.shape(operand))
        if self.layout.order and self.layout.rank != rank:
            raise RewriteError(f"{self}: {self.operand} has {rank} dimensions.")
        computes = everywhere(batch, bool(batch.operation.reduced))
        yield Condition(computes, f"{batch.operation} only moves within caches")
        if level == target.registers:
            yield from self._register_conditions(batch, operand, target)
        else:
            yield from self._copy_conditions(batch, operand)

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        operand = operand_index(batch, self.operand)
        level = self._level(target)
        reads = batch.operation.reads(operand)
        writes = batch.operation.operands[operand].written
        levels = _replaced(batch.levels, operand, batch.levels[operand] + np.int8(1))
        rows = np.arange(len(batch))
        if self.layout is None:
            codes = batch.codes
            if level == target.nearest:  # conflicts are between the caches and what is beyond
                near = batch.forms.plain[batch.codes[operand]]
                codes = _replaced(batch.codes, operand, near)
            body = replace(batch, levels=levels, codes=codes)
            lines = batch.lines(operand)
            return [Edges(rows, target.transfer(batch, operand), {level: lines}, (Child(body),))]
        codes = _replaced(batch.codes, operand, self._new_codes(batch, operand))
        body = replace(batch, levels=levels, codes=codes)
        held = body.registers(operand) if level == target.registers else body.lines(operand)
        children = [Child(body)]
        if reads:
            children.insert(0, Child(_copy(batch, body, operand), role="in"))
        if writes:
            children.append(Child(_copy(body, batch, operand), role="out"))
        return [Edges(rows, 0.0, {level: held}, tuple(children))]

    def concrete(self, spec: Spec) -> Rewrite:
        return self

    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": "move", "operand": self.operand, "level": self.level}
        if self.layout is not None:
            data["layout"] = str(self.layout)
        if self.vector:
            data["vector"] = self.vector
        return data

    def __str__(self) -> str:
        layout = "" if self.layout is None else f", {self.layout}"
        vector = f", vector={self.vector}" if self.vector else ""
        return f"move({self.operand} to {self.level}{layout}{vector})"

    def _level(self, target: Target) -> int:
        try:
            level = target.level(self.level)
        except KeyError:
            level = 0
        if level == 0:
            names = ", ".join(one.name for one in target.levels[1:])
            raise RewriteError(f"{self}: no level to move to; on {target.name} there are: {names}.")
        return level

    def _no_set_conflicts(self, batch: Batch, operand: int, target: Target) -> Bools:
        """Aliased rows that a nearest-level cache can hold beside everything else."""
        aliased = batch.forms.aliased[batch.codes[operand]]
        if not some(aliased):
            return ~aliased
        cache = target.levels[self._level(target)]
        count, length = batch.runs(operand)
        pages = count * -(-length * batch.dtypes[operand].bytes // PAGE_BYTES)
        held: Bools = ~aliased | (pages <= cache.conflict_runs)
        return held

    def _copy_conditions(self, batch: Batch, operand: int) -> Iterator[Condition]:
        layout = self.layout
        assert layout is not None
        if self.vector:
            raise RewriteError(f"{self}: only registers have a vector size.")
        if layout.panel is not None:
            dim, width = layout.panel
            size = batch.shape(operand)[dim]
            fits = (size > width) & (size % width == 0)
            yield Condition(fits, f"{self.operand} must hold several whole panels of {width}")
        changed = self._new_codes(batch, operand) != batch.codes[operand]
        yield Condition(changed, f"{self.operand} already lies so, without gaps")

    def _register_conditions(
        self, batch: Batch, operand: int, target: Target
    ) -> Iterator[Condition]:
        layout = self.layout
        assert layout is not None
        if self.vector not in target.widths:
            known = ", ".join(map(str, target.widths))
            raise RewriteError(
                f"{self}: {target.name} has registers of {known} elements; give one as vector=."
            )
        if layout.panel is not None:
            raise RewriteError(f"{self}: registers have no panels; give a layout such as {{1,0}}.")
        if not layout.order:
            return
        size = batch.shape(operand)[layout.order[-1]]
        if not target.masks:
            whole = size % self.vector == 0
            yield Condition(whole, f"the size along registers must be a multiple of {self.vector}")
        narrower = max((w for w in target.widths if 1 < w < self.vector), default=0)
        if narrower:
            yield Condition(size > narrower, f"registers of {narrower} hold it in as few")
        wider = min((w for w in target.widths if w > self.vector), default=0)
        if wider:
            needed: Bools = (size < wider) if target.masks else (size % wider != 0)
            yield Condition(needed, f"registers of {wider} hold it in fewer")

    def _new_codes(self, batch: Batch, operand: int) -> Ints:
        assert self.layout is not None
        if self.vector:
            form = Form(self.layout, self.layout.rank, vector=self.vector)
            return np.full(len(batch), batch.forms.code(form), np.int16)
        shape = batch.shape(operand)
        fresh = np.full(len(batch), batch.forms.code(gapless(self.layout)), np.int16)
        return batch.forms.tile(shape, shape, fresh, batch.dtypes[operand].bytes)


def _copy(source: Batch, destination: Batch, operand: int) -> Batch:
    """The Specs of copying an operand between its two homes."""
    shape = source.shape(operand)
    dtype = source.dtypes[operand]
    return Batch(
        move_operation(len(shape)),
        (dtype, dtype),
        source.forms,
        shape,
        (source.levels[operand], destination.levels[operand]),
        (source.codes[operand], destination.codes[operand]),
    )


def _replaced(columns: tuple[Ints, ...], index: int, column: Ints) -> tuple[Ints, ...]:
    return (*columns[:index], column, *columns[index + 1 :])

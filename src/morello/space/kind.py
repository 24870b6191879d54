"""Kinds of Specs."""

from __future__ import annotations

from dataclasses import dataclass

from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.joining import NO_JOINING, Joining
from morello.ir.operation import Operation


@dataclass(frozen=True)
class Kind:
    """All that Specs which differ in sizes, memory levels and placements have in common."""

    operation: Operation
    dtypes: tuple[DType, ...]
    parallel: bool
    joining: Joining = NO_JOINING

    @staticmethod
    def of(batch: Batch) -> Kind:
        return Kind(batch.operation, batch.dtypes, batch.parallel, batch.joining)

"""Kernels that scan whole rows, wherever in memory they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import F32, I32, DType
from morello.ir.placements import prod_columns
from morello.ir.tensor import LINE_BYTES
from morello.targets.kernels.conditions import along_run, no_panels, scan, scanned_rows, unit_sizes
from morello.targets.kernels.names import kind_of
from morello.targets.target import Column, Condition, LeafKernel

EACH, LINE = 3.0, 2.0
"""The cycles of an element, as each waits for the one before, and of each cache line."""
START, REGISTER = 60.0, 2.0
"""The cycles to end a search by registers within a single block, and of each register of it."""
SUMMED = 5.0
"""The cycles of each register of a run of sums, which waits for the one before."""
ADDED, COMPARED = 1.5, 2.5
"""The cycles of each register of sums of rows, and of places in columns."""


def scans(width: int, masks: bool) -> tuple[LeafKernel, ...]:
    """Places of extrema and sums up to each element, of f32 and i32."""
    kernels = []
    for dtype in (F32, I32):
        for name, search in (("argmax", np.argmax), ("argmin", np.argmin)):
            line = f"{{out}} = {name}_{dtype}(&{{x}}, {{length}}, {_step('x')});"
            kernels.append(_kernel(name, (dtype, I32), line, _along(search, I32)))
            kernels.append(_place_run(name, dtype, width, _along(search, I32)))
            kernels.append(_rows(name, (dtype, I32), width, search, COMPARED))
        line = f"cumsum_{dtype}(&{{out}}, &{{x}}, {{length}}, {_step('out')}, {_step('x')});"
        kernels.append(_kernel("cumsum", (dtype, dtype), line, _along(np.cumsum, dtype)))
        kernels.append(_sum_run(dtype, width, masks))
        kernels.append(_rows("cumsum", (dtype, dtype), width, np.cumsum, ADDED))
    return tuple(kernels)


def _along(function: Callable[..., Any], dtype: DType) -> Callable[[Any], Any]:
    """All elements are of one row, whatever dimensions of size 1 there are."""

    def semantics(x: Any) -> Any:
        return _of(np.asarray(function(np.asarray(x).ravel())), dtype)

    return semantics


def _of(result: Any, dtype: DType) -> Any:
    """The result of a scan in the dtype that it is stored in."""
    return result if dtype.is_float else result.astype(dtype.np)


def _step(operand: str) -> str:
    """C for the stride of the only dimension that is longer than 1."""
    return f"{{{operand}_rows}} ? {{{operand}_rows}} : 1"


def _kernel(
    name: str, dtypes: tuple[DType, DType], line: str, semantics: Callable[[Any], Any]
) -> LeafKernel:
    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=(scan(s),))
        for operand in range(2):
            yield no_panels(s, operand)

    def cost(s: Batch) -> Column:
        return EACH * s.size(scan(s)) + _lines(s)

    anywhere = (0, 1) if name == "cumsum" else (0,)
    return LeafKernel(
        f"{name}_{dtypes[0]}", name.capitalize(), dtypes, (None, None), line, semantics, applies,
        cost, anywhere=anywhere, group="reductions",
    )  # fmt: skip


def _place_run(name: str, dtype: DType, width: int, semantics: Callable[[Any], Any]) -> LeafKernel:
    """The place of an extremum of elements that lie next to each other."""
    kind = kind_of(dtype, width) if dtype is F32 else str(dtype)

    def cost(s: Batch) -> Column:
        return START + REGISTER * -(-s.size(scan(s)) // width) + _lines(s)

    return LeafKernel(
        f"{name}_run_{kind}", name.capitalize(), (dtype, I32), (None, None),
        f"{{out}} = {name}_run_{kind}(&{{x}}, {{length}});", semantics,
        lambda s: along_run(s, 0), cost, registers=8, anywhere=(0,), group="reductions",
    )  # fmt: skip


def _sum_run(dtype: DType, width: int, masks: bool) -> LeafKernel:
    """Sums up to each of elements that lie next to each other."""
    kind = kind_of(dtype, width)

    def cost(s: Batch) -> Column:
        n = s.size(scan(s))
        rest = SUMMED * (n % width > 0) if masks else EACH * (n % width)
        return SUMMED * (n // width) + rest + _lines(s)

    return LeafKernel(
        f"cumsum_run_{kind}", "Cumsum", (dtype, dtype), (None, None),
        f"cumsum_run_{kind}(&{{out}}, &{{x}}, {{length}});", _along(np.cumsum, dtype),
        lambda s: along_run(s, 0, 1), cost, registers=5, anywhere=(0, 1), group="reductions",
    )  # fmt: skip


def _rows(
    name: str, dtypes: tuple[DType, DType], width: int, function: Callable[..., Any], each: float
) -> LeafKernel:
    """All columns of rows whose elements lie next to each other, as do those of the result.

    `function` is given arrays whose first dimension is the one that is scanned.
    """
    kind = kind_of(dtypes[0], width)

    def cost(s: Batch) -> Column:
        rows = s.size(scan(s))
        columns = prod_columns(s.sizes) // rows
        lines = columns * dtypes[0].bytes / LINE_BYTES
        cycles: Column = rows * (each * -(-columns // width) + LINE * lines)
        return cycles

    to = ", {out_rows}" * (name == "cumsum")
    return LeafKernel(
        f"{name}_rows_{kind}", name.capitalize(), dtypes, (None, None),
        f"{name}_rows_{kind}(&{{out}}, &{{x}}, {{scanned}}{to}, {{x_rows}}, "
        "{elements} / {scanned});",
        lambda x: _of(function(x, axis=0), dtypes[1]), lambda s: scanned_rows(s, width), cost,
        registers=12,
        anywhere=(0, 1), group="reductions",
    )  # fmt: skip


def _lines(s: Batch) -> Column:
    """The cycles of the lines of a row, wherever they are."""
    cycles: Column = LINE * -(-s.size(scan(s)) * s.dtypes[0].bytes // LINE_BYTES)
    return cycles

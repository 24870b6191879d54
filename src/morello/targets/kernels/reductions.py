"""Kernels for sums, extrema and the parts of softmax: along a run in cache, or by registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np

from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32, DType
from morello.ir.placements import prod_columns
from morello.targets.helpers.runs import ROW
from morello.targets.kernels.conditions import (
    along_run,
    every_second,
    flat,
    one_register,
    rows_without_gaps,
    scan,
    scanned_rows,
    unit_sizes,
)
from morello.targets.kernels.names import added, kind_of
from morello.targets.target import Column, Condition, Group, InRegisters, LeafKernel, Semantics

START = 10.0
"""The fixed cycles of a run, such as the horizontal reduction of registers to a number."""
CONVERTED = 1.2
"""The cycles of each register of a sum of floats that are converted first."""
SUMMED = 0.6
"""The cycles where an instruction adds two bf16 to each sum."""
FOLD = 3.0
"""The cycles of each of several rows to combine their registers."""
COMPARED = 1.3
"""The cycles of an extremum of 16-bit floats, for each register of as many of 32 bits."""
COLUMNS = 10.0
"""The cycles of each register of a softmax of columns."""
INTEGERS = 1.0
"""The cycles of each register of integers of a run."""


def runs(width: int) -> tuple[LeafKernel, ...]:
    """Kernels along a contiguous run of f32 in the nearest cache; values per row are there, too."""
    run = partial(_run, width)
    return (
        _softmax_of_row(width),
        *([_softmax_of_columns(width)] if width > 1 else []),
        run(
            "sum_run", "SumAccum", 2, "{out} += sum_run_KIND(&{x}, {length});", 0.6,
            lambda x, out: out + x.sum(), "reductions",
        ),
        run(
            "sum_squares_run", "SumSquaresAccum", 2,
            "{out} += sum_squares_run_KIND(&{x}, {length});", 0.6,
            lambda x, out: out + (x * x).sum(), "reductions",
        ),
        run(
            "deviations_run", "SumSquaredDeviationsAccum", 3,
            "{out} += deviations_run_KIND(&{x}, {center}, {length});", 0.9,
            lambda x, center, out: out + np.square(x - center).sum(), "reductions",
        ),
        run(
            "max_run", "MaxAccum", 2, "{out} = max_run_KIND(&{x}, {length}, {out});", 0.9,
            lambda x, out: np.maximum(out, x.max()), "reductions",
        ),
        run(
            "min_run", "MinAccum", 2, "{out} = min_run_KIND(&{x}, {length}, {out});", 0.9,
            lambda x, out: np.minimum(out, x.min()), "reductions",
        ),
        run(
            "exp_sum_run", "SoftmaxDenominatorAccum", 3,
            "{denominator} += exp_sum_run_KIND(&{x}, {max}, {length});", 4.3,
            lambda x, top, total: total + np.exp(x - top).sum(),
        ),
        # 5.6 from L1; from beyond it stalls, as nothing is prefetched while a block is read again.
        run(
            "online_run", "SoftmaxDenominatorAndMaxAccum", 3,
            "online_run_KIND(&{x}, {length}, &{max}, &{denominator});", 8.0,
            _online,
        ),
        run(
            "exp_store_run", "SoftmaxDenominatorAndUnscaledFromMaxAccum", 4,
            "{denominator} += exp_store_run_KIND(&{x}, {max}, &{out}, {length});", 4.5,
            lambda x, top, total: (total + np.exp(x - top).sum(), np.exp(x - top)),
        ),
        run(
            "softmax_complete_run", "SoftmaxComplete", 4,
            "softmax_complete_run_KIND(&{x}, {max}, {denominator}, &{out}, {length});", 4.5,
            lambda x, top, total: np.exp(x - top) / total,
        ),
        run(
            "scale_run", "DivideVecScalar", 2,
            "scale_run_KIND(&{out}, 1.0f / {denominator}, {length});", 1.0,
            lambda total, out: out / total, "reductions",
        ),
        run(
            "merge_run", "SoftmaxDenominatorAndMaxFromPartsAccum", 4,
            "merge_run_KIND(&{max_parts}, &{denominator_parts}, {length}, &{max}, &{denominator});",
            9.0, _merge,
        ),
    )  # fmt: skip


def _softmax_of_row(width: int) -> LeafKernel:
    """Softmax of a contiguous row that registers hold, in the nearest cache."""
    kind = kind_of(F32, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=(scan(s),))
        yield Condition(s.size(scan(s)) <= ROW * width, f"a row has at most {ROW * width} elements")
        yield flat(s, 0)
        yield flat(s, 1)

    def cost(s: Batch) -> Column:
        cycles: Column = START + 6.0 * -(-s.size(scan(s)) // width)
        return cycles

    def semantics(x: Any) -> Any:
        powers = np.exp(x - x.max())
        return powers / powers.sum()

    return LeafKernel(
        f"softmax_run_{kind}", "Softmax", (F32, F32), (None, None),
        f"softmax_run_{kind}(&{{x}}, &{{out}}, {{length}});", semantics,
        applies, cost, registers=ROW + 4, group="exponentials",
    )  # fmt: skip


def _softmax_of_columns(width: int) -> LeafKernel:
    """Softmax of each column of rows in the nearest cache, a register of columns at a time."""
    kind = kind_of(F32, width)

    def cost(s: Batch) -> Column:
        rows = s.size(scan(s))
        cycles: Column = START + COLUMNS * rows * -(-(prod_columns(s.sizes) // rows) // width)
        return cycles

    def semantics(x: Any) -> Any:  # the dimension that is scanned is the first
        powers = np.exp(x - x.max(axis=0))
        return powers / powers.sum(axis=0)

    return LeafKernel(
        f"softmax_columns_{kind}", "Softmax", (F32, F32), (None, None),
        f"softmax_columns_{kind}(&{{x}}, &{{out}}, {{scanned}}, {{x_rows}}, {{out_rows}}, "
        "{elements} / {scanned});",
        semantics, lambda s: scanned_rows(s, width), cost, registers=8, group="exponentials",
    )  # fmt: skip


def converted_runs(source: DType, width: int, features: frozenset[str]) -> tuple[LeafKernel, ...]:
    """Sums, of squares too, and extrema of a run of 16-bit floats in the nearest cache, in f32."""
    summed = SUMMED if source is BF16 and "bf16_products" in features else CONVERTED
    kind = f"{kind_of(F32, width)}_{source}"

    def run(name: str, operation: str, line: str, each: float, semantics: Semantics) -> LeafKernel:
        def cost(s: Batch) -> Column:
            cycles: Column = START + each * -(-s.size(scan(s)) // width)
            return cycles

        return LeafKernel(
            f"{name}_{kind}", operation, (source, F32), (None, None), line, semantics,
            lambda s: along_run(s, 0), cost, registers=9, group="reductions",
        )  # fmt: skip

    return (
        run(
            "sum_run", "SumAccum", f"{{out}} += sum_run_{kind}(&{{x}}, {{length}});", summed,
            lambda x, out: out + x.astype(np.float32).sum(),
        ),
        run(
            "sum_squares_run", "SumSquaresAccum",
            f"{{out}} += sum_squares_run_{kind}(&{{x}}, {{length}});", summed,
            lambda x, out: out + np.square(x.astype(np.float32)).sum(),
        ),
        run(
            "max_run", "MaxAccum", f"{{out}} = max_run_{source}(&{{x}}, {{length}}, {{out}});",
            COMPARED, lambda x, out: np.maximum(out, x.astype(np.float32).max()),
        ),
        run(
            "min_run", "MinAccum", f"{{out}} = min_run_{source}(&{{x}}, {{length}}, {{out}});",
            COMPARED, lambda x, out: np.minimum(out, x.astype(np.float32).min()),
        ),
    )  # fmt: skip


def row_folds(width: int) -> tuple[LeafKernel, ...]:
    """Sums and extrema of several rows of f32 in the nearest cache, whose results fill a register.

    The rows' last elements are loaded under masks.
    """
    kind = kind_of(F32, width)

    def applies(s: Batch) -> Iterator[Condition]:
        along = scan(s)
        rows = prod_columns(s.sizes) // s.size(along)
        yield Condition(rows == width, f"there must be {width} rows")
        single = reduce(np.maximum, [s.size(d) for d in s.operation.dims if d != along])
        yield Condition(single == width, "rows must lie along one dimension")
        yield Condition(s.size(along) > 1, "a row must have several elements")
        yield rows_without_gaps(s, 0, along)
        yield one_register(s, 1)

    def fold(name: str, operation: str, line: str, each: float, function: Any) -> LeafKernel:
        def cost(s: Batch) -> Column:
            cycles: Column = FOLD * width + each * width * -(-s.size(scan(s)) // width)
            return cycles

        rows = f"{name}_of_rows_{kind}(&{{x}}, {{x_rows}}, {{elements}} / {width})"
        return LeafKernel(
            f"{name}_of_rows_{kind}", operation, (F32, F32), (None, InRegisters(width)),
            line.replace("ROWS", rows), lambda x, out: function(x, out), applies, cost,
            registers=width + 2, group="reductions",
        )  # fmt: skip

    return (
        fold(
            "sum", "SumAccum", "{out} += ROWS;", 0.7, lambda x, out: out + x.sum(axis=-1)
        ),
        fold(
            "sum_squares", "SumSquaresAccum", "{out} += ROWS;", 0.7,
            lambda x, out: out + np.square(x).sum(axis=-1),
        ),
        fold(
            "max", "MaxAccum", f"{{out}} = max_{kind}({{out}}, ROWS);", 2.0,
            lambda x, out: np.maximum(out, x.max(axis=-1)),
        ),
        fold(
            "min", "MinAccum", f"{{out}} = min_{kind}({{out}}, ROWS);", 2.0,
            lambda x, out: np.minimum(out, x.min(axis=-1)),
        ),
    )  # fmt: skip


def integer_runs(dtype: DType, width: int) -> tuple[LeafKernel, ...]:
    """Kernels along a contiguous run of integers in the nearest cache."""

    def cost(s: Batch) -> Column:
        cycles: Column = START + INTEGERS * -(-s.size(scan(s)) // width)
        return cycles

    def run(name: str, semantics: Semantics) -> LeafKernel:
        return LeafKernel(
            f"{name}_run_{dtype}", f"{name.capitalize()}Accum", (dtype,) * 2, (None,) * 2,
            f"{{out}} = {name}_run_{dtype}(&{{x}}, {{length}}, {{out}});", semantics,
            lambda s: along_run(s, 0), cost, registers=8, group="reductions",
        )  # fmt: skip

    return (
        run("sum", lambda x, out: out + x.sum(dtype=dtype.np)),
        run("max", lambda x, out: np.maximum(out, x.max())),
        run("min", lambda x, out: np.minimum(out, x.min())),
    )


def _along(s: Batch) -> str:
    """The dimension that a run goes along: the one that is reduced, or denominators lack."""
    if s.operation.reduced:
        return scan(s)
    rows = s.operation.operands[s.operation.find("denominator")].dims
    return next(d for d in s.operation.operands[s.operation.output].dims if d not in rows)


def _run(
    width: int,
    name: str,
    operation: str,
    operands: int,
    line: str,
    each: float,
    semantics: Semantics,
    group: Group = "exponentials",
) -> LeafKernel:
    """A kernel along a run, of which `each` register costs so many cycles."""
    kind = kind_of(F32, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=(_along(s),))
        for operand in range(operands):
            if _along(s) in s.operation.operands[operand].dims:
                yield flat(s, operand)

    def cost(s: Batch) -> Column:
        cycles: Column = START + each * -(-s.size(_along(s)) // width)
        return cycles

    return LeafKernel(
        f"{name}_{kind}", operation, (F32,) * operands, (None,) * operands,
        line.replace("KIND", kind), semantics, applies, cost, registers=8, group=group,
    )  # fmt: skip


def _online(x: Any, top: Any, total: Any) -> tuple[Any, Any]:
    return _merge(x, np.ones_like(x), top, total)


def _merge(tops: Any, totals: Any, top: Any, total: Any) -> tuple[Any, Any]:
    highest = np.maximum(top, tops.max())
    kept = np.where(total > 0, total * np.exp(top - highest), 0)
    return highest, kept + (totals * np.exp(tops - highest)).sum()


def lanes(dtype: DType, width: int) -> tuple[LeafKernel, ...]:
    """Kernels across registers: each lane of a register belongs to a different row."""
    lane = partial(_lane, dtype, width)
    kernels = [
        lane(
            "SumAccum", "sum_lanes", 2, added("{out}", "{x}", dtype, width), 0.5,
            _squeezed(lambda x, out: out + x), "reductions",
        ),
        lane(
            "MaxAccum", "max_lanes", 2, "{out} = max_KIND({out}, {x});", 1.5,
            _squeezed(lambda x, out: np.maximum(out, x)), "reductions",
        ),
        lane(
            "MinAccum", "min_lanes", 2, "{out} = min_KIND({out}, {x});", 1.5,
            _squeezed(lambda x, out: np.minimum(out, x)), "reductions",
        ),
    ]  # fmt: skip
    if dtype is F32:
        kernels += [
            lane(
                "SumSquaresAccum", "sum_squares_lanes", 2, "{out} += {x} * {x};", 0.5,
                _squeezed(lambda x, out: out + x * x), "reductions",
            ),
            lane(
                "SumSquaredDeviationsAccum", "deviations_lanes", 3,
                "{out} += ({x} - {center}) * ({x} - {center});", 1.0,
                _squeezed(lambda x, center, out: out + np.square(x - center)), "reductions",
            ),
            lane(
                "SoftmaxDenominatorAccum", "exp_sum_lanes", 3,
                "{denominator} += exp_KIND({x} - {max});", 7.0,
                _squeezed(lambda x, top, total: total + np.exp(x - top)),
            ),
            lane(
                "SoftmaxDenominatorAndUnscaledFromMaxAccum", "exp_store_lanes", 4,
                "{out} = exp_KIND({x} - {max}); {denominator} += {out};", 7.0,
                lambda x, top, total: (
                    total + np.exp(x.reshape(top.shape) - top),
                    np.exp(x - top.reshape(x.shape)),
                ),
            ),
        ]  # fmt: skip
    return tuple(kernels)


def _lane(
    dtype: DType,
    width: int,
    operation: str,
    name: str,
    holds: int,
    lines: str,
    cycles: float,
    semantics: Semantics,
    group: Group = "exponentials",
) -> LeafKernel:
    """A kernel of one register of each of the operands that it `holds`."""
    kind = kind_of(dtype, width)

    def applies(s: Batch) -> Iterator[Condition]:
        yield Condition(s.size(scan(s)) == 1, f"{scan(s)} must be 1")
        yield from (one_register(s, operand) for operand in range(holds))

    return LeafKernel(
        f"{name}_{kind}", operation, (dtype,) * holds, (InRegisters(width),) * holds,
        lines.replace("KIND", kind), semantics, applies, lambda s: cycles,
        registers=2, group=group,
    )  # fmt: skip


def _squeezed(function: Callable[..., Any]) -> Semantics:
    """The function of x without its dimension of one element."""
    return lambda x, *rows: function(x.reshape(rows[0].shape), *rows)


def pools(dtype: DType, width: int) -> tuple[LeafKernel, ...]:
    """Kernels that add registers of pixels to registers of windows, or take the maximum."""
    kind, held = kind_of(dtype, width), InRegisters(width)

    def applies(s: Batch) -> Iterator[Condition]:
        for dim in s.operation.reduced:
            yield Condition(s.size(dim) == 1, f"{dim} must be 1")
        yield from (one_register(s, operand) for operand in range(2))
        same = prod_columns(s.shape(0)) == prod_columns(s.shape(1))
        yield Condition(same, "there must be as many pixels as windows")

    def kernel(
        name: str, operation: str, line: str, each: float, semantics: Semantics
    ) -> LeafKernel:
        return LeafKernel(
            f"{name}_{kind}", operation, (dtype,) * 2, (held,) * 2, line, semantics,
            applies, lambda s: each, registers=2, group="reductions",
        )  # fmt: skip

    return (
        kernel(
            "sum_pool", "SumPoolAccum", added("{out}", "{image}", dtype, width), 0.5,
            lambda image, out: out + image.reshape(out.shape),
        ),
        kernel(
            "max_pool", "MaxPoolAccum", f"{{out}} = max_{kind}({{out}}, {{image}});", 0.5,
            lambda image, out: np.maximum(out, image.reshape(out.shape)),
        ),
    )  # fmt: skip


def pools_by_two(width: int) -> tuple[LeafKernel, ...]:
    """Kernels that add every second pixel of a row to a register, or take the maximum."""
    kind, held = kind_of(F32, width), InRegisters(width, "x")
    pixels = f"every_second_{kind}(&{{image}})"

    def applies(s: Batch) -> Iterator[Condition]:
        yield from unit_sizes(s, but=("x",))
        yield from every_second(s, width)

    def kernel(name: str, operation: str, line: str, semantics: Semantics) -> LeafKernel:
        return LeafKernel(
            f"{name}_by_two_{kind}", operation, (F32,) * 2, (None, held), line, semantics,
            applies, lambda s: 2.0, registers=3, group="reductions",
        )  # fmt: skip

    return (
        kernel(
            "sum_pool", "SumPoolAccum", f"{{out}} += {pixels};",
            lambda image, out: out + image.ravel()[::2].reshape(out.shape),
        ),
        kernel(
            "max_pool", "MaxPoolAccum", f"{{out}} = max_{kind}({{out}}, {pixels});",
            lambda image, out: np.maximum(out, image.ravel()[::2].reshape(out.shape)),
        ),
    )  # fmt: skip


def complete_lanes(width: int) -> LeafKernel:
    """exp(x - max) / denominator, register by register."""
    kind, held = kind_of(F32, width), InRegisters(width)

    def applies(s: Batch) -> Iterator[Condition]:
        for operand in range(4):
            yield one_register(s, operand)
            same = prod_columns(s.shape(operand)) == prod_columns(s.shape(3))
            yield Condition(same, "all operands must have as many elements")

    return LeafKernel(
        f"softmax_complete_lanes_{kind}", "SoftmaxComplete", (F32,) * 4, (held,) * 4,
        f"{{out}} = exp_{kind}({{x}} - {{max}}) / {{denominator}};",
        lambda x, top, total: np.exp(x - top.reshape(x.shape)) / total.reshape(x.shape),
        applies, lambda s: 14.0, registers=2, group="exponentials",
    )  # fmt: skip

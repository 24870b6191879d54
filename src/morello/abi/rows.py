"""C functions that compute any range of the rows of a result, for a thread pool of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from morello.base.errors import SpecError
from morello.codegen.instructions import NO_FLAGS, compiled_for, needs
from morello.codegen.levels import level_lines, level_name
from morello.codegen.names import check_function_name
from morello.codegen.source import (
    Source,
    Unit,
    comment,
    header,
    joined,
    ranged,
    signature,
    static,
    unit,
)
from morello.impl.tree import Impl
from morello.ir.spec import Spec, Strides, goal
from morello.runtime.parts import independent_dims
from morello.targets.target import Target


@dataclass(frozen=True)
class Rows:
    """A Spec whose result is computed by blocks of rows, each on its own.

    Rows are along `dim`, the first dimension of the result that is longer than 1. `steps` are the
    elements from what one row reads or writes of each array to what the next does, by the array's
    name: 0 for those that all rows read.
    """

    whole: Spec
    dim: str
    steps: Mapping[str, int]

    @property
    def count(self) -> int:
        """The number of rows of the result."""
        return self.whole.size(self.dim)

    def block(self, rows: int) -> Spec:
        """The Spec of a slice of so many rows of the whole arrays."""
        spec = self.whole
        sizes = [
            rows if dim == self.dim else size
            for dim, size in zip(spec.operation.dims, spec.sizes, strict=True)
        ]
        operands = range(len(spec.placements))
        return goal(
            spec.operation, sizes, spec.dtypes,
            layouts=[spec.placements[operand].layout for operand in operands],
            strides=[_strides(spec, operand) for operand in operands],
            names=[spec.name(operand) for operand in operands],
        )  # fmt: skip


def rows_of(spec: Spec) -> Rows:
    """The rows of a Spec's result; raises `SpecError` if they cannot be computed on their own."""
    operation = spec.operation
    output = operation.operands[operation.output]
    dims = [dim for dim in output.dims if dim in operation.dims]
    dim = next((dim for dim in dims if spec.size(dim) > 1), None)
    if dim is None:
        raise SpecError(f"{spec.expression} has a result of one element, which has no rows.")
    if dim not in independent_dims(operation):
        raise SpecError(
            f"the rows of {spec.expression} are not computed on their own; swap the dimensions of "
            "the result, or leave out --rows."
        )
    steps: dict[str, int] = {}
    for operand in range(len(operation.operands)):
        name, step = spec.name(operand), _step(spec, operand, dim)
        if steps.setdefault(name, step) != step:
            raise SpecError(
                f"{spec.expression}: a row reads {name} in two places; give it as two inputs."
            )
    return Rows(spec, dim, steps)


def generate_rows(rows: Rows, impls: Sequence[Impl], name: str) -> Source:
    """The C of functions that compute all rows, and a range of them.

    The Impls are programs of blocks of rows, one of a single row among them; if they are for
    several levels of x86-64, there are such for each. Raises `BuildError` if C and C++ can have no
    functions of this name, and `SpecError` without a program of a single row.
    """
    by_target: dict[Target, list[Impl]] = {}
    for impl in impls:
        check_function_name(name, impl.target.helpers)
        by_target.setdefault(impl.target, []).append(impl)
    first, *others = by_target
    ranges = f"{name}_rows"
    if others:
        units = {
            target: _range_unit(rows, programs, level_name(ranges, target))
            for target, programs in by_target.items()
        }
        parameters = units[first].parameters

        def prototype(function: str) -> str:
            return ranged(signature(function, parameters))

        given = [*parameters, "begin", "end"]
        lines = level_lines(rows.whole, units, ranges, prototype, given)
    else:
        units = {first: _range_unit(rows, by_target[first], ranges)}
        emitted, parameters = units[first], units[first].parameters
        title = comment(f"{rows.whole.expression}, for {first.name}\n{NO_FLAGS}")
        definitions = [*emitted.shared, *emitted.helpers.values(), "", *emitted.code]
        lines = [
            title, *needs(first), *emitted.includes, "", *compiled_for(first, definitions),
        ]  # fmt: skip
    lines += [
        "",
        f"{signature(name, parameters)} {{",
        f"  {ranges}({', '.join(parameters)}, 0, {rows.count});",
        "}",
    ]
    return Source(name, joined(lines), header(rows.whole, name, units[first], rows=rows.count))


def _range_unit(rows: Rows, impls: Sequence[Impl], name: str) -> Unit:
    """A function of this name that computes a range of rows, and the kernels that it calls."""
    by_size = {impl.spec.size(rows.dim): impl for impl in impls}
    sizes = sorted(by_size, reverse=True)
    if sizes[-1] != 1:
        raise SpecError("a range of rows needs a program of a single row for what is left of it.")
    kernels = {size: unit(by_size[size], f"{name}_{size}") for size in sizes}
    largest = kernels[sizes[0]]
    code = "\n".join(line for kernel in kernels.values() for line in (*kernel.code, ""))
    lines = static(code).splitlines()
    lines += ["", f"{ranged(signature(name, largest.parameters))} {{"]
    given = ", ".join(map(_moved, largest.parameters, rows.steps.values()))
    for size in sizes:
        lines.append(f"  for (; begin + {size} <= end; begin += {size})")
        lines.append(f"    {name}_{size}({given});")
    return replace(
        largest,
        includes=[*dict.fromkeys(line for each in kernels.values() for line in each.includes)],
        helpers={h: c for each in kernels.values() for h, c in each.helpers.items()},
        code=[*lines, "}"],
    )


def _moved(parameter: str, step: int) -> str:
    """An array from where its rows begin."""
    if not step:
        return parameter
    return f"{parameter} + {'' if step == 1 else f'{step} * '}begin"


def _strides(spec: Spec, operand: int) -> Strides:
    """The strides of an operand in elements, by its dimensions; None for one in panels."""
    given = spec.strides[operand] if spec.strides else None
    if given is not None:
        return given
    layout, shape = spec.placements[operand].layout, spec.shape(operand)
    if layout.panel is not None:
        return None
    gapless = dict(zip(layout.order, layout.strides(shape), strict=True))
    return tuple(gapless[d] for d in range(layout.rank))


def _step(spec: Spec, operand: int, dim: str) -> int:
    """The elements of an operand from one position along a dimension to the next."""
    axes = spec.operation.axes[operand]
    along = [number for number, axis in enumerate(axes) if dim in axis.names]
    if not along:
        return 0
    strides = _strides(spec, operand)
    if strides is None:
        raise SpecError(f"{spec.name(operand)} lies in panels, which have no rows.")
    return sum(strides[number] for number in along)

"""The statements of an Impl: loops, buffers, registers, kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from morello.codegen.conv import matmul_views, merged_rows
from morello.codegen.loops import MergedLoop, cut, cut_each, emits_nothing, loops, over_registers
from morello.codegen.names import Names
from morello.codegen.parallel import Region
from morello.codegen.prefetch import Plan
from morello.codegen.prefetcher import Prefetcher
from morello.codegen.statements import Block, Call, For, If, Statement
from morello.codegen.views import (
    Address,
    MemoryView,
    RegisterView,
    View,
    buffer_view,
    centered,
    register_view,
)
from morello.impl.tree import Branch, Impl
from morello.ir.batch import LINE_BYTES
from morello.ir.dtype import DType
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec
from morello.rewrites import (
    Move,
    PadFirst,
    Parallel,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    SpatialSplit,
    Split,
    Tile,
)
from morello.rewrites.select import find_kernel
from morello.targets.target import Target, c_type


class Body:
    """Emits statements, and gathers what they need: a workspace and parallel regions."""

    def __init__(
        self, target: Target, names: Names, pointers: dict[str, str], goal: Spec, prefetches: Plan
    ) -> None:
        self.target = target
        self._goal = goal
        self.regions: list[Region] = []
        self.workspace_bytes = 0
        self._names = names
        self._pointers = pointers
        self._in_use = 0
        self._prefetcher = Prefetcher(target, prefetches)

    def emit(self, impl: Impl, views: Sequence[View]) -> list[Statement]:
        """The statements of a complete Impl over these views of its operands."""
        self._prefetcher.enter(impl, views)
        with self._names.scope():
            return self._statements(impl, views)

    def _statements(self, impl: Impl, views: Sequence[View]) -> list[Statement]:
        if emits_nothing(impl):
            return self.emit(impl.children[0].impl, views)
        assert impl.rewrite is not None
        emitter = EMITTERS.get(type(impl.rewrite), Body._sequence)
        return emitter(self, impl, impl.rewrite, views)

    # ---- loops

    def _loop(self, impl: Impl, rewrite: Tile | Split, views: Sequence[View]) -> list[Statement]:
        spec, dim = impl.spec, rewrite.dim
        if over_registers(spec.operation, dim, views):
            return self._unrolled(impl, rewrite, views)
        lines = []
        for loop in loops(impl, views, dim):
            with self._names.scope():
                lines += self._steps(loop)
        return lines

    def _steps(self, loop: MergedLoop) -> list[Statement]:
        if loop.times == 1:
            return self.emit(loop.body, loop.tiles(None))
        if loop.accumulates_in_registers:
            return self._reduction_loop(loop)
        variable = self._names.fresh(loop.dim)
        self._prefetcher.enter_loop(loop.body, loop.dim, variable)
        nested = self.emit(loop.body, loop.tiles(variable))
        return [For(variable, loop.size, loop.step, nested)]

    def _reduction_loop(self, loop: MergedLoop) -> list[Statement]:
        """A loop that accumulates in registers, in chunks if it prefetches lines for later work."""
        prefetches = self._prefetcher.of(loop.body)
        if prefetches is None:
            return self._accumulate(loop, loop.size)
        chunk, step = self._names.fresh(loop.dim), prefetches.iterations * loop.step
        lines = self._prefetcher.statements(prefetches, chunk, step)
        return [For(chunk, loop.size, step, [*lines, *self._accumulate(loop, step, chunk)])]

    def _accumulate(self, loop: MergedLoop, size: int, start: str = "0") -> list[Statement]:
        """The reduction loop itself, over `size` elements from `start`."""
        variable = self._names.fresh(loop.dim)
        nested = self.emit(loop.body, loop.tiles(variable))
        return [For(variable, size, loop.step, nested, start)]

    def _unrolled(
        self, impl: Impl, rewrite: Tile | Split, views: Sequence[View]
    ) -> list[Statement]:
        spec, dim, tile = impl.spec, rewrite.dim, rewrite.size
        starts = range(0, spec.size(dim), tile)
        bodies = [impl.children[0]] * (spec.size(dim) // tile) + list(impl.children[1:])
        lines = []
        for start, body in zip(starts, bodies, strict=True):
            lines += self.emit(body.impl, cut(spec, body.impl.spec, views, dim, start))
        return lines

    # ---- convolutions

    def _pointwise(self, impl: Impl, rewrite: Pointwise, views: Sequence[View]) -> list[Statement]:
        """A matmul over all pixels of the image."""
        operation = impl.spec.operation
        merged = merged_rows(operation, views)
        return self.emit(impl.children[0].impl, matmul_views(operation, merged))

    def _spatial_split(
        self, impl: Impl, rewrite: SpatialSplit, views: Sequence[View]
    ) -> list[Statement]:
        """Loops over the pixels of the filter around a matmul over the remaining dimensions."""
        spec, child = impl.spec, impl.children[0]
        pixels = {dim: self._names.fresh(dim) if spec.size(dim) > 1 else "" for dim in "pq"}
        tiles = cut_each(spec, views, [(dim, 1) for dim in pixels], list(pixels.values()))
        for dim, variable in pixels.items():
            self._prefetcher.enter_loop(child.impl, dim, variable)
        lines = self.emit(child.impl, matmul_views(spec.operation, tiles))
        for dim, variable in reversed(pixels.items()):
            if variable:
                lines = [For(variable, spec.size(dim), 1, lines)]
        return lines

    # ---- parallel loops

    def _parallel(self, impl: Impl, rewrite: Parallel, views: Sequence[View]) -> list[Statement]:
        """A parallel loop over numbered items: the tiles in order, then the remainder if any."""
        spec, body, *rest = impl.spec, *impl.children
        counts = [spec.size(dim) // size for dim, size in rewrite.tiles]
        variables = [self._names.fresh(dim) for dim, _ in rewrite.tiles]
        tiles = cut_each(spec, views, rewrite.tiles, variables)
        region, saved = self._begin_region(views)
        head, divisor = [], 1
        for (_, size), variable, count in reversed(
            list(zip(rewrite.tiles, variables, counts, strict=True))
        ):
            index = f"item / {divisor}" if divisor > 1 else "item"
            index = f"{index} % {count}" if len(counts) > 1 else index
            head.append(f"const long {variable} = {index} * {size};")
            divisor *= count
        lines = [*head, *self.emit(body.impl, tiles)]
        if rest:
            dim, size = rewrite.tiles[0]
            last = rest[0].impl
            tail = self.emit(last, cut(spec, last.spec, views, dim, counts[0] * size))
            lines = [If(f"item < {counts[0]}", lines, tail)]
        return self._end_region(region, saved, lines, divisor + len(rest))

    def _begin_region(self, views: Sequence[View]) -> tuple[Region, tuple[int, int]]:
        """Start a parallel region: a C function of its own, with its own workspace."""
        pointers: dict[str, str] = {}
        variables: dict[str, None] = {}
        for view in views:
            assert isinstance(view, MemoryView)
            pointers[view.pointer] = self._pointers[view.pointer]
            variables |= dict.fromkeys(view.address.terms)
        region = Region(self._names.lasting("region"), pointers, tuple(variables))
        saved = self._in_use, self.workspace_bytes
        self._in_use = self.workspace_bytes = 0
        return region, saved

    def _end_region(
        self, region: Region, saved: tuple[int, int], lines: list[Statement], count: int
    ) -> list[Statement]:
        self.regions.append(replace(region, body=tuple(lines), workspace=self.workspace_bytes))
        self._in_use, self.workspace_bytes = saved
        return region.call(count)

    def _parallel_split(
        self, impl: Impl, rewrite: ParallelSplit, views: Sequence[View]
    ) -> list[Statement]:
        """Reduce the pieces in parallel into partial results in buffers, then merge those."""
        spec, dim, (body, merge) = impl.spec, rewrite.dim, impl.children
        in_use = self._in_use
        variable = self._names.fresh(dim)
        pieces = cut(spec, body.impl.spec, views, dim, 0, variable)
        lines: list[Statement] = []
        parts, outputs = [], spec.operation.outputs
        for position, output in enumerate(outputs):
            stem = f"{spec.operation.operands[output].name}_parts"
            line, part = self._buffer(stem, merge.impl.spec.tensor(position))
            lines.append(line)
            parts.append(part)
            tensor = body.impl.spec.tensor(output)
            whole = buffer_view(part.pointer, tensor.placement.layout, tensor.shape)
            size = tensor.bytes // tensor.dtype.bytes
            pieces[output] = replace(whole, address=Address().plus(0, "piece", size))
        inputs = [view for i, view in enumerate(views) if i not in outputs]
        region, saved = self._begin_region([*inputs, *parts])
        step = body.impl.spec.size(dim)
        head = ["const long piece = item;", f"const long {variable} = item * {step};"]
        inner = [*head, *self.emit(body.impl, pieces)]
        lines += self._end_region(region, saved, inner, rewrite.pieces)
        lines += self.emit(merge.impl, [*parts, *(views[i] for i in outputs)])
        self._in_use = in_use
        return [Block(lines)]

    # ---- sequences

    def _sequence(self, impl: Impl, rewrite: Rewrite, views: Sequence[View]) -> list[Statement]:
        """The children in order, with buffers and registers for intermediate tensors."""
        in_use = self._in_use
        tensors: dict[int, View] = dict(enumerate(views))
        declared: list[Statement] = []
        lines: list[Statement] = []
        names_groups = False
        for child in impl.children:
            spec = child.impl.spec
            used = []
            for position, wire in enumerate(_wires(child, len(views))):
                tensor = spec.tensor(position)
                if wire not in tensors:
                    stem = self._stem(impl, spec, position)
                    line, tensors[wire] = self._place(stem, tensor)
                    declared.append(line)
                before = impl.spec.dtypes[wire] if wire < len(views) else tensor.dtype
                view = tensors[wire]
                if tensor.dtype.lanes > before.lanes:
                    line, view = self._packed(view, tensor, before)
                    lines.append(line)
                    names_groups = True
                if isinstance(impl.rewrite, PadFirst):
                    view = centered(view, tensor.shape)
                used.append(view)
            lines += self.emit(child.impl, used)
        self._in_use = in_use
        if not (declared or names_groups):
            return lines
        return [Block([*declared, *lines])]

    def _stem(self, impl: Impl, spec: Spec, position: int) -> str:
        """The stem of a new buffer's name."""
        rewrite = impl.rewrite
        if isinstance(rewrite, Move):
            names = self._goal.names_in(impl.spec.operation)
            return names.get(rewrite.operand, rewrite.operand)
        return spec.operation.operands[position].name

    def _place(self, stem: str, tensor: TensorSpec) -> tuple[str, View]:
        if tensor.level == self.target.registers:
            return self._registers(stem, tensor)
        return self._buffer(f"{stem}_{self.target.levels[tensor.level].name}_", tensor)

    def _registers(self, stem: str, tensor: TensorSpec) -> tuple[str, RegisterView]:
        placement, name = tensor.placement, self._names.fresh(f"{stem}_reg")
        view = register_view(name, placement.layout, tensor.shape, placement.vector)
        dims = "".join(f"[{count}]" for count in view.counts())
        return f"{c_type(tensor.dtype, placement.vector)} {name}{dims};", view

    def _buffer(self, stem: str, tensor: TensorSpec) -> tuple[str, MemoryView]:
        offset = self._in_use
        layout = tensor.placement.layout
        view = buffer_view(self._names.fresh(stem), layout, tensor.shape)
        size = view.strides[0] * layout.extents(tensor.shape)[0] * tensor.dtype.bytes
        self._in_use += -(-size // LINE_BYTES) * LINE_BYTES
        self.workspace_bytes = max(self.workspace_bytes, self._in_use)
        c = _pointee(tensor.dtype)
        self._pointers[view.pointer] = c
        declaration = f"{c} *const restrict {view.pointer} = ({c} *)(workspace + {offset});"
        comment = f"  /* {tensor.dtype}[{','.join(map(str, tensor.shape))}]{layout} */"
        return declaration + comment, view

    def _packed(self, view: View, tensor: TensorSpec, before: DType) -> tuple[str, MemoryView]:
        """The same memory, read in packed groups along the fastest dimension."""
        assert isinstance(view, MemoryView)
        lanes = tensor.dtype.lanes // before.lanes
        name = self._names.fresh(f"{view.pointer}_groups")
        c = f"const {_pointee(tensor.dtype)}"
        self._pointers[name] = c
        start = view.pointer if view.address.divided(lanes) else f"&{view.element}"
        return f"{c} *const restrict {name} = ({c} *){start};", view.grouped(lanes, name)

    # ---- kernels

    def _kernel(self, impl: Impl, rewrite: Select, views: Sequence[View]) -> list[Statement]:
        kernel = find_kernel(self.target, rewrite.kernel)
        spec, operation = impl.spec, impl.spec.operation
        names: dict[str, str | int] = dict(zip(operation.dims, spec.sizes, strict=True))
        names["length"] = max(spec.sizes)
        if operation.function is not None and operation.function.constant is not None:
            names["constant"] = _literal(operation.function.constant, spec.dtypes[-1])
        held: dict[str, list[str]] = {}
        for index, (operand, view) in enumerate(zip(operation.operands, views, strict=True)):
            if isinstance(view, RegisterView):
                held[operand.name] = view.names()
                continue
            names[operand.name] = view.element
            for position, axis in enumerate(operation.axes[index]):
                for dim, stride in axis.terms:
                    names[f"{operand.name}_{dim}"] = view.step(position) * stride
            names[f"{operand.name}_rows"] = _row_stride(view)
            names[f"{operand.name}_panel"] = view.layout.panel[1] if view.layout.panel else 1
        repeats = max((len(registers) for registers in held.values()), default=1)
        lines = [
            kernel.c.format(
                **names | {name: registers[i % len(registers)] for name, registers in held.items()}
            )
            for i in range(repeats)
        ]
        sums = held.get(operation.operands[operation.output].name, [])
        if kernel.in_order:
            lines.append(_in_order(sums))
        return [Call(kernel, spec, tuple(views), repeats, lines)]


EMITTERS: dict[type[Rewrite], Callable[..., list[Statement]]] = {
    Tile: Body._loop,
    Split: Body._loop,
    Select: Body._kernel,
    Parallel: Body._parallel,
    ParallelSplit: Body._parallel_split,
    SpatialSplit: Body._spatial_split,
    Pointwise: Body._pointwise,
}
"""The code generators of rewrites that are not just a sequence of steps."""


def _in_order(registers: Sequence[str]) -> str:
    """An asm statement that keeps the loads after it behind the computation of these registers.

    Clang hoists loads. Where sums and operands fill all registers, it then spills one of the
    sums in the innermost loop, which takes twice as long.
    """
    operands = ", ".join(f'"+x"({register})' for register in registers)
    return f'__asm__ volatile("" : {operands});'


def _literal(value: float, dtype: DType) -> str:
    """A constant as C."""
    if not dtype.is_float:
        return f"({int(value)})"
    if math.isfinite(value):
        return f"({float(value)!r}f)"
    return "(0.0f / 0.0f)" if math.isnan(value) else f"({'-' if value < 0 else ''}1.0f / 0.0f)"


def _wires(child: Branch, operands: int) -> Sequence[int]:
    return child.tensors or range(operands)


def _pointee(dtype: DType) -> str:
    """The C type that pointers to a dtype point to; packed groups may be unaligned."""
    return dtype.c if dtype.lanes == 1 else "group_t"


def _row_stride(view: MemoryView) -> int:
    """The stride of the only dimension, besides the fastest, that is longer than 1; else 0."""
    fastest = view.layout.physical[-1]
    steps = [view.step(i) for i, d in enumerate(view.dims) if d != fastest and view.shape[d] > 1]
    return steps[0] if len(steps) == 1 else 0

"""The statements of an Impl: loops, buffers, registers, kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from morello.codegen.loops import Loop, cut, loops, with_size
from morello.codegen.names import Names
from morello.codegen.parallel import Region
from morello.codegen.prefetch import Ahead, Index
from morello.codegen.statements import Block, Call, For, If, Statement
from morello.codegen.views import (
    Address,
    MemoryView,
    RegisterView,
    View,
    buffer_view,
    register_view,
)
from morello.impl.tree import Branch, Impl
from morello.ir.batch import LINE_BYTES
from morello.ir.dtype import DType
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec
from morello.rewrites import (
    Bufferize,
    Decompose,
    Move,
    Pack,
    PadFirst,
    Parallel,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    SpatialSplit,
    Split,
    Tile,
    ToAccumulate,
)
from morello.rewrites.conv import kept_dims
from morello.rewrites.select import find_kernel
from morello.targets.target import Target, c_type


class Body:
    """Emits statements, and gathers what they need: a workspace and parallel regions."""

    def __init__(self, target: Target, names: Names, pointers: dict[str, str], goal: Spec) -> None:
        self.target = target
        self._goal = goal
        self.regions: list[Region] = []
        self.workspace_bytes = 0
        self._names = names
        self._pointers = pointers
        self._in_use = 0
        self._ahead = Ahead(target)

    def emit(self, impl: Impl, views: Sequence[View]) -> list[Statement]:
        """The statements of a complete Impl over these views of its operands."""
        with self._names.scope():
            return self._statements(impl, views)

    def _statements(self, impl: Impl, views: Sequence[View]) -> list[Statement]:
        assert impl.rewrite is not None
        if impl.rewrite.silent:
            with self._ahead.wishing(self._ahead.next_tiles(impl, views)):
                return self.emit(impl.children[0].impl, views)
        return EMITTERS[type(impl.rewrite)](self, impl, impl.rewrite, views)

    # ---- loops

    def _loop(self, impl: Impl, rewrite: Tile | Split, views: Sequence[View]) -> list[Statement]:
        spec, dim = impl.spec, rewrite.dim
        if self._in_registers(spec.operation, dim, views):
            return self._unrolled(impl, rewrite, views)
        lines = []
        for loop in loops(impl, views, dim):
            with self._names.scope():
                lines += self._steps(loop)
        return lines

    def _steps(self, loop: Loop) -> list[Statement]:
        operation = loop.spec.operation
        if loop.times == 1:
            return self.emit(loop.body, loop.tiles(None))
        if loop.dim in operation.reduced and _writes_registers(operation, loop.views):
            return self._reduction_loop(loop)
        index = Index(self._names.fresh(loop.dim), loop.step, loop.times)
        tiles = loop.tiles(index.name)
        with self._ahead.inside(index, tiles):
            nested = self.emit(loop.body, tiles)
        return [For(index.name, loop.size, loop.step, nested)]

    def _reduction_loop(self, loop: Loop) -> list[Statement]:
        """A loop that accumulates in registers, in chunks if it prefetches lines for later work."""
        every, wishes = self._ahead.served(loop.times)
        if not wishes:
            return self._accumulate(loop, loop.size)
        part = Index(self._names.fresh(loop.dim), every * loop.step, loop.times // every)
        prefetches = self._ahead.statements(wishes, part)
        lines = self._accumulate(loop, part.step, part.name)
        return [For(part.name, loop.size, part.step, [*prefetches, *lines])]

    def _accumulate(self, loop: Loop, size: int, start: str = "0") -> list[Statement]:
        """The reduction loop itself, over `size` elements from `start`."""
        variable = self._names.fresh(loop.dim)
        with self._ahead.busy():
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

    @staticmethod
    def _in_registers(operation: Operation, dim: str, views: Sequence[View]) -> bool:
        """Whether a loop runs over registers: they have no addresses, so it must be unrolled."""
        return any(
            isinstance(view, RegisterView) and (operand, dim) in operation.places
            for operand, view in enumerate(views)
        )

    # ---- convolutions

    def _pointwise(self, impl: Impl, rewrite: Pointwise, views: Sequence[View]) -> list[Statement]:
        """A matmul over all pixels of the image."""
        operation = impl.spec.operation
        merged = [view if o == 1 else _merged(view, operation, o) for o, view in enumerate(views)]
        return self.emit(impl.children[0].impl, _matmul_views(operation, merged))

    def _spatial_split(
        self, impl: Impl, rewrite: SpatialSplit, views: Sequence[View]
    ) -> list[Statement]:
        """Loops over the pixels of the filter around a matmul over the remaining dimensions."""
        spec, child = impl.spec, impl.children[0]
        lines: list[Statement] = []
        operation = spec.operation
        pixels = [(dim, spec.size(dim)) for dim in ("p", "q")]
        tiles: Sequence[View] = views
        variables = []
        for dim, size in pixels:
            variable = self._names.fresh(dim) if size > 1 else ""
            variables.append(variable)
            inner = replace(spec, sizes=with_size(spec, dim, 1))
            tiles = cut(spec, inner, tiles, dim, 0, variable)
            spec = inner
        with ExitStack() as stack:
            for variable, (_, size) in zip(variables, pixels, strict=True):
                if variable:
                    stack.enter_context(self._ahead.inside(Index(variable, 1, size)))
            lines = self.emit(child.impl, _matmul_views(operation, tiles))
        for (_, size), variable in reversed(list(zip(pixels, variables, strict=True))):
            if variable:
                lines = [For(variable, size, 1, lines)]
        return lines

    # ---- parallel loops

    def _parallel(self, impl: Impl, rewrite: Parallel, views: Sequence[View]) -> list[Statement]:
        """A parallel loop over numbered items: the tiles in order, then the remainder if any."""
        spec, body, *rest = impl.spec, *impl.children
        counts = [spec.size(dim) // size for dim, size in rewrite.tiles]
        variables = [self._names.fresh(dim) for dim, _ in rewrite.tiles]
        tiles: Sequence[View] = views
        step = spec
        for (dim, size), variable in zip(rewrite.tiles, variables, strict=True):
            inner = replace(step, sizes=with_size(step, dim, size))
            tiles = cut(step, inner, tiles, dim, 0, variable)
            step = inner
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

    def _begin_region(self, views: Sequence[View]) -> tuple[Region, tuple[int, int, Ahead]]:
        """Start a parallel region: a C function of its own, with its own workspace."""
        pointers: dict[str, str] = {}
        variables: dict[str, None] = {}
        for view in views:
            assert isinstance(view, MemoryView)
            pointers[view.pointer] = self._pointers[view.pointer]
            variables |= dict.fromkeys(view.address.terms)
        region = Region(self._names.lasting("region"), pointers, tuple(variables))
        saved = self._in_use, self.workspace_bytes, self._ahead
        self._in_use = self.workspace_bytes = 0
        self._ahead = Ahead(self.target)
        return region, saved

    def _end_region(
        self, region: Region, saved: tuple[int, int, Ahead], lines: list[Statement], count: int
    ) -> list[Statement]:
        self.regions.append(replace(region, body=tuple(lines), workspace=self.workspace_bytes))
        self._in_use, self.workspace_bytes, self._ahead = saved
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
            whole = buffer_view(part.pointer, tensor.form.layout, tensor.shape)
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
                    view = _centered(view, tensor.shape)
                used.append(view)
            first = child is impl.children[0]
            wishes = self._ahead.later if first else self._ahead.next_copies
            with self._ahead.wishing(wishes(impl, views)):
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
        form, name = tensor.form, self._names.fresh(f"{stem}_reg")
        view = register_view(name, form.layout, tensor.shape, form.vector)
        dims = "".join(f"[{count}]" for count in view.counts())
        return f"{c_type(tensor.dtype, form.vector)} {name}{dims};", view

    def _buffer(self, stem: str, tensor: TensorSpec) -> tuple[str, MemoryView]:
        offset = self._in_use
        layout = tensor.form.layout
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
        """The same memory, read in packed groups along the fastest dimension.

        A tile that may begin inside a group of its buffer gets a pointer to its own start.
        """
        assert isinstance(view, MemoryView)
        lanes = tensor.dtype.lanes // before.lanes
        fastest = view.layout.physical[-1]
        strides = tuple(s if i == len(view.strides) - 1 else s // lanes
                        for i, s in enumerate(view.strides))  # fmt: skip
        shape = tuple(n // lanes if d == fastest else n for d, n in enumerate(view.shape))
        name = self._names.fresh(f"{view.pointer}_groups")
        c = f"const {_pointee(tensor.dtype)}"
        self._pointers[name] = c
        start, within = view.pointer, view.address.divided(lanes)
        if within is None:
            start, within = f"&{view.element}", Address()
        packed = replace(view, pointer=name, strides=strides, shape=shape, address=within)
        return f"{c} *const restrict {name} = ({c} *){start};", packed

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
    ToAccumulate: Body._sequence,
    Move: Body._sequence,
    Bufferize: Body._sequence,
    Decompose: Body._sequence,
    PadFirst: Body._sequence,
    Pack: Body._sequence,
}
"""What emits the statements of each rewrite that is not silent."""


def _in_order(registers: Sequence[str]) -> str:
    """An asm statement that keeps the loads after it behind the computation of these registers.

    Clang hoists loads. Where sums and operands fill all registers, it then spills one of the
    sums in the innermost loop, which takes twice as long.
    """
    operands = ", ".join(f'"+x"({register})' for register in registers)
    return f'__asm__ volatile("" : {operands});'


def _writes_registers(operation: Operation, views: Sequence[View]) -> bool:
    """Whether an operand that the operation writes is in registers."""
    return any(
        operand.written and isinstance(view, RegisterView)
        for operand, view in zip(operation.operands, views, strict=True)
    )


def _literal(value: float, dtype: DType) -> str:
    """A constant as C."""
    if not dtype.is_float:
        return f"({int(value)})"
    if math.isfinite(value):
        return f"({float(value)!r}f)"
    return "(0.0f / 0.0f)" if math.isnan(value) else f"({'-' if value < 0 else ''}1.0f / 0.0f)"


def _wires(child: Branch, operands: int) -> Sequence[int]:
    return child.wires or range(operands)


def _centered(view: View, shape: tuple[int, ...]) -> View:
    """The view of this shape in the middle of a larger tensor, whose border is padding."""
    for dim, (whole, size) in enumerate(zip(view.extents, shape, strict=True)):
        if size < whole:
            view = view.cut(dim, size, (whole - size) // 2, None, 1)
    return view


def _pointee(dtype: DType) -> str:
    """The C type that pointers to a dtype point to; packed groups may be unaligned."""
    return dtype.c if dtype.lanes == 1 else "group_t"


def _row_stride(view: MemoryView) -> int:
    """The stride of the only dimension, besides the fastest, that is longer than 1; else 0."""
    fastest = view.layout.physical[-1]
    steps = [view.step(i) for i, d in enumerate(view.dims) if d != fastest and view.shape[d] > 1]
    return steps[0] if len(steps) == 1 else 0


def _merged(view: View, operation: Operation, operand: int) -> View:
    """A view in which dimension x runs through all rows: y and x merged."""
    assert isinstance(view, MemoryView)
    y, x = (view.dims[operation.places[operand, d][0]] for d in "yx")
    shape = list(view.shape)
    shape[x] *= shape[y]
    shape[y] = 1
    return replace(view, shape=tuple(shape))


def _matmul_views(operation: Operation, views: Sequence[View]) -> list[View]:
    """Views of a convolution's operands as those of the matmul of one row and filter pixel."""
    kept = []
    for operand, view in enumerate(views):
        positions = kept_dims(operation, operand)
        strides = [dict(operation.axes[operand][p].terms).get("x", 1) for p in positions]
        kept.append(view.keep(positions, strides))
    return kept

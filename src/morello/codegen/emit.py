"""From an Impl to statements: loops, buffers, registers, kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import prod

from morello.codegen.loops import (
    Loop,
    MergedLoop,
    cut,
    cut_each,
    emits_nothing,
    loops,
    over_registers,
    with_size,
)
from morello.codegen.parts import divided_nodes
from morello.codegen.reshaped import joined_views, matmul_views, merged_rows
from morello.codegen.statements import (
    Barrier,
    Block,
    Buffer,
    Call,
    Due,
    For,
    Groups,
    If,
    ItemIndex,
    ParallelFor,
    Prefetchable,
    Registers,
    RunBlock,
    Runs,
    Shared,
    Statement,
    Tiles,
    loops_in,
    walk,
)
from morello.codegen.views import (
    Address,
    MemoryView,
    RegisterView,
    View,
    buffer_view,
    register_view,
    within,
)
from morello.impl.tree import ImplNode
from morello.ir.dtype import DType
from morello.ir.primitives import GROUP, packed_along
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES, TensorSpec
from morello.rewrites import (
    Bufferize,
    Crop,
    GroupRows,
    Join,
    LastGroup,
    Move,
    MoveAll,
    Overlap,
    PadFirst,
    Parallel,
    ParallelSplit,
    Peel,
    Pointwise,
    Rewrite,
    Select,
    SpatialSplit,
    Split,
    Tile,
)
from morello.rewrites.conv import pixels_of
from morello.rewrites.grouped import kept_dims
from morello.rewrites.select import find_kernel
from morello.targets.target import Target

Soon = tuple[int, Due]
"""An operand, and when it is read or written."""

UNROLLED = 3
"""The most pixels of a row of a filter that are unrolled here if compilers do not unroll them."""


class Emitter:
    """Emits statements of a goal's Impl, and counts the bytes of the workspace that they use."""

    def __init__(self, target: Target, goal: Spec) -> None:
        self.target = target
        self.workspace = 0
        self._goal = goal
        self._numbers = count()
        self._in_use = 0
        self._around: list[str] = []  # the variables of the loops that are being emitted
        self._divided: set[int] = set()  # the nodes that are divided into parts of parallel items
        self._arrays: dict[str, int] = {}  # arrays of registers by name, and how many they have

    def emit(self, node: ImplNode, views: Sequence[View]) -> list[Statement]:
        """The statements of a node of a complete Impl over these views of its operands."""
        impl = node.impl
        if emits_nothing(impl):
            lines = self.emit(node.children[0], views)
            return self._prefetchable(node, views, self._loaded_by_caches(node), lines)
        assert impl.rewrite is not None
        emitter = EMITTERS.get(type(impl.rewrite), Emitter._sequence)
        return emitter(self, node, impl.rewrite, views)

    def _name(self, stem: str) -> str:
        """A name that no other statement defines."""
        return f"{stem}.{next(self._numbers)}"

    # ---- loops

    def _loop(self, node: ImplNode, rewrite: Loop, views: Sequence[View]) -> list[Statement]:
        dim = rewrite.dim
        if over_registers(node.impl.spec.operation, dim, views):
            return self._unrolled(node, rewrite, views)
        steps = [self._steps(node, loop) for loop in loops(node, views, dim)]
        if node.number in self._divided:
            return [Tiles(steps)]
        return [line for lines in steps for line in lines]

    def _steps(self, node: ImplNode, loop: MergedLoop) -> list[Statement]:
        if loop.times == 1:
            return self.emit(loop.body, loop.tiles(None))
        variable = self._name(loop.dim)
        tiles = loop.tiles(variable)
        self._around.append(variable)
        body = self.emit(loop.body, tiles)
        self._around.pop()
        reduction = loop.accumulates_in_registers
        parts = loop.in_chunks() if reduction else []
        if len(parts) > 1 and _only_products(body):
            return [line for part in parts for line in self._steps(node, part)]
        return [
            For(
                variable, loop.size, loop.step, body,
                views=tiles, reduction=reduction, node=node.number,
            )
        ]  # fmt: skip

    def _unrolled(self, node: ImplNode, rewrite: Loop, views: Sequence[View]) -> list[Statement]:
        spec, dim = node.impl.spec, rewrite.dim
        lines: list[Statement] = []
        start, before = 0, dict[str, MemoryView]()
        for branch, body in zip(node.impl.children, node.children, strict=True):
            inner = body.impl.spec
            for _ in range(branch.times):
                start = min(start, spec.size(dim) - inner.size(dim))
                step = self.emit(body, cut(spec, inner, views, dim, start))
                if spec.operation.accumulates:
                    loads = _loads(step)
                    again = [view for place, view in loads.items() if place in before]
                    free = self._free_registers(views) - body.impl.peak[-1]
                    if len(again) > max(free, 0):
                        lines += self._barrier(again)
                    before = loads
                lines += step
                start += inner.size(dim)
        return lines

    def _barrier(self, again: Sequence[MemoryView]) -> list[Statement]:
        """A barrier in the innermost loop after which compilers load these views again.

        Sums leave no registers for them, so that sums would be stored and loaded instead.
        """
        variables = [v for v in self._around if all(v in view.address.terms for view in again)]
        return [Barrier(variables[-1])] if variables else []

    def _free_registers(self, views: Sequence[View]) -> int:
        """The registers that these operands leave to what is computed with them.

        A tile may be a part of the sums that a loop around it computes: all of them are held.
        """
        arrays = {view.name for view in views if isinstance(view, RegisterView)}
        held = sum(self._arrays[name] for name in arrays)
        return self.target.levels[self.target.registers].capacity - held

    # ---- convolutions

    def _pointwise(
        self, node: ImplNode, rewrite: Pointwise, views: Sequence[View]
    ) -> list[Statement]:
        """A matmul over all pixels of the image."""
        operation = node.impl.spec.operation
        merged = merged_rows(operation, views)
        return self.emit(node.children[0], matmul_views(operation, merged))

    def _join(self, node: ImplNode, rewrite: Join, views: Sequence[View]) -> list[Statement]:
        """The body, on the operands' memory by fewer dimensions."""
        (branch,) = node.impl.children
        merged = joined_views(node.impl.spec.operation, rewrite, views)
        return self.emit(node.children[0], [merged[tensor] for tensor in branch.tensors])

    def _spatial_split(
        self, node: ImplNode, rewrite: SpatialSplit, views: Sequence[View]
    ) -> list[Statement]:
        """Loops over the pixels of the filter around a matmul over the remaining dimensions."""
        spec = node.impl.spec
        pixels = {
            dim: self._name(dim) if spec.size(dim) > 1 else ""
            for dim in pixels_of(spec.operation).values()
        }
        *around, (column, variable) = pixels.items()
        tiles = cut_each(spec, views, [(dim, 1) for dim, _ in around], [v for _, v in around])
        row = spec
        for dim, _ in around:
            row = replace(row, sizes=with_size(row, dim, 1))
        pixel = replace(row, sizes=with_size(row, column, 1))

        def at(number: int, variable: str = "") -> list[Statement]:
            moved = cut(row, pixel, tiles, column, number, variable)
            return self.emit(node.children[0], matmul_views(spec.operation, moved))

        self._around += [name for name in pixels.values() if name]
        lines = at(0, variable)
        if variable:
            self._around.pop()
        if variable and spec.size(column) <= UNROLLED and _only_barriers(lines):
            lines = [line for number in range(spec.size(column)) for line in at(number)]
        elif variable:
            lines = [For(variable, spec.size(column), 1, lines, node=node.number)]
        for dim, name in reversed(around):
            if name:
                self._around.pop()
                lines = [For(name, spec.size(dim), 1, lines, node=node.number)]
        return lines

    def _crop(self, node: ImplNode, rewrite: Crop, views: Sequence[View]) -> list[Statement]:
        """The body, on the part of each operand's memory that is read."""
        (child,) = node.children
        smaller = [
            within(view, tensor.shape, [0] * len(tensor.shape))
            for view, tensor in zip(views, child.impl.spec.tensors, strict=True)
        ]
        return self.emit(child, smaller)

    def _group_rows(
        self, node: ImplNode, rewrite: GroupRows, views: Sequence[View]
    ) -> list[Statement]:
        """A loop over runs of rows of one matrix, with a body for each size of a block."""
        spec = node.impl.spec
        *products, blank = node.children
        *branches, _ = node.impl.children
        group, row = self._name(GROUP), self._name("m")
        kept = kept_dims(spec.operation, 1)
        blocks = []
        for size, branch, child in zip(rewrite.blocks, branches, products, strict=True):
            x, matrix, _, out = cut_each(spec, views, [(GROUP, 1), ("m", size)], [group, row])
            body = self.emit(child, [x, matrix.keep(kept, [1] * len(kept)), out])
            blocks.append(RunBlock(size, branch.times, body))
        _, _, numbers, _ = views
        *_, single = cut_each(spec, views, [("m", 1)], [row])
        assert isinstance(numbers, MemoryView)
        own = self._name("first"), self._name("last"), self._name("begin"), self._name("size")
        return [
            Runs(
                numbers, group, spec.size(GROUP), row, blocks, self.emit(blank, [single]), own,
                node.number,
            )
        ]  # fmt: skip

    # ---- parallel loops

    def _parallel(
        self, node: ImplNode, rewrite: Parallel, views: Sequence[View]
    ) -> list[Statement]:
        """A parallel loop over numbered items: the tiles in order, then the remainder if any."""
        spec = node.impl.spec
        body, *rest = node.children
        counts = [spec.size(dim) // size for dim, size in rewrite.tiles]
        variables = [self._name(dim) for dim, _ in rewrite.tiles]
        tiles = cut_each(spec, views, rewrite.tiles, variables)
        items = prod(counts) + len(rest)
        self._divided |= divided_nodes(node.children, items)
        in_use = self._enter_region()
        lines: list[Statement] = []
        divisor = 1
        for (_, size), variable, times in reversed(
            list(zip(rewrite.tiles, variables, counts, strict=True))
        ):
            index = f"item / {divisor}" if divisor > 1 else "item"
            index = f"{index} % {times}" if len(counts) > 1 else index
            lines.append(ItemIndex(variable, f"{index} * {size}", (times - 1) * size, size))
            divisor *= times
        lines += self.emit(body, tiles)
        for last in rest:
            dim, size = rewrite.tiles[0]
            tail = self.emit(last, cut(spec, last.impl.spec, views, dim, counts[0] * size))
            lines = [If(f"item < {counts[0]}", lines, tail)]
        return [self._region(node, in_use, views, lines, divisor + len(rest))]

    def _enter_region(self) -> tuple[int, int]:
        """Begin a parallel loop, which has a workspace of its own; returns what is used of this."""
        in_use = self._in_use, self.workspace
        self._in_use = self.workspace = 0
        return in_use

    def _region(
        self,
        node: ImplNode,
        in_use: tuple[int, int],
        views: Sequence[View],
        body: list[Statement],
        items: int,
    ) -> ParallelFor:
        """The parallel loop whose body works on these views, defined outside of it."""
        pointers: dict[str, None] = {}
        variables: dict[str, None] = {}
        for view in views:
            assert isinstance(view, MemoryView)
            pointers[view.pointer] = None
            variables |= dict.fromkeys(view.address.terms)
        name, workspace = self._name("region"), self.workspace
        self._in_use, self.workspace = in_use
        return ParallelFor(
            name, items, tuple(pointers), tuple(variables), body, workspace, node.number
        )

    def _parallel_split(
        self, node: ImplNode, rewrite: ParallelSplit, views: Sequence[View]
    ) -> list[Statement]:
        """Reduce the pieces in parallel into partial results in buffers, then merge those."""
        spec, dim, (body, merge) = node.impl.spec, rewrite.dim, node.children
        in_use = self._in_use
        variable, piece = self._name(dim), self._name("piece")
        pieces = cut(spec, body.impl.spec, views, dim, 0, variable)
        lines: list[Statement] = []
        parts, outputs = [], spec.operation.outputs
        for position, output in enumerate(outputs):
            stem = f"{spec.operation.operands[output].name}_parts"
            buffer = self._buffer(node, stem, merge.impl.spec.tensor(position))
            lines.append(buffer)
            parts.append(buffer.view)
            tensor = body.impl.spec.tensor(output)
            whole = buffer_view(buffer.name, tensor.placement.layout, tensor.shape)
            size = tensor.bytes // tensor.dtype.bytes
            pieces[output] = replace(whole, address=Address().plus(0, piece, size))
        inputs = [view for i, view in enumerate(views) if i not in outputs]
        outside = self._enter_region()
        step = body.impl.spec.size(dim)
        inner: list[Statement] = [
            ItemIndex(piece, "item", rewrite.pieces - 1),
            ItemIndex(variable, f"item * {step}", (rewrite.pieces - 1) * step, step),
        ]
        inner += self.emit(body, pieces)
        lines.append(self._region(node, outside, [*inputs, *parts], inner, rewrite.pieces))
        lines += self.emit(merge, [*parts, *(views[i] for i in outputs)])
        self._in_use = in_use
        return [Block(lines)]

    # ---- sequences

    def _peel(self, node: ImplNode, rewrite: Peel, views: Sequence[View]) -> list[Statement]:
        """The pieces, one after another."""
        lines: list[Statement] = []
        for child, begins in zip(node.children, rewrite.starts(node.impl.spec), strict=True):
            tensors = child.impl.spec.tensors
            pieces = [within(v, t.shape, b) for v, t, b in zip(views, tensors, begins, strict=True)]
            lines += self.emit(child, pieces)
        return lines

    def _last_group(
        self, node: ImplNode, rewrite: LastGroup, views: Sequence[View]
    ) -> list[Statement]:
        """All groups but the last, then the last one."""
        spec, (whole, last) = node.impl.spec, node.children
        along = packed_along(spec.operation)
        lines = self.emit(whole, cut(spec, whole.impl.spec, views, along, 0))
        end = cut(spec, last.impl.spec, views, along, spec.size(along) - 1)
        return [*lines, *self.emit(last, end)]

    def _sequence(self, node: ImplNode, rewrite: Rewrite, views: Sequence[View]) -> list[Statement]:
        """The children in order, with buffers and registers for intermediate tensors."""
        impl, in_use = node.impl, self._in_use
        tensors: dict[int, View] = dict(enumerate(views))
        declared: list[Statement] = []
        lines: list[Statement] = []
        names_groups, shared = False, node.number in self._divided
        for position, (branch, child) in enumerate(zip(impl.children, node.children, strict=True)):
            spec = child.impl.spec
            used = []
            for operand, number in enumerate(branch.tensors or range(len(views))):
                tensor = spec.tensor(operand)
                if number not in tensors:
                    place = self._place(node, spec, operand)
                    declared.append(place)
                    tensors[number] = place.view
                before = impl.spec.dtypes[number] if number < len(views) else tensor.dtype
                view = tensors[number]
                if tensor.dtype.lanes > before.lanes:
                    groups = self._packed(node, view, tensor, before)
                    lines.append(groups)
                    view = groups.view
                    names_groups = True
                if isinstance(rewrite, PadFirst):
                    padding = [axis.before for axis in impl.spec.operation.axes[0]]
                    view = within(view, tensor.shape, padding)
                used.append(view)
            inner = self.emit(child, used)
            if shared and position == 0:
                inner = [Shared(self._name("shared"), inner)]
            soon = _copied_next(node) if position else _written_later(node)
            lines += self._prefetchable(node, views, soon, inner)
        if not shared:  # what other parts of the region use may not overlap it
            self._in_use = in_use
        if not (declared or names_groups):
            return lines
        return [Block([*declared, *lines])]

    def _place(self, node: ImplNode, spec: Spec, operand: int) -> Buffer | Registers:
        """A new buffer, or registers, for an operand of a child."""
        impl, tensor = node.impl, spec.tensor(operand)
        stem = spec.operation.operands[operand].name
        if isinstance(impl.rewrite, Move):
            stem = impl.rewrite.operand
            stem = self._goal.names_in(impl.spec.operation).get(stem, stem)
        if tensor.level == self.target.registers:
            placement = tensor.placement
            name = self._name(f"{stem}_reg")
            view = register_view(name, placement.layout, tensor.shape, placement.vector)
            self._arrays[view.name] = view.count
            return Registers(view, tensor.dtype, node.number)
        return self._buffer(node, f"{stem}_{self.target.levels[tensor.level].name}_", tensor)

    def _buffer(self, node: ImplNode, stem: str, tensor: TensorSpec) -> Buffer:
        offset = self._in_use
        layout = tensor.placement.layout
        view = buffer_view(self._name(stem), layout, tensor.shape)
        size = view.strides[0] * layout.extents(tensor.shape)[0] * tensor.dtype.bytes
        self._in_use += -(-size // LINE_BYTES) * LINE_BYTES
        self.workspace = max(self.workspace, self._in_use)
        return Buffer(view, tensor, offset, node.number)

    def _packed(self, node: ImplNode, view: View, tensor: TensorSpec, before: DType) -> Groups:
        """A view of an operand's memory by packed groups along the fastest dimension."""
        assert isinstance(view, MemoryView)
        lanes = tensor.dtype.lanes // before.lanes
        groups = view.grouped(lanes, self._name("groups"))
        return Groups(groups, view, tensor.dtype, lanes, node.number)

    # ---- kernels

    def _kernel(self, node: ImplNode, rewrite: Select, views: Sequence[View]) -> list[Statement]:
        kernel = find_kernel(self.target, rewrite.kernel)
        return [Call(kernel, node.impl.spec, tuple(views), node.number)]

    # ---- what may be prefetched

    def _prefetchable(
        self,
        node: ImplNode,
        views: Sequence[View],
        soon: Iterator[Soon],
        lines: list[Statement],
    ) -> list[Statement]:
        """The statements, during which these operands of a node may be prefetched.

        Sums of a goal that fits into the cache before memory are there already.
        """
        spec = node.impl.spec
        near = self._goal.bytes <= self.target.levels[1].capacity * LINE_BYTES
        for index, due in reversed(list(soon)):
            view = views[index]
            if spec.levels[index] != 0 or not isinstance(view, MemoryView):
                continue
            if near and due is Due.STORED:
                continue
            operand, element = spec.operation.operands[index], spec.tensor(index).dtype.bytes
            name = self._goal.names_in(spec.operation).get(operand.name, operand.name)
            lines = [Prefetchable(name, view, element, operand.written, due, lines)]
        return lines

    def _loaded_by_caches(self, node: ImplNode) -> Iterator[Soon]:
        """Operands that a node brings from main memory to the next cache, as they are used."""
        rewrite, operation = node.impl.rewrite, node.impl.spec.operation
        if not isinstance(rewrite, Move | MoveAll) or rewrite.level != self.target.levels[1].name:
            return
        for index, operand in enumerate(operation.operands):
            if isinstance(rewrite, MoveAll) or rewrite.operand == operand.name:
                yield index, Due.NEXT if operation.reads(index) else Due.STORED


EMITTERS: dict[type[Rewrite], Callable[..., list[Statement]]] = {
    Tile: Emitter._loop,
    Overlap: Emitter._loop,
    Split: Emitter._loop,
    Select: Emitter._kernel,
    Parallel: Emitter._parallel,
    ParallelSplit: Emitter._parallel_split,
    SpatialSplit: Emitter._spatial_split,
    Pointwise: Emitter._pointwise,
    Peel: Emitter._peel,
    LastGroup: Emitter._last_group,
    Join: Emitter._join,
    Crop: Emitter._crop,
    GroupRows: Emitter._group_rows,
}
"""The code generators of rewrites that are not just a sequence of steps."""


def _only_barriers(statements: Sequence[Statement]) -> bool:
    """Whether there are barriers in statements, and no loops."""
    has_loops = any(loops_in(statements))
    return not has_loops and any(isinstance(s, Barrier) for s in walk(statements))


def _only_products(statements: Sequence[Statement]) -> bool:
    """Whether statements are sums of products, and what they load, without loops."""
    calls = (s.spec.operation.is_product for s in walk(statements) if isinstance(s, Call))
    return not any(loops_in(statements)) and any(calls)


def _loads(statements: Sequence[Statement]) -> dict[str, MemoryView]:
    """The tiles in memory that the kernels of statements work on, by their places."""
    return {
        f"{view.pointer} {view.address}": view
        for call in walk(statements)
        if isinstance(call, Call)
        for view in call.views
        if isinstance(view, MemoryView)
    }


def _copied_next(node: ImplNode) -> Iterator[Soon]:
    """The operand that the loop around copies anew in its next iteration, if it is copied."""
    rewrite = node.impl.rewrite
    if isinstance(rewrite, Move):
        for index, operand in enumerate(node.impl.spec.operation.operands):
            if rewrite.operand == operand.name and not operand.written:
                yield index, Due.NEXT


def _written_later(node: ImplNode) -> Iterator[Soon]:
    """The operands that the second part of a composition writes."""
    rewrite, operation = node.impl.rewrite, node.impl.spec.operation
    if isinstance(rewrite, Bufferize):
        first, *others = (set(branch.tensors) for branch in node.impl.children)
        for index in sorted(set().union(*others) - first):
            if index < len(operation.operands) and operation.operands[index].written:
                yield index, Due.STORED if rewrite.vector else Due.LATER

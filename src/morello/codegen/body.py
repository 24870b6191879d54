"""The statements of an Impl: loops, buffers, registers, kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from morello.codegen.views import MemoryView, RegisterView, View, buffer_view
from morello.ir.batch import LINE_BYTES
from morello.ir.spec import Spec
from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.impl import Impl
from morello.rewrites.move import Move
from morello.rewrites.select import Select, find_kernel
from morello.rewrites.tile import Split, Tile
from morello.targets.target import Target, c_type


class Body:
    """Emits statements, and gathers what they need: helpers and a workspace."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.helpers: list[str] = []
        self.workspace_bytes = 0
        self._in_use = 0
        self._names: Counter[str] = Counter()

    def emit(self, impl: Impl, views: Sequence[View]) -> list[str]:
        """The statements of a complete Impl over these views of its operands."""
        rewrite = impl.rewrite
        if isinstance(rewrite, Tile | Split):
            return self._loop(impl, rewrite, views)
        if isinstance(rewrite, Move):
            return self._move(impl, rewrite, views)
        if isinstance(rewrite, ToAccumulate):
            fill, body = impl.children
            return [*self.emit(fill.impl, views[-1:]), *self.emit(body.impl, views)]
        if isinstance(rewrite, Select):
            return self._kernel(impl.spec, rewrite, views)
        raise AssertionError(f"no code for {rewrite}")

    def _fresh(self, stem: str) -> str:
        self._names[stem] += 1
        return f"{stem}{self._names[stem] - 1}"

    def _need(self, name: str) -> None:
        if name in self.target.helpers and name not in self.helpers:
            self.helpers.append(name)

    # ---- loops

    def _loop(self, impl: Impl, rewrite: Tile | Split, views: Sequence[View]) -> list[str]:
        spec, dim, tile = impl.spec, rewrite.dim, rewrite.size
        size, body = spec.size(dim), impl.children[0]
        whole = size // tile * tile
        if self._in_registers(spec, dim, views):
            lines = []
            for start in range(0, whole, tile):
                lines += self.emit(body.impl, _cut(spec, views, dim, tile, start))
        elif body.times == 1:
            lines = self.emit(body.impl, _cut(spec, views, dim, tile, 0))
        else:
            variable = self._fresh(dim)
            inner = self.emit(body.impl, _cut(spec, views, dim, tile, 0, variable))
            self._names[dim] -= 1
            step = f"++{variable}" if tile == 1 else f"{variable} += {tile}"
            lines = [f"for (long {variable} = 0; {variable} < {whole}; {step}) {{"]
            lines += [*("  " + line for line in inner), "}"]
        for rest in impl.children[1:]:
            lines += self.emit(rest.impl, _cut(spec, views, dim, size - whole, whole))
        return lines

    @staticmethod
    def _in_registers(spec: Spec, dim: str, views: Sequence[View]) -> bool:
        """Registers have no addresses: a loop over them must be unrolled."""
        return any(
            isinstance(view, RegisterView) and dim in operand.dims
            for operand, view in zip(spec.operation.operands, views, strict=True)
        )

    # ---- moves

    def _move(self, impl: Impl, rewrite: Move, views: Sequence[View]) -> list[str]:
        if rewrite.layout is None:
            return self.emit(impl.children[0].impl, views)
        operand = impl.spec.operation.find(rewrite.operand)
        in_use, names = self._in_use, self._names.copy()
        view: View
        if rewrite.vector:
            declaration, view = self._registers(impl.spec, operand, rewrite)
        else:
            declaration, view = self._buffer(impl.spec, operand, rewrite)
        lines = [declaration]
        moved = [*views[:operand], view, *views[operand + 1 :]]
        for child in impl.children:
            used = {
                "in": [views[operand], view],
                "body": moved,
                "out": [view, views[operand]],
            }[child.role]
            lines += self.emit(child.impl, used)
        self._in_use, self._names = in_use, names
        return ["{", *("  " + line for line in lines), "}"]

    def _registers(self, spec: Spec, operand: int, move: Move) -> tuple[str, RegisterView]:
        assert move.layout is not None
        kind = c_type(spec.dtypes[operand], move.vector)
        self._need(kind)
        shape = spec.shape(operand)
        name = self._fresh(f"{move.operand}_reg")
        view = RegisterView(name, shape, move.layout.order[-1], move.vector, (0,) * len(shape))
        dims = "".join(f"[{count}]" for count in view.counts())
        return f"{kind} {name}{dims};", view

    def _buffer(self, spec: Spec, operand: int, move: Move) -> tuple[str, MemoryView]:
        assert move.layout is not None
        tensor = spec.tensor(operand)
        offset = self._in_use
        self._in_use += -(-tensor.bytes // LINE_BYTES) * LINE_BYTES
        self.workspace_bytes = max(self.workspace_bytes, self._in_use)
        name = self._fresh(f"{move.operand}_{move.level}_")
        c = tensor.dtype.c
        declaration = f"{c} *const restrict {name} = ({c} *)(workspace + {offset});"
        comment = f"  /* {tensor.dtype}[{','.join(map(str, tensor.shape))}]{move.layout} */"
        return declaration + comment, buffer_view(name, move.layout, tensor.shape)

    # ---- kernels

    def _kernel(self, spec: Spec, rewrite: Select, views: Sequence[View]) -> list[str]:
        kernel = find_kernel(self.target, rewrite.kernel)
        for helper in kernel.helpers:
            self._need(helper.split("_", 1)[1].removeprefix("part_"))
            self._need(helper)
        names: dict[str, str | int] = dict(zip(spec.operation.dims, spec.sizes, strict=True))
        names["length"] = max(spec.sizes)
        held: dict[str, list[str]] = {}
        for operand, view in zip(spec.operation.operands, views, strict=True):
            if isinstance(view, RegisterView):
                held[operand.name] = view.names()
            else:
                names[operand.name] = view.element
        repeats = max((len(registers) for registers in held.values()), default=1)
        return [
            kernel.c.format(**names | {name: registers[i] for name, registers in held.items()})
            for i in range(repeats)
        ]


def _cut(
    spec: Spec, views: Sequence[View], dim: str, size: int, start: int, variable: str | None = None
) -> list[View]:
    """Every operand's tile along one of the operation's dimensions."""
    return [
        view.cut(operand.dims.index(dim), size, start, variable) if dim in operand.dims else view
        for operand, view in zip(spec.operation.operands, views, strict=True)
    ]

"""The shared object of a model: its kernels, and the operators of ONNX Runtime that run them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx import helper

import morello.models
from morello.base.errors import GraphError
from morello.codegen.instructions import NO_FLAGS, compiled_for, needs
from morello.codegen.source import comment, joined, unit
from morello.graph.graph import Array, Node
from morello.kernel import Kernel
from morello.models import Segment
from morello.models.segment import packed
from morello.native.build import build
from morello.native.toolchain import arch_flags

MOST_ARRAYS = 4096
"""The most inputs and outputs of a segment, as custom_ops.c has it."""


@dataclass(frozen=True)
class CustomOp:
    """A segment as an operator: its name, and its constants, which are inputs after its own."""

    name: str
    segment: Segment
    constants: tuple[Array, ...]
    places: tuple[tuple[int, int], ...]
    """For each argument of the kernels, the base that it lies in, and its offset in bytes."""


def custom_op(segment: Segment, name: str) -> CustomOp:
    """The operator of a segment; equal constants are one input."""
    numbers: dict[bytes, int] = {}
    constants: list[Array] = []
    given = {node: n for n, node in enumerate(segment.inputs)}
    places: list[tuple[Node | int, int]] = []
    for call, kernel in zip(segment.calls, segment.kernels, strict=True):
        for number, view in enumerate((*call.inputs, call.output)):
            offset = view.offset * view.base.dtype.itemsize
            if view.base in segment.arena.offsets:
                places.append((1, segment.arena.offsets[view.base] + offset))
            elif view.base in given or view.base in segment.outputs:
                places.append((view.base, offset))
            else:
                array = packed(view, kernel, number)
                key = hashlib.sha256(array.tobytes()).digest()
                if key not in numbers:
                    numbers[key] = len(given) + len(constants)
                    constants.append(array)
                places.append((2 + numbers[key], 0))
    first = len(given) + len(constants)
    given |= {node: n for n, node in enumerate(segment.outputs, start=first)}
    if len(given) + len(constants) > MOST_ARRAYS:
        raise GraphError(f"a part of the model has more than {MOST_ARRAYS} inputs and outputs.")
    resolved = tuple((b if isinstance(b, int) else 2 + given[b], n) for b, n in places)
    return CustomOp(name, segment, tuple(constants), resolved)


def build_library(ops: Sequence[CustomOp]) -> Path:
    """The shared object of operators, in the cache; raises `BuildError`."""
    kernels = [kernel for op in ops for kernel in op.segment.kernels]
    first = kernels[0]
    flags = arch_flags(first.compiler, first.impl.target.arch)
    return build(source(ops), compiler=first.compiler, flags=flags)


def source(ops: Sequence[CustomOp]) -> str:
    """The C of operators and of their kernels."""
    kernels = list(dict.fromkeys(kernel for op in ops for kernel in op.segment.kernels))
    names = {kernel: f"kernel_{number}" for number, kernel in enumerate(kernels)}
    units = [unit(kernel.impl, name) for kernel, name in names.items()]
    target = kernels[0].impl.target
    helpers = {name: text for each in units for name, text in each.helpers.items()}
    groups = dict.fromkeys(line for each in units for line in each.groups)
    code = [line for each in units for line in (*each.code, "")]
    includes = dict.fromkeys(line for each in units for line in each.includes)
    runner = Path(morello.models.__file__).with_name("runner.c").read_text(encoding="utf-8")
    operators = Path(__file__).with_name("custom_ops.c").read_text(encoding="utf-8")
    return joined([
        comment(f"The kernels of a model, for {target.name}\n{NO_FLAGS}"),
        *needs(target), *includes, "#include <stddef.h>", "#include <stdlib.h>", "",
        *compiled_for(target, [*groups, *helpers.values(), "", *code]),
        runner, operators, *_tables(ops, names),
    ])  # fmt: skip


def _tables(ops: Sequence[CustomOp], names: Mapping[Kernel, str]) -> Iterable[str]:
    """The tables that custom_ops.c and runner.c work with."""
    rows = []
    for number, op in enumerate(ops):
        places = [f"{{{base}, {offset}}}" for base, offset in op.places]
        yield f"static const Place places_{number}[] = {{{', '.join(places)}}};"
        steps, begin = [], 0
        for call, kernel in zip(op.segment.calls, op.segment.kernels, strict=True):
            count = len(call.inputs) + 1
            steps.append(f"{{(void *){names[kernel]}, {begin}, {count}}}")
            begin += count
        yield f"static const Step steps_{number}[] = {{{', '.join(steps)}}};"
        yield (
            f"static const Segment segment_{number} = "
            f"{{steps_{number}, places_{number}, {len(steps)}}};"
        )
        types = [(n.dtype, n.shape) for n in op.segment.inputs]
        types += [(array.dtype, array.shape) for array in op.constants]
        inputs = len(types)
        types += [(n.dtype, n.shape) for n in op.segment.outputs]
        tensors = []
        for place, (dtype, shape) in enumerate(types):
            sizes = ", ".join(map(str, shape or (0,)))
            yield f"static const int64_t shape_{number}_{place}[] = {{{sizes}}};"
            code, count = helper.np_dtype_to_tensor_dtype(dtype), _count(shape)
            tensors.append(f"{{{code}, {count}, {len(shape)}, shape_{number}_{place}}}")
        yield f"static const Tensor tensors_{number}[] = {{{', '.join(tensors)}}};"
        arena = -(-op.segment.arena.bytes // 64) * 64
        rows.append(
            f'  {{.name = "{op.name}", .inputs = {inputs}, .outputs = {len(types) - inputs},\n'
            f"   .tensors = tensors_{number}, .segment = &segment_{number}, .arena = {arena}}},"
        )
    yield "static Group groups[] = {"
    yield from rows
    yield "};"
    yield f"static const size_t group_count = {len(ops)};"


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count

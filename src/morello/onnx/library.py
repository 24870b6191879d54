"""The shared object of a model: its kernels, and the operators of ONNX Runtime that run them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import morello.models
from morello.abi.plans import HostArray, dense_array, plan, text
from morello.base.errors import GraphError
from morello.codegen.linking import shared_workspace
from morello.codegen.source import joined
from morello.graph.graph import Node
from morello.kernel import Kernel
from morello.models import Segment
from morello.models.segment import Place
from morello.models.source import ConstantBlock
from morello.native.build import build
from morello.native.toolchain import arch_flags
from morello.runtime.argument import CACHE_LINE
from morello.runtime.threads import CLAIMS

MOST_ARRAYS = 4096
"""The most inputs and outputs of a segment: their addresses are on the stack."""


@dataclass(frozen=True)
class CustomOp:
    """A segment as an operator: its name, and its constants, a block that is its last input."""

    name: str
    segment: Segment
    constants: ConstantBlock
    places: tuple[tuple[tuple[int, int], ...], ...]
    """The base that each argument of each kernel lies in, as runner.c numbers them, and its offset
    in bytes."""


def custom_op(segment: Segment, number: int) -> CustomOp:
    """The operator of a segment; its name has a hash of what its library does."""
    if len(segment.inputs) + len(segment.outputs) >= MOST_ARRAYS:
        raise GraphError(f"a part of the model has more than {MOST_ARRAYS} inputs and outputs.")
    block, first = ConstantBlock(), len(segment.inputs)

    def placed(place: Place) -> tuple[int, int]:
        if not isinstance(place.base, int):
            return 2 + first, block.add(place.base) + place.offset
        return place.base + (1 if place.base <= first else 2), place.offset

    places = tuple(tuple(map(placed, some)) for some in segment.places)
    code = [kernel.library.path.name for kernel in segment.kernels]  # hashes of their C
    digest = hashlib.sha256("\0".join([*code, repr(places)]).encode()).hexdigest()[:12]
    name = f"Segment_{number}_{digest}"
    return CustomOp(name, segment, block, places)


def build_library(ops: Sequence[CustomOp]) -> Path:
    """The shared object of operators, in the cache; raises `BuildError`."""
    plans = ", ".join(f"{{.plan = &op_{number}_plan}}" for number in range(len(ops)))
    return _built(ops, [_REGISTER.replace("$PLANS", plans)])


def build_provider(ops: Sequence[CustomOp], folder: Path) -> Path:
    """The shared object, in a folder, of an execution provider that has these segments.

    Their constants are inside. Raises `BuildError`.
    """
    block, rows = bytearray(), []
    for number, op in enumerate(ops):
        block += bytes(-len(block) % CACHE_LINE)
        rows.append(f"{{&op_{number}_plan, constants + {len(block)}}}")
        for piece in op.constants.pieces():
            block += piece
    data = folder / "constants"
    data.write_bytes(block)
    code = _CONSTANTS.format(text=_c_string(f".incbin {_c_string(str(data.absolute()))}"))
    return _built(ops, [_GROUP, code, *_groups(rows), _provider()], folder)


def provider_source() -> str:
    """The C of an execution provider without kernels of its own."""
    return joined([CLAIMS, text("plan.h"), text("ort.c"), _GROUP, *_groups([]), _provider()])


def _groups(rows: Sequence[str]) -> Iterable[str]:
    yield f"enum {{ GROUP_COUNT = {len(rows)} }};"
    yield f"static Group groups[] = {{{', '.join(rows or ['{0}'])}}};"


def _provider() -> str:
    return Path(__file__).with_name("provider.c").read_text(encoding="utf-8")


_GROUP = """\
/* What a node of the execution provider runs. */
typedef struct {
    const AbiPlan *plan;
    const char *constants; /* the last of the inputs; null if it is an input of the node */
    const char *const *names; /* those of the tensors in a model; null if the node says them */
    int64_t users; /* how many nodes of sessions have it */
} Group;
"""

_CONSTANTS = """\
extern const char constants[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\\n.balign 64\\n.globl constants\\n.hidden constants\\n"
        "constants:\\n" {text} "\\n.popsection");"""
"""The contents of a file, in assembly: a C compiler takes long for an array of as many numbers."""


def _c_string(content: str) -> str:
    return json.dumps(content, ensure_ascii=False)


def _built(ops: Sequence[CustomOp], ending: Sequence[str], cache: Path | None = None) -> Path:
    """The shared object of operators, with this ending, and of the objects of their kernels."""
    kernels = [*dict.fromkeys(kernel for op in ops for kernel in op.segment.kernels)]
    compiler, target = kernels[0].compiler, kernels[0].impl.target
    return build(
        source(ops, kernels, ending), compiler=compiler, flags=arch_flags(compiler, target.arch),
        objects=lambda: [kernel.linkable for kernel in kernels], cache=cache,
    )  # fmt: skip


def source(ops: Sequence[CustomOp], kernels: Sequence[Kernel], ending: Sequence[str]) -> str:
    """The C of operators, with this ending, which calls their kernels.

    The names of those are hashes of their C. They have one workspace, and are hidden from other
    libraries.
    """
    workspace = max(kernel.workspace for kernel in kernels)
    hidden = [f"void {_function(kernel)}(void);" for kernel in kernels]
    hidden += [shared_workspace(workspace)] if workspace else []
    runner = Path(morello.models.__file__).with_name("runner.c").read_text(encoding="utf-8")
    return joined([
        "#pragma GCC visibility push(hidden)", *hidden, "#pragma GCC visibility pop", "",
        runner, CLAIMS, text("plan.h"), text("ort.c"), _RUN, *_tables(ops), *ending,
    ])  # fmt: skip


def _function(kernel: Kernel) -> str:
    """The function that a segment calls: if it is parallel, the one that takes a pool."""
    return f"{kernel.symbol}_on" if kernel.threads > 1 else kernel.symbol


_RUN = """\
static void run(const void *code, char *arena, char *const *arrays, parallel_t loop, void *pool)
{
    segment_run(code, arena, arrays, loop, pool);
}
"""

_REGISTER = """\
OrtStatus *RegisterCustomOps(void *options, const OrtBase *base)
{
    static OrtPlan plans[] = {$PLANS};
    return ort_register("morello", plans, sizeof plans / sizeof plans[0], options, base);
}"""


def _tables(ops: Sequence[CustomOp]) -> Iterable[str]:
    """The tables that runner.c and ort.c work with."""
    for number, op in enumerate(ops):
        places = [f"{{{base}, {offset}}}" for some in op.places for base, offset in some]
        yield f"static const Place places_{number}[] = {{{', '.join(places)}}};"
        steps, begin = [], 0
        for kernel, some in zip(op.segment.kernels, op.places, strict=True):
            parallel = int(kernel.threads > 1)
            steps.append(f"{{(void *){_function(kernel)}, {begin}, {len(some)}, {parallel}}}")
            begin += len(some)
        yield f"static const Step steps_{number}[] = {{{', '.join(steps)}}};"
        yield (
            f"static const Segment segment_{number} = "
            f"{{steps_{number}, places_{number}, {len(steps)}}};"
        )
        yield from _plan(f"op_{number}", op, f"&segment_{number}")


def _plan(stem: str, op: CustomOp, segment: str) -> Iterable[str]:
    inputs = [_host_array(op.name, node) for node in op.segment.inputs]
    inputs.append(dense_array("the constants", np.dtype(np.uint8), (op.constants.size,)))
    outputs = [_host_array(op.name, node) for node in op.segment.outputs]
    arena = op.segment.arena.bytes
    return plan(stem, op.name, inputs, outputs, run="run", code=segment, arena=arena)


def _host_array(name: str, node: Node) -> HostArray:
    return dense_array(f"an input of {name}", node.dtype, node.shape)

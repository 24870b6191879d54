"""The shared object of a model: its kernels, and the operators of ONNX Runtime that run them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

import morello.models
from morello.abi.plans import HostArray, dense_array, plan, text
from morello.base.errors import GraphError
from morello.codegen.instructions import NO_FLAGS, compiled_for, needs
from morello.codegen.source import Unit, comment, file_workspace, joined, unit
from morello.graph.graph import Node
from morello.kernel import Kernel
from morello.models import Segment
from morello.models.segment import Place
from morello.models.source import ConstantBlock
from morello.native.build import build
from morello.native.cache import default_cache, hash_of, is_whole
from morello.native.toolchain import arch_flags
from morello.questions import question
from morello.runtime.argument import CACHE_LINE
from morello.runtime.threads import CLAIMS, available_threads
from morello.tables import texts

_WORKSPACE = "workspace_of_kernels"
"""The name of the memory that kernels work in, one after the other."""

PART_SIZE = 100_000
"""The characters of C for which it pays to start a compiler: it takes half a second for them."""

MOST_ARRAYS = 4096
"""The most inputs and outputs of a segment: their addresses are on the stack."""


@dataclass(frozen=True)
class CustomOp:
    """A segment as an operator: its name, and its constants, a block that is its last input."""

    name: str
    segment: Segment
    constants: ConstantBlock
    places: tuple[tuple[tuple[int, int], ...], ...]
    """For each argument of each kernel, the base that it lies in, as runner.c numbers them, and
    its offset in bytes."""


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
    """The shared object of operators, in the cache; raises `BuildError`.

    One that was built before is found there without its C, which takes long to generate.
    """
    plans = ", ".join(f"{{.plan = &op_{number}_plan}}" for number in range(len(ops)))
    ending = [_REGISTER.replace("$PLANS", plans)]
    asked = _library_question(ops, ending)
    library = asked and _recalled(asked)
    if not library:
        library = _built(ops, ending)
        if asked:
            _remember(asked, library)
    return library


def _library_question(ops: Sequence[CustomOp], ending: Sequence[str]) -> str | None:
    """A hash of all that the C of operators depends on; None if it is not to be kept.

    The names of the kernels' own objects are hashes of their C, their compiler and its flags.
    """
    names = _kernel_names(ops)
    kernels = [f"{kernel.library.path.name} {name}" for kernel, name in names.items()]
    return question("\n".join([*kernels, *_tables(ops, names), *ending]), {})


def _recalled(asked: str) -> Path | None:
    """The object that was kept for a question; None if it is not as it was."""
    with texts() as known:
        text = None if known is None else known.program("", asked)
    if text is None:
        return None
    record = json.loads(text)
    library = default_cache().absolute() / record["object"]
    whole = is_whole(library) and hash_of(library).hex() == record["hash"]
    return library if whole else None


def _remember(asked: str, library: Path) -> None:
    record = {"object": library.name, "hash": hash_of(library).hex()}
    with texts() as known:
        if known is not None:
            known.keep_program("", asked, json.dumps(record))


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
    """The shared object of operators and of their kernels, with this ending."""
    first = ops[0].segment.kernels[0]
    flags = arch_flags(first.compiler, first.impl.target.arch)
    whole, parts = source(ops, ending, available_threads())
    return build(whole, compiler=first.compiler, flags=flags, cache=cache, parts=parts)


def source(ops: Sequence[CustomOp], ending: Sequence[str], most: int) -> tuple[str, int]:
    """The C of operators and of their kernels, with this ending, and how many parts it has.

    It is a file that can be compiled as a whole, or at once in parts, at `most` as many as these
    (see `build`). Its kernels have one workspace, and are hidden from other libraries.
    """
    names = _kernel_names(ops)
    units: list[Unit] = []
    for kernel, name in names.items():
        taken = [region for other in units for region in other.regions]
        units.append(unit(kernel.impl, name, taken, _WORKSPACE))
    target = ops[0].segment.kernels[0].impl.target
    helpers = {name: text for each in units for name, text in each.helpers.items()}
    shared = dict.fromkeys(part for each in units for part in each.shared)
    workspace = file_workspace(units, _WORKSPACE)
    declared = [*(f"extern {line}" for line in workspace), *(f"{u.prototype};" for u in units)]
    codes = ["\n".join((*each.code, "")) for each in units]
    ends = [*accumulate(map(len, codes))]
    parts = min(most, 1 + ends[-1] // PART_SIZE)
    code: list[str] = []
    for begin, lines in zip([0, *ends], codes, strict=False):
        code += _in_part(begin * parts // ends[-1], [lines])
    includes = dict.fromkeys(line for each in units for line in each.includes)
    runner = Path(morello.models.__file__).with_name("runner.c").read_text(encoding="utf-8")
    hidden = ["#pragma GCC visibility push(hidden)", *declared, "#pragma GCC visibility pop", ""]
    host = [*workspace, runner, CLAIMS, text("plan.h"), text("ort.c"), _RUN]
    whole = joined([
        comment(f"The kernels of a model, for {target.name}\n{NO_FLAGS}"),
        *needs(target), *includes, "",
        *compiled_for(target, [*shared, *helpers.values(), "", *hidden, *code]),
        *_in_part(0, [*host, *_tables(ops, names), *ending]),
    ])  # fmt: skip
    return whole, parts


def _in_part(number: int, lines: Sequence[str]) -> list[str]:
    """C that only one part has, if the file is compiled in parts."""
    return [f"#if !defined MORELLO_PART || MORELLO_PART == {number}", *lines, "#endif"]


def _kernel_names(ops: Sequence[CustomOp]) -> dict[Kernel, str]:
    """The kernels of operators, with the names of their functions."""
    kernels = dict.fromkeys(kernel for op in ops for kernel in op.segment.kernels)
    return {kernel: f"kernel_{number}" for number, kernel in enumerate(kernels)}


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


def _tables(ops: Sequence[CustomOp], names: Mapping[Kernel, str]) -> Iterable[str]:
    """The tables that runner.c and ort.c work with."""
    for number, op in enumerate(ops):
        places = [f"{{{base}, {offset}}}" for some in op.places for base, offset in some]
        yield f"static const Place places_{number}[] = {{{', '.join(places)}}};"
        steps, begin = [], 0
        for kernel, some in zip(op.segment.kernels, op.places, strict=True):
            parallel = kernel.threads > 1
            function = f"{names[kernel]}_on" if parallel else names[kernel]
            steps.append(f"{{(void *){function}, {begin}, {len(some)}, {int(parallel)}}}")
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

"""The C translation unit of an Impl: preamble, regions, workspace, and the function."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from morello.codegen.bypass import with_bypasses
from morello.codegen.clobbers import with_clobbers
from morello.codegen.copy_order import with_blocks_of_rows
from morello.codegen.instructions import NO_FLAGS, aligned_stack, compiled_for, needs
from morello.codegen.lower import lower
from morello.codegen.names import Names, check_function_name, in_c
from morello.codegen.parallel import PARALLEL, RUN_PARALLEL, with_default_pool
from morello.codegen.printer import Printer
from morello.impl.tree import Impl
from morello.ir.dtype import F16
from morello.ir.spec import Spec
from morello.rewrites import Parallel
from morello.targets.helpers.collect import used_in
from morello.targets.target import Target

STACK_BYTES = 16 << 10
"""Workspaces up to this size live on the stack, larger ones in thread-local storage."""

GROUP = "typedef uint32_t group_t __attribute__((may_alias, aligned(1)));"


@dataclass(frozen=True)
class Source:
    """C for one Impl: the file's text, the header's text, and the function's name.

    `items` is how many pieces of work `{name}_range` divides it into, 0 if there is none;
    `parallel` says that `{name}_on` runs it on a pool of threads, and `{name}_set_parallel` takes
    one for all calls. `workspace` are the bytes that its function works in.
    """

    name: str
    text: str
    header: str
    items: int = 0
    parallel: bool = False
    workspace: int = 0

    @property
    def borrowed(self) -> int:
        """The bytes of a workspace that it may share with kernels that run before and after it.

        0 if they fit on the stack, or if it has parallel loops: a thread that waits for others
        may run another kernel.
        """
        return self.workspace if self.workspace > STACK_BYTES and not self.parallel else 0


@dataclass(frozen=True)
class Unit:
    """The C of one Impl in pieces: its includes, the helpers it calls, by name, and its code.

    `parameters` are the C types that its parameters point to, by name, and `regions` the functions
    of its parallel loops. If there are any, its function is `{name}_on`. `workspace` are the bytes
    that it works in.
    """

    includes: Sequence[str]
    helpers: Mapping[str, str]
    code: Sequence[str]
    parameters: Mapping[str, str]
    items: int
    regions: tuple[str, ...]
    workspace: int = 0

    @property
    def shared(self) -> Sequence[str]:
        """Definitions that the code uses and of which a file needs one: the type of packed groups,
        and the function that runs parallel loops.
        """
        groups = [GROUP] if any("group_t" in line for line in self.code) else []
        return [*groups, RUN_PARALLEL] if self.regions else groups


def generate(
    impl: Impl, name: str = "kernel", schedule: str = "", printer: type[Printer] = Printer
) -> Source:
    """Emit C for a complete Impl. `schedule` is printed above the function.

    `printer` prints the statements. Operands keep their names in it, except for reserved ones.
    Raises `BuildError` if C and C++ can have no function of this name.
    """
    emitted = unit(impl, name, printer=printer)
    title = f"{impl.spec.expression}, for {impl.target.name}\n{NO_FLAGS}"
    first = comment(f"{title}\n\n{schedule}".strip())
    definitions = [*emitted.shared, *emitted.helpers.values(), "", *complete(emitted, name)]
    parts = [
        first, *needs(impl.target), *emitted.includes, "",
        *compiled_for(impl.target, definitions),
    ]  # fmt: skip
    declared = header(impl.spec, name, emitted)
    return Source(
        name, joined(parts), declared, emitted.items, bool(emitted.regions), emitted.workspace
    )


def complete(emitted: Unit, name: str) -> list[str]:
    """A unit's code, with the function `name` that runs parallel loops on the pool that was set."""
    if not emitted.regions:
        return [*emitted.code]
    plain = signature(name, emitted.parameters)
    return [*emitted.code, "", *with_default_pool(name, plain, [*emitted.parameters])]


def unit(
    impl: Impl, name: str, printer: type[Printer] = Printer, taken: Collection[str] = ()
) -> Unit:
    """The C of a complete Impl in pieces; raises as `generate` does.

    `taken` are identifiers that the rest of the file has at its scope.
    """
    check_function_name(name, impl.target.helpers)
    spec = impl.spec
    names = Names({*exported(name), _guard(name), *impl.target.helpers, *taken})
    arrays = {array: names.parameter(array) for array in spec.arrays}
    parameters = {arrays[array]: pointee for array, pointee in _pointees(spec).items()}
    program = with_blocks_of_rows(lower(impl, arrays), spec, impl.target)
    body = with_clobbers(with_bypasses(program, spec, impl.target), impl.target)
    printing = printer(in_c(body, names), parameters)
    lines, regions, items = printing.lines(body), printing.regions, _items(impl)
    code: list[str] = []
    before = aligned_stack(impl.target)
    for region in regions:
        kept = workspace_lines(region.workspace, kept=bool(region.counter))
        code += region.definition(kept, before)
    prototype = on_signature(name, parameters) if regions else signature(name, parameters)
    code += [*before, f"{prototype} {{", *workspace_lines(program.workspace)]
    code += ["  " + line for line in lines]
    code.append("}")
    if items:
        region = regions[0]
        begin, end = map(region.first_part, ("begin", "end"))
        code += [
            "",
            f"{ranged(signature(f'{name}_range', parameters))} {{",
            f"  {region.environment}",
            f"  {region.name}(&environment, {begin}, {end});",
            "}",
        ]
    helpers = {h: impl.target.helpers[h] for h in used_in(code, impl.target.helpers)}
    includes = ["#include <stdint.h>", *_headers(impl.target, helpers.values())]
    if any("_Float16" in text for text in (*code, *helpers.values())):
        includes.append(_ANY_FLOAT16)
    if any(helper.startswith("round_f32") for helper in helpers):
        includes.append(_UNUSED_BY_CLANG)
    return Unit(
        includes, helpers, code, parameters, items,
        tuple(name for region in regions for name in region.names), program.workspace,
    )  # fmt: skip


_ANY_FLOAT16 = '#pragma GCC diagnostic ignored "-Wpedantic" /* _Float16 is not ISO C */'
_UNUSED_BY_CLANG = '#pragma GCC diagnostic ignored "-Wunused-function" /* Clang rounds itself */'


def joined(parts: Sequence[str]) -> str:
    """The text of a file that is made of these parts, without repeated blank lines."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts) + "\n")


def static(code: str) -> str:
    """The C with internal linkage of its functions."""
    return re.sub(r"^void ", "static void ", code, flags=re.MULTILINE)


def _items(impl: Impl) -> int:
    """The number of items if the Impl is a parallel loop, else 0."""
    rewrite = impl.rewrite
    if not isinstance(rewrite, Parallel):
        return 0
    count = 1
    for dim, size in rewrite.tiles:
        count *= impl.spec.size(dim) // size
    return count + len(impl.children) - 1


def exported(name: str) -> tuple[str, ...]:
    """The functions that a file may export: the kernel, also on a pool or for a range of its items,
    and the one that sets its pool.
    """
    return name, f"{name}_on", f"{name}_range", f"{name}_set_parallel"


def signature(name: str, parameters: Mapping[str, str]) -> str:
    """The C prototype: one restrict pointer per array, inputs first."""
    declared = (f"{c} *restrict {parameter}" for parameter, c in parameters.items())
    return f"void {name}({', '.join(declared)})"


def on_signature(name: str, parameters: Mapping[str, str]) -> str:
    """The C prototype of the function that takes what its parallel loops run on."""
    return signature(f"{name}_on", parameters)[:-1] + ", parallel_t run, void *pool)"


def ranged(prototype: str) -> str:
    """The C prototype of a function that does a part of the work of one with this prototype."""
    return prototype[:-1] + ", long begin, long end)"


def _pointees(spec: Spec) -> dict[str, str]:
    """The C type that each array's parameter points to, by the array's name."""
    consts = ("" if operand.written else "const " for operand in spec.operation.operands)
    types = [f"{const}{dtype.c}" for const, dtype in zip(consts, spec.dtypes, strict=True)]
    return {array: types[operand] for array, operand in spec.arrays.items()}


def _guard(name: str) -> str:
    """The macro of the header's include guard."""
    return f"{name.upper()}_H"


def _exports(
    name: str, emitted: Unit, parameters: Mapping[str, str], rows: int
) -> tuple[list[str], list[str]]:
    """The prototypes of what a unit exports, and the lines of the header's comment on them."""
    items, parallel = emitted.items, bool(emitted.regions)
    prototypes = [signature(name, parameters)]
    notes = []
    if parallel:
        notes.append("It runs on the caller's thread until set_parallel gives it a pool; on takes")
        notes.append("one for the call: run(pool, body, environment, count) calls body for ranges")
        notes.append("that make up [0, count), on any threads, and then returns; 0 is no pool.")
        prototypes.append(on_signature(name, parameters))
        prototypes.append(f"void {name}_set_parallel(parallel_t run, void *pool)")
    if items:
        notes.append(f"range does the items from begin to end, of {items}; they may run at once.")
        prototypes.append(ranged(signature(f"{name}_range", parameters)))
    if rows:
        notes.append(f"rows does the rows from begin to end, of {rows}; they may run at once.")
        prototypes.append(ranged(signature(f"{name}_rows", parameters)))
    return prototypes, notes


def header(spec: Spec, name: str, emitted: Unit, *, rows: int = 0) -> str:
    """The header of a function of this name, with what the unit exports.

    With `rows`, of which the result has so many, there is a function for a range of them.
    """
    shapes = ", ".join(
        f"{parameter}: {spec.tensor(operand).type}"
        for parameter, operand in zip(emitted.parameters, spec.arrays.values(), strict=True)
    )
    return declarations(f"{spec.expression}\n   {shapes}", name, emitted, rows)


def declarations(about: str, name: str, emitted: Unit, rows: int = 0) -> str:
    """The header of a function, which begins with what it is `about`.

    An f16 is in 16 bits, as those of bf16, since C++ often has no such type.
    """
    guard = _guard(name)
    parameters = {
        parameter: c.replace(F16.c, "uint16_t") for parameter, c in emitted.parameters.items()
    }
    prototypes, notes = _exports(name, emitted, parameters, rows)
    declared = "".join(
        prototype.replace("restrict ", "MORELLO_RESTRICT ") + ";\n" for prototype in prototypes
    )
    if emitted.regions:
        once = "#ifndef MORELLO_PARALLEL\n#define MORELLO_PARALLEL\n"
        declared = f"{once}{PARALLEL}\n#endif\n{declared}"
    more = "".join(f"\n   {note}" for note in notes)
    return f"""\
#ifndef {guard}
#define {guard}
#include <stdint.h>
#ifdef __cplusplus
#define MORELLO_RESTRICT __restrict
extern "C" {{
#else
#define MORELLO_RESTRICT restrict
#endif
/* {about}. Operands must not overlap. Safe to call from several threads.{more}
   {NO_FLAGS} */
{declared}#ifdef __cplusplus
}}
#endif
#undef MORELLO_RESTRICT
#endif
"""


def comment(text: str) -> str:
    """A C comment with this text."""
    first, *rest = text.replace("*/", "* /").splitlines()
    return "\n".join([f"/* {first}", *(f"   {line}".rstrip() for line in rest)]) + " */"


def _headers(target: Target, helpers: Iterable[str]) -> list[str]:
    """The includes that these helpers need, and no others: headers are slow to compile."""
    texts = list(helpers)
    files = [f for mark, f in target.headers.items() if any(mark in text for text in texts)]
    return [f"#include <{file}>" for file in dict.fromkeys(files)]


def workspace_lines(size: int, *, kept: bool = False) -> list[str]:
    """The definition of a workspace at the start of a function, if it needs one.

    What is in it may be `kept` for the next call in the same thread.
    """
    if not size:
        return []
    storage = "" if size <= STACK_BYTES and not kept else "static _Thread_local "
    return [f"  {storage}_Alignas(64) unsigned char workspace[{size}];"]

"""One C file for several levels of x86-64: a kernel for each, chosen by what the CPU can do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from morello.base.errors import BuildError
from morello.codegen.instructions import NO_FLAGS, compiled_for, needs
from morello.codegen.names import check_function_name
from morello.codegen.source import Source, Unit, comment, header, joined, signature, static, unit
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.targets.target import Target

LEVELS = {"x86-64-v4": 4, "x86-64-v3": 3, "x86-64": 1}
"""The x86-64 microarchitecture levels, highest first, and what the CPUID check returns of each."""

_LEVEL = """\
/* The level of x86-64 that the CPU has, and the system keeps the registers of. */
static int $NAME_level(void) {
  unsigned a, b, c, d, kept, more;
  const unsigned avx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;  /* FMA, OSXSAVE, AVX, F16C */
  const unsigned v3 = 1u << 3 | 1u << 5 | 1u << 8;  /* BMI1, AVX2, BMI2 */
  const unsigned v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  /* F, DQ, CD, BW, VL */
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & avx) != avx) return 1;
  __asm__("xgetbv" : "=a"(kept), "=d"(more) : "c"(0));
  if ((kept & 0x06) != 0x06) return 1;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & v3) != v3) return 1;
  return (b & v4) == v4 && (kept & 0xe6) == 0xe6 ? 4 : 3;
}"""


def generate_levels(impls: Sequence[Impl], name: str = "kernel") -> Source:
    """Emit one C file for Impls of one Spec, each for a target of `LEVELS`, the last "x86-64".

    It is compiled for any x86-64; the first call finds out which kernel the CPU can run. Raises
    `BuildError` if an Impl is for several threads, or for no such target.
    """
    for impl in impls:
        check_level(impl.target.name, parallel=impl.spec.parallel)
        check_function_name(name, impl.target.helpers)
    kernels = {impl.target: unit(impl, level_name(name, impl.target)) for impl in impls}
    spec, emitted = impls[0].spec, kernels[impls[0].target]

    def prototype(function: str) -> str:
        return signature(function, emitted.parameters)

    lines = level_lines(spec, kernels, name, prototype, [*emitted.parameters])
    return Source(name, joined(lines), header(spec, name, emitted))


def level_lines(
    spec: Spec,
    kernels: Mapping[Target, Unit],
    name: str,
    prototype: Callable[[str], str],
    parameters: Sequence[str],
) -> list[str]:
    """The C of units for several levels, and of a function that calls the best of them.

    Each unit has a function of the `level_name` of its target; `prototype` gives it for a name.
    """
    ordered = sorted(kernels, key=lambda target: list(LEVELS).index(target.name))
    units = [kernels[target] for target in ordered]
    includes = dict.fromkeys(line for level in units for line in level.includes)
    includes["#include <cpuid.h>"] = None
    first = comment(f"{spec.expression}, for {', '.join(t.name for t in ordered)}\n{NO_FLAGS}")
    lines = [first, *needs(ordered[0]), *includes, ""]
    lines += dict.fromkeys(text for level in units for text in level.shared)
    for target, level in zip(ordered, units, strict=True):
        lines += _section(target, level)
    return lines + _chooser(ordered, name, prototype, parameters)


def check_level(name: str, *, parallel: bool) -> None:
    """Raise `BuildError` if a target of this name has no place in a file for several levels."""
    if name not in LEVELS or parallel:
        raise BuildError(
            f"a file for several levels has kernels for one thread, for {', '.join(LEVELS)}."
        )


def level_name(name: str, target: Target) -> str:
    """The name of the kernel function for one level."""
    return f"{name}_{_suffix(target)}"


def _suffix(target: Target) -> str:
    return target.name.replace("-", "_")


def _section(target: Target, level: Unit) -> list[str]:
    """A level's helpers and kernel, compiled for its instructions; helpers get its suffix."""
    lines = "\n".join([*level.helpers.values(), "", *level.code])
    if level.helpers:
        names = "|".join(map(re.escape, level.helpers))
        lines = re.sub(rf"\b({names})\b", rf"\1_{_suffix(target)}", lines)
    return ["", f"/* ---- {target.name} */", *compiled_for(target, [static(lines)])]


def _chooser(
    targets: Sequence[Target],
    name: str,
    prototype: Callable[[str], str],
    parameters: Sequence[str],
) -> list[str]:
    """The function itself, which calls the best kernel that the CPU can run."""
    kind, chosen = f"{name}_function", f"{name}_chosen"
    lines = ["", f"typedef {prototype(f'(*{kind})')};", ""]
    lines += [_LEVEL.replace("$NAME", name), "", f"static {kind} {name}_choose(void) {{"]
    lines.append(f"  const int level = {name}_level();")
    for target in targets:
        least = LEVELS[target.name]
        condition = f"if (level >= {least}) " * (least > 1)
        lines.append(f"  {condition}return {level_name(name, target)};")
    lines += ["}", "", f"{prototype(name)} {{"]
    return [
        *lines,
        f"  static {kind} {chosen};",
        f"  {kind} {name}_found = __atomic_load_n(&{chosen}, __ATOMIC_RELAXED);",
        f"  if (!{name}_found) {{",
        f"    {name}_found = {name}_choose();",
        f"    __atomic_store_n(&{chosen}, {name}_found, __ATOMIC_RELAXED);",
        "  }",
        f"  {name}_found({', '.join(parameters)});",
        "}",
    ]

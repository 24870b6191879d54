"""One C file for a program of several kernels: a function that calls them one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.codegen.instructions import NO_FLAGS, aligned_stack, compiled_for, needs
from morello.codegen.names import Names, check_function_name
from morello.codegen.source import (
    Source,
    Unit,
    comment,
    complete,
    declarations,
    exported,
    joined,
    on_signature,
    signature,
    unit,
    workspace_lines,
)
from morello.impl.tree import Impl
from morello.ir.dtype import BF16, DType


@dataclass(frozen=True)
class ArrayType:
    """The type of a parameter: what it points to in C, and what the header says about it."""

    pointee: str
    about: str


@dataclass(frozen=True)
class ConstantArray:
    """An array that is known: its numbers in order, by the runs of equal ones."""

    dtype: DType
    runs: Sequence[tuple[int, float]]
    """For each run, how many numbers there are, and their value."""

    def definition(self, name: str) -> str:
        """The array in C, aligned to a line."""
        place, words = 0, []
        for count, value in self.runs:
            where = f"[{place}]" if count == 1 else f"[{place} ... {place + count - 1}]"
            words.append(f"{where} = {_literal(value, self.dtype)}")
            place += count
        first = f"static const {self.dtype.c} {name}[{place}] __attribute__((aligned(64)))"
        return f"{first} = {{{', '.join(words)}}};"


_APART = """\
// Kernels know nothing of each other: one may copy as integers what another computes as floats.
#ifdef __clang__
#define MORELLO_APART __attribute__((noinline, unused))
#else
#define MORELLO_APART __attribute__((noipa, unused))
#endif""".splitlines()
"""C that keeps compilers from ordering calls of kernels by the types that these read and write."""


def _literal(value: float, dtype: DType) -> str:
    """A number in C; one of bfloat16 by its bits."""
    if not dtype.is_float:
        return str(int(value)) + "u" * dtype.name.startswith("u")
    if dtype is BF16:
        return f"0x{np.array(value, dtype.np).view(np.uint16):04x}"
    if np.isfinite(value):
        return f"{float(value).hex()}f"
    return '__builtin_nanf("")' if np.isnan(value) else f"{'-' * (value < 0)}__builtin_inff()"


@dataclass(frozen=True)
class ImplCall:
    """A call of a kernel: each array is at so many bytes from the beginning of a named one.

    None is the memory between kernels, whose name in C may be that of an array here.
    """

    impl: Impl
    arrays: tuple[tuple[str | None, int], ...]


def generate_sequence(
    title: str,
    calls: Sequence[ImplCall],
    arrays: Mapping[str, ArrayType],
    workspace: int,
    name: str,
    constants: Mapping[str, ConstantArray] | None = None,
) -> Source:
    """The C of a function of this name that makes these calls, of programs for one target.

    `arrays` has the types of its parameters, by their names, `workspace` the bytes between kernels,
    and `constants` arrays that are part of the file. The title says what it computes. Raises
    `BuildError` if C and C++ can have no function of this name.
    """
    target = calls[0].impl.target
    check_function_name(name, target.helpers)
    kernels = {id(call.impl): call.impl for call in calls}
    functions = {key: f"{name}_{number}" for number, key in enumerate(kernels)}
    taken = {*functions.values()}
    units: dict[int, Unit] = {}
    for key, impl in kernels.items():
        units[key] = unit(impl, functions[key], taken=taken)
        taken.update(units[key].regions)
    names = Names({*exported(name), *taken, *target.helpers})
    called = {array: names.parameter(array) for array in (*arrays, *(constants or {}))}
    parameters = {called[array]: kind.pointee for array, kind in arrays.items()}
    known = [each.definition(called[array]) for array, each in (constants or {}).items()]
    regions = tuple(region for each in units.values() for region in each.regions)
    code = [*known, *(line for each in units.values() for line in (*_static(each), ""))]
    prototype = on_signature(name, parameters) if regions else signature(name, parameters)
    code += [*aligned_stack(target), f"{prototype} {{", *workspace_lines(workspace)]
    for call in calls:
        key = id(call.impl)
        code.append(f"  {_called(call, functions[key], units[key], called)};")
    whole = Unit(
        [*dict.fromkeys(line for each in units.values() for line in each.includes)],
        {helper: c for each in units.values() for helper, c in each.helpers.items()},
        [*code, "}"], parameters, 0, regions, workspace,
    )  # fmt: skip
    first = comment(f"{title}, for {target.name}\n{NO_FLAGS}\n\n{_listed(calls)}")
    definitions = [*whole.shared, *whole.helpers.values(), "", *complete(whole, name)]
    parts = [
        first, *needs(target), *whole.includes, *_APART, "", *compiled_for(target, definitions),
    ]  # fmt: skip
    types = ", ".join(f"{called[array]}: {kind.about}" for array, kind in arrays.items())
    declared = declarations(f"{title}\n   {types}", name, whole)
    return Source(name, joined(parts), declared, parallel=bool(regions))


def _static(emitted: Unit) -> list[str]:
    """The functions of a kernel, for this file alone."""
    kept = "static MORELLO_APART void "
    return re.sub(r"^void ", kept, "\n".join(emitted.code), flags=re.MULTILINE).splitlines()


def _called(call: ImplCall, function: str, emitted: Unit, called: Mapping[str, str]) -> str:
    """The call in C."""
    words = []
    for (array, offset), pointee in zip(call.arrays, emitted.parameters.values(), strict=True):
        const = "const " if pointee.startswith("const ") else ""
        where = "workspace" if array is None else called[array]
        place = f"({const}char *){where} + {offset}" if offset else where
        words.append(f"({const}void *)({place})" if offset else f"({const}void *){place}")
    if emitted.regions:
        return f"{function}_on({', '.join([*words, 'run', 'pool'])})"
    return f"{function}({', '.join(words)})"


def _listed(calls: Sequence[ImplCall]) -> str:
    return "\n".join(call.impl.spec.expression for call in calls)

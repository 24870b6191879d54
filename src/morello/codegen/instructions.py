"""Attributes that let gcc or clang compile generated C for a target without any flags.

Each function names the instruction sets that it may use, also those beyond the file's flags.
"""

from __future__ import annotations

from collections.abc import Sequence

from morello.native.toolchain import FLAGGED
from morello.targets.target import Target

NO_FLAGS = "Any gcc or clang compiles it, with any flags; the fastest code comes with -O3."
"""A note in the first lines of C files and headers."""

ARM = "aarch64"
"""The `arch` of targets that are not x86-64."""


_ALIGNED = "__attribute__((force_align_arg_pointer))"


def aligned_stack(target: Target) -> list[str]:
    """The attribute of a function that may keep vectors on its stack.

    Clang decides whether a function aligns its stack before it knows what there will be on it. A
    64-byte vector that it spills is across two cache lines then, for three of four callers.
    """
    return [] if target.arch == ARM else [_ALIGNED]


def needs(target: Target) -> list[str]:
    """C that stops with an error if the compiler cannot compile for the target."""
    macro, cpu = ("__aarch64__", "AArch64") if target.arch == ARM else ("__x86_64__", "x86-64")
    return [
        f"#if !defined(__GNUC__) || !defined({macro})",
        f'#error "this file is for gcc or clang, for {cpu}; it needs no further flags"',
        "#endif",
    ]


def compiled_for(target: Target, lines: Sequence[str]) -> list[str]:
    """Definitions, compiled for the instructions of a target.

    If it is this machine, attributes are left out where the flags say the same: clang takes a
    quarter of its time to look at them at every call.
    """
    if not target.instructions:
        return [*lines]
    flagged = [f"#ifdef {FLAGGED}"] if target.arch == "native" else []
    clang = "#elif defined __clang__" if flagged else "#ifdef __clang__"
    return [
        *flagged, clang,
        f'#pragma clang attribute push(__attribute__((target("{target.instructions}"))), '
        "apply_to = function)",
        "#else",
        "#pragma GCC push_options",
        f'#pragma GCC target("{target.instructions}")',
        "#endif",
        *lines,
        *flagged, clang,
        "#pragma clang attribute pop",
        "#else",
        "#pragma GCC pop_options",
        "#endif",
    ]  # fmt: skip

"""All C helpers that a machine's kernels may call, by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

from morello.targets.helpers.bypassing import bypassing_helpers, bypassing_rows
from morello.targets.helpers.columns import column_helpers
from morello.targets.helpers.depthwise import depthwise_helpers
from morello.targets.helpers.integers import INTEGERS, integer_helpers
from morello.targets.helpers.math import math_helpers
from morello.targets.helpers.products import product_helpers
from morello.targets.helpers.quantized import quantized_helpers
from morello.targets.helpers.quantized_tiles import quantized_tiles
from morello.targets.helpers.row_folds import row_folds
from morello.targets.helpers.rows import ROWS
from morello.targets.helpers.runs import SUMMED_BY_INSTRUCTION, converted_runs, run_helpers
from morello.targets.helpers.scans import SCANS, scan_helpers
from morello.targets.helpers.scattering import SCATTERING
from morello.targets.helpers.shuffles import (
    every_second_helpers,
    odd_even_helpers,
    shared_groups_helpers,
    shuffle_helpers,
)
from morello.targets.helpers.vectors import (
    CONVERSIONS,
    ROUNDED_BY_INSTRUCTION,
    conversion_helpers,
    size,
    vector_helpers,
)
from morello.targets.helpers.windows import widths_down_from, window_helpers
from morello.targets.helpers.winograd import winograd_helpers

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DTYPES = (
    "u8", "i8", "u16", "i16", "u32", "i32", "f16", "bf16", "f32", "bf16x2", "u8x4", "i8x4",
)  # fmt: skip


@cache
def helpers_for(
    isa: str, vector_bytes: tuple[int, ...], features: frozenset[str]
) -> Mapping[str, str]:
    """Every helper of an instruction set, for registers of these sizes."""
    helpers: dict[str, str] = {**ROWS, **SCANS, **SCATTERING}
    for bytes_ in (*vector_bytes, 4):
        helpers |= math_helpers(bytes_ // 4) | run_helpers(bytes_ // 4)
    helpers |= row_folds(vector_bytes[0] // 4)
    for dtype in INTEGERS:
        for width in (*(bytes_ // size(dtype) for bytes_ in vector_bytes), 1):
            helpers |= integer_helpers(dtype, width)
    for dtype in _DTYPES:
        helpers |= odd_even_helpers(dtype)
    for bytes_ in vector_bytes:
        for dtype in _DTYPES:
            helpers |= vector_helpers(isa, dtype, bytes_ // size(dtype))
        for dtype in ("f32", "i32"):
            helpers |= scan_helpers(isa, dtype, bytes_ // size(dtype))
        for source in ("bf16", "f16"):
            helpers |= converted_runs(isa, source, bytes_ // 4)
        helpers |= every_second_helpers(isa, bytes_ // 4)
        helpers |= shared_groups_helpers(isa, bytes_ // 4)
        helpers |= depthwise_helpers(isa, bytes_ // 4)
        for source, target in CONVERSIONS:
            width = bytes_ // max(size(source), size(target))
            helpers |= conversion_helpers(isa, source, target, width)
    for width in widths_down_from(vector_bytes[0] // 4):
        helpers |= window_helpers(isa, width)
    helpers |= shuffle_helpers(isa) | product_helpers(isa, features) | column_helpers(isa, features)
    helpers |= quantized_helpers(isa, features) | winograd_helpers(vector_bytes[0] // 4)
    if "avx512_vnni" in features:
        helpers |= quantized_tiles()
    if "avx512_bf16" in features:
        helpers |= ROUNDED_BY_INSTRUCTION | SUMMED_BY_INSTRUCTION
    if isa != "neon":
        helpers |= bypassing_helpers(helpers) | bypassing_rows(isa)
    return {name: _resolved(isa, text) for name, text in helpers.items()}


_MACROS = {"avx512": ("__AVX2__", "__AVX512F__"), "avx2": ("__AVX2__",), "neon": ()}
"""The macros of instruction sets that are defined where code is compiled for one."""

_CONDITIONAL = re.compile(
    r"^#ifdef (__AVX\w+)\n((?:[^#\n].*\n)*)(?:#else\n((?:[^#\n].*\n)*))?#endif\n", re.MULTILINE
)


def _resolved(isa: str, text: str) -> str:
    """A helper with what it does on an instruction set in place of an `#ifdef`.

    A compiler's macros are those of its flags, whatever the function is compiled for.
    """
    return _CONDITIONAL.sub(lambda m: (m[2] if m[1] in _MACROS[isa] else m[3]) or "", text)


def used_in(texts: Collection[str], helpers: Mapping[str, str]) -> list[str]:
    """The helpers that these texts call, directly or indirectly, callees first."""
    order: dict[str, None] = {}

    def visit(text: str) -> None:
        for name in _IDENTIFIER.findall(text):
            if name in helpers and name not in open_ and name not in order:
                open_.add(name)
                visit(helpers[name])
                order[name] = None

    open_: set[str] = set()
    for text in texts:
        visit(text)
    return list(order)

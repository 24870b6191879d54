"""The loops of the engine, which are written in C beside the modules that call them."""

from __future__ import annotations

from pathlib import Path

from morello.engine.arrays import INFINITE, NEARLY, ROUNDING
from morello.engine.codes import BLOCK, Code
from morello.native.loops import Loops

_FILES = (
    "limits.c", "groups.c", "hashing.c", "keys.c", "reached.c", "hypergraph.c", "best_first.c",
    "growing.c", "relaxed.c", "solver.c", "tape.c",
)  # fmt: skip

_CODES = ", ".join(f"{code.name} = {code.value}" for code in Code)

_HEADER = f"""
static const double INFINITE = {INFINITE!r}, NEARLY = {NEARLY!r}, ROUNDING = {ROUNDING!r};
enum {{ BLOCK = {BLOCK}, {_CODES} }};
"""

LOOPS = Loops(Path(__file__).parent, _FILES, _HEADER)

"""The C of programs of forty Specs for AVX-512, and of ten for each other target.

It is as it was when it last changed on purpose.

`pytest --update-golden` searches the programs and writes them and their C: of each kernel, the
code without the helpers. What searches choose is the subject of `test_choices`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.codegen.saved import EXPRESSIONS, saved_programs
from tests.conftest import GOLDEN

from morello.api import implement
from morello.codegen.source import unit
from morello.impl.saved import save
from morello.impl.tree import Impl

FEW = (
    "f32[64,64] @ f32[64,64]",
    "f32[7,13] @ f32[13,11]",
    "bf16[16,64] @ bf16[64,32]",
    "u8[16,32] @ i8[32,16] -> i32[16,16]",
    "softmax(f32[8,100])",
    "attention(f32[16,16], f32[16,16], f32[16,16])",
    "layer_norm(f32[8,64], f32[64], f32[64])",
    "sum(f32[32,48], axis=1)",
    "transpose(f32[32,48])",
    "conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)",
)
"""One of each kind, for targets whose C differs little from the first one's."""

COMPARED = {"avx512": EXPRESSIONS, "avx2": FEW, "neon": FEW}


@pytest.fixture
def programs(request: pytest.FixtureRequest, target: str) -> dict[str, Impl]:
    """The programs as they were found when the golden files were written, by expression."""
    path = GOLDEN / f"programs-{target}.jsonl"
    if request.config.getoption("--update-golden"):
        found = [implement(text, target=target, budget=300)[0] for text in EXPRESSIONS]
        path.write_text("".join(f"{json.dumps(save(impl))}\n" for impl in found))
    return saved_programs(target)


@pytest.mark.parametrize("target", COMPARED)
def test_code_changes_on_purpose_only(
    target: str, programs: dict[str, Impl], golden: Callable[[str, str], None]
) -> None:
    parts = []
    for expression in COMPARED[target]:
        name = f"kernel_{EXPRESSIONS.index(expression)}"
        code = "\n".join(unit(programs[expression], name).code)
        parts.append(f"// {expression}\n{code}\n")
    golden(f"code-{target}.c", "\n".join(parts))

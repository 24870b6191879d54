"""The C of programs of forty Specs for each target, as it was when it last changed on purpose.

`pytest --update-golden` searches the programs and writes them and their C: of each kernel, the
code without the helpers. What searches choose is the subject of `test_choices`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.conftest import GOLDEN

from morello.api import implement
from morello.codegen.source import unit
from morello.impl.saved import load, save
from morello.impl.tree import Impl

EXPRESSIONS = (
    "f32[16,16] @ f32[16,16]",
    "f32[64,64] @ f32[64,64]",
    "f32[7,13] @ f32[13,11]",
    "f32[1,64] @ f32[64,96]",
    "f32[64,96] @ f32[96,1]",
    "f32[3,8,16] @ f32[3,16,8]",
    "f32[256,256] @ f32[256,256]",
    "f32[32,64]{0,1} @ f32[64,32]",
    "f32[32,64] @ f32[64,64]{0,1:T(16,1)}",
    "bf16[16,64] @ bf16[64,32]",
    "bf16[1,64] @ bf16[64,64]",
    "f16[8,32] @ f16[32,16]",
    "u8[16,32] @ i8[32,16] -> i32[16,16]",
    "i32[8,8] @ i32[8,8]",
    "f32[8,16] @ bf16[16,32]",
    "relu(f32[16,32] @ f32[32,48] + f32[48])",
    "gelu(f32[8,16] @ f32[16,32])",
    "(f32[16,16] @ f32[16,16]) @ f32[16,16]",
    "softmax(f32[8,64])",
    "softmax(f32[8,100])",
    "softmax(f32[16,32] @ f32[32,16])",
    "attention(f32[16,16], f32[16,16], f32[16,16])",
    "layer_norm(f32[8,64], f32[64], f32[64])",
    "rms_norm(f32[1,256], f32[256])",
    "sum(f32[32,48], axis=0)",
    "sum(f32[32,48], axis=1)",
    "max(f32[16,100])",
    "mean(f32[8,8,8], axis=[0,2])",
    "transpose(f32[32,48])",
    "transpose(f32[16,16] + f32[16,16])",
    "exp(f32[100])",
    "f32[64] + f32[64] * 2.0",
    "tanh(f32[8,24])",
    "f32[16,16] - expand_dims(mean(f32[16,16]), axis=1)",
    "conv(f32[1,4,8,8], f32[8,4,3,3])",
    "conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)",
    "relu(conv(f32[1,8,6,6], f32[16,8,1,1]))",
    "conv(f32[1,8,8,4], f32[3,3,4,8], layout=NHWC)",
    "move(f32[16,16]{0,1})",
    "fill_zero(f32[100])",
)
TARGETS = ("avx2", "avx512", "neon")


@pytest.fixture
def programs(request: pytest.FixtureRequest, target: str) -> list[Impl]:
    """The program of each expression, as it was found when the golden files were written."""
    path = GOLDEN / f"programs-{target}.jsonl"
    if request.config.getoption("--update-golden"):
        found = [implement(text, target=target, budget=300)[0] for text in EXPRESSIONS]
        path.write_text("".join(f"{json.dumps(save(impl))}\n" for impl in found))
    return [load(json.loads(line)) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("target", TARGETS)
def test_code_changes_on_purpose_only(
    target: str, programs: list[Impl], golden: Callable[[str, str], None]
) -> None:
    parts = []
    for number, (expression, impl) in enumerate(zip(EXPRESSIONS, programs, strict=True)):
        code = "\n".join(unit(impl, f"kernel_{number}").code)
        parts.append(f"// {expression}\n{code}\n")
    golden(f"code-{target}.c", "\n".join(parts))

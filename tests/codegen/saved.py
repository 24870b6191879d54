"""Programs of the golden files, for tests of the code and not of what the search chooses."""

from __future__ import annotations

import json

from tests.conftest import GOLDEN

from morello.impl.saved import load
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


def saved_programs(target: str) -> dict[str, Impl]:
    """The saved programs of a target by their expressions."""
    lines = (GOLDEN / f"programs-{target}.jsonl").read_text().splitlines()
    impls = [load(json.loads(line)) for line in lines]
    return dict(zip(EXPRESSIONS, impls, strict=True))

"""The Specs to measure: some that together use every coefficient, and others to test the fit on.

Sizes suit any machine: operands in L1 take at most 20 KiB, those in L2 about 200 KB, and those
in memory (or in an L3 in front of it) several MB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from morello.frontends.text import parse
from morello.ir.spec import Spec


@dataclass(frozen=True)
class ProbeGoal:
    """An expression to compute, and the memory level of all its operands (0 is the farthest)."""

    expression: str
    level: int

    def spec(self) -> Spec:
        spec = parse(self.expression)
        return replace(spec, levels=(self.level,) * len(spec.levels))


MEMORY, L2, L1 = range(3)

FITTED = (
    # kernels
    ProbeGoal("f32[32,32] @ f32[32,32]", L1),
    ProbeGoal("f32[16,128] @ f32[128,16]", L1),
    ProbeGoal("f32[48,8] @ f32[8,48]", L1),
    ProbeGoal("f32[1,64] @ f32[64,48]", L1),
    ProbeGoal("f32[48,64] @ f32[64,1]", L1),
    ProbeGoal("bf16[16,32] @ bf16[32,64]", L1),
    ProbeGoal("relu(f32[32,48])", L1),
    ProbeGoal("f32[16,64] + f32[16,64]", L1),
    ProbeGoal("f32[16,64] * f32[16,64] - f32[16,64]", L1),
    ProbeGoal("f32[16,64] / f32[16,64]", L1),
    ProbeGoal("sqrt(f32[16,64])", L1),
    ProbeGoal("exp(f32[16,64])", L1),
    ProbeGoal("tanh(f32[16,64])", L1),
    ProbeGoal("gelu(f32[16,64])", L1),
    ProbeGoal("softmax(f32[16,64])", L1),
    ProbeGoal("sum(f32[16,128], axis=1)", L1),
    ProbeGoal("sum(f32[16,128], axis=0)", L1),
    ProbeGoal("max(f32[16,128], axis=1)", L1),
    ProbeGoal("transpose(f32[32,48])", L1),
    ProbeGoal("cast(f32[16,64], bf16)", L1),
    ProbeGoal("cast(bf16[16,64], f32)", L1),
    # transfers from L2 to L1
    ProbeGoal("relu(f32[128,192])", L2),
    ProbeGoal("f32[128,128] + f32[128,128]", L2),
    ProbeGoal("sum(f32[192,256], axis=1)", L2),
    ProbeGoal("relu(f32[512,32]S(48,1))", L2),
    ProbeGoal("sum(f32[1024,16]S(48,1), axis=1)", L2),
    ProbeGoal("transpose(f32[128,128])", L2),
    ProbeGoal("f32[96,128] @ f32[128,96]", L2),
    ProbeGoal("f32[1,192] @ f32[192,192]", L2),
    ProbeGoal("f32[192,192] @ f32[192,1]", L2),
    # transfers from memory to L2
    ProbeGoal("relu(f32[2048,512])", MEMORY),
    ProbeGoal("f32[1024,512] + f32[1024,512]", MEMORY),
    ProbeGoal("sum(f32[2048,1024], axis=1)", MEMORY),
    ProbeGoal("sum(f32[65536,16]S(48,1), axis=1)", MEMORY),
    ProbeGoal("relu(f32[32768,32]S(80,1))", MEMORY),
    ProbeGoal("sum(f32[16384,64]S(512,1), axis=1)", MEMORY),
    ProbeGoal("transpose(f32[1024,1000])", MEMORY),
    ProbeGoal("transpose(f32[1024,1024])", MEMORY),
    ProbeGoal("f32[1,1024] @ f32[1024,2048]", MEMORY),
    ProbeGoal("f32[2048,1024] @ f32[1024,1]", MEMORY),
    ProbeGoal("f32[256,256] @ f32[256,256]", MEMORY),
    ProbeGoal("f32[32,1024] @ f32[1024,512]", MEMORY),
    ProbeGoal("f32[512,512] @ f32[512,512]", MEMORY),
    ProbeGoal("f32[1024,512] @ f32[512,1024]", MEMORY),
)

HELD_OUT = (
    ProbeGoal("f32[24,48] @ f32[48,32]", L1),
    ProbeGoal("f32[8,16] @ f32[16,64]", L1),
    ProbeGoal("maximum(f32[16,64], f32[16,64])", L1),
    ProbeGoal("sigmoid(f32[16,80])", L1),
    ProbeGoal("sum(f32[24,96], axis=1)", L1),
    ProbeGoal("softmax(f32[64,256])", L2),
    ProbeGoal("f32[64,160] @ f32[160,64]", L2),
    ProbeGoal("transpose(f32[96,160])", L2),
    ProbeGoal("f32[192,96]S(144,1) * f32[192,96]S(144,1)", L2),
    ProbeGoal("relu(f32[192,320] @ f32[320,128] + f32[128])", MEMORY),
    ProbeGoal("softmax(f32[512,1024])", MEMORY),
    ProbeGoal("transpose(f32[768,1100])", MEMORY),
    ProbeGoal("conv(f32[1,16,28,28], f32[16,16,3,3], padding=1)", MEMORY),
    ProbeGoal("f32[16384,48]S(112,1) + f32[16384,48]S(112,1)", MEMORY),
    ProbeGoal("f32[4,1024] @ f32[1024,1024]", MEMORY),
    ProbeGoal("f32[512,1024] @ f32[1024,512]", MEMORY),
)

CHECKED = (
    ProbeGoal("f32[256,256] @ f32[256,256]", MEMORY),
    ProbeGoal("f32[500,500] @ f32[500,500]", MEMORY),
    ProbeGoal("f32[128,768] @ f32[768,768]", MEMORY),
    ProbeGoal("f32[1,1000] @ f32[1000,1000]", MEMORY),
    ProbeGoal("bf16[256,256] @ bf16[256,256]", MEMORY),
    ProbeGoal("conv(f32[1,256,7,7], f32[256,256,3,3], padding=1)", MEMORY),
    ProbeGoal("relu(f32[128,256] @ f32[256,512] + f32[512])", MEMORY),
    ProbeGoal("softmax(f32[128,1000])", MEMORY),
    ProbeGoal("transpose(f32[512,384])", MEMORY),
    ProbeGoal("gelu(f32[128,1024])", MEMORY),
)
"""Goals to compare the old and the new costs on, by timing the programs that either chooses."""

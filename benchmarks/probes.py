"""Finds the probes: the programs that are timed when a machine is first used.

    python -m benchmarks.probes

Writes `src/morello/measure/calibrate/probes/avx2.json.gz` and `avx512.json.gz`: of each Spec, the
programs that are cheapest under costs that are up to three times more or less, for the smallest
caches that there are, so that every machine can run them. While costs are uncertain, any of these
may be the fastest. Takes some 25 minutes.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from rich.console import Console

from morello.impl.saved import save
from morello.impl.tree import replay
from morello.measure.calibrate.goals import MEMORY, ProbeGoal
from morello.measure.calibrate.programs import cheapest, uncertain
from morello.measure.calibrate.shipped import PROBES
from morello.targets.caches import sized
from morello.targets.cpu import Cache
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512

EXPRESSIONS = (
    "f32[256,256] @ f32[256,256]",
    "f32[128,768] @ f32[768,768]",
    "f32[1,512] @ f32[512,512]",
    "bf16[128,256] @ bf16[256,256]",
    "relu(f32[128,256] @ f32[256,512] + f32[512])",
    "softmax(f32[128,1000])",
    "transpose(f32[512,384])",
    "f32[1,1024] @ f32[1024,2048]",
    "f32[64,64] @ f32[64,64]",
    "conv(f32[1,64,14,14], f32[64,64,3,3], padding=1)",
    "u8[128,256] @ i8[256,128]",
    "rms_norm(f32[64,512], f32[512])",
    "bf16[1,1024] @ bf16[1024,1024]",
    "sum(f32[512,400], axis=0)",
    "max(f32[256,512], axis=1)",
    "f32[384,384] @ f32[384,384]",
    "gelu(f32[128,512])",
    "f32[16,1024] @ f32[1024,512]",
)

EACH = 4
"""How many programs of each Spec."""

MACHINES = 20
"""The number of random costs for which the cheapest programs are found."""


def smallest(target: Target, l2_kib: int) -> Target:
    """The target with the smallest caches of any machine that it is for."""
    l1, l2 = Cache(1, "data", 32 << 10, 8, 64), Cache(2, "unified", l2_kib << 10, 4, 64)
    return replace(sized(target, l1, l2), name="native")


TARGETS = {"avx2": smallest(AVX2, 256), "avx512": smallest(AVX512, 512)}


def main() -> int:
    """Write the probes of all targets."""
    PROBES.mkdir(exist_ok=True)
    console = Console(highlight=False)
    for name, target in TARGETS.items():
        groups = []
        for expression in EXPRESSIONS:
            programs = chosen(expression, target)
            console.print(f"{name}: {len(programs)} programs of {expression}")
            groups.append({"expression": expression, "programs": programs})
        text = json.dumps(groups, separators=(",", ":"))
        (PROBES / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return 0


def chosen(expression: str, target: Target, machines: int = MACHINES) -> list[Mapping[str, Any]]:
    """The programs of a Spec that are cheapest under most of the costs, as saved schedules."""
    goal = ProbeGoal(expression, MEMORY)
    often: Counter[str] = Counter()
    programs: dict[str, Mapping[str, Any]] = {}
    for machine in (target, *islice(uncertain(target), machines)):
        impl = replay(goal.spec(), target, cheapest(goal, machine).decisions())
        key = repr(impl.decisions())
        often[key] += 1
        programs.setdefault(key, save(impl))
    return [programs[key] for key, _ in often.most_common(EACH)]


if __name__ == "__main__":
    sys.exit(main())

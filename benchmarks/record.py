"""Records times of this machine: of calls of programs of some Specs.

    python -m benchmarks.record OUT.json.gz [--programs 48] [--seconds 0.03] [--only TEXT]

Of each Spec: the search's first choices under the costs that ship with Morello, and random legal
programs. Takes some 20 minutes; continues where it was interrupted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from morello import api, quality
from morello.base.errors import MorelloError
from morello.base.files import write_bytes
from morello.impl.saved import save, spec_data
from morello.learn.collect import about_here
from morello.measure.stopwatch import Stopwatch
from morello.measure.timing import Timing, limit_threads, measure
from morello.native.toolchain import Compiler, find_compiler
from morello.search.budget import Budget
from morello.targets.catalog import uncalibrated
from morello.targets.target import Target

EXPRESSIONS = (
    *(f"f32[{n},{n}] @ f32[{n},{n}]" for n in (64, 128, 256, 384, 512, 1000, 1024)),
    "f32[128,768] @ f32[768,768]",
    "f32[128,3072] @ f32[3072,768]",
    "f32[16,2048] @ f32[2048,5632]",
    "f32[4,2048] @ f32[2048,5632]",
    "f32[1,2048] @ f32[2048,5632]",
    "f32[1,2048] @ f32[2048,1024]",
    "f32[1,512] @ f32[512,512]",
    "bf16[1,2048] @ bf16[2048,4096]",
    "bf16[256,256] @ bf16[256,256]",
    "u8[256,256] @ i8[256,256]",
    "f32[12,128,64] @ f32[12,64,128]",
    "relu(f32[128,768] @ f32[768,512] + f32[512])",
    "conv(f32[1,64,56,56], f32[256,64,1,1])",
    "conv(f32[1,64,28,28], f32[64,64,3,3], padding=1)",
    "softmax(f32[8,512])",
    "softmax(f32[128,1000])",
    "transpose(f32[1024,768])",
    "rms_norm(f32[16,512], f32[512])",
    "softmax(f32[64,64] @ f32[64,64])",
    "max(f32[256,1024], axis=1)",
    "sum(f32[512,4000], axis=0)",
    "gelu(f32[128,1024])",
    "tanh(f32[64,512])",
)

CHOICES = 12
"""How many of a Spec's programs are the search's first choices."""

REPEATS = 5
BUDGET_S = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    try:
        compiler, target = find_compiler(), uncalibrated()
        data = _begun(arguments.out, compiler, target)
        wanted = [text for text in EXPRESSIONS if arguments.only in text]
        done = {spec["expression"] for spec in data["specs"]}
        with limit_threads():
            for number, text in enumerate(wanted, start=1):
                console.print(f"{number} of {len(wanted)}: {text}", markup=False)
                if text not in done:
                    data["specs"].append(
                        recorded(text, target, compiler, arguments.programs, arguments.seconds)
                    )
                    write_bytes(arguments.out, gzip.compress(json.dumps(data).encode(), mtime=0))
    except MorelloError as error:
        console.print(f"record: {error}", markup=False)
        return 2
    except KeyboardInterrupt:
        console.print(f"record: what was timed is in {arguments.out}", markup=False)
        return 130
    return 0


def _begun(path: Path, compiler: Compiler, target: Target) -> dict[str, Any]:
    """The recording in a file, or a new one of this machine without any Specs."""
    if path.exists():
        recording: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        return recording
    return about_here(None, target, compiler) | {
        "hertz": Stopwatch(compiler).hertz(),
        "specs": [],
    }


def recorded(
    text: str, target: Target, compiler: Compiler, programs: int, seconds: float
) -> dict[str, Any]:
    """Check and time programs of a Spec; gives them as JSON-able data, the fastest first."""
    best, _ = api.implement(text, target=target, budget=BUDGET_S, table="off")
    choices = min(CHOICES, programs)
    built = quality.programs(best, choices, programs - choices, 0, compiler, Budget(BUDGET_S))
    calls, _ = quality.first_calls(best.spec, [program.kernel for program in built])
    numbered = {str(number): call for number, call in enumerate(calls)}
    timings = measure(numbered, seconds=seconds, repeats=REPEATS).values()
    rows = [
        _program(program, number - choices, timing)
        for number, (program, timing) in enumerate(zip(built, timings, strict=True))
    ]
    rows.sort(key=lambda row: float(row["seconds"]))
    return {"expression": text, "spec": spec_data(best.spec, target), "programs": rows}


def _program(program: quality.VerifiedProgram, number: int, timing: Timing) -> dict[str, Any]:
    """A program as JSON-able data; `number` is that of a random one."""
    return {
        "seconds": timing.min_s,
        "repeats": [float(f"{seconds:.5g}") for seconds in timing.samples],
        "default_cycles": program.impl.cost,
        "found_as": {"random": number} if program.choice is None else {"default": program.choice},
        "rewrites": save(program.impl)["rewrites"],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.record", description="Record the programs of this machine."
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="a file, such as zen5.json.gz")
    parser.add_argument("--programs", type=int, default=48, help="programs of each Spec (48)")
    parser.add_argument("--seconds", type=float, default=0.03, help="to time each for (0.03)")
    parser.add_argument("--only", default="", help="only Specs that have this in their text")
    return parser


if __name__ == "__main__":
    sys.exit(main())

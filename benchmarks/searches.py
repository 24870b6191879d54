"""How long searches take, and what they prove.

    python -m benchmarks.searches [LIST ...] [--only TEXT] [--target NAME] [--budget S] [--gap G]
                                  [-j N] [--json PATH]

LIST is "shapes" (products and compositions of awkward sizes), "collection" (the cases of the
races), "models" (sixty Specs of two models, weights constant), or "random" (compositions of 1 to 8
operations and sizes up to 300; `--count`, `--seed`). No result is remembered from one run to the
next; traces of rules are, in the cache folder. Each of N processes searches one Spec after another;
those of models that have much in common together, as `compile_all` does, and each is said to take
an equal share of the time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median
from typing import ClassVar

import psutil
from rich.console import Console

from benchmarks.collection import GROUPS
from benchmarks.model_specs import resnet50, transformer
from fuzz.grammar import Grammar
from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.frontends.text import parse
from morello.options import Options, requested
from morello.request import answer
from morello.request.together import answer_together, grouped
from morello.search.prepacking import weights_of

SHAPES = (
    *(f"f32[{n},{n}] @ f32[{n},{n}]" for n in (512, 2048, 127, 1000, 117, 448, 1700)),
    "f32[333,777] @ f32[777,555]",
    "f32[16,2048] @ f32[2048,5632]",
    "f32[6,3000] @ f32[3000,3500]",
    "bf16[3700,3700] @ bf16[3700,3700]",
    "i16[60,23] @ i16[23,50]",
    "layer_norm(f32[77,640], f32[640], f32[640])",
    "conv(f32[1,96,13,13], f32[128,96,3,3], padding=1)",
    "conv(f32[1,512,7,7], f32[512,512,3,3], padding=1)",
    "softmax(f32[197,64] @ f32[64,197])",
    "attention(f32[12,128,64], f32[12,128,64], f32[12,128,64])",
    " @ ".join(["f32[48,48]"] * 6),
)
"""Specs whose searches took long at some time: with remainders, large sizes, or compositions."""

FIRST = "f32[1,1] @ f32[1,1]"
"""The warm-up of each process: what it loads, compiles and calibrates is not timed."""

MOST_SIZE = 300
MOST_OPERATIONS = 8
ENOUGH_GAP = 0.02


@dataclass(frozen=True)
class Searched:
    """A search: its seconds, what it expanded, its gap, and the memory of its process, in bytes."""

    text: str
    seconds: float
    bounded: int
    specs: int
    gap: float
    cost: float
    memory: int

    @property
    def near(self) -> bool:
        """Whether the program is proven, or to cost little more than the bound."""
        return self.gap <= ENOUGH_GAP


class _Compositions(Grammar):
    """Random compositions of larger tensors than those that are compiled to be compared."""

    most_elements: ClassVar[int] = MOST_SIZE**2 * 4

    def size(self) -> int:
        r = self.random
        sizes = (1, r.randint(1, 16), r.choice((16, 32, 64, 128, 256)))
        return r.choice((*sizes, r.randint(2, MOST_SIZE), r.randint(2, MOST_SIZE)))


def random_compositions(count: int, seed: int) -> Iterator[str]:
    """A fixed set of random expressions of up to `MOST_OPERATIONS` operations."""
    number = found = 0
    while found < count:
        number += 1
        text = _Compositions(Random(f"{seed} {number}")).goal()
        try:
            operation = parse(text).operation
        except MorelloError:
            continue
        if len(operation.components) <= MOST_OPERATIONS:
            found += 1
            yield text


def searched(
    texts: Sequence[str], target: str, budget: float, gap: float, *, constant: bool
) -> list[Searched]:
    """Search for programs of Specs together, the weights of which may be constant."""
    began = time.perf_counter()
    options: Options = {"target": target, "budget": budget, "gap": gap, "table": "off"}
    with ExitStack() as stack:
        requests = []
        for text in texts:
            options["weights"] = _weights(text, constant=constant)
            requests.append(stack.enter_context(requested(text, **options)))
        together = answer_together(requests) if len(requests) > 1 else [None]
        answers = [
            known or answer(request) for known, request in zip(together, requests, strict=True)
        ]
    seconds = (time.perf_counter() - began) / len(texts)
    memory = psutil.Process().memory_info().rss
    return [
        Searched(
            text, seconds, statistics.bounded, statistics.specs, statistics.gap, impl.cost, memory
        )
        for text, (impl, statistics) in zip(texts, answers, strict=True)
        if statistics is not None
    ]


def _weights(text: str, *, constant: bool) -> str:
    return "constant" if constant and weights_of(parse(text).operation) else "plain"


def _in_groups(texts: Sequence[str], target: str, processes: int) -> list[list[str]]:
    """The Specs of models, in groups as `compile_all` makes them."""
    requests = []
    for text in texts:
        weights = _weights(text, constant=True)
        with requested(text, target=target, table="off", weights=weights) as request:
            requests.append(request)
    return [[texts[number] for number in group] for group in grouped(requests, processes)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    console = Console(highlight=False)
    result: dict[str, list[dict[str, object]]] = {}
    for name in arguments.lists or ("shapes",):
        texts = [text for text in _texts(name, arguments) if arguments.only in text]
        search = partial(
            searched, target=arguments.target, budget=arguments.budget, gap=arguments.gap,
            constant=name == "models",
        )  # fmt: skip
        groups = [[text] for text in texts]
        if name == "models":
            groups = _in_groups(texts, arguments.target, arguments.j)
        rows = []
        with ProcessPoolExecutor(arguments.j, get_context("spawn"), search, ([FIRST],)) as pool:
            pool.submit(int).result()  # starts the processes
            began = time.perf_counter()
            for some in pool.map(search, groups):
                rows += some
                for row in some:
                    console.print(_line(row), markup=False, soft_wrap=True)
        wall = time.perf_counter() - began
        console.print(_summary(name, rows, wall), markup=False, soft_wrap=True)
        result[name] = [asdict(row) for row in rows]
    if arguments.json:
        write_text(arguments.json, json.dumps(result, indent=1) + "\n")
    return 0


def _texts(name: str, arguments: argparse.Namespace) -> Iterable[str]:
    """The expressions of a list."""
    if name == "models":
        return (*transformer(), *resnet50())
    if name == "random":
        return random_compositions(arguments.count, arguments.seed)
    if name == "collection":
        return [work.expression for group in GROUPS.values() for work in group]
    return SHAPES


def _line(row: Searched) -> str:
    return (
        f"{row.seconds:7.2f} s {row.bounded:10,} relaxed {row.specs:9,} Specs"
        f"  gap {row.gap:6.1%}  {row.memory / 2**20:6,.0f} MiB  {row.text}"
    )


def _summary(name: str, rows: Sequence[Searched], wall: float) -> str:
    seconds = [row.seconds for row in rows]
    if not seconds:
        return f"{name}: none"
    near = sum(row.near for row in rows)
    quick = sum(row.near and row.seconds <= 1 for row in rows)
    return (
        f"{name}: {len(rows)} searches in {wall:.1f} s; {median(seconds):.2f} s in the median, "
        f"{max(seconds):.2f} s at most; {near} within {ENOUGH_GAP:.0%} of the bound or proven, "
        f"{quick} of them in a second"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.searches", description="How long searches take."
    )
    parser.add_argument(
        "lists", nargs="*", metavar="LIST",
        choices=("shapes", "collection", "models", "random"),
        help="shapes, collection, models or random (shapes)",
    )  # fmt: skip
    parser.add_argument("--only", default="", metavar="TEXT", help="Specs with this text")
    parser.add_argument("--target", default="native", help="the machine (native)")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each (20)")
    parser.add_argument("--gap", type=float, default=0.0, help="end at this gap (0)")
    parser.add_argument("--count", type=int, default=100, help="of random compositions (100)")
    parser.add_argument("--seed", type=int, default=0, help="of random compositions (0)")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="processes (1)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the rows there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

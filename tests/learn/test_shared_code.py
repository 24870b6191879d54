"""Nests that share code among programs equal those made from each program's statements alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.drawn import EXPRESSIONS, programs
from tests.sampling import rare

from morello.codegen.lower import lower
from morello.codegen.names import Names, NamesInC, in_c
from morello.codegen.statements import Block, Call, For, If, Prefetch, Statement
from morello.codegen.views import MemoryView, RegisterView
from morello.impl.tree import Impl
from morello.learn.corpus import read
from morello.learn.features import Featurizer
from morello.learn.nest import Nests, ProgramLoop, Site
from morello.targets.catalog import find_target

TARGET = find_target("avx512")
CORPUS = Path(__file__).parents[2] / "corpora" / "sapphirerapids"


@dataclass(frozen=True)
class Plain:
    """A loop: what it calls, reads and writes, where loops are numbered in pre-order."""

    times: int
    depth: int
    prefetched: float
    calls: Counter[Any]
    sums: Mapping[Any, int]
    accesses: Counter[Any]


def of_statements(impl: Impl) -> list[Plain]:
    """The loops of a program by its statements alone."""
    statements = lower(impl).body
    loops: list[Plain] = []
    numbers: dict[str, int] = {}
    read_loop("", 1, 0, statements, {}, in_c(statements, Names(impl.spec.arrays)), numbers, loops)
    return loops


def read_loop(
    name: str, times: int, depth: int, statements: Iterable[Statement], around: dict[str, For],
    called: NamesInC, numbers: dict[str, int], loops: list[Plain],
) -> None:  # fmt: skip
    numbers[name] = len(loops)
    inside = list(directly(statements))
    calls: Counter[Any] = Counter()
    accesses: Counter[Any] = Counter()
    sums: dict[Any, set[str]] = {}
    for call in inside:
        if not isinstance(call, Call):
            continue
        key = call.kernel.name, call.spec
        calls[key, "repeats"] += call.repeats
        calls[key] += 1
        sums.setdefault(key, set())
        for index, (operand, view) in enumerate(
            zip(call.spec.operation.operands, call.views, strict=True)
        ):
            reads, size = call.spec.operation.reads(index), call.spec.dtypes[index].bytes
            if isinstance(view, RegisterView) and operand.written and reads:
                sums[key] |= set(view.registers(called))
            if isinstance(view, MemoryView):
                steps: Counter[int] = Counter()
                for variable, coefficient in view.address.terms.items():
                    while variable in around:
                        loop = around[variable]
                        steps[numbers[variable]] += coefficient * size * loop.step
                        variable = loop.start
                spans = tuple((n, step * size) for n, step in view.spans() if n > 1)
                start = view.address.constant * size
                where = called[view.pointer], tuple(sorted(steps.items())), spans, size, start
                accesses[key, where, reads, operand.written] += 1
    prefetched = sum(s.lines for s in inside if isinstance(s, Prefetch))
    counts = {key: len(names) for key, names in sums.items()}
    loops.append(Plain(times, depth, prefetched, calls, counts, accesses))
    for one in inside:
        if isinstance(one, For):
            here = {**around, one.variable: one}
            read_loop(one.variable, one.times, depth + 1, one.body, here, called, numbers, loops)


def directly(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, Block | If):
            yield from directly(statement.body)


def of_nest(root: ProgramLoop) -> list[Plain]:
    numbers = {loop.name: number for number, loop in enumerate(root.walk())}
    return [plain(loop, numbers) for loop in root.walk()]


def plain(loop: ProgramLoop, numbers: Mapping[str, int]) -> Plain:
    calls: Counter[Any] = Counter()
    accesses: Counter[Any] = Counter()
    for site in loop.sites:
        calls[key(site), "repeats"] += site.instructions
        calls[key(site)] += site.calls
        for a in site.accesses:
            steps = tuple(sorted((numbers[name], step) for name, step in a.steps))
            for start in a.starts:
                where = a.array, steps, a.spans, a.size, start
                accesses[key(site), where, a.read, a.written] += 1
    sums = {key(site): len(site.sums) for site in loop.sites}
    return Plain(loop.times, loop.depth, loop.prefetched, calls, sums, accesses)


def key(site: Site) -> Any:
    return site.kernel.name, site.spec


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_nests_are_those_of_the_statements(expression: str) -> None:
    shared = Nests()
    for impl in (*programs(TARGET, expression), *programs(TARGET, expression)):
        assert of_nest(shared.of(impl)) == of_statements(impl)


def test_graphs_are_the_same_after_others() -> None:
    impls = [impl for expression in EXPRESSIONS[:2] for impl in programs(TARGET, expression)]
    together = Featurizer(TARGET)
    for impl, graph in zip(impls, together.graphs(impls), strict=True):
        for one in (Featurizer(TARGET).graph(impl), together.graph(impl)):
            for field in fields(graph):
                assert np.array_equal(getattr(graph, field.name), getattr(one, field.name))


@rare
def test_nests_of_all_families_are_those_of_the_statements() -> None:
    families: set[str] = set()
    for path in sorted(CORPUS.glob("*.npz")):
        measured = read(path)
        if measured.family in families:
            continue
        families.add(measured.family)
        count = len(measured.schedules)
        found = measured.only([0, count // 2, count - 1]).impls()
        impls = [impl for impl in found if impl is not None]
        nests = Nests()
        for impl in impls:
            assert of_nest(nests.of(impl)) == of_statements(impl)
    assert len(families) >= 14

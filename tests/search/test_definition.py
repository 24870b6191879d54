"""The search finds what the definition of the space has, which knows none of its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import inf

import pytest
from tests.goals import matmul_goal, softmax_goal
from tests.sampling import some
from tests.search.definition import (
    BYTES,
    CYCLES,
    LINE_CYCLES,
    OPERATIONS,
    PER_LINE,
    RUN_CYCLES,
    VECTOR,
    Amounts,
    Definition,
    Place,
    Task,
    in_order,
    scratch,
)
from tests.support import forget_traces, searched

from morello.ir.batch import Batch
from morello.ir.layout import column_major
from morello.ir.spec import Spec, matmul_spec
from morello.ir.tensor import LINE_BYTES
from morello.rewrites import Decompose, Divide, Move, SizedOverlap, ToAccumulate
from morello.space.guards import Rules
from morello.space.kind import Kind
from morello.space.rules import rules
from morello.space.sizes import Sizes
from morello.space.traits import RuleTraits
from morello.targets.kernels import standard_kernels
from morello.targets.target import LeafKernel, Level, Target


def toy(limits: Amounts) -> Target:
    """The machine of the definition, with so much of each cache and so many registers."""
    far = ["memory", "L2"][: len(limits) - 1]
    costs = zip(far, (1 << 40, limits[0]), LINE_CYCLES, RUN_CYCLES, strict=False)
    return Target(
        name=f"toy-{len(far)}", description="for tests", arch="baseline", features=(),
        levels=(
            *(Level(name, n, per_line=line, per_run=run) for name, n, line, run in costs),
            Level("L1", limits[-2]), Level("registers", limits[-1]),
        ),
        vector_bytes=(VECTOR * BYTES,), kernels=kernels(), helpers={}, masks=False,
    )  # fmt: skip


@cache
def kernels() -> tuple[LeafKernel, ...]:
    """The real ones of these names, with the definition's costs."""
    known = {k.name: k for k in standard_kernels((VECTOR * BYTES,), False, {}, frozenset())}

    def cost(name: str) -> Callable[[Batch], float]:
        return lambda batch: CYCLES[name]

    return tuple(replace(known[name], cost=cost(name), registers=scratch(name)) for name in CYCLES)


def task_of(spec: Spec) -> Task:
    """The same to the definition: row-major or column-major in memory."""
    orders = [placement.layout.order for placement in spec.placements]
    places = [Place(0, in_order(spec.shape(o), order)) for o, order in enumerate(orders)]
    sizes = zip(spec.operation.dims, spec.sizes, strict=True)
    return Task(OPERATIONS[spec.operation.name], tuple(sizes), tuple(places))


def columns_first(m: int, k: int, n: int) -> Spec:
    """A matmul of a column-major a and c."""
    return matmul_spec((m, k), (k, n), layouts=(column_major(2), None, column_major(2)))


ENOUGH, FEW, FEWEST = (8, 8), (3, 3), (4, 2)
CASES = [
    *[(matmul_goal(*sizes), (ENOUGH, FEW)) for sizes in ((1, 1, 1), (2, 3, 4), (1, 2, 8))],
    *[(matmul_goal(*sizes), (ENOUGH, FEWEST)) for sizes in ((4, 4, 1), (1, 5, 2), (4, 2, 4))],
    (matmul_goal(2, 2, 2), (ENOUGH, FEW, FEWEST)),
    *[(matmul_goal(*sizes), (ENOUGH, FEW)) for sizes in ((5, 1, 2), (1, 1, 7))],
    (matmul_goal(1, 4, 4), (ENOUGH, FEWEST, (8, 8, 8))),
    (columns_first(4, 2, 2), (ENOUGH, FEW)),
    (columns_first(1, 4, 4), (ENOUGH, FEWEST)),
    *[(softmax_goal(*sizes), (ENOUGH, FEWEST)) for sizes in ((4, 1), (2, 4), (4, 2), (1, 5))],
    (softmax_goal(1, 1), (ENOUGH, FEW, (8, 8, 8))),
]


@pytest.mark.parametrize(("spec", "limits"), some(CASES, 6), ids=str)
def test_nothing_is_cheaper_by_definition(spec: Spec, limits: Sequence[Amounts]) -> None:
    for amounts in limits:
        wanted = Definition(len(amounts) - 1).cheapest(task_of(spec), amounts)
        solution = searched(spec, toy(amounts))
        assert (solution.cost if solution else inf) == pytest.approx(wanted), amounts


@pytest.mark.parametrize(
    ("lost", "spec"),
    [
        *[(lost, softmax_goal(2, 2)) for lost in (Divide, Move, ToAccumulate, Decompose)],
        (SizedOverlap, matmul_goal(1, 1, 7)),
    ],
)
def test_a_rule_that_is_missing_is_told_apart(
    lost: type, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fewer(kind: Kind, target: Target, sizes: Sizes, traits: RuleTraits) -> list[Rules]:
        return [
            Rules(group.guard, tuple(r for r in group.rewrites if not isinstance(r, lost)))
            for group in rules(kind, target, sizes, traits)
        ]

    monkeypatch.setattr("morello.space.family.rules", fewer)
    forget_traces(monkeypatch)
    solution = searched(spec, toy(ENOUGH))
    wanted = Definition(1).cheapest(task_of(spec), ENOUGH)
    assert wanted < (solution.cost if solution else inf)


def test_lines_are_as_long() -> None:
    assert PER_LINE * BYTES == LINE_BYTES

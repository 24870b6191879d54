"""A search that knows of earlier ones finds what one finds that knows nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.goals import conv_goal, goal_of, mapped, matmul_goal, product, softmax_goal, tensor
from tests.sampling import some
from tests.search.brute import Amounts
from tests.search.small_goals import CORES, GOALS, MASKS, PLAIN, brute
from tests.support import searched, with_capacities

from morello.engine import INFINITE
from morello.impl.reconstruct import reconstruct
from morello.ir.batch import Batch
from morello.ir.dtype import BF16, F32, I8, I32, U8
from morello.ir.layout import odd_even, panels
from morello.ir.placements import Placements
from morello.ir.primitives import MAX, SUM, matmul, move, reduce
from morello.ir.spec import Spec, goal
from morello.memo import Key, Table, points
from morello.memo import space_name as naming
from morello.memo.answers import MemoizedAnswers
from morello.memo.programs import StoredProgram, load_program, store_program
from morello.memo.query import answers
from morello.memo.space_memo import SpaceMemo
from morello.memo.space_name import space_name
from morello.search.expansion import build, grow
from morello.search.relaxed_bound import RelaxedBound
from morello.search.result import SearchResult
from morello.search.rewriting import Pruning
from morello.search.session import Session, search
from morello.space.space import Space, goal_sizes
from morello.space.traits import TilingTraits
from morello.targets import TARGETS
from morello.targets.costs import coefficients, with_coefficients
from morello.targets.target import Target

AVX2 = TARGETS["avx2"]
ENOUGH = PLAIN.limits
SERIAL = [name for name, (spec, target) in GOALS.items() if target is PLAIN and not spec.parallel]
NESTED = ["sum-of-map", "sum", "relu-of-matmul", "matmul", "matmul-chain", "mlp", "map-of-sum"]
"""Goals that have Specs in common."""


def solved(spec: Spec, target: Target, table: Table | None = None) -> SearchResult | None:
    """The cheapest program that the search finds, None if nothing fits."""
    solution = searched(spec, target, table=table)
    if solution is None:
        return None
    impl = reconstruct(spec, target, solution.decisions)
    assert impl.complete
    assert impl.cost == pytest.approx(solution.cost, rel=1e-12)
    assert all(held <= limit for held, limit in zip(impl.peak, target.limits, strict=True))
    return solution


def cost_of(solution: SearchResult | None) -> float:
    return inf if solution is None else solution.cost


@cache
def cost_alone(name: str, capacities: Amounts) -> float:
    """The cheapest program that a search without a table finds."""
    spec, target = GOALS[name]
    return cost_of(solved(spec, with_capacities(target, capacities)))


def small(name: str, capacities: Amounts = ENOUGH) -> tuple[Spec, Target]:
    spec, target = GOALS[name]
    return spec, with_capacities(target, capacities)


# ---- the same cost, whatever is known


@pytest.mark.parametrize(("keeps", "capacities"), some([(1, (3, 4)), (2, (5, 3)), (3, ENOUGH)], 3))
def test_goals_in_any_order_share_a_table(keeps: int, capacities: Amounts) -> None:
    order = random.Random(sum(capacities) + keeps)
    names = [*NESTED, *order.sample([name for name in SERIAL if name not in NESTED], 3)]
    order.shuffle(names)
    with Table(":memory:", keeps) as table:
        for warm in (False, True):
            for name in names:
                solution = solved(*small(name, capacities), table)
                assert cost_of(solution) == pytest.approx(cost_alone(name, capacities)), name
                if warm and solution is not None:
                    assert solution.statistics.specs == 0, name
        assert table.check() == []


@pytest.mark.parametrize(
    "names",
    [
        [name for name, (_, target) in GOALS.items() if target is MASKS][:6],
        [name for name, (_, target) in GOALS.items() if target is CORES][::2],
    ],
    ids=["masks", "cores"],
)
def test_goals_of_other_targets(names: list[str]) -> None:
    """Parallel loops are searched again; the Specs inside them are memoized."""
    with Table(":memory:") as table:
        for _ in range(2):
            for name in names:
                spec, target = GOALS[name]
                solution = solved(spec, target, table)
                assert cost_of(solution) == pytest.approx(cost_alone(name, target.limits)), name


@st.composite
def goals(draw: st.DrawFn) -> Spec:
    """Goals of odd and even sizes, of several dtypes, that have some Specs in common."""
    size = st.sampled_from([1, 2, 3, 4, 5])
    m, k, n = draw(size), draw(size), draw(size)
    hidden = mapped("relu", product(tensor(m, k), tensor(k, n)))
    known = [
        matmul_goal(m, k, n),
        matmul_goal(m, k, n, BF16, BF16, F32),
        matmul_goal(m, k, n, F32, BF16, F32),
        matmul_goal(m, k, n, U8, I8, I32),
        goal(matmul(), (m, k, 2 * n), (F32,) * 3, layouts=(None, panels(2, 1, 4), None)),
        softmax_goal(m, n),
        goal(reduce(SUM, 2, 1), (m, n), (F32, F32)),
        goal(reduce(MAX, 2, 0), (m, n), (F32, F32)),
        goal(move(2, (1, 0)), (m, n), (F32, F32)),
        conv_goal(1, 2, 2 + m % 3, 2),
        goal_of(hidden),
    ]
    return draw(st.sampled_from(known))


@given(
    st.lists(goals(), min_size=2, max_size=3),
    st.sampled_from([AVX2.limits, (12, 8, 16), (6, 4, 5)]),
    st.integers(1, 2),
)
@settings(max_examples=3)
def test_random_goals_share_a_table(
    specs: list[Spec], capacities: tuple[int, ...], keeps: int
) -> None:
    target = with_capacities(AVX2, capacities)
    with Table(":memory:", keeps) as table:
        wanted = {spec: cost_of(solved(spec, target)) for spec in specs}
        for spec in [*specs, *reversed(specs)]:
            assert cost_of(solved(spec, target, table)) == pytest.approx(wanted[spec], rel=1e-12)


def test_what_is_known_of_others_is_not_worked_out_again() -> None:
    spec, larger = matmul_goal(4, 4, 8), matmul_goal(8, 4, 8)
    with Table(":memory:") as table, Table(":memory:") as empty:
        cold = solved(spec, AVX2, table)
        warm, alone = solved(larger, AVX2, table), solved(larger, AVX2, empty)
        again = solved(spec, AVX2, table)
    assert cold and warm and alone and again
    assert warm.statistics.specs < alone.statistics.specs
    assert cold.statistics.bounded > 0
    assert (again.statistics.specs, again.statistics.bounded) == (0, 0)
    assert cold.cost == again.cost
    assert again.decisions == cold.decisions
    assert warm.cost == pytest.approx(alone.cost, rel=1e-12)


def test_a_table_on_disk_serves_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    for specs in (False, True, True):
        with Table(path) as table:
            solution = search(*small("matmul"), table=table)
            assert (solution.statistics.specs == 0) == specs
    with Table(path, cache_bytes=0) as table:
        assert search(*small("matmul"), table=table).statistics.specs == 0


def test_answers_of_other_limits_than_are_met_are_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown = 0

    def counted(*args: object, **options: object) -> object:
        nonlocal grown
        grown += 1
        return grow(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("morello.search.deepening.grow", counted)
    capacities = (5, 4)
    with Table(":memory:") as table:
        for name in [n for n in SERIAL if n.startswith(("matmul", "Softmax"))][::2]:
            solution = solved(*small(name, capacities), table)
            assert cost_of(solution) == pytest.approx(cost_alone(name, capacities)), name
    assert grown > 0


def test_a_goal_whose_operand_is_in_registers_is_worked_out() -> None:
    """It has all registers, though no program of another goal leaves it any."""
    with Table(":memory:") as table:
        session = Session(matmul_goal(8, 8, 16), AVX2, table)
        graph = session.graph(session.cost)
        full = graph.nodes.limit >> 2 * graph.space.limits.field == 0
        nodes = np.flatnonzero(full & (graph.bounds.low < INFINITE))
        assert len(nodes) > 5
        for node in nodes[:: len(nodes) // 5].tolist():
            spec = graph.spec(node)
            assert AVX2.registers in spec.levels
            assert search(spec, AVX2, table=table).cost == search(spec, AVX2).cost


def test_grown_nodes_have_what_they_dropped() -> None:
    """A rewrite dropped for lack of memory limits what is claimed of larger limits."""
    goal = matmul_goal(8, 8, 16)
    space = Space([(goal,)], AVX2, goal_sizes([(goal,)], AVX2))
    bound = RelaxedBound([(goal,)], AVX2, space.sizes)
    pruning = Pruning(bound, 2.0 * float(bound(space.goal_batches()[0])[0]))

    def known(batch: Batch) -> MemoizedAnswers:
        """All Specs with one operand in registers and the others in the nearest cache."""
        held = np.sum(np.subtract(batch.levels, AVX2.nearest), axis=0)
        rows = np.flatnonzero((held == 1) & (np.minimum.reduce(batch.levels) == AVX2.nearest))
        none, most = np.zeros(len(rows), np.int64), np.full(len(rows), space.limits.full)
        return MemoizedAnswers(len(batch), rows, np.ones(len(rows)), none, most, none)

    graph = build(space, pruning, memo=known)
    nodes = graph.memoized.spec
    more = grow(graph, nodes, pruning)
    lowest = more.dropped.lowest_bounds(more.node_count)
    kind, key, *_ = more.nodes
    for node in nodes.tolist():
        copies = (key == key[node]) & (kind == kind[node])
        assert set(lowest[copies]) == {lowest[node]}
    assert (lowest[nodes] < INFINITE).any()


# ---- what a table claims is true


def costs(name: str, spec: Spec, limits: Amounts, capacities: Amounts = ENOUGH) -> list[float]:
    """The costs of the programs that begin with each of a Spec's rewrites, by trying them all."""
    one = brute(name, capacities)
    ways = one._ways_of(one._number(spec))
    return sorted(cost for way in ways if (cost := one._through(way, limits)) < inf)


def corners(peak: Amounts, limit: Amounts) -> Iterator[Amounts]:
    middle = tuple((low + high) // 2 for low, high in zip(peak, limit, strict=True))
    yield from {peak, limit, middle, (peak[0], limit[1]), (limit[0], peak[1])}


@pytest.mark.parametrize(("keeps", "capacities"), some([(1, (3, 4)), (2, (4, 4)), (4, ENOUGH)], 3))
def test_what_is_known_of_every_spec_is_true(keeps: int, capacities: Amounts) -> None:
    """Each box has the cheapest rewrites under all its limits, in order."""
    names = ["matmul", "sum", "relu-of-matmul", "matmul-chain"]
    exact = several = 0
    with Table(":memory:", keeps) as table:
        for name in names:
            solved(*small(name, capacities), table)
        for name in names:
            spec, target = small(name, capacities)
            memo = SpaceMemo(table, target, TilingTraits.of(target, spec))
            brute(name, capacities).cheapest(ENOUGH)  # which reaches all Specs
            for spec in [*brute(name, capacities).specs]:
                for peak, limit, listed in memo.decisions(Batch.of([spec], Placements())):
                    low, high = memo.limits.unpack(peak), memo.limits.unpack(limit)
                    assert all(a <= b <= c for a, b, c in zip(low, high, capacities, strict=True))
                    for limits in corners(low, high):
                        truth = costs(name, spec, limits, capacities)
                        found = [cost for _, cost in listed]
                        assert found == pytest.approx(truth[: len(found)], rel=1e-9), spec
                    assert listed
                    exact += 1
                    several += len(listed) > 1
                    assert len({text for text, _ in listed}) == len(listed) <= keeps
    assert exact > 50
    assert (several > 0) == (keeps > 1)


@pytest.mark.parametrize("name", some(["matmul", "sum", "add-rows", "map-of-map"], 2))
def test_as_many_decisions_as_a_table_keeps(name: str) -> None:
    spec, target = small(name)
    truth = costs(name, spec, ENOUGH)
    for keeps in (1, 3, 64):
        with Table(":memory:", keeps) as table:
            solution = solved(spec, target, table)
            first, *_ = answers(spec, target, table)
        assert first.limit == ENOUGH
        found = [step.cost for step in first.decisions]
        assert found == pytest.approx(truth[:keeps])
        assert all(one <= other for one, other in pairwise(found))
        assert len(found) == min(keeps, len(truth))
        assert cost_of(solution) == found[0]


# ---- damage


SAVED = ["sum-of-map", "relu-of-matmul", "matmul", "conv-padded-strides", "SoftmaxDenominator"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A table's file that knows these goals, which each test damages in its own way."""
    path = tmp_path_factory.mktemp("saved") / "t.db"
    with Table(path) as table:
        for name in SAVED:
            solved(*small(name), table)
    return path.read_bytes()


def lose(table: Table, keys: list[Key], *, altogether: bool) -> None:
    """Damage these pages, or remove them."""
    store = table._store
    with store.writing():
        for key in keys:
            if altogether:
                where = store._kind(key.space, key.kind), key.part
                store._file.execute("DELETE FROM pages WHERE kind = ? AND part = ?", where)
            else:
                store.write(key, b"damaged")
    table._forget_all()


@pytest.mark.parametrize("altogether", [False, True])
@pytest.mark.parametrize("which", some(["some", "bounds", "answers", "inner"], 4))
def test_pages_that_are_lost_change_no_answer(
    which: str, altogether: bool, saved: bytes, tmp_path: Path
) -> None:
    choose = random.Random(len(which))
    names = ["sum", *SAVED]
    (tmp_path / "t.db").write_bytes(saved)
    with Table(tmp_path / "t.db") as table:
        keys = table.keys()
        lost = {
            "some": choose.sample(keys, len(keys) // 2),
            "bounds": [k for k in keys if '"relaxed":true' in k.kind and set(k.part) != {*"0 "}],
            "answers": [k for k in keys if '"relaxed":false' in k.kind],
            "inner": [k for k in keys if '"relaxed":false' in k.kind and set(k.part) != {*"0 "}],
        }[which]
        lose(table, lost, altogether=altogether)
        for name in names:
            solution = solved(*small(name), table)
            assert cost_of(solution) == pytest.approx(cost_alone(name, ENOUGH)), name
        if not altogether:
            assert table.damaged


# ---- what must not be mixed


def space_of(goal: Spec, target: Target) -> str:
    return space_name(target, TilingTraits.of(target, goal))


def other_machines(target: Target) -> list[Target]:
    memory, *nearer = target.levels
    slower = (replace(memory, per_line=memory.per_line + 1e-9), *nearer)
    return [
        replace(target, name="other"),
        replace(target, cores=target.cores + 1),
        replace(target, levels=slower),
        replace(target, fork=target.fork + 1),
        replace(target, in_flight=target.in_flight + 1),
        replace(target, rows=target.rows + 1),
        replace(target, features=("more",)),
        with_capacities(target, (63, 8)),
        with_capacities(target, (64, 7)),
    ]


@pytest.mark.parametrize("name", some(TARGETS, 3))
def test_every_cost_that_a_calibration_changes_makes_another_space(name: str) -> None:
    target = TARGETS[name]
    costs = coefficients(target)
    changed = [with_coefficients(target, {n: v * (1 + 1e-12) or 1e-12}) for n, v in costs.items()]
    assert len({space_name(one) for one in (target, *changed)}) == 1 + len(costs)
    assert space_name(with_coefficients(target, costs)) == space_name(target)
    assert space_name(replace(target, machine="another")) != space_name(target)


def test_what_is_known_of_one_machine_is_not_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, target = small("matmul")
    with Table(":memory:") as table:
        solution = search(spec, target, table=table)
        store_program(StoredProgram(reconstruct(spec, target, solution.decisions)), table)
        assert answers(spec, target, table)
        assert load_program(spec, target, table) is not None
        known = {space_of(spec, target)}
        for other in other_machines(target):
            assert answers(spec, other, table) == []
            assert load_program(spec, other, table) is None
            known.add(space_of(spec, other))
            assert search(spec, other, table=table).statistics.specs > 0
        assert len(known) == 1 + len(other_machines(target))
        assert set(table.spaces()) == known
        monkeypatch.setattr(naming, "SPACE_VERSION", 0)
        assert answers(spec, target, table) == []
        assert load_program(spec, target, table) is None
        assert search(spec, target, table=table).statistics.specs > 0
        assert search(spec, target, table=table).statistics.specs == 0


def test_goals_in_panels_are_apart() -> None:
    """Their tiles are cut to the panels, and what lies in odd-even blocks is copied."""
    layouts = None, panels(2, 1, 4), odd_even(2, 4)
    with Table(":memory:") as table:
        for layout in layouts:
            solved(goal(move(2), (2, 8), (F32, F32), layouts=(layout, None)), PLAIN, table)
        found = [json.loads(space) for space in table.spaces()]
    known = sorted((space["panels"], space["odd_even"]) for space in found)
    assert known == [([], False), ([4], False), ([4], True)]


# ---- programs of whole goals


def test_a_goal_is_answered_with_its_program() -> None:
    spec, target = small("relu-of-matmul")
    with Table(":memory:") as table:
        assert load_program(spec, target, table) is None
        impl = reconstruct(spec, target, search(spec, target).decisions)
        store_program(StoredProgram(impl), table)
        assert load_program(spec, target, table) == StoredProgram(impl)
        assert load_program(replace(spec, parallel=True), target, table) is None
        (space, name) = table.goals()[0]
        for text in ('{"format": 1}', '{"format": 1, "rewrites": []}'):
            table.keep_program(space, name, text)
            assert load_program(spec, target, table) is None


# ---- Specs as points


@given(st.lists(st.tuples(*[st.integers(1, 5000)] * 2), min_size=1, max_size=20))
def test_coordinates_are_those_of_one_size(sizes: list[tuple[int, int]]) -> None:
    batch = Batch.of([goal(move(2), one, (F32, F32)) for one in sizes], Placements())
    coordinates = points.coordinates(batch)
    back = points.sizes_of(coordinates)
    assert [tuple(row) for row in np.stack(back, 1).tolist()] == sizes
    assert (points.volume(batch) == [m * n for m, n in sizes]).all()
    for row, one in zip(coordinates, sizes, strict=True):
        assert (row <= points.furthest(6, max(one))).all()
        assert (row >= 0).all()


@given(st.lists(st.tuples(st.floats(0, 1e29), st.integers(1, 1 << 40)), min_size=1, max_size=20))
def test_costs_are_kept_exactly(listed: list[tuple[float, int]]) -> None:
    cost, volume = (np.array(column, np.float64) for column in zip(*listed, strict=True))
    assert (points.cost_of(*points.bits(cost, volume), volume) == cost).all()


def test_costs_that_grow_with_the_volume_are_one_number() -> None:
    volume = np.array([1.0, 2.0, 4.0, 1024.0])
    number, scaled = points.bits(0.1 * volume, volume)
    assert scaled.all()
    assert len(set(number.tolist())) == 1

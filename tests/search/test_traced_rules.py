"""Rules on a tape leave the same edges as NumPy does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.sampling import some
from tests.search.spaces import space_of
from tests.support import forget_traces

from morello.engine.recorded import Recorded
from morello.frontends.text import parse
from morello.ir.dtype import F32, DType
from morello.ir.placements import Ints
from morello.ir.tracing import Trace, UntraceableError
from morello.rewrites import Rewrite
from morello.search.recorded_rules import RecordedRule, RuleRecorder, _AnyDType
from morello.search.session import Session
from morello.search.traced_rules import TracedRules
from morello.space.space import Space
from morello.targets.catalog import find_target
from morello.targets.costs import on_cores

Edge = tuple[Any, ...]

GOALS = {
    "matmul-ragged": ("f32[12,13] @ f32[13,20]", "x86-64-v3", 1),
    "matmul-packed": ("i16[6,10] @ i16[10,12]", "x86-64-v4", 1),
    "matmul-parallel": ("f32[16,8] @ f32[8,32]", "x86-64-v3", 2),
    "conv-padded": ("conv(f32[1,4,9,9], f32[8,4,3,3], padding=1)", "x86-64-v4", 1),
    "softmax-of-product": ("softmax(f32[3,8] @ f32[8,32])", "x86-64-v4", 1),
    "layer-norm": ("layer_norm(f32[7,20], f32[20], f32[20])", "x86-64-v3", 1),
    "neon": ("relu(bf16[5,8] @ bf16[8,24])", "neon", 1),
}


def edges(recorded: Recorded) -> list[Edge]:
    """Edges by value, in their order: row, rule, cost, allocation, and children."""
    words = recorded.words.tolist()
    slots = zip(recorded.kind.tolist(), recorded.times.tolist(), map(_trimmed, words), strict=True)
    columns = (recorded.row, recorded.rule, recorded.own, recorded.allocation)
    by_edge = zip(*(column.tolist() for column in columns), strict=True)
    children = iter(slots)
    return [
        (*values, tuple(next(children) for _ in range(arity)))
        for values, arity in zip(by_edge, recorded.arity.tolist(), strict=True)
    ]


def _trimmed(words: list[int]) -> tuple[int, ...]:
    """The words of a key without those that are there for other kinds."""
    return tuple(words[: max((i + 1 for i, word in enumerate(words) if word), default=0)])


def walk(space: Space, together: int = 25) -> Iterator[tuple[TracedRules, Ints]]:
    """Specs that can be reached from the goal, some of each kind at a time; nothing repeats."""
    goal = space.goal_batches()[0]
    random = np.random.default_rng(0)
    waiting = {space.kind_number(goal): set(space.encoding(goal).keys(goal).tolist())}
    seen = {kind: set(keys) for kind, keys in waiting.items()}
    rules: dict[int, TracedRules] = {}
    for _ in range(6):
        for kind in list(waiting):
            keys = random.permutation(np.array(sorted(waiting.pop(kind)), np.int64))[:together]
            known = rules.setdefault(kind, TracedRules(space, kind))
            yield known, keys
            found = known.run(keys, np.ones((len(known), len(keys)), np.bool_))
            for child in np.unique(found.kind).tolist():
                encoding = space.encodings[child]
                words = found.words[found.kind == child, : encoding.words].T
                reached = set(encoding.join(list(words), space.placements).tolist())
                new = reached - seen.setdefault(child, set())
                seen[child] |= new
                waiting.setdefault(child, set()).update(new)
        waiting = {kind: keys for kind, keys in waiting.items() if keys}


@pytest.mark.parametrize("relaxed", [False, True], ids=["exact", "relaxed"])
@pytest.mark.parametrize("name", some(GOALS, 5))
def test_a_tape_leaves_the_edges_that_numpy_does(
    name: str, relaxed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, target_name, cores = GOALS[name]
    goal, target = on_cores(parse(text), find_target(target_name), cores)
    space = space_of(goal, target, relaxed=relaxed)
    asked: list[int] = []
    by_numpy_alone = TracedRules._by_numpy

    def by_numpy_asked(self: TracedRules, keys: Ints, rules: Any) -> list[Recorded]:
        asked.extend(number for number, _ in rules)
        return by_numpy_alone(self, keys, rules)

    monkeypatch.setattr(TracedRules, "_by_numpy", by_numpy_asked)
    compared = 0
    for rules, keys in walk(space):
        wanted = np.ones((len(rules), len(keys)), np.bool_)
        first, by_numpy = edges(rules.run(keys, wanted)), edges(rules.by_numpy(keys, wanted))
        assert first == by_numpy
        asked.clear()
        assert edges(rules.run(keys, wanted)) == by_numpy
        traced = np.all([tapes._tape.traced for tapes in rules._tapes if tapes._tape], axis=0)
        assert not any(traced[number] for number in asked), "what was not known is known by now"
        compared += len(by_numpy)
    assert compared > 500
    assert capsys.readouterr().err == ""  # also of rules that cannot be traced


def test_missing_entries_of_tables_are_worked_out_without_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = space_of(parse("f32[12,13] @ f32[13,20]"), find_target("x86-64-v3"))
    asked: list[int] = []

    def by_numpy_asked(self: TracedRules, keys: Ints, rules: Any) -> list[Recorded]:
        asked.extend(number for number, _ in rules)
        return []

    monkeypatch.setattr(TracedRules, "_by_numpy", by_numpy_asked)
    codes = len(space.placements.placements)
    for _ in walk(space, together=9):
        pass
    assert len(space.placements.placements) > codes + 3
    assert not asked


def test_only_what_is_wanted_is_applied() -> None:
    goal, target = on_cores(parse("f32[12,13] @ f32[13,20]"), find_target("x86-64-v3"))
    space = space_of(goal, target)
    rules, keys = next(walk(space))
    everything = np.ones((len(rules), len(keys)), np.bool_)
    all_edges = edges(rules.run(keys, everything))
    some = everything.copy()
    some[::2] = False
    assert edges(rules.run(keys, some)) == [edge for edge in all_edges if edge[1] % 2]
    assert edges(rules.run(keys, everything & False)) == []


TOGETHER = some(
    (
        ("f32[12,13] @ f32[13,20]", 1),
        ("f32[24,9] @ f32[9,17]", 1),
        ("softmax(f32[7,20])", 1),
        ("softmax(f32[3,45])", 1),
        ("softmax(f32[3,8] @ f32[8,32])", 1),
        ("f32[32,32]{1,0:T(1,16)} @ f32[32,12]", 1),
        ("i16[6,10] @ i16[10,12]", 1),
        ("conv(f32[1,4,9,9], f32[8,4,3,3], padding=1)", 1),
        ("f32[16,8] @ f32[8,32]", 2),
    ),
    2,
)
"""Goals, and the cores they run on, that share kinds of Specs, but not all their sizes."""


def answer(text: str, cores: int) -> tuple[Any, ...]:
    """All that a search for a goal says, and in which order it numbers kinds."""
    session = Session(*on_cores(parse(text), find_target("avx512"), cores))
    result = session.solve()
    statistics = result.statistics
    kinds = [encoding.kind for encoding in session._space.space.encodings]
    return result.cost, result.decisions, statistics.specs, statistics.rewrites, kinds


@pytest.fixture(scope="module")
def alone() -> dict[tuple[str, int], tuple[Any, ...]]:
    """The answers of searches for which nothing was traced before."""
    answers = {}
    for goal in TOGETHER:
        with pytest.MonkeyPatch.context() as patch:
            forget_traces(patch)
            answers[goal] = answer(*goal)
    return answers


def test_goals_that_share_traces_are_solved_as_alone(
    alone: dict[tuple[str, int], tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    goals = list(TOGETHER)
    Random(1).shuffle(goals)  # threads come to them in their order
    traces = forget_traces(monkeypatch)
    for goal in goals:
        assert answer(*goal) == alone[goal], goal
    assert traces.cache_info().hits > len(goals)


def test_threads_share_traces(
    alone: dict[tuple[str, int], tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_traces(monkeypatch)
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda goal: answer(*goal), TOGETHER)
        for goal, one in zip(TOGETHER, found, strict=True):
            assert one == alone[goal], goal


@pytest.mark.parametrize(("last", "relaxed"), some([(0, True), (3, False)], 2))
def test_trace_of_other_goals_leave_the_edges_that_numpy_does(
    last: int, relaxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_traces(monkeypatch)
    compared = 0
    for text, cores in TOGETHER[last + 1 :] + TOGETHER[: last + 1]:
        goal, target = on_cores(parse(text), find_target("x86-64-v4"), cores)
        space = space_of(goal, target, relaxed=relaxed)
        for rules, keys in walk(space, together=6):
            wanted = np.ones((len(rules), len(keys)), np.bool_)
            assert edges(rules.run(keys, wanted)) == edges(rules.by_numpy(keys, wanted))
            compared += len(keys)
    assert compared > 1000


def test_edges_come_in_the_same_order_whatever_rows_are_ideal() -> None:
    """Sums in pieces for several cores have buffers of their own, which are not ideal."""
    goal, target = on_cores(parse("f32[2,4096] @ f32[4096,2]"), find_target("x86-64-v4"), 2)
    space = space_of(goal, target, relaxed=True)
    mixed = 0
    for rules, keys in walk(space, together=100):
        ideal = rules._encoding.ideal(keys, space.placements)
        mixed += bool(ideal.any() and not ideal.all())
        wanted = np.random.default_rng(0).random((len(rules), len(keys))) < 0.5
        assert edges(rules.run(keys, wanted)) == edges(rules.by_numpy(keys, wanted))
    assert mixed


def recorded(text: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The rewrites that are recorded for all Specs near a goal, and whether for any dtype."""
    recorded: list[tuple[str, bool]] = []
    record = RuleRecorder._recorded

    def noted(
        self: RuleRecorder, rewrite: Rewrite, dtypes: tuple[DType, ...] | None
    ) -> RecordedRule:
        rule = record(self, rewrite, dtypes)
        recorded.append((type(rewrite).__name__, dtypes is None))
        return rule

    goal, target = on_cores(parse(text), find_target("x86-64-v4"))
    space = space_of(goal, target)
    with monkeypatch.context() as patch:
        patch.setattr(RuleRecorder, "_recorded", noted)
        for rules, keys in walk(space, together=2):
            rules.run(keys, np.ones((len(rules), len(keys)), np.bool_))
    return recorded


def test_rules_that_dtypes_do_not_matter_to_are_recorded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forget_traces(monkeypatch)
    first = recorded("max(i8[16,32])", monkeypatch)
    loops = [each for each in first if each[0] in ("Divide", "SizedTile")]
    assert loops and all(any_dtype for _, any_dtype in loops)
    assert ("Select", False) in first  # kernels are for dtypes
    other = {name for name, _ in recorded("max(i32[16,32])", monkeypatch)}
    assert "Select" in other and not other & {"Divide", "SizedTile"}


@pytest.mark.parametrize("name", ["lanes", "c", "numpy", "np", "is_float", "__hash__"])
def test_what_depends_on_a_dtype_is_not_recorded_for_any(name: str) -> None:
    any_dtype = _AnyDType(0, Trace().input())
    with pytest.raises(UntraceableError, match="on a dtype"):
        hash(any_dtype) if name == "__hash__" else getattr(any_dtype, name)
    with pytest.raises(UntraceableError, match="depends on a dtype"):
        assert any_dtype != F32

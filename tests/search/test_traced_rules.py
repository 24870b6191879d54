"""Rules on a tape leave the same edges as NumPy does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from morello.engine.tape import Recorded
from morello.frontends.text import parse
from morello.ir.placements import Ints
from morello.search.session import Session
from morello.search.traced_rules import FEW, TracedRules
from morello.space.space import Space, goal_sizes
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
    """Edges by value, in any order: row, rule, cost, allocation, and children."""
    words = recorded.words.T.tolist()
    slots = zip(recorded.kind.tolist(), recorded.times.tolist(), map(_trimmed, words), strict=True)
    columns = (recorded.row, recorded.rule, recorded.own, recorded.allocation)
    by_edge = zip(*(column.tolist() for column in columns), strict=True)
    children = iter(slots)
    return sorted(
        (*values, tuple(next(children) for _ in range(arity)))
        for values, arity in zip(by_edge, recorded.arity.tolist(), strict=True)
    )


def _trimmed(words: list[int]) -> tuple[int, ...]:
    """The words of a key without those that are there for other kinds."""
    return tuple(words[: max((i + 1 for i, word in enumerate(words) if word), default=0)])


def walk(space: Space, together: int = 25) -> Iterator[tuple[TracedRules, Ints]]:
    """Specs that can be reached from the goal, some of each kind at a time; nothing repeats."""
    goal = space.goal_batch()
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
                words = found.words[: encoding.words, found.kind == child]
                reached = set(encoding.join(list(words), space.placements).tolist())
                new = reached - seen.setdefault(child, set())
                seen[child] |= new
                waiting.setdefault(child, set()).update(new)
        waiting = {kind: keys for kind, keys in waiting.items() if keys}


@pytest.mark.parametrize("relaxed", [False, True], ids=["exact", "relaxed"])
@pytest.mark.parametrize("name", GOALS)
def test_a_tape_leaves_the_edges_that_numpy_does(
    name: str, relaxed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text, target_name, cores = GOALS[name]
    goal, target = on_cores(parse(text), find_target(target_name), cores)
    space = Space(goal, target, goal_sizes(goal, target), relaxed=relaxed)
    compared = 0
    for rules, keys in walk(space):
        wanted = np.ones((len(rules), len(keys)), np.bool_)
        by_numpy = [rules.run(keys, wanted) for _ in range(FEW)][-1]
        first, again = (rules.run(keys, wanted) for _ in range(2))
        assert edges(first) == edges(by_numpy)
        assert edges(again) == edges(by_numpy)
        assert len(again.unsure_rule) == 0, "what was not known is known by now"
        compared += len(by_numpy.rule)
    assert compared > 500
    assert capsys.readouterr().err == ""  # also of rules that cannot be traced


def test_only_what_is_wanted_is_applied() -> None:
    goal, target = on_cores(parse("f32[12,13] @ f32[13,20]"), find_target("x86-64-v3"))
    space = Space(goal, target, goal_sizes(goal, target))
    rules, keys = next(walk(space))
    everything = np.ones((len(rules), len(keys)), np.bool_)
    for _ in range(FEW + 1):
        all_edges = edges(rules.run(keys, everything))
    some = everything.copy()
    some[::2] = False
    assert edges(rules.run(keys, some)) == [edge for edge in all_edges if edge[1] % 2]
    assert edges(rules.run(keys, everything & False)) == []


def test_without_a_c_compiler_numpy_applies_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    goal, target = on_cores(parse("f32[12,13] @ f32[13,20]"), find_target("x86-64-v3"))
    wanted = Session(goal, target).cost
    monkeypatch.setattr("morello.search.traced_rules.runner", lambda: None)
    monkeypatch.setattr("morello.engine.tape.Tape.run", None)  # not to be called
    assert Session(goal, target).cost == wanted

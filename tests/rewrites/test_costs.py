"""Programs on machines that they were not made for, and after other programs."""

from __future__ import annotations

import pytest

import morello
from morello.impl.costs import cost_on
from morello.impl.tree import replay
from morello.rewrites import rewrite
from morello.targets import find_target


@pytest.mark.parametrize(
    "expression",
    ["f32[7,13] @ f32[13,37]", "bf16[3,4] @ bf16[4,6]", "softmax(f32[3,9])",
     "conv(f32[1,2,3,5], f32[3,2,3,3], padding=1)"],
)  # fmt: skip
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_costs_are_those_of_the_program_replayed(expression: str, level: str) -> None:
    tunings = find_target(level).tunings
    impl, _ = morello.implement(expression, target=tunings[0], gap=1.0)
    costs = [cost_on(impl, tuning) for tuning in tunings]
    assert costs == [replay(impl.spec, tuning, impl.decisions()).cost for tuning in tunings]
    assert costs[0] == impl.cost and len({*costs}) > 1


def test_rewriting_does_not_depend_on_what_was_rewritten_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    impl, _ = morello.implement("f32[7,13] @ f32[13,37]", target="avx2", gap=1.0)
    steps = []
    for most in (0, 7, 512):
        monkeypatch.setattr(rewrite, "MOST_INTERNED", most)
        nodes = [*impl.walk(), *impl.walk()]
        steps.append([rewrite.apply.__wrapped__(n.rewrite, n.spec, n.target) for n in nodes])
    assert steps[0] == steps[1] == steps[2]

"""Features tell how code generation stores large results."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.learn.drawn import programs

from morello.learn.features import FETCHES, PROGRAM_FEATURES, Featurizer
from morello.learn.past_caches import PastCaches, past_caches
from morello.targets import find_target

WITHOUT = find_target("avx512")
SMALL = replace(WITHOUT, name="small", last_cache=128, bypassed=0.5)
"""Results of more than 4 KiB bypass its caches."""

MAP, COPY = "f32[40,64] * f32[40,64]", "transpose(f32[4,8,512], order=[1,0,2])"


@pytest.mark.parametrize(
    ("expression", "past"),
    [
        (MAP, PastCaches(frozenset({"out"}))),
        (COPY, PastCaches(frozenset({"dst"}), in_blocks=True)),
        ("transpose(f32[64,64])", PastCaches()),
        ("f32[4,64] * f32[4,64]", PastCaches()),
    ],
)
def test_results_past_the_caches_are_known(expression: str, past: PastCaches) -> None:
    (impl, *_) = programs(SMALL, expression, 1)
    assert past_caches(impl) == past


@pytest.mark.parametrize("expression", [MAP, COPY])
def test_lines_stored_past_the_caches_go_one_way(expression: str) -> None:
    (impl, *_) = programs(SMALL, expression, 1)
    (graph,) = Featurizer(SMALL).graphs([impl])
    features = dict(zip(PROGRAM_FEATURES, graph.program.tolist(), strict=True))
    assert features["bypassed"] == 1.0 and features["in_blocks"] == float(expression == COPY)
    if expression == COPY:
        assert graph.parts[:, 0].sum() > 0 and not graph.parts[:, 1:].any()
    (plain,) = Featurizer(WITHOUT).graphs([replace(impl, target=WITHOUT)])
    written = FETCHES.index("L2_written")
    assert graph.fetches[written] == pytest.approx(plain.fetches[written] / 2)

"""Intervals of errors, and the families that have their own."""

from __future__ import annotations

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.learn.families import family_of
from morello.learn.intervals import INSIDE, Intervals, intervals_of
from morello.learn.predictors import shipped


@pytest.mark.parametrize(
    ("expression", "family"),
    [
        ("f32[8,16] @ f32[16,32]", "products"),
        ("relu(f32[8,16] @ f32[16,32] + f32[32]) @ f32[32,8]", "products"),
        ("grouped_matmul(f32[8,16], f32[4,16,32], i32[8])", "products"),
        ("grouped_matmul(bf16[8,16], bf16[4,16,32], i32[8])", "narrow products"),
        ("bf16[8,16] @ bf16[16,32]", "narrow products"),
        ("u8[8,16] @ i8[16,32]", "narrow products"),
        ("f32[1,64] @ i4g32[64,32]", "narrow products"),
        ("conv(f32[1,4,8,8], f32[8,4,3,3])", "convolutions"),
        ("conv(f32[1,8,8,8], f32[8,1,3,3], groups=8)", "convolutions"),
        ("softmax(f32[8,16] @ f32[16,32])", "attention"),
        ("attention(f32[8,16], f32[8,16], f32[8,16])", "attention"),
        ("softmax(f32[8,16])", "softmaxes"),
        ("max_pool(f32[1,4,8,8], window=2)", "pools"),
        ("sum(f32[8,16], axis=1)", "reductions"),
        ("argmax(f32[8,16])", "reductions"),
        ("x = f32[8,16]; mean(square(x - expand_dims(mean(x), axis=1)))", "reductions"),
        ("layer_norm(f32[8,16], f32[16], f32[16])", "norms"),
        ("rms_norm(f32[1,16], f32[16])", "norms"),
        ("gelu(f32[8,16]) * f32[8,16]", "maps"),
        ("transpose(f32[8,16])", "copies"),
        ("cast(f32[8,16], bf16)", "copies"),
    ],
)
def test_families(expression: str, family: str) -> None:
    assert family_of(parse(expression)) == family


def test_the_model_that_ships_has_an_interval_of_each_family() -> None:
    for errors in (shipped().seen, shipped().unseen):
        assert errors.families
        for low, high in (errors.every, *errors.families.values()):
            assert -1.5 < low < 0 < high < 1.5


def drawn(count: int, spread: float, seed: int = 0) -> list[np.ndarray]:
    """Errors of Specs, with an error of each that its programs share."""
    random = np.random.default_rng(seed)
    return [
        spread * (random.normal() + 0.3 * random.normal(size=random.integers(5, 50)))
        for _ in range(count)
    ]


def test_families_of_other_errors_have_other_intervals() -> None:
    specs = [("narrow", e) for e in drawn(200, 0.05)] + [("wide", e) for e in drawn(200, 0.5)]
    found = intervals_of(specs)
    for family, spread in (("narrow", 0.05), ("wide", 0.5)):
        low, high = found.of(family)
        inside = [((low <= e) & (e <= high)).mean() for e in drawn(400, spread, seed=1)]
        assert abs(np.mean(inside) - INSIDE) < 0.04
    assert found.of("narrow")[1] < found.every[1] < found.of("wide")[1]
    assert found.of("another") == found.every


def test_specs_count_and_not_their_programs() -> None:
    one = [("", np.full(10, error)) for error in np.linspace(-1, 1, 101)]
    many = [*one[:-1], ("", np.full(100_000, 1.0))]
    assert intervals_of(many).every == intervals_of(one).every == pytest.approx((-0.9, 0.9))


def test_a_family_of_few_specs_falls_back_on_all() -> None:
    many = [("many", e) for e in drawn(300, 0.5)]
    alone = intervals_of([*many, ("few", np.full(20, 0.01))])
    low, high = alone.of("few")
    assert low < -0.4 and high > 0.4  # one Spec tells little
    several = intervals_of([*many, *(("few", np.full(20, 0.01)) for _ in range(100))])
    assert max(map(abs, several.of("few"))) < 0.1


def test_no_errors() -> None:
    assert intervals_of([]) == Intervals()

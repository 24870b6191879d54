"""Joined dimensions: programs compute the same, and cost no more."""

from __future__ import annotations

import pytest
from tests.sampling import some

import morello
from morello.frontends.text import parse
from morello.ir.joining import NO_JOINING, joining_of
from morello.rewrites import Join
from morello.search.session import Session
from morello.space import space
from morello.targets import find_target

POINTWISE = "relu(conv(f32[1,6,7,5], f32[9,6,1,1]) + f32[1,9,7,5])"

JOINED = {
    "conv(f32[1,6,1,1], f32[9,6,1,1])": "y*x",
    POINTWISE: "k*l",
    "conv(f32[1,6,7,5], f32[9,6,1,1])": "y*x",
    "conv(f32[3,7,5,6], f32[1,1,6,9], layout=NHWC)": "b*y*x",
    "relu(conv(f32[1,7,5,6], f32[1,1,6,9], layout=NHWC) + f32[9])": "j*k",
    "conv(conv(f32[1,6,7,5], f32[9,6,1,1]), f32[4,9,1,1])": "y*x",
    "f32[3,5,7] + f32[3,5,7]": "i*j*k",
    "f32[3,5,7] + f32[7]": "i*j",
    "softmax(f32[3,5,70])": "i*j",
    "f32[2,3,5,7] @ f32[2,3,7,4]": "b0*b1",
    "f32[3,5,7] @ f32[7,4]": "m0*m",
    "relu(f32[3,5,7] @ f32[7,4] + f32[4])": "i*j",
    'einsum("bqhd,hdn->bqn", f32[3,5,2,4], f32[2,4,6])': "m0*m, k0*k",
    "rms_norm(f32[3,7,40], f32[40])": "i*j",
    "max(f32[3,5,7,6], axis=[1,2,3])": "j*k*l",
    "sum(square(f32[2,3,5,7]), axis=[1,3,2])": "j*k*l",
    "mean(bf16[3,5,7], axis=[0,1,2])": "i*j*k",
    "sum(f32[3,4,5,6], axis=[0,1,3])": "i*j",
    "min(f32[3,5,64], axis=[0,1])": "i*j",
    "sum(bf16[3,5,7], axis=[1,2])": "j*k",
}
"""By expression: the dimensions that are joined."""

NOT_JOINED = (
    "f32[3,5] + f32[3,5]S(9,1)",
    "f32[3,5] + f32[3,5]{0,1}",
    "f32[12,8] @ f32[8,16]",
    'einsum("bqhd,bkhd->bhqk", f32[2,3,4,5], f32[2,3,4,5])',
    'einsum("mhd,dhn->mn", f32[2,3,4], f32[4,3,5])',
    "f32[3,5] @ f32[2,5,7]",
    "f32[5] @ f32[5,7]",
    "sum(f32[3,5,7], axis=1)",
    "sum(f32[3,5,7], axis=[0,1])",
    "max(f32[3,5,7], axis=[0,2])",
    "sum(sum(bf16[3,5,7]))",
    "sum(sum(conv(f32[1,6,4,5], f32[6,3,1,1], groups=2), axis=3), axis=2)",
    "sum(sum(conv(f32[1,6,4,5], f32[6,3,1,1], groups=2), axis=1), axis=1)",
    "transpose(f32[5,7])",
    "conv(f32[2,6,7,5], f32[9,6,1,1])",
    "conv(f32[1,6,7,5], f32[9,6,1,1], stride=2)",
    "conv(f32[1,6,7,5], f32[9,6,3,3], padding=1)",
)
"""As operands have gaps or other orders, not all have the dimensions, or windows overlap."""

ODD = "relu(conv(f32[1,128,13,13], f32[32,128,1,1]))"
"""Rows of the joined image begin inside of cache lines, and are copied where others are not."""

DEARER = {ODD: 1.035}
"""The most that joining may cost, if more than `ROUNDED`."""
ROUNDED = 1.005


@pytest.mark.parametrize("text", some(JOINED, 5))
def test_what_is_joined_computes_the_same(text: str) -> None:
    impl, _ = morello.implement(text, table="off")
    (join, *others) = impl.decisions()
    assert isinstance(join, Join)
    assert str(join) == f"join({JOINED[text]})"
    assert not any(isinstance(rewrite, Join) for rewrite in others)
    assert (morello.compile(impl).max_error or 0.0) < 1e-5


def test_filters_in_panels_are_joined() -> None:
    text = "relu(conv(f32[1,24,7,5], f32[64,24,1,1]))"
    impl, _ = morello.implement(text, weights="constant", table="off")
    assert isinstance(impl.rewrite, Join)
    assert (morello.compile(impl).max_error or 0.0) < 1e-5


@pytest.mark.parametrize("text", NOT_JOINED)
def test_what_does_not_go_together_is_not_joined(text: str) -> None:
    assert joining_of(parse(text)) == NO_JOINING


@pytest.mark.parametrize("text", some([*JOINED, ODD, "tanh(f32[5,55,33])"], 8))
def test_joining_costs_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    goal, machine = parse(text), find_target("x86-64-v3")
    with_join = Session(goal, machine).solve().cost
    monkeypatch.setattr(space, "joining_of", lambda _: NO_JOINING)
    assert with_join <= Session(goal, machine).solve().cost * DEARER.get(text, ROUNDED)

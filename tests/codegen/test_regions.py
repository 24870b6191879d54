"""Parallel regions of one function: their names, and what they take from around them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support import skip_unless_it_runs

from morello import api
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, grow
from morello.ir.layout import row_major
from morello.rewrites import Bufferize, Parallel
from morello.search.session import search
from morello.targets import find_target
from morello.targets.target import Target

TWO = replace(find_target("avx2"), cores=2)


def parallel(expression: str, target: Target) -> Impl:
    """A program that cuts the first dimension in two, after buffers for all products but one."""
    impl = Impl(replace(parse(expression), parallel=True), target)
    return filled(impl, target)


def filled(impl: Impl, target: Target) -> Impl:
    spec = impl.spec
    if len(spec.operation.components) > 1 and "@" in str(spec.expression):
        last = len(spec.operation.components) - 2
        impl, _ = grow(Bufferize(last, "memory", row_major(2)), spec, target, target.limits)
    elif spec.parallel:
        dim = spec.operation.operands[spec.operation.output].dims[0]
        impl, _ = grow(Parallel(((dim, 2),)), spec, target, target.limits)
    else:
        return reconstruct(spec, target, search(spec, target).decisions)
    children = [replace(child, impl=filled(child.impl, target)) for child in impl.children]
    return replace(impl, children=tuple(children))


@pytest.mark.parametrize(
    "expression",
    [
        "f32[4,4] @ f32[4,4] @ f32[4,4] @ f32[4,4]",
        "f32[4,8] + f32[4,8] + f32[4,8] + f32[4,8] + f32[4,8]",
    ],
)
def test_regions_have_names_of_their_own(expression: str) -> None:
    skip_unless_it_runs(TWO)
    kernel = api.compile(parallel(expression, TWO))  # is verified
    assert kernel.source.parallel

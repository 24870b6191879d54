"""Ideal placements in place of others never cost more, whatever kernel or rewrite is applied.

That makes the relaxed space a lower bound. It is enough that for each rewrite of a Spec there is
one of every Spec that is *looser*, that is, has ideal placements in place of some: which costs and
holds no more itself, and leaves Specs that are looser than those that the other leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.rewrites.rewritten import kinds
from tests.sampling import some
from tests.search.walks import TARGETS, Stop, stops
from tests.targets.cases import MOST_DRAWN, Batches, drawn, operations

import morello
from morello.ir.batch import Batch
from morello.ir.kept import EVERY, NONE, Kept
from morello.ir.placements import Bools, Placements
from morello.ir.spec import Spec
from morello.ir.tensor import relaxed, relaxed_along
from morello.rewrites import Edges, Rewrite, Select, expand
from morello.space import guards
from morello.targets.target import LeafKernel, Target

SOME = 1 + 1e-12  # rounding


def loosened(batch: Batch, which: Sequence[Bools | bool], *, kept: Kept) -> Batch:
    """The batch with ideal placements for operands, or for the rows of an operand, in `which`."""
    pairs = zip(which, batch.relaxed(kept=kept).codes, batch.codes, strict=True)
    return replace(batch, codes=tuple(np.where(ideal, a, b) for ideal, a, b in pairs))


# ---- kernels


def where_it_applies(kernel: LeafKernel, batch: Batch, target: Target) -> Bools:
    holds = np.ones(len(batch), np.bool_)
    for condition in Select(kernel.name).conditions(batch, target):
        holds &= condition.holds
    return holds


def unlike(target: Target) -> Iterator[LeafKernel]:
    """The kernels of a target, but one for all maps of the same dtypes and registers."""
    seen = set()
    for kernel in target.kernels:
        is_map = operations(kernel)[0].function is not None
        key = "" if is_map else kernel.name, kernel.held, kernel.dtypes
        if key not in seen:
            seen.add(key)
            yield kernel


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_kernel_applies_to_looser_specs_for_no_more(target: Target) -> None:
    random, placements = np.random.default_rng(0), Placements()
    batches: Batches = {}
    for kernel in some(unlike(target), 6):
        closed = 0
        for _ in range(MOST_DRAWN):
            for operation in operations(kernel):
                batch, _ = drawn(operation, kernel, target, placements, random, batches)
                batch = batch[where_it_applies(kernel, batch, target)]
                which = [random.random(len(batch)) < 0.5 for _ in batch.codes]
                for kept in (NONE, EVERY):
                    for looser in (batch.relaxed(kept=kept), loosened(batch, which, kept=kept)):
                        assert where_it_applies(kernel, looser, target).all(), kernel.name
                        dearer = kernel.cycles(looser) > kernel.cycles(batch) * np.float64(SOME)
                        assert not np.any(dearer & np.ones(len(batch), np.bool_)), kernel.name
                closed += len(batch)
            if closed:
                break
            batches.clear()  # what is rare is drawn again
        assert closed, kernel.name


# ---- rewrites


def is_looser(spec: Spec, other: Spec) -> bool:
    pairs = list(zip(spec.placements, other.placements, strict=True))
    return replace(spec, placements=other.placements) == other and all(
        placement in (before, relaxed(before), relaxed_along(before)) for placement, before in pairs
    )


def held(edges: Edges, target: Target) -> Iterator[int]:
    for level in range(1, len(target.levels)):
        yield int(np.broadcast_to(edges.allocation.get(level, 0), 1)[0])


def bounds(looser: Edges, edges: Edges, target: Target) -> bool:
    """Whether the edge of a looser Spec bounds this one from below."""
    if len(looser.children) != len(edges.children):
        return False
    fits = all(a <= b for a, b in zip(held(looser, target), held(edges, target), strict=True))
    return (
        fits
        and bool(np.all(looser.cost <= edges.cost * np.float64(SOME)))
        and all(
            a.times == b.times
            and a.tensors == b.tensors
            and is_looser(a.batch.spec(), b.batch.spec())
            for a, b in zip(looser.children, edges.children, strict=True)
        )
    )


def check(rewrite: Rewrite, edges: Edges, looser: Batch, target: Target, *, kept: Kept) -> None:
    below = expand(rewrite.relaxed(kept=kept), looser, target)
    assert any(bounds(other, edges, target) for other in below), (rewrite, looser.spec(), kept)


def looser_batches(stop: Stop, *, kept: Kept) -> list[Batch]:
    """Batches with ideal placements of all operands, and of some of them."""
    random = Random(str(stop.spec))
    some = [random.random() < 0.5 for _ in stop.spec.placements]
    return [stop.batch.relaxed(kept=kept), loosened(stop.batch, some, kept=kept)]


@pytest.mark.parametrize("kept", [NONE, EVERY], ids=["any", "kept"])
def test_a_rewrite_applies_to_looser_specs_for_no_more(kept: Kept) -> None:
    seen: set[str] = set()
    for stop in stops():
        for rewrite, edges in (*stop.searched(), *stop.tried()):
            for looser in looser_batches(stop, kept=kept):
                check(rewrite, edges, looser, stop.space.target, kept=kept)
            seen.add(type(rewrite).__name__)
    assert seen == kinds()


@pytest.mark.parametrize("kept", [NONE, EVERY], ids=["any", "kept"])
def test_the_search_tries_on_looser_specs_what_it_tries_on_others(kept: Kept) -> None:
    for stop in stops():
        groups = guards.relaxed(stop.rules, kept=kept)
        for batch in looser_batches(stop, kept=kept):
            tried = {r for group in groups if group.guard(batch)[0] for r in group.rewrites}
            for rewrite, _ in stop.searched():
                assert rewrite.relaxed(kept=kept) in tried, (rewrite, batch.spec())


def test_products_may_keep_neighbours_of_some_operands() -> None:
    products = [stop for stop in stops() if stop.spec.operation.is_product]
    kinds_kept: list[Kept] = [("a",), ("b",), ("a", "b"), ("b", "c")]
    for stop, kept in zip(some(products, 4), cycle(kinds_kept), strict=False):
        groups = guards.relaxed(stop.rules, kept=kept)
        for batch in looser_batches(stop, kept=kept):
            tried = {r for group in groups if group.guard(batch)[0] for r in group.rewrites}
            for rewrite, edges in stop.searched():
                assert rewrite.relaxed(kept=kept) in tried, (rewrite, batch.spec())
                check(rewrite, edges, batch, stop.space.target, kept=kept)


def test_no_rewrite_and_no_kernel_has_to_think_of_it() -> None:
    """Only new buffers may be ideal by themselves."""
    home = Path(morello.__file__).parent
    files = [*(home / "rewrites").glob("*.py"), *(home / "targets").rglob("*.py")]
    knowing = {path.name for path in files if ".ideal" in path.read_text()}
    assert knowing == set()

"""Forms: what becomes of them as tiles are cut, by a model that follows every element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.strategies import Chain, chains, layouts, shapes
from tests.support import Ints, places

from morello.ir.layout import Layout, row_major
from morello.ir.placements import Placements
from morello.ir.tensor import (
    IDEAL,
    NONE,
    Placement,
    canonical,
    gapless,
    relaxed,
    relaxed_along,
    runs,
    tile_placement,
)

ELEMENT_BYTES = 512  # so that rows of 4, 8, ... elements are aliased


def scalar_forms(chain: Chain) -> list[Placement]:
    """The placement of the whole tensor and of every tile."""
    placements = [canonical(chain.shape, gapless(chain.layout))]
    shape = chain.shape
    for cut in chain.cuts:
        placements.append(tile_placement(shape, cut.shape, placements[-1], ELEMENT_BYTES))
        shape = cut.shape
    return placements


def element_places(chain: Chain) -> list[Ints]:
    """Where the elements of the whole tensor and of every tile lie."""
    whole = canonical(chain.shape, gapless(chain.layout))
    found = [places(chain.shape, whole.layout)]
    for cut in chain.cuts:
        tile = zip(cut.start, cut.shape, strict=True)
        found.append(found[-1][tuple(slice(begin, begin + size) for begin, size in tile)])
    return found


def shapes_of(chain: Chain) -> list[tuple[int, ...]]:
    return [chain.shape, *(cut.shape for cut in chain.cuts)]


def column(values: Sequence[int]) -> Ints:
    return np.array(values, np.int32)


@given(chains())
def test_a_form_is_canonical(chain: Chain) -> None:
    for shape, placement in zip(shapes_of(chain), scalar_forms(chain), strict=True):
        assert canonical(shape, placement) == placement


@given(chains())
def test_a_form_keeps_the_order_of_elements(chain: Chain) -> None:
    cases = zip(shapes_of(chain), scalar_forms(chain), element_places(chain), strict=True)
    for shape, placement, actual in cases:
        claimed = places(shape, placement.layout)
        np.testing.assert_array_equal(np.argsort(claimed, None), np.argsort(actual, None))


@given(chains(whole_panels=True))
def test_runs_have_no_gaps(chain: Chain) -> None:
    cases = zip(shapes_of(chain), scalar_forms(chain), element_places(chain), strict=True)
    for shape, placement, actual in cases:
        count, length = runs(shape, placement)
        assert count * length == actual.size
        steps = np.diff(np.sort(actual, None).reshape(count, length), axis=1)
        assert (steps == 1).all()


@given(chains())
def test_neighbours_lie_next_to_each_other(chain: Chain) -> None:
    placements = Placements()
    cases = zip(shapes_of(chain), scalar_forms(chain), element_places(chain), strict=True)
    for shape, placement, actual in cases:
        code = column([placements.code(placement)])
        for dim in range(len(shape)):
            if placements.unit_stride(code, [column([s]) for s in shape], dim)[0]:
                assert (np.diff(actual, axis=dim) == 1).all(), (shape, placement, dim)


@given(shapes.flatmap(lambda shape: st.tuples(st.just(shape), layouts(len(shape)))))
def test_neighbours_in_whole_tensors_are_seen(case: tuple[tuple[int, ...], Layout]) -> None:
    shape, layout = case
    placement = canonical(shape, gapless(Layout(layout.order)))
    where = places(shape, placement.layout)
    placements = Placements()
    code = column([placements.code(placement)])
    for dim in range(len(shape)):
        seen = placements.unit_stride(code, [column([s]) for s in shape], dim)[0]
        assert seen == (np.diff(where, axis=dim) == 1).all()


@given(st.lists(chains(), min_size=1, max_size=6))
def test_columns_agree_with_single_forms(several: list[Chain]) -> None:
    """Chains of one rank go through the columns side by side, in one `Placements`."""
    placements = Placements()
    for rank in (1, 2, 3, 4):
        side_by_side = [c for c in several if len(c.shape) == rank]
        longest = max((len(c.cuts) for c in side_by_side), default=0)
        for step in range(longest):
            some = [c for c in side_by_side if len(c.cuts) > step]
            before = [shapes_of(c)[step] for c in some]
            after = [shapes_of(c)[step + 1] for c in some]
            single = [scalar_forms(c)[step : step + 2] for c in some]
            codes = column([placements.code(start) for start, _ in single]).astype(np.int16)
            shape = [column(sizes) for sizes in zip(*before, strict=True)]
            tile = [column(sizes) for sizes in zip(*after, strict=True)]
            found = placements.tile(shape, tile, codes, ELEMENT_BYTES)
            assert [placements[code] for code in found.tolist()] == [end for _, end in single]
            counts, lengths = placements.runs(tile, found)
            wanted = [runs(t, end) for t, (_, end) in zip(after, single, strict=True)]
            pairs = zip(counts.tolist(), lengths.tolist(), strict=True)
            assert list(pairs) == wanted


@given(chains())
def test_an_aliased_form_has_a_plain_twin(chain: Chain) -> None:
    placements = Placements()
    for form in scalar_forms(chain):
        (plain,) = placements.without_alias(column([placements.code(form)])).tolist()
        assert placements[plain] == replace(form, aliased=0)


# ---- the ideal placement

COLUMN = column([512])
HELPS: dict[str, tuple[object, ...]] = {
    "alike": (column([1]),),
    "cut_at": (0, 8),
    "differ": (column([0]),),
    "either": (np.array([True]), False),
    "gapless_along": (0,),
    "in_blocks": (0, 8),
    "in_groups": (0, 2),
    "in_one_block": ([COLUMN],),
    "in_panels": (0, 8),
    "not_row_major": ([COLUMN],),
    "odd_even": (),
    "row_major": (),
    "runs_across": (0,),
    "runs_along": ((0,),),
    "unit_stride": ([COLUMN], 0),
    "where": (lambda placement: False,),
}
COSTS: dict[str, tuple[object, ...]] = {
    "aliased": (),
    "crowded": (),
    "cuts_groups": (0, column([3])),
    "cuts_panels": (-1, COLUMN, column([3])),
    "cuts_registers": (0, column([3])),
    "in_registers_along": (0,),
    "in_rows_across": (-1,),
    "paneled": (),
    "paneled_along": (-1,),
    "rows_along": (-1,),
    "rows_collide": (COLUMN * 4,),
    "whole_rows_along": (-1,),
}
"""Predicates with arguments that decide against a program wherever they could."""


def test_all_that_helps_is_true_of_ideal_forms_and_nothing_that_costs() -> None:
    placements = Placements()
    codes = placements.codes(
        [relaxed(gapless(row_major(1))), relaxed(Placement(row_major(1), 1, vector=8))]
    )
    for code in codes:
        for expected, predicates in ((True, HELPS), (False, COSTS)):
            for name, arguments in predicates.items():
                assert getattr(placements, name)(column([code]), *arguments)[0] == expected, name


def test_what_is_known_of_neighbours_rules_out_other_layouts() -> None:
    placements = Placements()
    along = relaxed_along(gapless(row_major(2)))  # along 1
    scattered = replace(along, contiguous=0, along=NONE)
    codes = np.array(placements.codes([IDEAL, along, scattered]))
    shape = [np.full(3, 1), np.full(3, 32)]
    assert placements.gapless_along(codes, 1).tolist() == [True, True, False]
    assert placements.gapless_along(codes, 0).tolist() == [True, False, False]
    assert placements.in_panels(codes, 1, 16).tolist() == [True, True, False]
    assert placements.in_panels(codes, 0, 16).tolist() == [True, False, False]
    assert placements.in_one_block(codes, shape).tolist() == [True, True, False]
    assert placements.in_one_block(codes, shape[::-1]).tolist() == [True, False, False]
    assert not placements.in_one_block(codes, [shape[0], shape[0]]).any()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 2, 0)])
@pytest.mark.parametrize("strided", [False, True])
def test_squeezed_placements_keep_what_is_known_of_neighbours(
    order: tuple[int, ...], strided: bool
) -> None:
    placements, kept = Placements(), (0, 3)
    for placement in gapless(Layout(order)), Placement(Layout(order), 0):
        ideal = relaxed_along(placement)
        codes = np.array(placements.codes([placement, ideal, IDEAL]))
        real, known, free = placements.squeezed(codes, kept, strided=strided).tolist()
        assert placements[known] == relaxed_along(placements[real])
        assert placements[free] == IDEAL


def test_no_predicate_is_left_out() -> None:
    predicates = {
        name
        for name, function in vars(Placements).items()
        if name[0] != "_" and getattr(function, "__annotations__", {}).get("return") == "Bools"
    }
    assert predicates == HELPS.keys() | COSTS.keys()

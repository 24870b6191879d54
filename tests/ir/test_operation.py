"""Operations: there is one object of each, and it says what its operands are."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from tests.goals import slid

from morello.ir.computation import Tensor, computation
from morello.ir.dtype import F32
from morello.ir.functions import Function
from morello.ir.operation import (
    Operand,
    Operation,
    accumulating,
    has_accumulating_form,
    operation,
    reordered,
)
from morello.ir.primitives import (
    MAX,
    MOVE,
    SOFTMAX,
    SOFTMAX_PARTS,
    SUM,
    SUM_SQUARES,
    broadcast,
    conv,
    divide_vec_scalar,
    elementwise,
    fill,
    matmul,
    move,
    one_prefix,
    pack,
    reduce,
    softmax,
    squared_deviations,
    unbias,
)

PRIMITIVES = [
    *(matmul(batch) for batch in (0, 1, 2)),
    conv(), conv(slid((2, 1), (1, 0))), conv(slid((1, 2), (0, 2)), channels_last=True),
    move(1), move(3), move(3, (2, 0, 1)), fill(2), fill(4, "lowest"), pack(2, 0, 4),
    elementwise(Function("add"), ((0, 1), (1,)), 2), elementwise(Function("exp"), ((0,),), 1),
    elementwise(Function("add", 2.0), ((0,),), 1),
    divide_vec_scalar(2, 0), broadcast(3, 1), one_prefix(4), unbias(matmul()), reduce(SUM, 1, 0),
    reduce(SUM_SQUARES, 2, 1), squared_deviations(2, 0), squared_deviations(1, 0),
    reduce(MAX, 4, 2),
    *(softmax(part, rank, rank - 1) for part in SOFTMAX_PARTS.values() for rank in (1, 2, 4)),
]  # fmt: skip

every_one = pytest.mark.parametrize("one", PRIMITIVES, ids=[f"{p}{p.dims}" for p in PRIMITIVES])


def made_again(one: Operation) -> Operation:
    """An operation of equal parts that are other objects."""
    return operation(
        one.primitive, tuple(one.dims),
        tuple(replace(o, dims=(*o.dims,)) for o in one.operands),
        tuple(one.reduced), tuple(one.untiled), one.accumulates, copy.deepcopy(one.function),
        tuple(replace(c) for c in one.components),
    )  # fmt: skip


@every_one
def test_equal_parts_make_the_same_object(one: Operation) -> None:
    assert made_again(one) is one
    if has_accumulating_form(one):
        assert accumulating(one) is accumulating(made_again(one))
        assert accumulating(one) is not one


def test_equal_compositions_are_the_same_object() -> None:
    def composed() -> Operation:
        x, w = Tensor((4, 8), F32), Tensor((8, 16), F32)
        product = Tensor((4, 16), F32, matmul(), (x, w))
        relu = elementwise(Function("relu"), ((0, 1),), 2)
        return computation(Tensor((4, 16), F32, relu, (product,))).operation

    assert composed() is composed()
    assert made_again(composed()) is composed()


def test_constants_tell_functions_apart() -> None:
    one, two = (elementwise(Function("add", value), ((0,),), 1) for value in (1.0, 2.0))
    assert one is not two
    assert one.name == two.name == "AddConstant"
    assert elementwise(Function("add"), ((0,), (0,)), 1).name == "Add"


def test_the_position_of_arguments_does_not_matter() -> None:
    by_name = operation(
        primitive=MOVE,
        dims=("i",),
        operands=(Operand("src", ("i",)), Operand("dst", ("i",), written=True)),
    )
    assert by_name is move(1)


@every_one
def test_operands_are_inputs_and_then_outputs(one: Operation) -> None:
    written = [operand.written for operand in one.operands]
    assert written == sorted(written)
    assert one.outputs == tuple(i for i, w in enumerate(written) if w)
    assert one.output == len(one.operands) - 1 == one.outputs[-1]


@every_one
def test_places_say_where_each_dimension_indexes_an_operand(one: Operation) -> None:
    for operand, axes in enumerate(one.axes):
        for dim in one.dims:
            found = [
                (position, stride)
                for position, along in enumerate(axes)
                for name, stride in along.terms
                if name == dim
            ]
            assert one.places.get((operand, dim)) == (found[0] if found else None)
            assert len(found) <= 1
    assert {name for _, name in one.places} | {"r"} == set(one.dims) | {"r"}


@every_one
def test_shapes_follow_the_dimensions(one: Operation) -> None:
    sizes = [11 + 2 * i for i in range(len(one.dims))]
    named = dict(zip(one.dims, sizes, strict=True))
    for operand, axes in enumerate(one.axes):
        assert one.extents(operand, sizes) == tuple(along.extent(named) for along in axes)


@every_one
def test_accumulating_reads_what_it_adds_to(one: Operation) -> None:
    if not has_accumulating_form(one):
        assert not any(o.start for o in one.operands)
        with pytest.raises(ValueError, match="has no accumulating form"):
            accumulating(one)
        return
    later = accumulating(one)
    assert later.name == one.name + "Accum"
    assert not has_accumulating_form(later)
    for operand, each in enumerate(one.operands):
        assert one.reads(operand) == (not each.written or each.updated)
        assert later.reads(operand) == (one.reads(operand) or bool(each.start))
    for dim in one.reduced:
        assert not one.may_cut(dim)
        assert later.may_cut(dim) == (dim not in one.untiled)


def test_what_is_whole_is_never_cut() -> None:
    padded = accumulating(conv(slid(padding=(1, 0))))
    assert {d for d in padded.dims if not padded.may_cut(d)} == {"y", "p"}
    assert not softmax(SOFTMAX, 2, 1).may_cut("j")


def test_reordering_keeps_all_but_the_order() -> None:
    turned = reordered(matmul(), [("k", "m"), ("k", "n"), ("n", "m")])
    assert turned.extents(0, (2, 3, 4)) == (3, 2)
    assert turned.extents(2, (2, 3, 4)) == (4, 2)
    assert (turned.dims, turned.reduced) == (matmul().dims, matmul().reduced)
    assert reordered(turned, [o.dims for o in matmul().operands]) is matmul()


def test_an_operand_that_there_is_not_is_no_operand() -> None:
    assert matmul().find("b") == 1
    with pytest.raises(KeyError):
        matmul().find("x")

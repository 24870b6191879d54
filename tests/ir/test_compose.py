"""Compositions compute what their primitives do, whole or cut in any parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.goals import attention_goal, layer_norm_goal, mapped, mlp_goal, product, slid
from tests.goals import tensor as goal_tensor
from tests.ir.graphs import Array, graphs, tensor, value_of

from morello.base.errors import SpecError
from morello.ir.axes import axis
from morello.ir.compose import inputs_of, intermediates, part, producer, tensor_dims
from morello.ir.computation import MAX_COMPONENTS, Computation, Tensor, computation
from morello.ir.dtype import F32
from morello.ir.functions import Function
from morello.ir.operation import Operation, accumulating
from morello.ir.primitives import SOFTMAX, SUM, conv, elementwise, matmul, move, reduce, softmax
from morello.ir.semantics import evaluate


def built(result: Tensor) -> Computation:
    """The composition of a random graph; one that no loop nest serves is another example."""
    try:
        return computation(result)
    except SpecError:
        assume(False)
        raise


def agree(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@given(graphs())
@settings(max_examples=200)
def test_a_composition_computes_what_its_graph_does(result: Tensor) -> None:
    made = built(result)
    inputs: dict[Tensor, Array] = {}
    wanted = value_of(result, inputs)
    assert len(made.inputs) == len(set(made.inputs)) == len(made.operation.operands) - 1
    assert {t.array for t in made.inputs} == set(inputs)
    (found,) = evaluate(made.operation, [inputs[t.array] for t in made.inputs], made.sizes)
    agree(found, wanted)


@given(graphs())
def test_the_sizes_are_those_of_the_operands(result: Tensor) -> None:
    made = built(result)
    for operand, one in enumerate((*made.inputs, result)):
        assert made.operation.extents(operand, made.sizes) == one.shape


@given(graphs(), st.data())
@settings(max_examples=300)
def test_a_composition_is_the_sum_of_its_parts(result: Tensor, data: st.DataObject) -> None:
    """Cut at random tensors until only primitives are left."""
    made = built(result)
    inputs: dict[Tensor, Array] = {}
    wanted = value_of(result, inputs)
    cuts = 0

    def run(operation: Operation, sizes: Sequence[int], values: Sequence[Array]) -> Array:
        nonlocal cuts
        between = intermediates(operation) if operation.components else range(0)
        if not between:
            (found,) = evaluate(operation, values, sizes)
            return found
        cuts += 1
        tensor_ = data.draw(st.sampled_from(list(between)))
        named = dict(zip(operation.dims, sizes, strict=True))
        known = dict(enumerate(values))
        last = inputs_of(operation) + len(operation.components) - 1
        for one in (part(operation, tensor_), part(operation, last, (tensor_,))):
            own = [axis(d).extent(named) for d in one.dims]
            *read, written = one.tensors
            for operand, number in enumerate(read):
                assert one.operation.extents(operand, own) == known[number].shape
            known[written] = run(one.operation, own, [known[t] for t in read])
            shape = [axis(d).extent(named) for d in tensor_dims(operation, written)]
            assert known[written].shape == tuple(shape)
        return known[last]

    found = run(made.operation, made.sizes, [inputs[t.array] for t in made.inputs])
    agree(found, wanted)
    assert cuts >= (len(made.operation.components) > 1)


@given(graphs())
def test_what_is_kept_whole_or_reduced_is_known_to_the_composition(result: Tensor) -> None:
    operation = built(result).operation
    if not operation.components:
        return
    for component in operation.components:
        named = component.axes
        last = component is operation.components[-1]
        for dim in component.operation.untiled:
            assert set(named[dim].names) <= set(operation.untiled)
        for dim in component.operation.reduced:
            assert set(named[dim].names) <= set(operation.reduced if last else operation.untiled)


# ---- by name


def chain() -> Tensor:
    """relu(x @ w + bias)"""
    x, w, bias = goal_tensor(4, 8), goal_tensor(8, 16), goal_tensor(16)
    add = elementwise(Function("add"), ((0, 1), (1,)), 2)
    return mapped("relu", Tensor((4, 16), F32, add, (product(x, w), bias)))


def test_the_dimensions_of_a_chain_are_unified() -> None:
    made = computation(chain())
    assert made.operation.dims == ("i", "j", "k")
    assert made.sizes == (4, 16, 8)
    assert [o.dims for o in made.operation.operands] == [("i", "k"), ("k", "j"), ("j",), ("i", "j")]
    assert made.operation.reduced == ()
    assert made.operation.untiled == ("k",)
    assert [made.operation.may_cut(d) for d in "ijk"] == [True, True, False]


def test_a_window_over_what_another_makes() -> None:
    """conv(relu(x)): relu's rows are a window over the convolution's."""
    x = tensor((2, 3, 9, 8))
    relu = mapped("relu", x)
    made = computation(Tensor((2, 4, 4, 6), F32, conv(slid((2, 1))), (relu, tensor((4, 3, 3, 3)))))
    assert made.operation.operands[0].dims == ("b", "c", "2y+p", "x+q")
    assert made.operation.components[0].dims == ("b", "c", "2y+p", "x+q")
    first = part(made.operation, 2)
    assert first.operation is elementwise(Function("relu"), ((0, 1, 2, 3),), 4)
    assert first.tensors == (0, 2)
    second = part(made.operation, 3, (2,))
    assert second.operation is conv(slid((2, 1)))
    assert second.tensors == (2, 1, 3)


def test_windows_over_windows() -> None:
    """Two convolutions, one of the other's result."""
    x = tensor((1, 1, 9, 9))
    first = Tensor((1, 2, 7, 7), F32, conv(), (x, tensor((2, 1, 3, 3))))
    made = computation(Tensor((1, 3, 3, 3), F32, conv(slid((2, 2))), (first, tensor((3, 2, 3, 3)))))
    assert made.operation.operands[0].dims[2:] == ("2y+p+p0", "2x+q+q0")
    values = [np.random.default_rng(i).normal(size=t.shape) for i, t in enumerate(made.inputs)]
    inner = evaluate(conv(), values[:2])[0]
    agree(evaluate(made.operation, values)[0], evaluate(conv(slid((2, 2))), [inner, values[2]])[0])


def test_one_primitive_is_no_composition() -> None:
    x, w = tensor((4, 8)), tensor((8, 16))
    assert computation(Tensor((4, 16), F32, matmul(), (x, w))).operation is matmul()
    square = tensor((4, 4))
    assert computation(Tensor((4, 4), F32, move(2), (square,))).operation is move(2)


def test_inputs_come_in_the_order_of_their_use() -> None:
    a, b, c = (goal_tensor(4, 4) for _ in "abc")
    made = computation(product(product(b, c), a))
    assert made.inputs == (b, c, a)
    assert [o.name for o in made.operation.operands] == ["a", "b", "c", "out"]


def test_names_of_inputs_are_kept() -> None:
    w = Tensor((8, 8), F32, name="w")
    x = tensor((8, 8))
    made = computation(mapped("relu", product(x, w)))
    assert made.names == ("a", "w", "out")
    assert [o.name for o in made.operation.operands] == ["a", "b", "out"]
    assert computation(product(x, w)).names == ("a", "w", "c")
    for name, names in (("a", ("b", "a", "out")), ("c", ("a", "c", "out"))):
        one = Tensor((8, 8), F32, name=name)
        assert computation(mapped("relu", product(x, one))).names == names
        assert computation(product(x, one)).names == (*names[:2], "c" if name == "a" else "out")
    assert computation(product(w, w)).names == ("w", "w", "c")


def test_a_shared_tensor_is_made_once() -> None:
    x = tensor((3, 5))
    square = mapped("square", x)
    made = computation(mapped("add", square, mapped("relu", square)))
    assert len(made.operation.components) == 3
    assert made.operation.components[-1].inputs == (1, 2)
    layer_norm = layer_norm_goal().operation
    means = [i for i, c in enumerate(layer_norm.components) if c.operation.name == "DivideConstant"]
    users = [c for c in layer_norm.components if inputs_of(layer_norm) + means[0] in c.inputs]
    assert len(users) == 2


def test_the_last_part_of_what_accumulates_accumulates() -> None:
    whole = accumulating(mlp_goal().operation)
    assert whole.name == "ComposeAccum"
    hidden, last = inputs_of(whole) + 1, inputs_of(whole) + 2
    assert part(whole, hidden).operation.name == "Compose"
    assert part(whole, last, (hidden,)).operation is accumulating(matmul())
    assert part(whole, last, (hidden - 1,)).operation.accumulates
    assert producer(whole, last).operation is matmul()


def test_softmax_keeps_its_rows_whole() -> None:
    attention = attention_goal().operation
    scores = inputs_of(attention)
    assert tensor_dims(attention, scores) == tensor_dims(attention, scores + 1)
    assert set(tensor_dims(attention, scores)[1:]) <= {*attention.untiled}


def gram(x: Tensor) -> Tensor:
    """x @ transpose(x)"""
    return product(x, Tensor((4, 4), F32, move(2, (1, 0)), (x,)))


def test_what_is_read_in_two_ways_is_two_inputs_of_one_array() -> None:
    x, w = Tensor((4, 4), F32, name="x"), Tensor((4, 4), F32, name="w")
    made = computation(mapped("add", product(x, w), x))
    assert made.names == ("x", "w", "x", "out")
    assert [t.array for t in made.inputs] == [x, w, x]
    assert made.operation.operands[0].dims == ("i", "k")
    assert made.operation.operands[2].dims == ("i", "j")


def test_what_is_computed_and_read_in_two_ways_is_computed_twice() -> None:
    made = computation(gram(mapped("relu", tensor((4, 4)))))
    assert [c.operation.name for c in made.operation.components].count("Relu") == 2
    assert made.names == ("a", "a", "out")


def product_used_twice() -> Tensor:
    return gram(product(tensor((4, 4)), tensor((4, 4))))


def padded_windows() -> Tensor:
    """A padded convolution cannot read what it pads element by element."""
    x = mapped("relu", tensor((1, 1, 4, 4)))
    return Tensor((1, 1, 4, 4), F32, conv(slid(padding=(1, 1))), (x, tensor((1, 1, 3, 3))))


def test_two_windows_over_one_image() -> None:
    x = tensor((1, 1, 6, 6))
    one = Tensor((1, 2, 4, 4), F32, conv(), (x, tensor((2, 1, 3, 3))))
    other = Tensor((1, 2, 4, 4), F32, conv(), (x, tensor((2, 1, 3, 3))))
    assert computation(mapped("add", one, other)).names == ("a", "b", "a", "d", "out")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (product_used_twice, "used in two roles"),
        (padded_windows, "cannot be fused with its other uses"),
    ],
)
def test_what_no_loop_nest_serves_is_refused(make: object, reason: str) -> None:
    assert callable(make)
    with pytest.raises(SpecError, match=reason):
        computation(make())


def test_too_many_components_are_refused() -> None:
    x = tensor((4,))
    for _ in range(MAX_COMPONENTS):
        x = mapped("relu", x)
    assert len(computation(x).operation.components) == MAX_COMPONENTS
    with pytest.raises(SpecError, match="takes 65 primitive operations"):
        computation(mapped("relu", x))


def test_reductions_within_are_whole() -> None:
    x = tensor((4, 6))
    total = Tensor((4,), F32, reduce(SUM, 2, 1), (x,))
    made = computation(mapped("relu", total))
    assert made.operation.untiled == ("j",)
    last = computation(Tensor((4,), F32, reduce(SUM, 2, 1), (mapped("relu", x),)))
    assert (last.operation.untiled, last.operation.reduced) == ((), ("j",))
    assert not softmax(SOFTMAX, 2, 1).may_cut("j")


def test_what_cuts_make_has_names_of_its_own() -> None:
    x = tensor((4, 5))
    made = mapped("tanh", x)
    result = mapped("relu", mapped("add", mapped("exp", made), made))
    whole = built(result).operation
    for _ in range(2):  # y = tanh(x), then exp(y), of which each is the first that is made
        whole = part(whole, intermediates(whole).stop, (intermediates(whole).start,)).operation
    assert len(whole.components) == 2
    assert len({operand.name for operand in whole.operands}) == len(whole.operands) == 3

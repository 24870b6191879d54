"""Text expressions: ways to write them, and the operations that they name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.strategies import layouts

from morello.base.errors import SpecError
from morello.frontends import matmul, parse, parse_type
from morello.frontends.text import MAX_INPUTS, parse_tensor
from morello.ir.layout import column_major, panels
from morello.ir.spec import Spec, matmul_spec


@st.composite
def goals(draw: st.DrawFn) -> Spec:
    lead = tuple(draw(st.lists(st.integers(1, 40), max_size=2)))
    m, k, n = (draw(st.integers(1, 40)) for _ in "mkn")
    rank = len(lead) + 2
    given_layouts = tuple(draw(st.none() | layouts(rank)) for _ in "abc")
    return matmul_spec((*lead, m, k), (*lead, k, n), layouts=given_layouts)


@given(goals())
def test_an_expression_names_its_spec(spec: Spec) -> None:
    assert parse(spec.expression) == spec


@given(goals())
def test_a_type_names_its_tensor(spec: Spec) -> None:
    for tensor in spec.tensors:
        assert parse_type(tensor.type) == tensor


@given(goals())
def test_a_call_makes_the_spec_of_its_tensors(spec: Spec) -> None:
    a, b, c = spec.tensors
    found = matmul(a, b)
    assert found.tensors[:2] == (a, b)
    assert found.shape(2) == c.shape
    assert matmul(a.type, b.type) == found


@pytest.mark.parametrize(
    "text",
    [
        "f32[8,4] @ f32[4,16]",
        "matmul(f32[8,4], f32[4,16])",
        "  f32 [ 8 , 4 ]@f32[4,16]\n",
        "((f32[8,4]) @ (f32[4,16]))",
        "matmul((f32[8,4]),f32[4,16])",
        "f32[8,4]{1,0} @ f32[4,16]{ 1, 0 }",
        "f32[8,4] @ f32[4,16] -> f32[8,16]",
        "f32[08,4] @ f32[4,16]",
        "f32[8,4]S(4,1) @ f32[4,16] S ( 16 , 1 )",
        "x = f32[8,4]; w = f32[4,16]; x @ w",
        "w = f32[4,16]; x = f32[8,4]; y = x; y @ w",
        "f32[8,4] @ transpose(transpose(f32[4,16]))",
        "cast(f32[8,4], f32) @ f32[4,16]",
    ],
)
def test_ways_to_write_the_same(text: str) -> None:
    assert parse(text) == matmul_spec((8, 4), (4, 16))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("f32[4] + f32[4] * f32[4]", "f32[4] + (f32[4] * f32[4])"),
        ("f32[4] - f32[4] - f32[4]", "(f32[4] - f32[4]) - f32[4]"),
        ("f32[4] / f32[4] * f32[4]", "(f32[4] / f32[4]) * f32[4]"),
        ("f32[4,4] * f32[4,4] @ f32[4,4]", "(f32[4,4] * f32[4,4]) @ f32[4,4]"),
        ("f32[4,4] @ f32[4,4] @ f32[4,4]", "(f32[4,4] @ f32[4,4]) @ f32[4,4]"),
        ("-f32[4,4] @ f32[4,4]", "neg(f32[4,4]) @ f32[4,4]"),
        ("f32[4] * -f32[4]", "f32[4] * (neg(f32[4]))"),
        ("f32[4] - -2", "subtract(f32[4], -2.0)"),
        ("--f32[4]", "neg(neg(f32[4]))"),
        ("2 - f32[4]", "neg(f32[4]) + 2"),
        ("1 / f32[4]", "reciprocal(f32[4])"),
        ("3 / f32[4]", "reciprocal(f32[4]) * 3"),
        ("2 * f32[4]", "f32[4] * 2"),
        ("f32[4] + .5", "f32[4] + 5e-1"),
        ("f32[4] * -0.0", "f32[4] * 0"),
        ("maximum(0, f32[4])", "maximum(f32[4], 0)"),
        ("half = 0.5; f32[4] * half", "f32[4] * 0.5"),
        ("x = f32[4]; x * x", "x = f32[4]; square(x)"),
        ("mean(f32[4,8])", "sum(f32[4,8], axis=1) * 0.125"),
        ("sum(f32[4,8])", "sum(f32[4,8], axis=-1)"),
        ("linear(f32[4,8], f32[8,3], f32[3])", "f32[4,8] @ f32[8,3] + f32[3]"),
        ("divide_vec(f32[4], f32[4])", "f32[4] / f32[4]"),
        ("move(transpose(f32[4,8]))", "transpose(f32[4,8])"),
        ("sum(f32[4,8], keepdims=False)", "sum(f32[4,8])"),
        ("avg_pool(f32[1,2,4,4], window=2)", "sum_pool(f32[1,2,4,4], window=[2,2]) * 0.25"),
        ("avg_pool(f32[1,2,4,4], window=4)", "mean(f32[1,2,4,4], axis=[2,3], keepdims=True)"),
        ("max_pool(f32[3,9,2], window=9, layout=NHWC)", "max(f32[3,9,2], axis=1, keepdims=True)"),
        ("conv(u8[1,2,5,5], i8[3,2,3,3], stride=[1,1])", "conv(u8[1,2,5,5], i8[3,2,3,3])"),
    ],
)  # fmt: skip
def test_what_is_short_for_what(text: str, meant: str) -> None:
    assert parse(text) == parse(meant)


@pytest.mark.parametrize(
    ("text", "name", "sizes", "dtypes"),
    [
        ("f32[8,4] @ f32[4,16]", "Matmul", {"m": 8, "k": 4, "n": 16}, "f32 f32 f32"),
        ("f32[2,8,4] @ f32[2,4,16]", "Matmul", {"b": 2, "m": 8, "k": 4, "n": 16}, "f32 f32 f32"),
        ("u8[8,4] @ i8[4,16]", "Matmul", {"m": 8, "k": 4, "n": 16}, "u8 i8 i32"),
        ("u8[8,4] @ i8[4,16] -> i16[8,16]", "Matmul", {"m": 8, "k": 4, "n": 16}, "u8 i8 i16"),
        ("u32[8,4] @ u32[4,2]", "Matmul", {"m": 8, "k": 4, "n": 2}, "u32 u32 u32"),
        ("bf16[8,4] @ f32[4,2]", "Matmul", {"m": 8, "k": 4, "n": 2}, "bf16 f32 f32"),
        ("f16[8,4] @ f16[4,2] -> f16[8,2]", "Matmul", {"m": 8, "k": 4, "n": 2}, "f16 f16 f16"),
        ("transpose(f32[4,8]) @ f32[4,2]", "Matmul", {"m": 8, "k": 4, "n": 2}, "f32 f32 f32"),
        ("transpose(f32[4,8])", "Move", {"i": 8, "j": 4}, "f32 f32"),
        ("transpose(f32[2,3,4], order=[1,2,0])", "Move", {"i": 3, "j": 4, "k": 2}, "f32 f32"),
        ("move(u8[2,3])", "Move", {"i": 2, "j": 3}, "u8 u8"),
        ("cast(f32[4], bf16)", "Move", {"i": 4}, "f32 bf16"),
        ("cast(i16[4], f32)", "Move", {"i": 4}, "i16 f32"),
        ("cast(transpose(u8[4,2]), i32)", "Move", {"i": 2, "j": 4}, "u8 i32"),
        ("fill_zero(i8[4])", "FillZero", {"i": 4}, "i8"),
        ("fill_lowest(f32[4,2])", "FillLowest", {"i": 4, "j": 2}, "f32"),
        ("fill_highest(i8[4,2])", "FillHighest", {"i": 4, "j": 2}, "i8"),
        ("relu(i8[4])", "Relu", {"i": 4}, "i8 i8"),
        ("gelu_tanh(bf16[4])", "GeluTanh", {"i": 4}, "bf16 bf16"),
        ("-f16[4]", "Neg", {"i": 4}, "f16 f16"),
        ("f32[4] + 1", "AddConstant", {"i": 4}, "f32 f32"),
        ("i32[4] * 3", "MultiplyConstant", {"i": 4}, "i32 i32"),
        ("f32[4,8] + f32[8]", "Add", {"i": 4, "j": 8}, "f32 f32 f32"),
        ("f32[8] * expand_dims(f32[4], axis=1)", "Multiply", {"i": 4, "j": 8}, "f32 f32 f32"),
        ("sum(f32[4,8])", "Sum", {"i": 4, "j": 8}, "f32 f32"),
        ("sum(f32[8])", "Sum", {"r": 1, "i": 8}, "f32 f32"),
        ("max(i32[4,8], axis=0)", "Max", {"i": 4, "j": 8}, "i32 i32"),
        ("broadcast(f32[4], axis=0, size=32)", "Broadcast", {"i": 32, "j": 4}, "f32 f32"),
        ("one_prefix(f32[4])", "OnePrefix", {"z": 1, "i": 4}, "f32 f32"),
        ("softmax(f32[4,8], axis=0)", "Softmax", {"i": 4, "j": 8}, "f32 f32"),
        (
            "softmax_complete(f32[4,8], f32[4], f32[4])",
            "SoftmaxComplete", {"i": 4, "j": 8}, "f32 f32 f32 f32",
        ),
        (
            "softmax_denominator(f32[4,8], f32[8], axis=0)",
            "SoftmaxDenominator", {"i": 4, "j": 8}, "f32 f32 f32",
        ),
        (
            "conv(f32[1,4,9,11], f32[8,4,3,5], stride=[2,3], padding=[1,0])",
            "Conv", {"b": 1, "f": 8, "c": 4, "y": 5, "x": 3, "p": 3, "q": 5}, "f32 f32 f32",
        ),
        (
            "conv(u8[1,9,9,4], i8[3,3,4,8], layout=NHWC) -> i16[1,7,7,8]",
            "Conv", {"b": 1, "f": 8, "c": 4, "y": 7, "x": 7, "p": 3, "q": 3}, "u8 i8 i16",
        ),
        (
            "relu(bf16[4,8] @ bf16[8,2])",
            "Compose", {"i": 4, "j": 2, "k": 8}, "bf16 bf16 f32",
        ),
        (
            "attention(f32[4,16], f32[8,16], f32[8,2])",
            "Compose", {"m": 4, "k": 8, "n": 2, "k0": 16}, "f32 f32 f32 f32",
        ),
    ],
)  # fmt: skip
def test_operations(text: str, name: str, sizes: dict[str, int], dtypes: str) -> None:
    spec = parse(text)
    assert spec.operation.name == name
    assert dict(zip(spec.operation.dims, spec.sizes, strict=True)) == sizes
    assert " ".join(str(dtype) for dtype in spec.dtypes) == dtypes
    assert parse(spec.expression) == spec


@pytest.mark.parametrize(
    "text",
    [
        "f32[4,8] @ transpose(f32[2,8])",
        "f32[3,4,8] @ transpose(f32[3,2,8], order=[0,2,1])",
        "f32[3,4] + transpose(f32[4,3])",
        "relu(transpose(f32[3,4]))",
        "f32[2,3,4] + expand_dims(transpose(f32[4,2]), axis=1)",
        "transpose(f32[4,8] @ f32[8,2])",
        "softmax(move(transpose(f32[4,8])))",
        "move(transpose(f32[4,8])) @ f32[4,2]",
        "f32[4,8]{1,0}S(10,1) @ f32[8,4] -> f32[4,4]{1,0}S(16,1)",
        "move(f32[64,64]) -> f32[64,64]{0,1}",
        "fill_zero(f32[4,4]{0,1})",
        "sum(f32[4,8], axis=0)",
        "broadcast(sum(f32[4,8], axis=1), axis=1, size=1)",
        "conv(f32[1,2,9,9], f32[3,2,2,2], stride=[1,7], padding=[1,0])",
        "conv(transpose(f32[1,9,9,2], order=[0,3,1,2]), f32[3,2,2,2])",
        "conv(relu(conv(f32[1,2,9,9], f32[3,2,2,2])), f32[5,3,3,3])",
        "conv(f32[1,3,224,224], f32[64,3,7,7], stride=2, padding=3)",
        "conv(f32[1,2,8,8], f32[3,2,3,3], stride=2, padding=[0,1,2,1], dilation=[1,2])",
        "conv(f32[1,8,9,9], f32[8,1,3,3], groups=8, stride=2, padding=1)",
        "conv(f32[1,9,9,6], f32[3,3,3,4], groups=2, layout=NHWC)",
        "relu(conv(f32[1,6,9,9], f32[4,3,3,3], groups=2) + f32[4,7,7])",
        "max_pool(f32[1,8,9,9], window=3, stride=2, padding=1)",
        "sum_pool(f32[1,9,9,8], window=[3,2], dilation=2, layout=NHWC) * 0.25",
        "max_pool(relu(conv(f32[1,2,9,9], f32[3,2,2,2])), window=2, stride=2)",
        "conv(f32[1,9,2], f32[3,2,4], padding=1, dilation=3, layout=NHWC)",
        "winograd_input(f32[1,20,6,8])",
        "winograd_input(f32[1,6,10,20], tile=4, layout=NHWC)",
        "relu(winograd_output(f32[16,1,2,3,20]) + expand_dims(f32[20,4], axis=2))",
        "winograd_output(f32[36,2,2,3,20], tile=4, layout=NHWC) + f32[20]",
        "conv(relu(f32[1,2,9,8]), f32[3,2,1,1], stride=[3,2])",
        "a = f32[4,8]; a - expand_dims(max(a, axis=1), axis=1)",
        "bias = f32[4]; rows = f32[4,8]; expand_dims(bias, axis=1) + relu(rows)",
        "t1 = relu(f32[4,4]); t1 * sigmoid(t1)",
        "f32[4] - (f32[4] - f32[4])",
        "f32[4] / (f32[4] * f32[4]) * -1.5 - 1e-05",
        "cast(cast(u8[4] + 1, i32), f32)",
    ],
)
def test_expressions_are_printed_as_they_are_read(text: str) -> None:
    assert parse(text).expression == text


def test_layouts_and_batches() -> None:
    spec = parse("f32[3,8,4]{1,2,0} @ f32[3,4,32]{1,2,0:T(1,16,1)} -> f32[3,8,32]{1,2,0}")
    assert spec.operation.dims == ("b", "m", "k", "n")
    assert [tensor.placement.layout for tensor in spec.tensors] == [
        column_major(3),
        panels(3, 2, 16),
        column_major(3),
    ]


def test_strides_say_where_the_gaps_are() -> None:
    spec = parse("f32[8,4]{0,1}S(1,9) @ f32[4,6] -> f32[8,6]S(7,1)")
    assert spec.strides == ((1, 9), None, (7, 1))
    assert [t.placement.gapless for t in spec.tensors] == [False, True, False]
    assert spec.tensors[0].placement.layout == column_major(2)


def test_strides_without_gaps_say_nothing() -> None:
    spec = parse("f32[1,8,1,4]S(5,4,9,1) @ f32[1,8,4,2] -> f32[1,8,1,2]S(7,2,3,1)")
    assert spec == parse("f32[1,8,1,4] @ f32[1,8,4,2]")


def test_inputs_come_in_the_order_of_their_first_use() -> None:
    spec = parse("w = f32[8,2]; x = f32[4,8]; bias = f32[2]; bias + relu(x @ w)")
    assert spec.names == ("bias", "x", "w", "out")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("int = f32[4,8]; out = f32[8,4]; x0 = f32[4]; relu(int @ out) + x0", "int out x0 a"),
        ("b = f32[4,8]; relu(f32[9,4] @ b)", "a b out"),
        ("a = f32[8,4]; relu(f32[9,8] @ a)", "b a out"),
        ("x = f32[4,8]; w = f32[8,4]; x @ w", "x w c"),
        ("c = f32[4,8]; c @ f32[8,4]", "c b out"),
        ("b = f32[4,8]; b @ f32[8,4]", "b a c"),
        ("image = f32[1,1,4,4]; conv(f32[1,1,4,4], image)", "a image out"),
        ("x = f32[4,4]; w = f32[4,4]; x @ w + x", "x w x out"),
        ("int = f32[4,4]; int @ int", "int int c"),
        ("t0 = f32[4,8]; __x = f32[8,4]; relu(t0 @ __x)", "t0 __x out"),
    ],
)
def test_names(text: str, names: str) -> None:
    spec = parse(text)
    called = [spec.name(operand) for operand in range(len(spec.placements))]
    assert called == names.split()
    again = parse(spec.expression)
    assert again == spec and again.names == spec.names


def test_specs_that_differ_in_names_alone_are_equal() -> None:
    plain = parse("relu(f32[4,8] @ f32[8,2])")
    named = parse("x = f32[4,8]; w = f32[8,2]; relu(x @ w)")
    assert plain == named and hash(plain) == hash(named)
    assert plain.operation is named.operation
    assert parse("x = f32[4,4]; x @ x") == parse("f32[4,4] @ f32[4,4]")


def test_sizes_may_be_huge() -> None:
    assert parse("f32[1000000000,4] @ f32[4,2147483647]").sizes == (10**9, 4, 2**31 - 1)


def test_seven_inputs_are_taken() -> None:
    spec = parse(" + ".join(["f32[4]"] * MAX_INPUTS))
    assert len(spec.dtypes) == MAX_INPUTS + 1


def test_a_tensor_may_be_made_of_more_inputs_than_a_spec_has() -> None:
    text = " + ".join(["f32[4]"] * (MAX_INPUTS + 1))
    with pytest.raises(SpecError, match="8 tensors"):
        parse(text)
    assert parse_tensor(text).shape == (4,)
    with pytest.raises(SpecError, match="never used"):
        parse_tensor("x = f32[4]; relu(f32[4])")


def test_a_transposed_input_keeps_its_own_shape() -> None:
    spec = parse("f32[4,8] @ transpose(f32[2,8])")
    assert spec.operation.operands[1].dims == ("n", "k")
    assert [t.shape for t in spec.tensors] == [(4, 8), (2, 8), (4, 2)]


def check_operations(text: str, operations: str, dtypes: str) -> None:
    """A text has these operations and dtypes, and its Spec's expression reads back as it."""
    spec = parse(text)
    made = [part.operation.name for part in spec.operation.components] or [spec.operation.name]
    assert " ".join(made) == operations
    assert " ".join(map(str, spec.dtypes)) == dtypes
    assert parse(spec.expression) == spec


@pytest.mark.parametrize(
    ("text", "operations", "dtypes"),
    [
        ("cast(bf16[2,3], f32) + f32[2,3]", "Add", "bf16 f32 f32"),
        ("cast(exp(f32[8]), f16)", "Exp", "f32 f16"),
        ("cast(sum(cast(bf16[2,3], f32), axis=1), bf16)", "Sum", "bf16 bf16"),
        ("x = exp(f32[8]); x + cast(cast(x, bf16), f32)", "Exp Move Add", "f32 f32"),
        ("exp(transpose(cast(bf16[2,3], f32)))", "Move Move Exp", "bf16 f32"),
        ("cast(u8[2,3], i32) + i32[3]", "Move Add", "u8 i32 i32"),
        ("cast(softmax(cast(bf16[2,3], f32)), bf16)", "Move Softmax Move", "bf16 bf16"),
        ("cast(i8[2,3], bf16)", "Move Move", "i8 bf16"),
        ("cast(f16[2,3], bf16)", "Move Move", "f16 bf16"),
        ("cast(bf16[2,3], u8)", "Move Move Move", "bf16 u8"),
    ],
)
def test_casts_that_kernels_make_are_no_operations(text: str, operations: str, dtypes: str) -> None:
    check_operations(text, operations, dtypes)


@pytest.mark.parametrize(
    ("text", "operations", "dtypes"),
    [
        ("sum(square(f32[4,8]), axis=0)", "SumSquares", "f32 f32"),
        ("x = f32[4,8]; sum(x * x)", "SumSquares", "f32 f32"),
        ("mean(square(exp(f32[4,8])))", "Exp SumSquares MultiplyConstant", "f32 f32"),
        ("sum(square(f32[2,4,8]), axis=[1,2])", "SumSquares Sum", "f32 f32"),
        ("x = f32[4,8]; square(x) / sum(square(x), axis=0)", "Square SumSquares Divide", "f32 f32"),
        ("sum(square(cast(bf16[4,8], f32)))", "SumSquares", "bf16 f32"),
        ("cast(sum(square(cast(bf16[4,8], f32))), bf16)", "SumSquares", "bf16 bf16"),
        ("cast(sum(square(cast(f16[4,8], f32))), bf16)", "SumSquares", "f16 bf16"),
        ("f32[4] += sum(square(f32[4,8]))", "SumSquaresAccum", "f32 f32"),
        (
            "x = f32[4,8]; sum(square(x - expand_dims(max(x, axis=0), axis=0)), axis=0)",
            "Max SumSquaredDeviations",
            "f32 f32",
        ),
        (
            "x = f32[8]; sum(square(x - mean(x)))",
            "Sum MultiplyConstant SumSquaredDeviations",
            "f32 f32",
        ),
        (
            "x = cast(bf16[8], f32); sum(square(x - mean(x)))",
            "Sum MultiplyConstant Subtract SumSquares",
            "bf16 f32",
        ),
        ("sum(square(f32[4,8] - f32[4,8]))", "Subtract SumSquares", "f32 f32 f32"),
        ("sum(square(f32[4,8] - f32[8]))", "Subtract SumSquares", "f32 f32 f32"),
        ("sum(square(bf16[4,8]))", "Square Sum", "bf16 bf16"),
        ("sum(square(i32[4,8]))", "Square Sum", "i32 i32"),
    ],
)
def test_sums_of_squares_are_one_operation(text: str, operations: str, dtypes: str) -> None:
    """Sums that are rounded to 16 bits, or that wrap, are several operations."""
    check_operations(text, operations, dtypes)


LETTERS = "f32reluxmatmul[](){},:;=T@+-*/>148. \n"
WORDS = """
    f32[4] f32[4,4] u8[4,4] x x= ; ( ) , @ + - * / -> relu( softmax( transpose( sum( axis=1 conv(
    stride=2 2 0.5 expand_dims( cast( bf16 order=[1,0] S(1,4) {0,1}
"""


@given(
    st.text(st.sampled_from(LETTERS), max_size=40)
    | st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        spec = parse(text)
    except SpecError:
        return
    assert parse(spec.expression) == spec


def test_parse_type_takes_nothing_after_the_type() -> None:
    with pytest.raises(SpecError, match="'@' is not expected here"):
        parse_type("f32[4,4] @ f32[4,4]")
    with pytest.raises(SpecError, match="a tensor is missing"):
        parse_type("")

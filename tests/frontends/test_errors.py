"""Bad expressions: what is said of each, where it points, and that it is one clear error."""

from __future__ import annotations

import pytest

from morello.base.errors import SpecError
from morello.frontends import parse, parse_type
from morello.frontends.functions import FUNCTIONS, INTERNAL

NINES = "9" * 5000

SYNTAX = [
    ("f32[0,4] @ f32[4,4]", "at least 1", 4),
    ("f32[-4,4] @ f32[4,4]", "at least 1", 4),
    ("f32[2147483648,4] @ f32[4,4]", "at most 2147483647", 4),
    (f"f32[{NINES},4] @ f32[4,4]", "at most 2147483647", 4),
    ("relu(f32[2147483647,2147483647])", "has more than 2^63 bytes", 31),
    ("f99[4,4] @ f32[4,4]", "unknown dtype 'f99'", 0),
    ("float32[4,4] @ f32[4,4]", "did you mean f32", 0),
    ("f32[4,4] @ bfloat16[4,4]", "did you mean bf16", 11),
    ("relu(UINT8[4,4])", "did you mean u8", 5),
    ("relu(fp16[4,4])", "did you mean f16", 5),
    ("f32[4,4] @ f32[4,4] junk", "'junk' is not expected", 20),
    ("f32[4,4] f32[4,4]", "'f32' is not expected", 9),
    ("f32[4,4]{0,0} @ f32[4,4]", "each of the 2 dimensions once", 8),
    ("f32[4,4]{1 0} @ f32[4,4]", "cannot be read", 8),
    ("f32[4,4]{1,0 @ f32[4,4]", "does not end", 8),
    ("f32[4,4]{0,1:T(4,4)} @ f32[4,4]", "groups have 4 bytes", 21),
    ("f32[2,4,4]{0,1,2:T(4,4,1)} @ f32[2,4,4]", "packs 2 dimensions", 10),
    ("f32[] @ f32[4,4]", "write a size", 4),
    ("f32[4,] @ f32[4,4]", "write a size", 6),
    ("f32[4 4] @ f32[4,4]", "commas", 6),
    ("f32[4,4.0] @ f32[4,4]", "4.0 is no size", 6),
    ("f32[4,4] ? f32[4,4]", "the operators are @, *, /, +, -, **, and comparisons", 9),
    ("f32[4,4]S(5,1,1) @ f32[4,4]", "give one for each", 8),
    ("f32[4,4]S(3,1) @ f32[4,4]", "it must be at least 4", 8),
    ("f32[4,4]S(1,4) @ f32[4,4]", "it must be at least 13, what the dimensions within it span", 8),
    ("f32[4,4]{0,1:T(1,2)}S(4,1) @ f32[4,4]", "leave the strides out", 20),
    ("f32[4,4]S(5,1 @ f32[4,4]", "separate strides by commas", 14),
    ("f32[4,4]S(0,1) @ f32[4,4]", "at least 1", 10),
    ("f32[1,1,1,1,1,4,4] @ f32[1,1,1,1,1,4,4]", "at most 6", 0),
    ("@ f32[4,4]", "'@' is no tensor", 0),
    ("f32[4,4] @ @", "'@' is no tensor", 11),
    ("(f32[4,4] @ f32[4,4]", "close the parenthesis", 20),
    ("f32[4,4] @ f32[4,4])", "')' is not expected", 19),
    ("f32[4,4] @ f32[4,4] ->", "tensor is missing", 22),
    ("f32[4,4] @ f32[4,4] -> 2", "'2' is no tensor", 23),
    ("matmul(f32[4,4] f32[4,4])", "by commas", 16),
    ("matmul(f32[4,4], f32[4,4]", "close the parenthesis", 25),
    ("softmax(axis=1, f32[4,4])", "write the options last", 16),
    ("softmax(f32[4,4], axis=1.5)", "write a small whole number", 23),
    ("softmax(f32[4,4], axis=)", "write a whole number here", 23),
    ("transpose(f32[4,4], order=[1,0)", "close the bracket", 30),
    ("x = f32[4,4] relu(x)", "end what the name stands for with a semicolon", 13),
    ("(" * 3000, "too deep", 50),
    ("-" * 3000, "too deep", 50),
    ("matmul(" * 3000, "too deep", 356),
    ("f32[4]" + " + 1" * 101, "more than 100 operations", 407),
]

NAMES = [
    ("f32 @ f32[4,4]", "write the sizes, as in f32[4,4]", 0),
    ("float32 @ f32[4,4]", "write the sizes, as in f32[4,4]", 0),
    ("x @ f32[4,4]", "bind it first, as in x = f32[4,4];", 0),
    ("weights = f32[4,4]; relu(weight)", "did you mean weights", 25),
    ("x = f32[4]; y = f32[4]; relu(x)", "y is never used", 12),
    ("x = f32[4]; x = f32[4]; relu(x)", "stands for something already", 12),
    ("sum = f32[4]; relu(sum)", "sum is a function", 0),
    ("f32 = f32[4]; relu(f32)", "f32 is a dtype", 0),
    ("f32[4,4] @ softmax", "call it, as in softmax(x, axis=-1)", 11),
    ("softmx(f32[4,4])", "did you mean softmax", 0),
    ("frobnify(f32[4,4])", "the functions are: matmul, einsum, quantized_matmul,", 0),
    ("matmul(f32[4,4])", "matmul takes 2 arguments, not 1", 0),
    ("matmul()", "write matmul(a, b)", 0),
    ("relu(f32[4], f32[4])", "relu takes 1 argument, not 2", 0),
    ("softmax(f32[4,4], dim=1)", "softmax has no option dim", 18),
    ("softmax(f32[4,4], axis=1, axis=1)", "axis is set twice", 26),
    ("broadcast(f32[4], axis=0)", "needs size", 0),
    ("softmax(f32[4,4], axis=first)", "axis cannot be this", 23),
    ("softmax(f32[4,4], axis=[0,1])", "write a small whole number", 23),
    ("sum(f32[4,4], keepdims=1)", "write True or False", 23),
    ("matmul(f32[4,4], 2)", "a number cannot stand here", 17),
    ("cast(f32[4], f99)", "this is no dtype", 13),
    ("cast(f32[4], f32[4])", "name one of u8, i8", 13),
]

GOALS = [
    ("f32[2147483647,1] * f32[1,2147483647]", "has more than 2^63 bytes", 18),
    ("f32[4,4]", "not something to compute", 0),
    ("x = f32[4]; x", "not something to compute", 12),
    ("2", "this is a number", 0),
    ("f32[4] + 1e999", "too large", 9),
    ("2 * 3 + f32[4]", "both are numbers", 2),
    ("f32[4,4] @ f32[4,4] -> f32[4,5]", "write f32[4,4] here", 23),
    ("f32[4,4] @ f32[4,4] -> i32[4,4]", "the result is of f32 or bf16 or f16, not i32", 23),
    ("u8[4,4] @ i8[4,4] -> f32[4,4]", "write i32 or i16", 21),
    ("i16[4,4] @ i16[4,4] -> i16[4,4]", "the result is of i32, not i16", 23),
    ("u32[4,4] @ u32[4,4] -> i32[4,4]", "the result is of u32, not i32", 23),
    ("relu(f32[4,4]) -> i16[4,4]", "or cast(.., i16) before ->", 18),
    (" + ".join(["f32[4]"] * 8), "8 tensors; a kernel takes 7", 63),
    ("y = f32[4,4] @ f32[4,4]; y @ transpose(y)", "used in two roles", 27),
    ("layer_norm(" * 8 + "f32[4,4]" + ", f32[4], f32[4])" * 8, "80 primitive operations", 0),
]

GROUPS = [
    ("f32[1,64] + i4g32[64,16]", "these are weights in groups", 12),
    ("w = i4g32[64,16]; relu(w)", "only the second operand of @", 23),
    ("relu(f32[4]) -> i4g32[64,16]", "only the second operand of @", 16),
    ("f32[1,64] @ i3g32[64,16]", "give them 4 or 8", 12),
    ("f32[1,64] @ i4g48[64,16]", "groups of 48 in 64 rows", 12),
    ("f32[1,64] @ i4g32_f64[64,16]", "f16, bf16, f32 are known", 12),
    ("f32[1,64] @ i4g32[64]", "give a matrix", 12),
    ("f32[1,32] @ i8g32[64,16]", "do not fit 32 numbers", 12),
    ("w_scales = f32[4]; w = i4g32[64,16]; f32[1,64] @ w", "call w by another name", 23),
]

MATMULS = [
    ("f32[4,5] @ f32[4,4]", "inner sizes 5 and 4 differ", 11),
    ("f32[2,4,4] @ f32[3,4,4]", "batch sizes [2] and [3] differ", 13),
    ("f32[3] @ f32[4,4]", "inner sizes 3 and 4 differ", 9),
    ('einsum("mk,k2", f32[4,4], f32[4,4])', "is no einsum of 2 tensors", 7),
    ("einsum(f32[4,4], f32[4,4], f32[4,4])", "this is no quoted text", 7),
    ('einsum("mk,kn->mn, f32[4,4], f32[4,4])', "does not end", 7),
    ('"mk,kn->mn" + f32[4,4]', "a quoted text cannot stand here", 0),
    ('einsum("mkx,kn->mn", f32[4,4], f32[4,4])', "names 3 dimensions, and there are 2", 21),
    ('einsum("mm,mn->mn", f32[4,4], f32[4,4])', "m is named twice", 7),
    ('einsum("mk,kn->mx", f32[4,4], f32[4,4])', "no factor has x", 7),
    ('einsum("mk,kn->mn", f32[4,4], f32[5,4])', "k is 4 in one and 5 in the other", 30),
    ('einsum("mk,ln->mkln", f32[4,4], u8[4,4])', "f32 and u8 cannot be multiplied", 32),
    ("u8[4,4] @ f32[4,4]", "u8 and f32 cannot be multiplied", 10),
    ("u32[4,4] @ i32[4,4]", "u32 and i32 cannot be multiplied", 11),
    ("fill_zero(f32[4,4]) @ f32[4,4]", "a filled tensor cannot be an input", 20),
    ("norm(f32[4], order=0.0001)", "this power is too large", 0),
    ("std(i32[4])", "std is for floating-point numbers", 0),
    ("attention(f32[4], f32[4], f32[4])", "the keys are the rows of a matrix", 18),
    ("attention(f32[4,8], f32[5,9], f32[5,4])", "q should be [m,d], k [n,d]", 20),
    ("attention(f32[4,8], f32[5,8], f32[6,4])", "inner sizes 5 and 6 differ", 30),
]

CONVOLUTIONS = [
    ("conv(f32[2,5,5], f32[3,2,3,3])", "for NCHW it should be [b,c,h,w]", 5),
    ("conv(f32[1,2,5,5], f32[3,2,3], layout=NHWC)", "it should be [p,q,c,f]", 19),
    ("conv(f32[1,2,5,5], f32[3,4,3,3])", "has 2 channels and the filter 4", 19),
    ("conv(f32[1,2,5,5], f32[3,2,6,3])", "use a filter of at most 5", 19),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], dilation=3)", "3 rows with dilation 3", 19),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], dilation=0)", "use a number from 1 to 999", 42),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], padding=[0,1,3,0])", "3 columns of padding", 41),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], padding=[0,1,0])", "or padding=[2,1]", 41),
    ("conv(f32[1,4,5,5], f32[3,2,3,3], groups=2)", "use a number that divides both", 40),
    ("conv(f32[1,4,5,5], f32[4,4,3,3], groups=2)", "with 2 groups, the filter should have 2", 19),
    ("conv(f32[1,4,5,5], f32[4,4,3,3], groups=0)", "0 equal groups", 40),
    ("conv(f32[1,2,5], f32[3,2,3,3])", "for NCHW it should be [b,c,h,w]", 5),
    ("conv(f32[1,2,5], f32[3,2,6])", "use a filter of at most 5", 17),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], stride=0)", "use a number from 1 to 999", 40),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], stride=[1,2,3])", "write stride=2, or stride=[2,1]", 40),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], padding=3)", "use less than the filter's 3 rows", 41),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], padding=-1)", "use a number from 0 to 999", 41),
    ("conv(f32[1,2,5,5], f32[3,2,3,3], layout=NCWH)", "use NCHW or NHWC", 40),
    ("conv(relu(f32[1,2,5,5]), f32[3,2,3,3], padding=1)", "cannot be padded", 47),
    ("conv(f32[1,2,5,5], i8[3,2,3,3])", "f32 and i8 cannot be multiplied", 19),
]

POOLS = [
    ("max_pool(f32[1,2,5,5])", "max_pool needs window", 0),
    ("max_pool(f32[5,5], window=2)", "it should be [b,c,h,w] or [b,c,w]", 9),
    ("max_pool(f32[1,2,5,5], window=6)", "use a window of at most 5", 30),
    ("max_pool(f32[1,2,5,5], window=[1,2,3])", "write window=2, or window=[2,1]", 30),
    ("max_pool(f32[1,2,5], window=[1,2])", "write window=2", 28),
    ("max_pool(f32[1,2,5,5], window=0)", "use a number from 1 to 999", 30),
    ("max_pool(f32[1,2,5,5], window=2, padding=2)", "use less than the window's 2 rows", 41),
    ("max_pool(relu(f32[1,2,5,5]), window=2, padding=1)", "cannot be padded", 47),
    ("avg_pool(i32[1,2,5,5], window=2)", "avg_pool", 0),
    (
        "avg_pool(f32[1,2,5,5], window=2, padding=1, count_include_pad=False)",
        "multiply sum_pool by factors of your own",
        63,
    ),
]

MAPS = [
    ("f32[4,8] + f32[4]", "the sizes 8 and 4 differ", 11),
    ("f32[4] + i32[4]", "cast one of them, as in cast(.., f32)", 9),
    ("exp(i32[4])", "cast it to f32 first", 0),
    ("pow(i32[4], 0.5)", "cast it to f32 first", 0),
    ("pow(f32[4], 0)", "use another exponent", 12),
    ("pow(f32[4], 1001)", "use at most 1000", 12),
    ("pow(f32[4], f32[4])", "write a number", 12),
    ("f32[4] > f32[4] > f32[4]", "end the expression", 16),
    ("f32[4] < i32[4]", "cast one of them, as in cast(.., f32)", 9),
    ("u8[4] > -1", "use a whole number from 0 to 255", 6),
    ("300 - u8[4]", "use a whole number from 0 to 255", 4),
    ("1 > 2", "compute their result by hand", 2),
    ("where(1, f32[4], f32[4])", "write a tensor such as f32[4,4]", 6),
    ("where(u8[4], f32[4], f32[4])", "cast the condition to f32", 6),
    ("where(f32[4], f32[3], f32[4])", "dimensions are aligned at the last", 14),
    ("i8[4] / 2", "cast it to f32 first", 6),
    ("i16[4] / 2", "cast it to f32 first", 7),
    ("2 / i32[4]", "reciprocal is for floating-point numbers", 2),
    ("-u8[4]", "u8 has no negative numbers", 1),
    ("i8[4] * 0.5", "use a whole number from -128 to 127", 6),
    ("u8[4] + 256", "256 is no u8", 6),
    ("f32[4] * 1e39", "more than f32 holds", 7),
    ("f32[4] + inf", "more than f32 holds", 7),
    ("where(i32[4], inf, i32[4])", "inf is no i32", 0),
    ("f32[4] / 0", "a division by 0", 7),
    ("f32[4] / 1e-99", "a division by 0", 7),
    ("divide_vec(f32[4], f32[4,4])", "the shapes [4] and [4,4] differ", 19),
    (
        "expand_dims(expand_dims(f32[4,4], axis=0), axis=0) + expand_dims(f32[4,4,4], axis=3)"
        " + expand_dims(f32[4], axis=5)",
        "there is no axis 5 in 2 dimensions", 115,
    ),
]  # fmt: skip

COPIES = [
    ("cast(f32[4], u32)", "cast it to i32, and that to u32", 13),
    ("bitwise_or(f32[4], 1)", "cast it to i32 first", 0),
    ("transpose(f32[2,3,4])", "say the order, as in order=[0,2,1]", 10),
    ("transpose(f32[2,3], order=[0,0])", "name each of the 2 dimensions once", 26),
    ("transpose(f32[2,3], order=1)", "[1] is no order", 26),
    ("broadcast(f32[4], axis=2, size=4)", "use -2 to 1", 23),
    ("broadcast(f32[4], axis=1, size=0)", "use 1 or more", 31),
    ("broadcast(f32[4,4,4,4,4,4], axis=1, size=2)", "the result would have 7 dimensions", 0),
    ("one_prefix(f32[4,4,4,4,4,4])", "the result would have 7 dimensions", 0),
    ("expand_dims(f32[4,4,4,4,4,4], axis=1)", "the result would have 7 dimensions", 0),
    ("fill_zero(relu(f32[4]))", "write fill_zero(f32[64,64])", 10),
    ("x = f32[4]; fill_lowest(x)", "write fill_lowest(f32[64,64])", 24),
]

REDUCTIONS = [
    ("cumsum(i64[8])", "cast it to f32, or give the function i32", 7),
    ("argmax(u32[8])", "no kernel scans u32", 7),
    ("sum(f32[4,4], axis=2)", "use -2 to 1", 19),
    ("sum(f32[4], keepdims=True)", "all that is left of a vector", 0),
    ("sum(f32[4,4], axis=[0,1], keepdims=True)", "all that is left of a tensor", 0),
    ("sum(f32[4,4], axis=[1,-1])", "name each once", 19),
    ("max(f32[4,4], axis=[0,2])", "use -2 to 1", 19),
    ("mean(i32[4,4])", "mean is for floating-point numbers", 0),
    ("softmax(u8[4,4])", "softmax is for floating-point numbers", 0),
    ("softmax_complete(f32[4,8], f32[8], f32[4])", "it should be f32[4]", 27),
    ("softmax_complete(f32[4,8], f32[4], bf16[4])", "it should be f32[4]", 35),
    ("layer_norm(f32[4,8], f32[4], f32[8])", "it should be f32[8]", 21),
    ("layer_norm(f32[4,8], f32[8], i32[8])", "it should be f32[8]", 29),
    ("rms_norm(i32[4,8], i32[8])", "rms_norm is for floating-point numbers", 0),
]

INTO = [
    ("f32[4,8] += relu(f32[4,8])", "only sums and extrema are combined", 12),
    ("f32[4] max= sum(f32[4,8])", "write +=", 12),
    ("f32[4] += softmax_denominator_and_max(f32[4,8])", "write (f32[4], f32[4]) here", 0),
    ("(f32[4], f32[4]) += softmax_denominator_and_max(f32[4,8])", "write merge=", 20),
    ("softmax_denominator_and_max(f32[4,8]) -> f32[4]", "there are 2 results, not 1", 41),
    ("x = f32[4]; (x, x) merge= softmax_denominator_and_max(f32[4,8])", "cannot hold two", 12),
    ("(f32[4,8], f32[4]) /= f32[8]", "there is 1 result, not 2", 0),
    ("exp(softmax_denominator_and_max(f32[4,8]))", "these are several results", 0),
    ("softmax_denominator_and_max(exp(f32[4,8]))", "takes only inputs", 0),
    ("softmax_denominator_and_max_from_parts(f32[4,8], f32[4])", "for each part", 49),
    ("f32[8] += sum(f32[4,8])", "write f32[4] here", 0),
    ("bf16[4] += sum(f32[4,8])", "write f32.", 0),
    ("f32[4] += sum(f32[4,8]) -> f32[4]", "end the expression.", 24),
    ("f32[4] @ f32[4] += f32[1,4] @ f32[4]", "write types or names before +=", 7),
    ("f32[4] +=", "a tensor is missing", 9),
    ("x = f32[4]; x += sum(expand_dims(x, axis=1))", "the result is read as an input", 12),
    ("x = f32[4] * 2; x += f32[4,8] @ f32[8]", "x is no tensor that is given", 16),
    ("f32[4,8] /= f32[4,8]", "one denominator for each row", 12),
    ("f32[4,8] /= expand_dims(exp(f32[4]), axis=1)", "which is an input", 12),
    ("i32[4,8] /= i32[8]", "/= is for floating-point numbers", 12),
]

ALL = [
    *SYNTAX,
    *NAMES,
    *GOALS,
    *GROUPS,
    *MATMULS,
    *CONVOLUTIONS,
    *POOLS,
    *MAPS,
    *COPIES,
    *REDUCTIONS,
    *INTO,
]


@pytest.mark.parametrize(("text", "said", "at"), ALL, ids=[text[:60] for text, _, _ in ALL])
def test_bad_text_gets_one_clear_error(text: str, said: str, at: int) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    message = str(caught.value)
    assert said in message
    _, line, caret = message.splitlines()
    shown = caret.index("^") - 2
    if at < 60:
        assert shown == at
    else:  # only a part of the text is shown: as much before the place as there is room for
        assert line[2:].startswith("...") and shown == 63


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text(text: str) -> None:
    with pytest.raises(SpecError, match="the expression is empty; write one such as f32"):
        parse(text)


def test_an_error_shows_the_text_and_points_at_the_place() -> None:
    with pytest.raises(SpecError) as caught:
        parse("f32[4,4] @")
    assert str(caught.value) == (
        "a tensor is missing:\n  f32[4,4] @\n            ^ write a type such as f32[4,4] here."
    )


def test_an_error_in_a_long_text_shows_the_part_around_it() -> None:
    with pytest.raises(SpecError) as caught:
        parse("(" * 40 + "f32[4,4]" + ")" * 40 + "\t@ f99[4,4] @ " + "f32[4,4] @ " * 20)
    _, line, caret = str(caught.value).splitlines()
    assert line[caret.index("^") :].startswith("f99")
    assert line.startswith("  ...") and line.endswith("...")
    assert len(line) < 140 and "\t" not in line


def test_the_same_goes_for_types() -> None:
    with pytest.raises(SpecError) as caught:
        parse_type("f32[4,4]S(2,1)")
    assert str(caught.value) == (
        "dimension 0 has stride 2:\n  f32[4,4]S(2,1)\n          ^ it must be at least 4, what the "
        "dimensions within it span, and at most 2147483647."
    )


def test_errors_list_only_functions_for_users() -> None:
    with pytest.raises(SpecError) as caught:
        parse("unfold(f32[4,4])")
    said = str(caught.value)
    assert "softmax, layer_norm" in said and "matmul" in said
    assert [name for name in INTERNAL if name in said] == []
    with pytest.raises(SpecError, match="the functions are"):
        parse("one_prefx(f32[4,4])")


def test_internal_functions_can_be_called_all_the_same() -> None:
    assert FUNCTIONS.keys() >= INTERNAL
    assert parse("one_prefix(f32[4])").expression == "one_prefix(f32[4])"

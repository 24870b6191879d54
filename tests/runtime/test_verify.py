"""Wrong kernels are caught, right ones are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.goals import (
    attention_goal,
    goal_of,
    layer_norm_goal,
    mapped,
    matmul_goal,
    mlp_goal,
    primitive_goals,
    reduced,
    softmax_goal,
    tensor,
)
from tests.runtime.kernels import MATMUL, K, M, N, compile_kernel, matmul_arguments
from tests.runtime.numpy_kernels import faults, single, softmax_of

from morello.base.errors import VerificationError
from morello.frontends.text import parse
from morello.ir.dtype import BF16, F16, F32, I8, I16, I32, U8, U16, DType
from morello.ir.functions import BINARY, INTEGER_FUNCTIONS, ONLY_INTEGERS, UNARY, Function
from morello.ir.primitives import (
    SOFTMAX,
    SUM,
    elementwise,
    move,
    reduce,
    softmax,
)
from morello.ir.rounding import Bounded, summed
from morello.ir.spec import Spec, goal
from morello.runtime import verify as verifying
from morello.runtime.argument import Array
from morello.runtime.kernel import CompiledKernel
from morello.runtime.tolerance import expected, only_integers
from morello.runtime.verify import verify

SPEC = matmul_goal(M, K, N)

Combine = Callable[[Array, Array], Array]


def check(symbol: str) -> float:
    kernel = compile_kernel(MATMUL, symbol, matmul_arguments())
    return verify(kernel, SPEC, seeds=(0, 1))


# ---- what is written where


def test_a_right_kernel_passes(matmul: CompiledKernel) -> None:
    error = check("kernel")
    assert 0 < error < 1e-6


def test_one_product_missing() -> None:
    message = r"c\[4, 5\] is .*, expected .*; 1 of 30 elements are wrong \(seed 0, integers\)"
    with pytest.raises(VerificationError, match=message):
        check("misses_one_product")


def test_one_element_never_written() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 3\] is nan"):
        check("leaves_one_out")


def test_output_not_set_first() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 0\] is nan.*; 30 of 30 elements"):
        check("adds_to_output")


@pytest.mark.parametrize(("symbol", "offset"), [("writes_beyond", "120"), ("writes_before", "-4")])
def test_write_out_of_bounds(symbol: str, offset: str) -> None:
    message = rf"wrote outside c: 4 bytes, the first at byte {offset} of an array that spans 120"
    with pytest.raises(VerificationError, match=message):
        check(symbol)


def test_input_written() -> None:
    with pytest.raises(VerificationError, match="wrote to its input a"):
        check("writes_input")


def test_read_out_of_bounds() -> None:
    with pytest.raises(VerificationError, match=r"c\[0, 0\] is nan"):
        check("reads_beyond")


def test_padding_between_elements_is_guarded() -> None:
    spec = goal(move(2), (3, 4), (F32, F32), strides=(None, (8, 1)))

    def copy(x: Array, *, out: Array) -> None:
        out[...] = x

    def copy_more(x: Array, *, out: Array) -> None:
        out[...] = x
        np.lib.stride_tricks.as_strided(out, (3, 5), (32, 4))[:, 4] = 0

    assert verify(copy, spec) == 0
    message = faults(copy_more, spec)
    assert "wrote outside dst: 12 bytes, the first at byte 16 of" in message


def test_no_input_is_zero() -> None:
    spec = goal(reduce(SUM, 1, 0), (1, 10_000), (F32, F32))
    right, seen = single(spec), []

    def look(x: Array, *, out: Array) -> None:
        seen.append(x.copy())
        right(x, out=out)

    verify(look, spec, seeds=(0, 1))
    assert len(seen) == 4
    assert all((x != 0).all() and (x < 0).any() and (x > 0).any() for x in seen)
    assert not np.array_equal(seen[1], seen[3])
    exponents = np.unique(np.frexp(seen[1])[1])
    assert len(exponents) > 10


def test_outputs_hold_something_else_each_time() -> None:
    held = []

    def look(x: Array, *, out: Array) -> None:
        held.append(out.copy())
        out[...] = x

    verify(look, goal(move(1), (4,), (I32, I32)))
    assert (held[0] != held[1]).all() and all((x != 0).all() for x in held)


# ---- how far off a right kernel may be


def test_rounding_is_no_fault_but_less_precision_is() -> None:
    spec = matmul_goal(300, 300, 300)

    def backwards(a: Array, b: Array, *, out: Array) -> None:
        np.matmul(a[:, ::-1], b[::-1], out=out)

    def half(a: Array, b: Array, *, out: Array) -> None:
        out[...] = a.astype(np.float16).astype(np.float32) @ b

    assert verify(backwards, spec) < 2e-6
    assert "mixed magnitudes" in faults(half, spec)


@pytest.mark.parametrize("spec", primitive_goals(), ids=str)
def test_primitives_in_single_precision_pass(spec: Spec) -> None:
    if spec.operation.name.startswith("Fill"):
        return
    if spec.operation.name == "Broadcast":
        return  # `evaluate` leaves spreading it out to NumPy
    assert verify(single(spec), spec, seeds=(0, 1, 2)) < 1e-6


@pytest.mark.parametrize("spec", [mlp_goal(), layer_norm_goal(), attention_goal()], ids=str)
def test_compositions_in_single_precision_pass(spec: Spec) -> None:
    assert verify(single(spec), spec, seeds=(0, 1, 2)) < 1e-5


CANCELLING = {"gelu", "gelu_tanh", "log", "sigmoid", "silu"}
"""NumPy's formulas of these lose more digits in single precision than kernels do."""


@pytest.mark.parametrize("name", sorted({*UNARY} - CANCELLING - ONLY_INTEGERS))
def test_functions_in_single_precision_pass(name: str) -> None:
    spec = goal(elementwise(Function(name), ((0, 1),), 2), (40, 50), (F32, F32))
    assert verify(single(spec), spec, seeds=(0, 1, 2)) < 1e-6


@pytest.mark.parametrize("name", sorted({*BINARY} - ONLY_INTEGERS))
def test_functions_of_two_numbers_in_single_precision_pass(name: str) -> None:
    spans = ((0, 1), (1,))
    for one in (Function(name), Function(name, 0.1)):
        operation = elementwise(one, spans[: one.arity], 2)
        spec = goal(operation, (40, 50), (F32,) * (one.arity + 1))
        assert verify(single(spec), spec, seeds=(0, 1, 2)) < 1e-6


@pytest.mark.parametrize("name", sorted({*UNARY, *BINARY} - ONLY_INTEGERS))
def test_functions_slightly_off_are_caught(name: str) -> None:
    one = Function(name)
    operation = elementwise(one, ((0, 1),) * one.arity, 2)
    spec = goal(operation, (40, 50), (F32,) * (one.arity + 1))
    right = single(spec)

    def off(*inputs: Array, out: Array) -> None:
        right(*inputs, out=out)
        out *= np.float32(1 + 2e-4)

    faults(off, spec)


@pytest.mark.parametrize("name", sorted(ONLY_INTEGERS))
def test_bits_and_quotients_of_integers_must_be_exact(name: str) -> None:
    one = Function(name)
    operation = elementwise(one, ((0, 1),) * one.arity, 2)
    spec = goal(operation, (40, 50), (I32,) * (one.arity + 1))

    def right(*inputs: Array, out: Array) -> None:
        out[...] = one(*inputs)

    def off(*inputs: Array, out: Array) -> None:
        right(*inputs, out=out)
        out[3, 7] ^= 1

    assert verify(right, spec, seeds=(0, 1, 2)) == 0
    assert "1 of 2000 elements" in faults(off, spec)


def test_bits_of_rounded_numbers_may_be_any() -> None:
    """A cast of what is rounded may be one less, which changes all bits."""
    parsed = parse("bitwise_and(cast(f32[40,50] * f32[40,50] * 100, i32), 6)")

    def kernel(a: Array, b: Array, *, out: Array) -> None:
        out[...] = (a * b * np.float32(100)).astype(np.int32) & 6

    verify(kernel, parsed, seeds=(0, 1, 2))


@pytest.mark.parametrize("dtype", [BF16, F16])
def test_narrow_outputs_are_rounded(dtype: DType) -> None:
    spec = matmul_goal(8, 64, 16, F32, F32, dtype)

    def careless(a: Array, b: Array, *, out: Array) -> None:
        """Forgets the last product."""
        out[...] = (a[:, :-1] @ b[:-1]).astype(out.dtype)

    assert verify(single(spec), spec, seeds=(0, 1, 2)) < 1e-2
    assert "integers" in faults(careless, spec)


@pytest.mark.parametrize("dtype", [BF16, F16])
def test_partial_sums_are_not_rounded(dtype: DType) -> None:
    spec = matmul_goal(8, 64, 16, F32, F32, dtype)

    def in_halves(a: Array, b: Array, *, out: Array) -> None:
        """Stores the sum of the first products, and adds the others to it."""
        out[...] = (a[:, :32] @ b[:32]).astype(out.dtype)
        out[...] = (out.astype(np.float32) + a[:, 32:] @ b[32:]).astype(out.dtype)

    assert "elements are wrong" in faults(in_halves, spec)


def test_narrow_outputs_below_the_smallest_number_become_zero() -> None:
    spec = parse("gelu_tanh(f16[4] + f16[4])")
    inputs = [np.full(4, -5.6, np.float16), np.zeros(4, np.float16)]
    made = expected(spec, inputs)
    (error,) = {float(one) for one in made.bound}
    assert -1e-8 < made.value[0] < 0
    assert abs(made.value[0]) < error < 2.0**-24


def test_what_is_beyond_the_largest_number_may_be_infinite() -> None:
    spec = parse("exp(f32[3] + f32[3])")
    made = expected(spec, [np.array([93.0, 1.0, 88.72], np.float32), np.zeros(3, np.float32)])
    assert np.isinf(made.bound[0]) and np.isfinite(made.value).all()
    assert (made.bound[1:] < 1e-3 * made.value[1:]).all()


def test_what_depends_on_a_number_that_may_be_infinite_may_be_anything() -> None:
    """Its error is no number in float64, by which every result would count as wrong."""
    made = expected(parse("exp(exp(f32[1])) - f32[1]"), [np.full(1, 8, np.float32)] * 2)
    assert np.isinf(made.bound[0])


def test_a_narrow_softmax_may_be_kept_before_it_is_divided() -> None:
    spec = goal(softmax(SOFTMAX, 2, 1), (8, 64), (BF16, BF16))

    def in_place(x: Array, *, out: Array) -> None:
        powers = np.exp(x.astype(np.float32) - x.astype(np.float32).max(axis=1, keepdims=True))
        out[...] = powers
        out[...] = out.astype(np.float32) / powers.sum(axis=1, keepdims=True)

    def of_fewer(x: Array, *, out: Array) -> None:
        wide = x.astype(np.float32)[:, :-1]
        out[:, :-1] = softmax_of(wide)
        out[:, -1] = 0

    verify(in_place, spec, seeds=(0, 1, 2))
    faults(of_fewer, spec)


def test_a_cast_is_rounded_to_the_nearest() -> None:
    spec = goal(move(2), (8, 64), (F32, BF16))

    def truncating(x: Array, *, out: Array) -> None:
        bits = x.copy().view(np.uint32) & np.uint32(0xFFFF0000)
        out[...] = bits.view(np.float32)

    assert verify(single(spec), spec) == 0
    assert "mixed magnitudes" in faults(truncating, spec)


def test_errors_of_one_step_may_show_in_the_next() -> None:
    """A small difference of large numbers is as far off as those were."""
    x, y = tensor(40, 50), tensor(40, 50)
    spec = goal_of(mapped("subtract", mapped("exp", x), mapped("exp", y)))

    def other(a: Array, b: Array, *, out: Array) -> None:
        out[...] = np.exp(a) * np.float32(1 + 5e-8) - np.exp(b) * np.float32(1 - 5e-8)

    assert verify(single(spec), spec) < 1e-6
    verify(other, spec)


def test_the_reference_uses_the_rounded_inputs() -> None:
    spec = matmul_goal(4, 8, 4, BF16, BF16, F32)
    random = np.random.default_rng(0)
    a, b = (random.uniform(-1, 1, shape).astype(BF16.np) for shape in ((4, 8), (8, 4)))
    wanted = expected(spec, [a, b])
    np.testing.assert_array_equal(wanted.value, a.astype(np.float64) @ b.astype(np.float64))
    assert wanted.error is not None and (wanted.error > 0).all()


def test_bounds_are_no_larger_than_they_need_to_be() -> None:
    for spec in (matmul_goal(8, 256, 8), softmax_goal(8, 256), layer_norm_goal(), mlp_goal()):
        random = np.random.default_rng(0)
        inputs = [random.uniform(-1, 1, t.shape).astype(np.float32) for t in spec.tensors[:-1]]
        wanted = expected(spec, inputs)
        assert wanted.error is not None
        assert wanted.error.max() < 1e-4 * np.abs(wanted.value).max()


# ---- integers


def test_one_product_of_very_many_missing() -> None:
    spec = goal(reduce(SUM, 1, 0), (1, 1 << 17), (F32, F32))

    def total(x: Array, *, out: Array) -> None:
        out[0] = x.sum()

    def all_but_one(x: Array, *, out: Array) -> None:
        out[0] = x[1:].sum()

    verify(total, spec)
    assert "within 0; 1 of 1 elements" in faults(all_but_one, spec)


def test_repeated_numbers_tell_rows_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random numbers of large arrays are repeated, but rows of a matrix begin at others."""
    monkeypatch.setattr(verifying, "_PERIOD", 7)
    spec = matmul_goal(4, 12, 16)

    def shifted(a: Array, b: Array, *, out: Array) -> None:
        out[...] = a @ np.roll(b, 1, axis=0)

    assert verify(lambda a, b, *, out: np.matmul(a, b, out=out), spec) < 1e-6
    with pytest.raises(VerificationError, match="elements are wrong"):
        verify(shifted, spec)


def test_sums_are_exact_only_if_all_numbers_are_integers() -> None:
    whole = np.ones((300, 300))
    other = whole.copy()
    other[-1, -1] = 1.5
    sums = [summed(lambda x: x.sum(1), [Bounded(x)], 300, F32) for x in (whole, other)]
    assert sums[0].error is None
    assert sums[1].error is not None and sums[1].error.min() > 0


def test_integers_must_be_exact() -> None:
    spec = goal(reduce(SUM, 1, 0), (1, 100), (I32, I32))

    def total(x: Array, *, out: Array) -> None:
        out[0] = x.sum()

    def nearly(x: Array, *, out: Array) -> None:
        out[0] = x.sum() + 1

    assert verify(total, spec) == 0
    assert "within 0; 1 of 1 elements" in faults(nearly, spec)


def test_sums_of_large_integers_are_exact() -> None:
    """Each product is an integer that float64 has, and their sum is not."""
    each = 2**26 + 1
    numbers = np.full((3, 1), each, np.int32)
    made = expected(matmul_goal(1, 3, 1, I32, I32, I32), [numbers.T, numbers])
    total = 3 * each**2
    assert float(total) != total
    assert made.error is None and int(made.value[0, 0]) == (total + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("dtype", [U8, I8, U16, I16])
def test_integers_wrap_around(dtype: DType) -> None:
    spec = goal(elementwise(Function("add"), ((0, 1), (0, 1)), 2), (30, 40), (dtype,) * 3)

    def wrapping(a: Array, b: Array, *, out: Array) -> None:
        np.add(a, b, out=out)

    def saturating(a: Array, b: Array, *, out: Array) -> None:
        limits = np.iinfo(out.dtype)
        out[...] = np.clip(a.astype(int) + b.astype(int), limits.min, limits.max)

    assert verify(wrapping, spec) == 0
    assert "mixed magnitudes" in faults(saturating, spec)


def test_sums_of_narrow_products_wrap_around() -> None:
    spec = matmul_goal(4, 8, 4, U8, I8, I16)

    def wrapping(a: Array, b: Array, *, out: Array) -> None:
        out[...] = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int16)

    def saturating(a: Array, b: Array, *, out: Array) -> None:
        """A product whose pairs of products saturate, as in some instructions."""
        wide = a.astype(np.int64)[:, :, None] * b.astype(np.int64)[None]
        pairs = wide.reshape(4, 4, 2, 4).sum(axis=2).clip(-(2**15), 2**15 - 1)
        out[...] = pairs.sum(axis=1).astype(np.int16)

    assert verify(wrapping, spec) == 0
    assert "mixed magnitudes" in faults(saturating, spec)


def test_products_of_signed_and_unsigned_bytes() -> None:
    spec = matmul_goal(4, 8, 4, U8, I8, I32)

    def both_signed(a: Array, b: Array, *, out: Array) -> None:
        out[...] = a.view(np.int8).astype(np.int32) @ b.astype(np.int32)

    assert verify(single(spec), spec) == 0
    assert "mixed magnitudes" in faults(both_signed, spec)


# ---- what is verified


def test_which_operations_keep_integers() -> None:
    assert only_integers(mlp_goal().operation)
    assert not only_integers(attention_goal().operation)
    assert not only_integers(layer_norm_goal().operation)
    half = goal_of(mapped("multiply", tensor(4), constant=0.5))
    assert not only_integers(half.operation)
    for name in UNARY:
        one = elementwise(Function(name), ((0,),), 1)
        assert only_integers(one) == (name in INTEGER_FUNCTIONS)


def test_roots_are_taken_of_positive_numbers() -> None:
    spec = goal_of(mapped("sqrt", reduced("Sum", tensor(4, 8))))
    right, seen = single(spec), []

    def look(x: Array, *, out: Array) -> None:
        seen.append(x.copy())
        right(x, out=out)

    assert verify(look, spec) < 1e-6
    assert all((x > 0).all() for x in seen)


def test_exponentials_do_not_overflow() -> None:
    spec = attention_goal(4, 8, 1024)
    right = single(spec)

    def look(*inputs: Array, out: Array) -> None:
        right(*inputs, out=out)
        weights = softmax_of(inputs[0] @ inputs[1])
        assert np.isfinite(out).all() and np.median(weights) > 1e-4

    assert verify(look, spec) < 1e-5


@pytest.mark.parametrize(
    ("text", "combine"),
    [
        ("f32[4,8] += f32[4,5] @ f32[5,8]", np.add),
        ("i32[4] min= min(i32[4,5])", np.minimum),
        ("bf16[4] max= max(bf16[4,5])", np.maximum),
        ("f32[4,5] /= expand_dims(f32[4], axis=1)", None),
    ],
)
def test_what_is_updated_is_not_overwritten(text: str, combine: Combine | None) -> None:
    spec = parse(text)
    computing = single(spec)

    def right(*inputs: Array, out: Array) -> None:
        held = out.astype(np.float64)
        if combine is None:
            out[...] = held / inputs[0][:, None]
        else:
            computing(*inputs, out=out)
            out[...] = combine(held, out.astype(np.float64))

    def forgetful(*inputs: Array, out: Array) -> None:
        out[...] = 1
        right(*inputs, out=out)

    assert verify(right, spec) < 1e-2
    assert "elements are wrong" in faults(forgetful, spec)


def test_each_of_several_outputs_is_checked() -> None:
    spec = parse("(f32[4], f32[4]) merge= softmax_denominator_and_max(f32[4,5])")
    wrong: list[int] = []

    def kernel(x: Array, *, out: tuple[Array, Array]) -> None:
        highest, total = out
        top = np.maximum(highest, x.max(1))
        added = np.exp(x - top[:, None]).sum(1)
        out[1][...] = total * np.exp(highest - top) + added
        out[0][...] = top
        for number in wrong:
            out[number][2] += 0.01

    assert verify(kernel, spec) < 1e-6
    for wrong in ([0], [1]):
        assert f"{('max', 'denominator')[wrong[0]]}[2] is" in faults(kernel, spec)

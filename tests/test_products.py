"""Kernels of products of any two tensors, against NumPy."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from tests.frontends.random_products import Product, einsums, matmuls
from tests.sampling import some

import morello
from morello.base.errors import SpecError, TargetError
from morello.frontends import parse
from morello.frontends.products import contract
from morello.frontends.syntax import read_type
from morello.frontends.text import call_sequence
from morello.frontends.values import Value, input_of, value_of
from morello.ir.computation import computation
from morello.search.session import search
from morello.targets import find_target
from morello.targets.machines import ZEN4
from morello.targets.x86 import PRODUCTS, avx512


@given(product=einsums(largest=4) | matmuls())
@settings(max_examples=6)
def test_random_products(product: Product) -> None:
    kernel = morello.compile(product.text, table="off")
    random = np.random.default_rng(0)
    values = []
    for operand, shape in enumerate(product.shapes):
        order = kernel.spec.placements[operand].layout.order
        memory = random.standard_normal([shape[d] for d in order], np.float32)
        values.append(memory.transpose(np.argsort(order)))
    expected = product.value(*(value.astype(np.float64) for value in values))
    np.testing.assert_allclose(kernel(*values), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "folded"),
    some(
        [
            ("f32[2,128,384] @ f32[384,1536]", "f32[256,384] @ f32[384,1536]"),
            (
                "gelu(f32[2,12,32] @ f32[32,64] + f32[64])",
                "gelu(f32[24,32] @ f32[32,64] + f32[64])",
            ),
            ('einsum("bsd,dhk->bshk", f32[2,3,16], f32[16,4,8])', "f32[6,16] @ f32[16,32]"),
            ('einsum("bshk,hkd->bsd", f32[2,3,4,8], f32[4,8,16])', "f32[6,32] @ f32[32,16]"),
            ("f32[1,64] @ f32[64,32]", "f32[64] @ f32[64,32]"),
            ("f32[64,32] @ f32[32,1]", "f32[64,32] @ f32[32]"),
            ("f32[1,64] @ f32[64,1]", "f32[64] @ f32[64]"),
        ],
        2,
    ),
)
def test_what_is_the_same_product_costs_the_same(text: str, folded: str) -> None:
    target = find_target("x86-64-v3")
    assert search(parse(text), target).cost == search(parse(folded), target).cost


def tensor(text: str) -> Value:
    return value_of(input_of(read_type(text)))


def text_of(value: Value) -> str:
    return computation(value.tensor).spec.expression


def test_contractions_by_numbers_of_dimensions() -> None:
    """The batches, what else a has, then what else b has."""
    q, k = tensor("f32[2,8,3,5]"), tensor("f32[2,7,3,5]")
    scores = contract(q, k, batch=((0, 0), (2, 2)), contracted=((3, 3),))
    assert scores.shape == (2, 3, 8, 7)
    text = 'einsum("bqhd,bkhd->bhqk", f32[2,8,3,5], f32[2,7,3,5])'
    assert text_of(scores) == parse(text).expression
    values = contract(scores, k, batch=((0, 0), (1, 2)), contracted=((3, 1),))
    assert values.shape == (2, 3, 8, 5)
    assert text_of(contract(q, tensor("f32[3,5,4]"), contracted=((2, 0), (3, 1)))) == (
        'einsum("ambk,bkn->amn", f32[2,8,3,5], f32[3,5,4])'
    )
    outer = contract(tensor("f32[3]"), tensor("f32[4]"))
    assert text_of(outer) == "expand_dims(f32[3], axis=1) * f32[4]"
    dot = contract(tensor("f32[3]"), tensor("f32[3]"), contracted=((0, 0),))
    assert text_of(dot) == "f32[3] @ f32[3]"


def test_dimensions_to_broadcast_along_are_left_out() -> None:
    a, b = tensor("f32[3]").expanded(0), tensor("f32[3,4]")
    row = contract(a, b, contracted=((1, 0),))
    assert row.shape == (1, 4) and text_of(row) == "f32[3] @ f32[3,4]"
    number = contract(a, a, contracted=((1, 1),))
    assert number.shape == (1, 1)


def test_a_tensor_times_itself() -> None:
    x = tensor("f32[6,4]")
    assert text_of(contract(x, x, contracted=((1, 1),))) == "a = f32[6,4]; a @ transpose(a)"
    kernel = morello.compile('x = f32[2,6,4]; einsum("bqd,bkd->bqk", x, x)', table="off")
    values = np.random.default_rng(0).standard_normal((2, 6, 4), np.float32)
    expected = values.astype(np.float64) @ values.swapaxes(1, 2)
    np.testing.assert_allclose(kernel(values), expected, rtol=1e-5, atol=1e-5)


def test_what_is_computed_once_is_not_two_factors() -> None:
    with pytest.raises(SpecError, match="compute it as a Spec of its own"):
        parse('y = relu(f32[6,4] @ f32[4,4]); einsum("qd,kd->qk", y, y)')


def test_a_chain_of_many_products() -> None:
    factors = [np.random.default_rng(n).standard_normal((7, 7)) for n in range(6)]
    kernel = morello.compile(" @ ".join(["f32[7,7]"] * 6), table="off")
    found = kernel(*(factor.astype(np.float32) for factor in factors))
    np.testing.assert_allclose(found, np.linalg.multi_dot(factors), rtol=1e-4, atol=1e-4)


FEW = {
    "f32[37,65] @ f32[65,3]": "few_columns",
    "f32[40,64] @ f32[64,6]": "few_columns",
    "f32[37,65] @ f32[65]": "few_columns",
    "f32[3,65] @ transpose(f32[37,65])": "few_rows",
    "f32[100] @ transpose(f32[50,100])": "few_rows",
    "f32[5,1000] @ transpose(f32[7,1000])": "few_",
}


@pytest.mark.parametrize("text", some(list(FEW), 2))
def test_products_with_few_rows_or_columns_are_inner_products_of_several(text: str) -> None:
    kernel = morello.compile(text, target="native", table="off")
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(x.shape, np.float32) for x in call_sequence(text).inputs)
    turned = b.T if "transpose" in text else b
    expected = a.astype(np.float64) @ turned.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-4, atol=1e-4)
    chosen, _ = morello.implement(text, target="avx512", table="off")
    assert any(FEW[text] in str(rewrite) for rewrite in chosen.decisions())


def test_few_rows_or_columns_of_what_comes_from_memory_are_prefetched() -> None:
    target = replace(avx512(ZEN4, PRODUCTS), last_cache=64)
    chosen, _ = morello.implement("f32[3,65] @ transpose(f32[37,65])", target=target, table="off")
    assert any("few_rows_l2" in str(rewrite) for rewrite in chosen.decisions())


def test_an_odd_number_of_rows_from_memory_costs_as_much_as_an_even_one() -> None:
    """Its smooth tiles are on more pages than a TLB has, if they are copied before they are cut."""
    target = replace(avx512(ZEN4, PRODUCTS), last_cache=64)
    texts = (f"f32[6,{rows}] @ f32[{rows},2700]" for rows in (384, 385))
    even, odd = (
        morello.implement(text, target=target, table="off", gap=0.01)[0].cost for text in texts
    )
    assert odd == pytest.approx(even, rel=0.03)


@pytest.mark.parametrize(
    "text", ["bf16[70,67] @ bf16[67,3]", "bf16[3,67] @ transpose(bf16[70,67])"]
)
def test_few_rows_or_columns_of_bf16_are_products_of_packed_ones(text: str) -> None:
    target = avx512(ZEN4, PRODUCTS)
    chosen, _ = morello.implement(text, target=target, table="off")
    names = [str(rewrite) for rewrite in chosen.decisions()]
    assert any("few_" in name and "bf16x32" in name for name in names)
    try:
        kernel = morello.compile(chosen)
    except TargetError:
        return
    random = np.random.default_rng(0)
    a, b = (
        random.standard_normal(x.shape).astype(ml_dtypes.bfloat16)
        for x in call_sequence(text).inputs
    )
    turned = b.T if "transpose" in text else b
    expected = a.astype(np.float64) @ turned.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("text", ["u8[2,8] @ i8[8,7]", "bf16[2,16] @ bf16[16,16]"])
def test_columns_that_fill_no_block_are_packed(text: str) -> None:
    chosen, _ = morello.implement(text, target=avx512(ZEN4, PRODUCTS), table="off", gap=0.02)
    assert any("pack_few_" in str(rewrite) for rewrite in chosen.decisions())


def test_rows_of_integers_are_reduced_by_registers() -> None:
    for text, name in (
        ("sum(i32[8,500], axis=1)", "sum_run_i32"),
        ("max(i8[8,500], axis=1)", "max_run_i8"),
        ("argmin(f32[8,500], axis=1)", "argmin_run_f32x16"),
    ):
        chosen, _ = morello.implement(text, target="avx512", table="off")
        assert any(name in str(rewrite) for rewrite in chosen.decisions()), text

"""Text expressions and calls: what they mean, and how bad ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.strategies import layouts

from morello.errors import SpecError
from morello.frontends import matmul, parse, parse_type
from morello.ir.layout import Layout, column_major, panels
from morello.ir.spec import Spec, matmul_spec
from morello.ir.tensor import TensorSpec


@st.composite
def goals(draw: st.DrawFn) -> Spec:
    lead = tuple(draw(st.lists(st.integers(1, 40), max_size=2)))
    m, k, n = (draw(st.integers(1, 40)) for _ in "mkn")
    rank = len(lead) + 2
    given_layouts = tuple(draw(st.none() | layouts(rank)) for _ in "abc")
    return matmul_spec((*lead, m, k), (*lead, k, n), layouts=given_layouts)  # type: ignore[arg-type]


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
    ],
)
def test_ways_to_write_the_same(text: str) -> None:
    assert parse(text) == matmul_spec((8, 4), (4, 16))


def test_layouts_and_batches() -> None:
    spec = parse("f32[3,8,4]{1,2,0} @ f32[3,4,32]{1,2,0:T(1,16,1)} -> f32[3,8,32]{1,2,0}")
    assert spec.operation.name == "BatchMatmul"
    assert [tensor.form.layout for tensor in spec.tensors] == [
        column_major(3),
        panels(3, 2, 16),
        column_major(3),
    ]


def test_sizes_may_be_huge() -> None:
    assert parse("f32[1000000000,4] @ f32[4,2147483647]").sizes == (10**9, 4, 2**31 - 1)


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


NINES = "9" * 5000


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ("", "empty", None),
        (" \n", "empty", None),
        ("f32[0,4] @ f32[4,4]", "at least 1", 4),
        ("f32[-4,4] @ f32[4,4]", "at least 1", 4),
        ("f32[2147483648,4] @ f32[4,4]", "at most 2147483647", 4),
        (f"f32[{NINES},4] @ f32[4,4]", "at most 2147483647", 4),
        ("f32[4,5] @ f32[4,4]", "inner sizes 5 and 4 differ", 11),
        ("f32[2,4,4] @ f32[3,4,4]", "batch sizes [2] and [3] differ", 13),
        ("f32[4] @ f32[4,4]", "takes matrices", 9),
        ("f32[1,1,1,4,4] @ f32[1,1,1,4,4]", "at most two batch", 17),
        ("f99[4,4] @ f32[4,4]", "unknown dtype 'f99'", 0),
        ("f32[4,4]", "not something to compute", 0),
        ("f32[4,4] @ f32[4,4] junk", "'junk' is not expected", 20),
        ("f32[4,4] f32[4,4]", "'f32' is not expected", 9),
        ("f32[4,4]{0,0} @ f32[4,4]", "each of the 2 dimensions once", 8),
        ("f32[4,4]{1 0} @ f32[4,4]", "cannot be read", 8),
        ("f32[4,4]{1,0 @ f32[4,4]", "does not end", 8),
        ("f32[4,4]{0,1:T(4,4)} @ f32[4,4]", "exactly one dimension", 8),
        ("f32[] @ f32[4,4]", "write a size", 4),
        ("f32[4,] @ f32[4,4]", "write a size", 6),
        ("f32[4 4] @ f32[4,4]", "commas", 6),
        ("f32[4,4.0] @ f32[4,4]", "'.' means nothing", 7),
        ("f32[4,4] + f32[4,4]", "'+' means nothing", 9),
        ("f32 @ f32[4,4]", "write the sizes", 4),
        ("@ f32[4,4]", "'@' is no tensor", 0),
        ("(f32[4,4] @ f32[4,4]", "close the parenthesis", 20),
        ("f32[4,4] @ f32[4,4])", "')' is not expected", 19),
        ("f32[4,4] @ f32[4,4] ->", "tensor is missing", 22),
        ("f32[4,4] @ f32[4,4] -> f32[4,5]", "write f32[4,4] here", 23),
        ("softmax(f32[4,4])", "the functions are: matmul", 0),
        ("matmul(f32[4,4])", "takes 2 tensors, not 1", 0),
        ("matmul()", "takes 2 tensors, not 0", 0),
        ("matmul(f32[4,4] f32[4,4])", "by commas", 16),
        ("matmul(f32[4,4], f32[4,4]", "close the parenthesis", 25),
        ("(f32[4,4] @ f32[4,4]) @ f32[4,4]", "only a single matmul", 10),
        ("f32[4,4] @ matmul(f32[4,4], f32[4,4])", "only a single matmul", 11),
        ("(" * 3000, "too deep", 50),
        ("matmul(" * 3000, "too deep", 356),
    ],
)
def test_bad_text_gets_one_clear_error(text: str, said: str, at: int | None) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    message = str(caught.value)
    assert said in message
    lines = message.splitlines()
    assert len(lines) == (1 if at is None else 3)
    if at is not None and at < 60:
        assert lines[2].index("^") == at + 2


@given(st.text(st.sampled_from("f32matmul[](){},:T@->148 \n"), max_size=40))
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


# ---- calls


def test_arrays_give_shape_and_layout() -> None:
    a = np.zeros((8, 4), np.float32)
    b = np.zeros((16, 4), np.float32).T
    assert matmul(a, b) == parse("f32[8,4] @ f32[4,16]{0,1}")
    assert matmul(np.asfortranarray(a), "f32[4,16]") == parse("f32[8,4]{0,1} @ f32[4,16]")


def test_arrays_in_batches() -> None:
    a = np.zeros((3, 8, 4), np.float32)
    assert matmul(a, a.swapaxes(1, 2)) == parse("f32[3,8,4] @ f32[3,4,8]{1,2,0}")


def test_what_gives_an_array_interface_is_an_array() -> None:
    class Wrapped:
        __array_interface__ = np.zeros((8, 4), np.float32).__array_interface__

    assert matmul(Wrapped(), "f32[4,4]") == parse("f32[8,4] @ f32[4,4]")  # type: ignore[arg-type]


SQUARE = np.zeros((8, 8), np.float32)


@pytest.mark.parametrize(
    ("a", "said"),
    [
        (SQUARE[::2], "a has gaps; make it contiguous with np.ascontiguousarray"),
        (SQUARE.astype(np.float64), "a has dtype float64; convert it to one of: float32"),
        (SQUARE.astype(">f4"), "a has dtype >f4"),
        (np.zeros((4, 0), np.float32), "a has a size of 0"),
        (np.zeros(8, np.float32), "matmul takes matrices"),
        (np.broadcast_to(np.float32(0), (2**31, 8)), "a has a size of 2147483648"),
        ([[1.0]], "a is a list; give a type"),
        (None, "a is a NoneType"),
        ("f32[8", "commas, and close the bracket"),
        (TensorSpec((0, 8), parse_type("f32[1]").dtype), "a has a size of 0"),
        (TensorSpec((8, 8), parse_type("f32[1]").dtype, level=1), "lie in main memory"),
    ],
)
def test_bad_arguments(a: object, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        matmul(a, "f32[8,8]")  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_tensor_spec_need_not_be_canonical() -> None:
    column = TensorSpec((8, 1), parse_type("f32[1]").dtype)
    assert matmul("f32[4,8]", column) == parse("f32[4,8] @ f32[8,1]")
    assert Layout((0, 1)) == column.form.layout

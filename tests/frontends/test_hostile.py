"""Each malformed or oversized expression raises an error of one short sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import morello
from morello.base.errors import MorelloError, RewriteError, SpecError, quoted
from morello.frontends import matmul, parse, parse_type
from morello.frontends.ranges import family
from morello.frontends.tokens import MAX_TEXT
from morello.ir.dtype import F32
from morello.ir.tensor import TensorSpec

MOST = 800
"""Characters of an error that quotes a user, at most."""


class Claims:
    """An object that says that it is an array."""

    def __init__(self, interface: object) -> None:
        self.__array_interface__ = interface


class LongName:
    """An object of no kind that there is a use for."""


LongName.__name__ = "T" * 10_000


class Raises:
    @property
    def __array_interface__(self) -> object:
        raise RuntimeError("no " * 10_000)

    def __dir__(self) -> list[str]:
        raise ValueError


def claims(**changes: object) -> Claims:
    usual: dict[str, object] = {"shape": (4, 4), "typestr": "<f4", "version": 3}
    return Claims(usual | changes)


ODD: list[tuple[object, str]] = [
    (None, "x is a NoneType; give a type"),
    (3, "x is a int"),
    (b"f32[4]", "x is a bytes"),
    ([[1.0]], "x is a list"),
    (object(), "x is a object"),
    (Claims, "x is a type"),
    (LongName(), "x is a TTTT"),
    (Claims(3), "no array that NumPy reads"),
    (Claims({}), "no array that NumPy reads"),
    (claims(shape=(-1, 4)), "no array that NumPy reads"),
    (claims(typestr="zz"), "no array that NumPy reads"),
    (Raises(), "RuntimeError('no no no"),
    (np.array(3.0, np.float32), "a number is no tensor"),
    (np.zeros((2, 2), object), "the dtype is object"),
    (np.zeros(3, [("a" * 10_000, "f4")]), "the dtype is [('aaa"),
    (np.zeros((1,) * 40, np.float32), "1 to 6 dimensions, not 40"),
    (np.zeros((0, 4), np.float32), "a size of 0"),
    (TensorSpec((-1, 4), F32), "a size of -1"),
    (TensorSpec((10**5000, 4), F32), "a size of <int>"),
    (TensorSpec(("a",), F32), "give whole numbers"),  # type: ignore[arg-type]
    (TensorSpec((4, 4), "f32"), "its dtype is no DType"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("value", "said"), ODD, ids=range(len(ODD)))
def test_odd_tensors_get_a_sentence(value: Any, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        matmul(value, "f32[4,4]")
    assert len(str(caught.value)) < MOST
    with pytest.raises(SpecError) as caught:
        parse("relu(x)", x=value)
    assert said in str(caught.value) and len(str(caught.value)) < MOST


@pytest.mark.parametrize("value", [None, 3, 2.5, b"f32[4]", ["f32[4]"], np.zeros(4), object()])
@pytest.mark.parametrize(
    "take", [parse, parse_type, morello.compile, morello.implement, morello.schedule]
)
def test_what_is_no_text_gets_a_sentence(take: Callable[[Any], object], value: Any) -> None:
    with pytest.raises(SpecError, match="an expression is a text such as"):
        take(value)


LONG = "x" * 10_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LONG, "the text has 10,000,000 characters, and 100,000 are the most"),
        ("f32[4] + " * 1_000_000, "the text has 9,000,000 characters"),
        (LONG[:90_000], "a name of 90,000 characters"),
        (f"f32[4,4] @ {LONG[:50_000]}(f32[4,4])", "a name of 50,000 characters"),
        (f"f32[{'9' * 90_000}]", "a size may be at most"),
        (f"f32[4] + {'9' * 90_000}", "this number is too large"),
        (f"sum(f32[4], axis={'9' * 90_000})", "no number of dimensions"),
        (f"f32[1.{'1' * 90_000}]", "1.111111111111111111 is no size"),
        ("f32[4]{" + "0," * 40_000 + "}", "cannot be read"),
        ("(" * 90_000, "too deep"),
        ("f32[4]" + " + 1" * 20_000, "more than 100 operations"),
        ("a = " * 20_000, "is not expected here"),
        ("f32[" + "1," * 40_000 + "1]", "dimensions; a tensor has at most 6"),
    ],
    ids=range(13),
)
def test_long_texts_get_a_short_sentence(text: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert said in str(caught.value) and len(str(caught.value)) < MOST


@pytest.mark.parametrize(
    ("text", "line", "at"),
    [
        ("relu(f32[4])\u00e9", "relu(f32[4])?", 12),
        ("relu(f32[4]) + e\u0301", "relu(f32[4]) + e?", 16),
        ("\u202erelu(f32[4])", "?relu(f32[4])", 0),
        ("f32[4]\0", "f32[4]?", 6),
        ("f32[4] \udc80", "f32[4] ?", 7),
        ("\u6f22f32[4]", "?f32[4]", 0),
        ("\tf32[4]\r\n\t+ $", " f32[4]   + $", 12),
        ("\u2003f32[4] $", " f32[4] $", 8),
    ],
)
def test_the_mark_is_below_the_fault_whatever_stands_before_it(
    text: str, line: str, at: int
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.isascii()
    _, shown, mark = message.splitlines()
    assert shown == f"  {line}" and mark.index("^") == at + 2


@given(
    st.text(max_size=60)
    | st.text("f32[]()\n\t\r \0\u0301\u202e\ud800+x", max_size=MAX_TEXT // 1000)
)
def test_any_characters_are_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except SpecError as error:
        assert str(error).isascii()


@pytest.mark.parametrize(
    "refused",
    [
        lambda: parse("relu(f32[4])", **{LONG: "f32[4]"}),
        lambda: parse("relu(x)", x=LONG),
        lambda: parse(f"cast(f32[4], {LONG[:90]})"),
        lambda: family(f"f32[{LONG}]", ["x=1..4"]),
        lambda: family(f"f32[{LONG[:5000]}]", [f"{LONG[:5000]}=1..4"]),
        lambda: family("f32[m]", [f"m={LONG}"]),
        lambda: family("f32[m]", [LONG]),
        lambda: family("f32[m,n] @ f32[n,k]", [f"{d}=1..999999+1" for d in "mnk"]),
        lambda: morello.compile("relu(f32[4])", target=LONG),
        lambda: morello.compile("relu(f32[4])", weights=LONG),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").move(LONG, "L2"),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").move("a", LONG),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").select(LONG),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").tile(**{LONG: 4}),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").tile(**{LONG: "4"}),  # type: ignore[arg-type]
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").move("a", "L2", layout=LONG),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").move("a", "L2", dtype=LONG),
        lambda: morello.schedule("f32[4,4] @ f32[4,4]").decompose(LONG, LONG),
        lambda: morello.compile("relu(f32[4])").pack(LONG, np.zeros(4, np.float32)),
    ],
    ids=range(19),
)
def test_errors_quote_little(refused: Callable[[], object]) -> None:
    with pytest.raises(MorelloError) as caught:
        refused()
    assert len(str(caught.value)) < MOST * 3  # of what there is to choose from, all is named


def test_quoting() -> None:
    assert quoted("w") == "'w'"
    assert quoted("\n\0\ud800") == r"'\n\x00\ud800'"
    assert len(quoted(LONG)) <= 62 and len(quoted([LONG] * 100)) < MOST
    assert quoted(10**40) == str(10**40)
    with pytest.raises(RewriteError, match=r"no operand 'xxxx.*\.\.\."):
        morello.schedule("f32[4,4] @ f32[4,4]").move(LONG, "L2", packed=16)

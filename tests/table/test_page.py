"""Pages as bytes: what is read is what was written, or an error."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.pages import content, page_of, pages, rowless, together

from morello.base.errors import TableError
from morello.memo import Page
from morello.memo.page import VERSION, decode, encode, union

KEY = "Matmul 1 2 3 space"


def same(one: Page, other: Page) -> bool:
    def head(page: Page) -> tuple[object, ...]:
        return page.axes, page.limits, page.names, page.texts, page.rows.shape, page.rows.dtype

    return head(one) == head(other) and bool((one.rows == other.rows).all())


def sample(boxes: int = 5) -> Page:
    """A page of several decisions, some of them with costs of many bits."""
    random = np.random.default_rng(boxes)
    return page_of(
        [
            (
                f"name {i % 3}",
                (i, 0, 0),
                (i, 5, i),
                tuple((f"{k}:text", int(random.integers(-(1 << 63), 1 << 62)), 1) for k in "01"),
            )
            for i in range(boxes)
        ],
        keeps=2,
    )


@given(st.integers(1, 4).flatmap(pages))
@settings(max_examples=100)
def test_what_is_read_is_what_was_written(page: Page) -> None:
    assert same(decode(encode(page, KEY), KEY), page)
    assert encode(decode(encode(page, KEY), KEY), KEY) == encode(page, KEY)


@pytest.mark.parametrize("largest", [0, 254, 255, 65534, 65535, (1 << 32) - 1, 1 << 40])
def test_integers_of_every_width(largest: int) -> None:
    rows = np.array([[0, 1, 2, largest, 0, 1, 2, largest, -1, -(1 << 63), 1]], np.int64)
    page = Page(4, 2, ("name",), (), rows)
    assert same(decode(encode(page, KEY), KEY), page)


def test_pages_with_no_limits_and_with_no_rows() -> None:
    for rows in (rowless[:, :7], np.array([[0, 2, 0, 3, -1, 99, 0]], np.int64)):
        page = Page(2, 0, ("",), (), rows)
        assert same(decode(encode(page, KEY), KEY), page)


def test_many_decisions_and_many_boxes() -> None:
    keeps = 64
    rows = np.arange(300 * (8 + 3 * keeps)).reshape(300, -1) % 50
    rows[:, [0, 4]] = 0
    page = Page(4, 2, ("name",), tuple(map(str, range(50))), rows)
    assert same(decode(encode(page, KEY), KEY), page)


def test_any_flipped_bit_is_noticed() -> None:
    data = encode(sample(), KEY)
    for place in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(TableError, match="damaged"):
            decode(bytes(damaged), KEY)


def test_whatever_is_missing_or_too_much_is_noticed() -> None:
    data = encode(sample(), KEY)
    for length in range(len(data)):
        for part in (data[:length], data[length + 1 :], data[:length] + data[length + 1 :]):
            with pytest.raises(TableError, match="damaged"):
                decode(part, KEY)
    for longer in (data + b"\0", b"\0" + data, data + data):
        with pytest.raises(TableError, match="damaged"):
            decode(longer, KEY)


@given(st.binary(max_size=200))
def test_bytes_at_random_are_no_page(data: bytes) -> None:
    with pytest.raises(TableError, match="damaged"):
        decode(data, KEY)


def test_a_page_under_another_key_is_refused() -> None:
    data = encode(sample(), KEY)
    for key in (KEY + " ", KEY[:-1], "", "Matmul 1 2 4 space"):
        with pytest.raises(TableError, match="damaged"):
            decode(data, key)


def test_a_page_of_another_version_is_refused() -> None:
    body = bytearray(encode(sample(), KEY)[:-16])
    body[4] = VERSION + 1
    salt = hashlib.blake2b(KEY.encode(), digest_size=16).digest()
    digest = hashlib.blake2b(bytes(body), digest_size=16, salt=salt).digest()
    with pytest.raises(TableError, match=f"format {VERSION + 1}, and this reads {VERSION}"):
        decode(bytes(body) + digest, KEY)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(pages(n), min_size=1, max_size=4)))
@settings(max_examples=100)
def test_a_union_says_what_its_pages_say(parts: list[Page]) -> None:
    """The names and texts of pages may differ, and be numbered in other ways."""
    whole = union(parts)
    assert content(whole) == together(*map(content, parts))
    assert len(whole.rows) <= sum(len(part.rows) for part in parts)
    assert content(union([*parts, whole])) == content(whole)
    assert list(whole.names) == sorted(whole.names)
    assert list(whole.texts) == sorted(whole.texts)
    assert (np.diff(whole.rows[:, 0]) >= 0).all()


@given(pages(2), pages(2))
def test_a_union_leaves_its_pages_alone(one: Page, other: Page) -> None:
    before = encode(one, KEY), encode(other, KEY)
    union([one, other])
    assert (encode(one, KEY), encode(other, KEY)) == before


def test_equal_neighbours_of_different_pages_become_one_box() -> None:
    answer = (("1:Move", 5, 0),)
    left = page_of([("a", (0, 0, 0), (0, 3, 3), answer), ("b", (0, 0, 0), (0, 3, 3), answer)])
    right = page_of([("b", (0, 4, 0), (0, 6, 3), answer), ("a", (0, 4, 0), (0, 6, 3), answer)])
    whole = union([left, right])
    assert whole.rows[:, :8].tolist() == [[n, 0, 0, 0, n, 0, 6, 3] for n in (0, 1)]


def test_a_page_knows_about_what_it_takes_in_memory() -> None:
    small, large = sample(5), sample(500)
    assert small.rows.nbytes < small.bytes < large.bytes

"""A page: the boxes of one table key as bytes, compressed, with a version and a checksum.

A page is, in this order (integers are little-endian):

| bytes | |
|---|---|
| 4 | `MTPG` |
| 1 | the version of this format |
| 1 | the number of axes |
| 1 | how many of them, the last, are limits |
| 1 | the bytes of an integer |
| 2 | the number of columns of a box (its two corners, and its value) |
| 4 | the number of boxes |
| 4 | the length of the texts, uncompressed |
| n | zlib: the texts, as JSON, followed by the columns |
| 16 | BLAKE2b of the page's key and of all bytes before |

The columns of corners and of numbers of texts, each plus 1, are of integers as wide as the
header says (1, 2, 4 or 8 bytes), one column after the other. The bits of costs follow, in 8 bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from morello.errors import TableError
from morello.table.boxes import Ints, merged

VERSION = 1
DECISION = 3
"""Columns of a decision."""
_MAGIC = b"MTPG"
_HEAD = struct.Struct("<4sBBBBHII")
_DIGEST = 16
_LEVEL = 4


@dataclass(frozen=True)
class Page:
    """Boxes of a key's Specs, in as many `axes`; the last `limits` of them are memory limits.

    Along the first axis are the `names` of where operands lie, by number. A value is a list of
    decisions, three columns each: the number of a text (-1: there is none), the bits of a cost
    in double precision, and whether it is per unit of volume.
    """

    axes: int
    limits: int
    names: tuple[str, ...]
    texts: tuple[str, ...]
    rows: Ints

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the names."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return self.rows.nbytes + sum(map(len, self.names)) + sum(map(len, self.texts)) + 200


def union(pages: Sequence[Page]) -> Page:
    """What these pages of one key have together, merged."""
    axes, limits = pages[0].axes, pages[0].limits
    names = sorted({name for page in pages for name in page.names})
    texts = sorted({text for page in pages for text in page.texts})
    numbers = [{text: n for n, text in enumerate(known)} for known in (names, texts)]
    parts = []
    for page in pages:
        rows = page.rows.copy()
        name = np.array([numbers[0][one] for one in page.names], np.int64)
        text = np.array([*(numbers[1][one] for one in page.texts), -1], np.int64)
        for column in (0, axes):
            rows[:, column] = name[rows[:, column]]
        for column in range(2 * axes, rows.shape[1], DECISION):
            rows[:, column] = text[rows[:, column]]
        parts.append(rows)
    inner = range(axes - limits, axes)
    rows = merged(np.concatenate(parts), axes, range(1, axes), inner)
    return Page(axes, limits, tuple(names), tuple(texts), rows)


def compact(page: Page) -> Page:
    """The page with no names and texts but those that it uses."""
    rows = page.rows.copy()
    names, numbers = np.unique(rows[:, 0], return_inverse=True)
    rows[:, 0] = rows[:, page.axes] = numbers.ravel()
    columns = range(2 * page.axes, rows.shape[1], DECISION)
    used = np.unique(np.concatenate([rows[:, column] for column in columns]))
    used = used[used >= 0]
    place = np.full(len(page.texts) + 1, -1, np.int64)  # the last stands for -1
    place[used] = np.arange(len(used))
    for column in columns:
        rows[:, column] = place[rows[:, column]]
    texts = tuple(page.texts[number] for number in used)
    return Page(page.axes, page.limits, tuple(page.names[n] for n in names), texts, rows)


def encode(page: Page, key: str) -> bytes:
    """A page as bytes, to be found under this key."""
    text = json.dumps([page.names, page.texts], separators=(",", ":")).encode()
    rows, columns = page.rows.shape
    small, costs = _split(page.axes, columns)
    integers = page.rows.T[small] + 1
    most = int(integers.max(initial=0))
    width = next(n for n in (1, 2, 4, 8) if n == 8 or most < 1 << 8 * n)
    head = _HEAD.pack(_MAGIC, VERSION, page.axes, page.limits, width, columns, rows, len(text))
    content = integers.astype(f"<u{width}").tobytes() + page.rows.T[costs].astype("<i8").tobytes()
    body = head + zlib.compress(text + content, _LEVEL)
    return body + _digest(key, body)


def decode(data: bytes, key: str) -> Page:
    """The page that `encode` gave for this key; raises `TableError` for anything else."""
    if len(data) < _HEAD.size + _DIGEST or data[-_DIGEST:] != _digest(key, data[:-_DIGEST]):
        raise TableError(f"the page of {key:.80} is damaged.")
    magic, version, axes, limits, width, columns, rows, length = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != VERSION:
        raise TableError(f"the page of {key:.80} has format {version}, and this reads {VERSION}.")
    content = zlib.decompress(data[_HEAD.size : -_DIGEST])
    names, texts = json.loads(content[:length])
    small, costs = _split(axes, columns)
    table = np.empty((columns, rows), np.int64)
    integers = np.frombuffer(content, f"<u{width}", len(small) * rows, length)
    table[small] = integers.reshape(len(small), rows)
    table[small] -= 1
    bits = np.frombuffer(content, "<i8", len(costs) * rows, length + integers.nbytes)
    table[costs] = bits.reshape(len(costs), rows)
    return Page(axes, limits, tuple(names), tuple(texts), np.ascontiguousarray(table.T))


def _split(axes: int, columns: int) -> tuple[list[int], list[int]]:
    """The columns of small integers, and those of the bits of costs."""
    costs = list(range(2 * axes + 1, columns, DECISION))
    return [column for column in range(columns) if column not in costs], costs


def _digest(key: str, body: bytes) -> bytes:
    salt = hashlib.blake2b(key.encode(), digest_size=16).digest()
    return hashlib.blake2b(body, digest_size=_DIGEST, salt=salt).digest()

"""Pages: the boxes of one table key, and their compressed format, with version and checksum.

A page is, in this order (integers are little-endian):

| bytes | |
|---|---|
| 4 | `MTPG` |
| 1 | the version of this format |
| 1 | the number of axes |
| 1 | how many of them, the last ones, are limits |
| 1 | the bytes per integer |
| 2 | the number of columns of a box (its two corners, and its value) |
| 4 | the number of boxes |
| 4 | the length of the texts, uncompressed |
| n | zlib: the texts, as JSON, followed by the columns |
| 16 | BLAKE2b of the page's key and of all bytes before |

The columns of corners and of text numbers, each plus 1, are integers of the width that the
header gives (1, 2, 4 or 8 bytes), one column after the other. The costs follow, 8 bytes each.
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

from morello.base.errors import TableError
from morello.memo.boxes import Ints, merged

VERSION = 1
DECISION = 3
"""The number of columns of a decision."""
_MAGIC = b"MTPG"
_HEAD = struct.Struct("<4sBBBBHII")
_DIGEST = 16
_LEVEL = 4


@dataclass(frozen=True)
class Page:
    """The boxes of one key's Specs: a row each, in a space of `axes` axes.

    Coordinates on the first axis are indices into `names`, the placements of a Spec's operands; the
    last `limits` axes are memory limits. A box's value is a list of decisions of three columns
    each: an index into `texts` (-1 for no decision), the bits of the cost in double precision,
    and whether the cost is per unit of volume.
    """

    axes: int
    limits: int
    names: tuple[str, ...]
    texts: tuple[str, ...]
    rows: Ints

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The index of each name."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def bytes(self) -> int:
        """Its approximate size in memory."""
        return self.rows.nbytes + sum(map(len, self.names)) + sum(map(len, self.texts)) + 200


def union(pages: Sequence[Page]) -> Page:
    """The union of several pages of the same key, with boxes merged."""
    axes, limits = pages[0].axes, pages[0].limits
    names = sorted({name for page in pages for name in page.names})
    texts = sorted({text for page in pages for text in page.texts})
    numbers = [{text: n for n, text in enumerate(known)} for known in (names, texts)]
    parts = []
    for page in pages:
        rows = page.rows.copy()
        new_names = np.array([numbers[0][name] for name in page.names], np.int64)
        new_texts = np.array([*(numbers[1][text] for text in page.texts), -1], np.int64)
        for column in (0, axes):
            rows[:, column] = new_names[rows[:, column]]
        for column in range(2 * axes, rows.shape[1], DECISION):
            rows[:, column] = new_texts[rows[:, column]]
        parts.append(rows)
    inner = range(axes - limits, axes)
    rows = merged(np.concatenate(parts), axes, range(1, axes), inner)
    return Page(axes, limits, tuple(names), tuple(texts), rows)


def compact(page: Page) -> Page:
    """The page without the names and texts that it does not use."""
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
    """Encode a page as bytes. The key is part of the checksum."""
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
    """Decode what `encode` returned for this key; raises `TableError` for anything else."""
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
    """The indices of the columns of small integers, and those of the columns of costs."""
    costs = list(range(2 * axes + 1, columns, DECISION))
    return [column for column in range(columns) if column not in costs], costs


def _digest(key: str, body: bytes) -> bytes:
    salt = hashlib.blake2b(key.encode(), digest_size=16).digest()
    return hashlib.blake2b(body, digest_size=_DIGEST, salt=salt).digest()

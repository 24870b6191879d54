"""Damage to files: a few edits of bytes, written as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from fuzz.shrink import without_runs

Edit = tuple[str, int, int, int]
"""An edit: its kind, its place (in millionths of the length), and two parameters."""

_PLACES = 1_000_000


def edits(random: Random) -> list[Edit]:
    """A few random edits; most often one."""
    return [_edit(random) for _ in range(random.choice((1, 1, 1, 1, 2, 5)))]


def _edit(random: Random) -> Edit:
    kind = random.choice(("flip", "flip", "zero", "copy", "cut", "grow", "set"))
    length = random.choice((1, 1, 2, 16, 512, 4096))
    at = random.choice((random.randrange(_PLACES), random.randrange(0, _PLACES, 1000), 0))
    return kind, at, length, random.randrange(_PLACES)


def damaged(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The data after these edits."""
    result = bytearray(data)
    for kind, place, length, other in edits:
        at = place * max(0, len(result) - 1) // _PLACES
        if kind == "cut":
            del result[at:]
        elif kind == "grow":
            result += bytes(length)
        elif not result:
            continue
        elif kind == "flip":
            result[at] ^= 1 << other % 8
        elif kind == "zero":
            result[at : at + length] = bytes(len(result[at : at + length]))
        elif kind == "set":
            result[at] = other % 256
        elif kind == "copy":
            source = other * len(result) // _PLACES
            piece = result[source : source + length]
            result[at : at + len(piece)] = piece
    return bytes(result)


def fewer(edits: Sequence[Edit]) -> Iterator[Sequence[Edit]]:
    """Fewer edits, and shorter ones."""
    if len(edits) > 1:
        yield from without_runs(edits)
    for i, (kind, at, length, other) in enumerate(edits):
        if length > 1:
            yield [*edits[:i], (kind, at, length // 2, other), *edits[i + 1 :]]

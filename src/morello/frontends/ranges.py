"""Families of Specs: an expression with names for sizes, and a range for each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from morello.base.errors import SpecError, quoted
from morello.frontends.tokens import MAX_NAME, check_text

_RANGE = re.compile(r"([1-9]\d{,8})\.\.([1-9]\d{,8})(?:\+([1-9]\d{,8}))?", re.ASCII)
_LIST = re.compile(r"[1-9]\d{,8}(,[1-9]\d{,8})*", re.ASCII)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_MOST = 1_000_000


@dataclass(frozen=True)
class SpecFamily:
    """An expression such as `f32[m,k] @ f32[k,n]`, and the sizes that each name has."""

    expression: str
    sizes: Mapping[str, Sequence[int]]

    def __len__(self) -> int:
        return prod(map(len, self.sizes.values()))

    def __str__(self) -> str:
        named = " ".join(f"{name}={','.join(map(str, n))}" for name, n in self.sizes.items())
        return f"{self.expression} {named}"

    def expressions(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """The sizes and the expression of every member; the last name's size varies fastest."""
        for sizes in product(*self.sizes.values()):
            yield sizes, self.member(dict(zip(self.sizes, sizes, strict=True)))

    def member(self, sizes: Mapping[str, int]) -> str:
        """The expression with these sizes."""

        def filled(brackets: re.Match[str]) -> str:
            return re.sub(r"[A-Za-z_]\w*", lambda m: str(sizes.get(m[0], m[0])), brackets[0])

        return _BRACKETS.sub(filled, self.expression)


def family(expression: str, ranges: Sequence[str]) -> SpecFamily:
    """The family of an expression, with the ranges of its sizes given as text.

    `m=1..2048` means 1, 2, 4, ... up to 2048; `m=64..512+64` means 64, 128, ..., 512; `m=1,3,7`
    lists the sizes. Raises `SpecError` for other text, and for names not in the expression.
    """
    check_text(expression)
    names = {name for part in _BRACKETS.findall(expression) for name in _names(part)}
    if long := [name for name in names if len(name) > MAX_NAME]:
        raise SpecError(f"a size is called {quoted(long[0])}; use at most {MAX_NAME} characters.")
    sizes: dict[str, Sequence[int]] = {}
    for text in ranges:
        name, equals, rest = text.partition("=")
        if not equals or name not in names:
            known = sorted(names)
            remedy = "whose sizes are all numbers; leave it out"
            if known:
                remedy = f"whose names are: {', '.join(known)}; write {known[0]}=1..2048"
            raise SpecError(f"{quoted(text)} gives no size of {quoted(expression)}, {remedy}.")
        if name in sizes:
            raise SpecError(f"{quoted(text)}: {name} has a range already; give it one.")
        sizes[name] = _range(name, rest)
    if missing := sorted(names - sizes.keys()):
        raise SpecError(
            f"{quoted(expression)} needs a range for {missing[0]}: {missing[0]}=1..2048."
        )
    result = SpecFamily(expression, sizes)
    if len(result) > _MOST:
        raise SpecError(
            f"{quoted(expression)} has {len(result):,} members; {_MOST:,} are the most."
        )
    return result


def _names(brackets: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", brackets)


def _range(name: str, text: str) -> Sequence[int]:
    """The sizes that a range gives, in increasing order; raises `SpecError`."""
    if match := _RANGE.fullmatch(text):
        low, high, step = (int(part) if part else 0 for part in match.groups())
        if low <= high:
            if step:
                return range(low, high + 1, step)
            return [low << i for i in range(32) if low << i <= high]
    elif _LIST.fullmatch(text):
        return sorted({int(part) for part in text.split(",")})
    raise SpecError(
        f"{name}={text:.60} is no range; write {name}=1..2048 (doubling), {name}=64..512+64 or "
        f"{name}=1,3,7."
    )

"""The tokens of a text expression, and errors that point at a position in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from morello.base.errors import SpecError, quoted

_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<quoted>\"[^\"]*\"?)"
    r"|(?P<layout>\{[^{}]*\}?)"
    r"|(?P<symbol>->|\*\*|[<>=!+/]=|\.\.\.|[-@+*/=<>;:()\[\],])",
    re.ASCII,
)
_MEANT = {
    ".": "functions are called by name, as in transpose(x) and sum(x, axis=0)",
    "%": "write remainder(a, b)",
    "&": "write bitwise_and(a, b), or a * b of comparisons",
    "|": "write bitwise_or(a, b), or maximum(a, b) of comparisons",
    "~": "write bitwise_not(x)",
}
"""The words for symbols of Python that mean nothing here."""

MAX_TEXT = 100_000
"""The maximum length of a text, in characters."""
MAX_NAME = 100
"""The maximum length of a name, in characters."""

_SHOWN = 60
"""How many characters of a long text an error shows on either side of its position."""


@dataclass(frozen=True)
class Token:
    """A token and the index where it begins.

    Its kind is name, number, quoted, layout or end; the kind of a symbol is the symbol itself.
    """

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return repr(self.text)


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, followed by one of kind "end"; raises `SpecError`."""
    check_text(text)
    result: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise error_at(
                text,
                at,
                f"{text[at]!a} means nothing here",
                _MEANT.get(text[at], "the operators are @, *, /, +, -, **, and comparisons"),
            )
        kind, word = str(match.lastgroup), match[0]
        if kind == "layout" and not word.endswith("}"):
            raise error_at(text, at, "a layout does not end", "close this brace, as in {1,0}")
        if kind == "quoted" and (word[-1] != '"' or len(word) == 1):
            raise error_at(text, at, "a quoted text does not end", 'close it by another "')
        if kind == "name" and len(word) > MAX_NAME:
            what = f"a name of {len(word):,} characters"
            raise error_at(text, at, what, f"use one of at most {MAX_NAME}")
        result.append(Token(word if kind == "symbol" else kind, word, at))
        at = match.end()
    return [*result, Token("end", "", len(text.rstrip()))]


@contextmanager
def errors_at(text: str, at: int, kind: type[SpecError] = SpecError) -> Iterator[None]:
    """Point every `SpecError` that the block raises at index `at` of the text, as one of a kind."""
    try:
        yield
    except SpecError as error:
        raise error_at(text, at, error.what, error.fix, kind) from None


def check_text(text: object) -> None:
    """Raise `SpecError` if `text` is not a `str`, or is too long."""
    if not isinstance(text, str):
        raise SpecError(
            f"an expression is a text such as 'f32[64,64] @ f32[64,64]', and not {quoted(text)}."
        )
    if len(text) > MAX_TEXT:
        raise SpecError(
            f"the text has {len(text):,} characters, and {MAX_TEXT:,} are the most; "
            "compute a part of it as a Spec of its own."
        )


def error_at(
    text: str, at: int, what: str, fix: str = "", kind: type[SpecError] = SpecError
) -> SpecError:
    """An error that says what is wrong, and shows the text with a caret and a fix at index `at`."""
    begin, end = max(0, at - _SHOWN), at + _SHOWN
    before, after = "..." * (begin > 0), "..." * (end < len(text.rstrip()))
    line = "".join(map(_column, text[begin:end])).rstrip()
    caret = " " * (len(before) + at - begin) + "^" + (f" {fix}." if fix else "")
    return kind(f"{what.rstrip('.')}:\n  {before}{line}{after}\n  {caret}")


def _column(character: str) -> str:
    """A character as exactly one terminal column, so that the caret below the text is aligned."""
    if character.isspace():
        return " "
    return character if character.isascii() and character.isprintable() else "?"

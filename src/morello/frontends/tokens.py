"""The words of a text expression, and errors that point at them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from morello.errors import SpecError

_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<layout>\{[^{}]*\}?)"
    r"|(?P<symbol>->|[-@+*/=;()\[\],])",
    re.ASCII,
)
_SHOWN = 60
"""Characters of a long text that an error shows on either side of its place."""


@dataclass(frozen=True)
class Token:
    """A word and where it begins. Its kind is name, number, layout or end, or a symbol itself."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return repr(self.text)


def tokens(text: str) -> list[Token]:
    """The words of `text`, closed by one of kind "end"; raises `SpecError`."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise wrong(
                text, at, f"{text[at]!r} means nothing here", "the operators are @, *, /, + and -"
            )
        kind, word = str(match.lastgroup), match[0]
        if kind == "layout" and not word.endswith("}"):
            raise wrong(text, at, "a layout does not end", "close this brace, as in {1,0}")
        found.append(Token(word if kind == "symbol" else kind, word, at))
        at = match.end()
    return [*found, Token("end", "", len(text.rstrip()))]


def wrong(text: str, at: int, what: str, fix: str = "") -> SpecError:
    """The error that says what is wrong, shows the text, and points at the place with a fix."""
    line = "".join(" " if c.isspace() else c for c in text).rstrip()
    begin, end = max(0, at - _SHOWN), at + _SHOWN
    before, after = "..." * (begin > 0), "..." * (end < len(line))
    caret = " " * (len(before) + at - begin) + "^" + (f" {fix}." if fix else "")
    return SpecError(f"{what.rstrip('.')}:\n  {before}{line[begin:end]}{after}\n  {caret}")

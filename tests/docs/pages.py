"""The pages of the project, what is to be run in them, and how figures are compared."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")))

MACHINE = "Zen 5"
"""The microarchitecture that the outputs in the pages are from."""
COUNTS_WITHIN = 0.3
"""The relative tolerance for numbers of Specs, on that microarchitecture."""
LARGEST_ERROR = 1e-5

FIGURES = {
    "compiler": r"\b(?:zig cc|clang|gcc) \d[\d.]*",
    "library": r"\bnumpy \d[\d.]*, \w+ \d[\d.]*( \w+)?",
    "seconds": r"\d[\d.]* (?:ns|us|ms|s)\b",
    "error": r"\d\.\d+e-\d+",
    "ratio": r"\d+\.\d\dx\b",
    "cycles": r"\d[\d.]*[kMG]? cycles\b",
    "count": r"\d[\d,]* Specs\b",
    "share": r"\b\d+ %",
    "time": r"(?<= {2})\d+\.\d+(?= {2}\S)",
    "rate": r"\b\d+\.\d\b",
    "machine": r"^\S.*\bcosts of .*$",
}
"""Patterns of outputs that depend on the machine, by kind; all else is the same anywhere."""
_FIGURE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in FIGURES.items()), re.M)

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(
    r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Command:
    """A command of a page, and what the page shows of its output."""

    line: str
    shown: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language."""
    return [text for found, text in _BLOCK.findall(page.read_text()) if found == language]


def commands(page: Path) -> list[list[Command]]:
    """The commands of each console block."""
    found = []
    for block in blocks(page, "console"):
        before, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
        assert not before, f"{page.name}: a console block begins with a command"
        split = [part.partition("\n") for part in parts]
        found.append([Command(line, shown) for line, _, shown in split])
    return found


def python(page: Path) -> list[tuple[str, str]]:
    """Each piece of Python, and the output that the page shows right after it, if any."""
    return [(text, shown) for text, shown in _PYTHON.findall(page.read_text())]


def code(page: Path) -> list[str]:
    """The inline code of a page, without the escapes of tables."""
    text = _BLOCK.sub("", page.read_text())
    return [one.replace("\\|", "|") for one in _CODE.findall(text)]


def rows(page: Path, title: str) -> list[str]:
    """The first cells of the first table under a heading."""
    section = page.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [re.split(r"(?<!\\) \| ", line)[0].removeprefix("| ") for line in lines]


def check_output(found: str, shown: str, *, alike: bool, predicted: bool = True) -> None:
    """An output is as a page shows it, its figures within what may be.

    `alike` says that this CPU is like the one that the pages were written on, `predicted` that it
    has a learned model.
    """
    found = re.sub(r"^Slower\? .*\n?", "", found, flags=re.M)  # a race may be lost by chance
    if not predicted:
        shown = re.sub(r"^learned model: .*\n", "", shown, flags=re.M)
    assert _wording(found) == _wording(shown), f"{found}\nis not, but for figures,\n{shown}"
    for (kind, one), (_, other) in zip(_figures(found), _figures(shown), strict=True):
        if kind == "error":
            assert float(one) < LARGEST_ERROR, found
        if kind == "count" and alike:
            check_count(_number(one), _number(other))


def check_count(found: int, said: int) -> None:
    """A number of Specs is about what a page says."""
    assert abs(found - said) <= COUNTS_WITHIN * said, f"{found:,} Specs, and the page says {said:,}"


def _wording(text: str) -> list[str]:
    """The lines, the kinds of figures in place of them."""
    lines = [_FIGURE.sub(lambda m: f"<{m.lastgroup}>", line) for line in text.splitlines()]
    return [" ".join(line.split()) for line in lines]


def _figures(text: str) -> Iterator[tuple[str, str]]:
    for match in _FIGURE.finditer(text):
        yield str(match.lastgroup), match[0]


def _number(text: str) -> int:
    return int(text.partition(" ")[0].replace(",", ""))

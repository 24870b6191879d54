"""Impls as text for people: the loop nest, with the cost and memory use of every rewrite.

There is one line per rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from morello.impl.listing import Entry, listing
from morello.impl.tree import Impl, cycles

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    "title": "bold",
    "loop": "bold cyan",
    "move": "green",
    "kernel": "yellow",
    "note": "dim",
    "hole": "bold red",
}
_GAP = "  "

Notes = Mapping[int, Iterable[str]]
"""Lines of text to show below those of nodes, by their numbers in pre-order."""


@dataclass(frozen=True)
class _Line:
    """A line of the program; its cells are the Spec, the cycles, their share, and the peaks."""

    kind: str
    text: str
    cells: tuple[str, ...] = ()


def tree(impl: Impl, here: int | None = None, notes: Notes | None = None) -> str:
    """The Impl as text: a title, then a line for every rewrite, in the order they run.

    `cycles` is the cost of one run of a line's subtree, `share` the fraction of the total
    cost that all its runs take; the other columns are the peak use of each level. A `+` marks
    numbers to which holes will add. `here` is the hole to mark, counted in pre-order; `notes` are
    shown below their nodes.
    """
    lines = _aligned_lines(impl, here, notes or {})
    return "\n".join((left + right).rstrip() for _, left, right in lines)


def print_impl(
    impl: Impl,
    console: Console | None = None,
    here: int | None = None,
    notes: Notes | None = None,
) -> None:
    """Print the text of `tree`, in colour if the console supports it."""
    from rich.console import Console  # slow to import, and not needed for plain text
    from rich.text import Text

    console = console or Console()
    for kind, left, right in _aligned_lines(impl, here, notes or {}):
        line = Text.assemble((left, _STYLES[kind]), (right, _STYLES["note"]))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _aligned_lines(impl: Impl, here: int | None, notes: Notes) -> Iterator[tuple[str, str, str]]:
    """Every line's kind, its program text, and its columns, aligned."""
    target = impl.target
    titles = ("Spec", "cycles", "share", *(level.name for level in target.levels[1:]))
    lines = [_Line("note", "", titles), *_lines(impl, here, notes)]
    yield "title", _title(impl), ""
    widths = [max(len(line.cells[i]) for line in lines if line.cells) for i in range(len(titles))]
    room = max(len(line.text) for line in lines if line.cells)
    for line in lines:
        yield line.kind, line.text.ljust(room), _columns(line.cells, widths)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The cells padded to these widths: the first is aligned left, the numbers right."""
    if not cells:
        return ""
    words, *figures = cells
    padded = [words.ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True)]
    return _GAP + _GAP.join(padded)


def _title(impl: Impl) -> str:
    spec, target = impl.spec, impl.target
    tensors = [
        f"{name} {spec.tensor(operand).type}"
        + (f" in {target.levels[level].name}" if (level := spec.levels[operand]) else "")
        for name, operand in spec.arrays.items()
    ]
    cores = f" on {target.cores} cores" if spec.parallel else ""
    named = spec.expression if spec.operation.components else spec.operation
    return f"{named} for {target.name}{cores}: {', '.join(tensors)}"


def _lines(impl: Impl, here: int | None, notes: Notes) -> Iterator[_Line]:
    """The lines of an Impl."""
    entries = listing(impl)
    holes = 0
    for entry in entries:
        if entry.heading:
            above = entries[entry.parent]
            yield _Line(above.style, _indent(above.depth) + entry.heading)
        if entry.impl.rewrite is None:
            yield _hole(entry, impl, marked=holes == here)
            holes += 1
            continue
        yield _line(entry, impl)
        for note in notes.get(entry.number, ()):
            yield _Line("note", _indent(entry.depth + 1) + note)


def _line(entry: Entry, whole: Impl) -> _Line:
    impl = entry.impl
    more = "" if impl.complete else "+"
    share = _percent(entry.runs * impl.cost / whole.cost) if whole.complete else ""
    peaks = (f"{peak}{more}" if peak or more else "-" for peak in impl.peak)
    cells = (str(impl.spec), cycles(impl.cost) + more, share, *peaks)
    return _Line(entry.style, _indent(entry.depth) + entry.words, cells)


def _hole(entry: Entry, whole: Impl, *, marked: bool) -> _Line:
    impl = entry.impl
    mark = _GAP + "<- next" if marked else ""
    levels = [impl.target.levels[level].name for level in impl.spec.levels]
    operands = zip(impl.spec.operation.operands, levels, strict=True)
    names = whole.spec.names_in(impl.spec.operation)
    where = ", ".join(f"{names.get(o.name, o.name)} in {level}" for o, level in operands)
    empty = ("",) * (len(impl.target.levels) + 1)
    return _Line(entry.style, f"{_indent(entry.depth)}?? {impl.spec}{mark}", (where, *empty))


def _percent(share: float) -> str:
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _indent(depth: int) -> str:
    return "  " * depth

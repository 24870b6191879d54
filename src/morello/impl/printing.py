"""Impls as text for people: the loop nest, with the cost and memory use of every rewrite.

There is one line per rewrite. Indented below it are the body of a loop, and the copies, fills
and other steps that a rewrite adds. Any other body follows at the same indentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from morello.impl.tree import Impl, cycles
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.rewrites.accumulate import ToAccumulate
from morello.rewrites.bufferize import Bufferize
from morello.rewrites.conv import PadFirst, Pointwise, SpatialSplit
from morello.rewrites.decompose import SCHEMES, Decompose
from morello.rewrites.move import Move
from morello.rewrites.pack import DIM, Pack
from morello.rewrites.parallel import Parallel, Serial
from morello.rewrites.parallel_split import ParallelSplit
from morello.rewrites.select import Select
from morello.rewrites.tile import Split, Tile

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
"""What else to show of loops, by the `id` of their nodes: lines of text, shown below theirs."""


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
    shown at loops.
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
    console = console or Console()
    for kind, left, right in _aligned_lines(impl, here, notes or {}):
        line = Text.assemble((left, _STYLES[kind]), (right, _STYLES["note"]))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _aligned_lines(impl: Impl, here: int | None, notes: Notes) -> Iterator[tuple[str, str, str]]:
    """Every line's kind, its program text, and its columns, aligned."""
    target = impl.target
    titles = ("Spec", "cycles", "share", *(level.name for level in target.levels[1:]))
    lines = [_Line("note", "", titles), *_Listing(impl, here, notes).lines(impl, 0, 1)]
    yield "title", _title(impl), ""
    widths = [max(len(line.cells[i]) for line in lines if line.cells) for i in range(len(titles))]
    room = max(len(line.text) for line in lines)
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


class _Listing:
    """Lists the lines of an Impl."""

    def __init__(self, impl: Impl, here: int | None, notes: Notes) -> None:
        self._whole = impl
        self._here = here
        self._notes = notes
        self._holes = 0

    def lines(self, impl: Impl, depth: int, runs: int) -> Iterator[_Line]:
        """The lines of an Impl that runs `runs` times in all."""
        rewrite = impl.rewrite
        if rewrite is None:
            yield self._hole(impl, depth)
        elif isinstance(rewrite, Tile | Split):
            yield from self._loop(impl, rewrite, depth, runs)
        elif isinstance(rewrite, Parallel):
            yield from self._parallel(impl, rewrite, depth, runs)
        elif isinstance(rewrite, SpatialSplit | ParallelSplit):
            yield self._line("loop", self._words(impl), impl, depth, runs)
            yield from self._children(impl, depth, runs, inside=("body",))
        elif isinstance(rewrite, Select):
            yield self._line("kernel", rewrite.kernel, impl, depth, runs)
        else:
            yield self._line("move", self._words(impl), impl, depth, runs)
            serving = ("in", "out", "fill", "step")
            yield from self._children(impl, depth, runs, inside=serving)

    def _loop(self, impl: Impl, loop: Tile | Split, depth: int, runs: int) -> Iterator[_Line]:
        size, tile, body = impl.spec.size(loop.dim), loop.size, impl.children[0]
        head = f"{loop.dim} in 0..{size // tile * tile}"
        if body.times > 1:
            head = f"for {head}" + (f" by {tile}" if tile > 1 else "")
        yield self._line("loop", head, impl, depth, runs)
        for note in self._notes.get(id(impl), ()):
            yield _Line("note", _indent(depth + 1) + note)
        yield from self._bodies(impl, loop.dim, tile, depth, runs)

    def _parallel(self, impl: Impl, loop: Parallel, depth: int, runs: int) -> Iterator[_Line]:
        ranges = [_range(dim, impl.spec.size(dim), tile) for dim, tile in loop.tiles]
        yield self._line("loop", f"parallel for {', '.join(ranges)}", impl, depth, runs)
        dim, tile = loop.tiles[0]
        yield from self._bodies(impl, dim, tile, depth, runs)

    def _bodies(self, impl: Impl, dim: str, tile: int, depth: int, runs: int) -> Iterator[_Line]:
        """The lines of the body of a loop over a dimension, then of its remainder's."""
        size = impl.spec.size(dim)
        body, *rests = impl.children
        yield from self.lines(body.impl, depth + 1, runs * body.times)
        for rest in rests:
            yield _Line("loop", _indent(depth) + f"{dim} in {size // tile * tile}..{size}")
            yield from self.lines(rest.impl, depth + 1, runs * rest.times)

    def _children(
        self, impl: Impl, depth: int, runs: int, inside: Sequence[str]
    ) -> Iterator[_Line]:
        """The lines of all children in order; only those with a role in `inside` are indented."""
        for child in impl.children:
            if child.role == "out" and isinstance(impl.rewrite, Move):
                back = f"{self._operand_name(impl, impl.rewrite.operand)} <- {impl.rewrite.level}"
                yield _Line("move", _indent(depth) + back)
            inner = depth + 1 if child.role in inside else depth
            yield from self.lines(child.impl, inner, runs * child.times)

    def _words(self, impl: Impl) -> str:
        return _words(impl.rewrite, impl, self._whole.spec.names_in(impl.spec.operation))

    def _operand_name(self, impl: Impl, operand: str) -> str:
        return self._whole.spec.names_in(impl.spec.operation).get(operand, operand)

    def _line(self, kind: str, text: str, impl: Impl, depth: int, runs: int) -> _Line:
        more = "" if impl.complete else "+"
        share = _percent(runs * impl.cost / self._whole.cost) if self._whole.complete else ""
        peaks = (f"{peak}{more}" if peak or more else "-" for peak in impl.peak)
        cells = (str(impl.spec), cycles(impl.cost) + more, share, *peaks)
        return _Line(kind, _indent(depth) + text, cells)

    def _hole(self, impl: Impl, depth: int) -> _Line:
        mark = _GAP + "<- next" if self._holes == self._here else ""
        self._holes += 1
        levels = [impl.target.levels[level].name for level in impl.spec.levels]
        operands = zip(impl.spec.operation.operands, levels, strict=True)
        where = ", ".join(f"{self._operand_name(impl, o.name)} in {level}" for o, level in operands)
        empty = ("",) * (len(impl.target.levels) + 1)
        return _Line("hole", f"{_indent(depth)}?? {impl.spec}{mark}", (where, *empty))


_STEPS = {
    "to_softmax_parts": "every exp kept, then divided",
    "to_softmax_parts_recompute": "max and denominator, then every exp again",
    "to_max_and_denominator": "max, then denominator",
    "to_max_and_unscaled": "max, then every exp and their sum",
    "broadcast_first": "divisor broadcast, then divided by",
}
"""What each scheme of `decompose` does."""

_STARTS: Mapping[str, str] = {"zero": "0", "lowest": "lowest"}


def _words(rewrite: object, impl: Impl, names: Mapping[str, str]) -> str:
    """A rewrite in a few words; `names` are the goal's names for operands."""
    spec = impl.spec
    operation = spec.operation
    match rewrite:
        case Move():
            return _move_words(rewrite, operation, names)
        case ToAccumulate():
            filled = [o for o in operation.operands if o.start]
            return ", ".join(f"{names.get(o.name, o.name)} = {_STARTS[o.start]}" for o in filled)
        case Bufferize():
            text = f"t{rewrite.component} -> {rewrite.level}"
            producer = impl.children[0].impl.spec.operation
            dims = producer.operands[producer.output].dims
            return text + _place_words(rewrite.layout, rewrite.vector, dims)
        case Decompose():
            between = ", ".join(SCHEMES[rewrite.scheme].between)
            where = f"; {between} in {rewrite.level}" if between else ""
            return _STEPS.get(rewrite.scheme, str(rewrite)) + where
        case SpatialSplit():
            return ", ".join(f"for {dim} in 0..{spec.size(dim)}" for dim in "pq")
        case ParallelSplit():
            size = spec.size(rewrite.dim)
            return f"parallel for {_range(rewrite.dim, size, size // rewrite.pieces)}"
        case Pointwise():
            return "all pixels as the rows of a matmul"
        case PadFirst():
            image = operation.operands[0].name
            return f"{names.get(image, image)}, padded -> {rewrite.level}"
        case Pack():
            packed = next(child.impl.spec for child in impl.children if child.role == "body")
            return f"groups of {packed.dtypes[0].lanes} along {DIM}"
        case Serial():
            return "on one core"
    return str(rewrite)


def _range(dim: str, size: int, tile: int) -> str:
    return f"{dim} in 0..{size // tile * tile}" + (f" by {tile}" if tile > 1 else "")


def _move_words(move: Move, operation: Operation, names: Mapping[str, str]) -> str:
    text = f"{names.get(move.operand, move.operand)} -> {move.level}"
    if move.layout is None:
        return text
    dims = operation.operands[operation.find(move.operand)].dims
    return text + _place_words(move.layout, move.vector, dims, f"{move.dtype or ''}")


def _place_words(layout: Layout, vector: int, dims: Sequence[str], dtype: str = "") -> str:
    """The dtype and layout of a tensor in its new place."""
    if not vector:
        return f" as {dtype}{layout}"
    text = f" of {vector}" + (f" {dtype}" if dtype else "")
    return text if layout.row_major else f"{text} along {dims[layout.order[-1]]}"


def _percent(share: float) -> str:
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _indent(depth: int) -> str:
    return "  " * depth

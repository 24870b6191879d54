"""Statements: what an Impl becomes before it is printed as C.

The names that statements define, such as "k.3", are unique in a program. `names.in_c` gives those
that they have in C, such as k0. Parameters, and what is fixed, are called as they are in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

from morello.codegen.views import MemoryView, RegisterView, View
from morello.ir.dtype import DType
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec
from morello.targets.target import LeafKernel

# ---- definitions: of names that are known to the end of the sequence that they stand in


@dataclass(frozen=True)
class Buffer:
    """A pointer to a tensor's memory, which begins `offset` bytes into the workspace."""

    view: MemoryView
    tensor: TensorSpec
    offset: int
    node: int = 0

    @property
    def name(self) -> str:
        return self.view.pointer


@dataclass(frozen=True)
class Registers:
    """An array of registers of one dtype."""

    view: RegisterView
    dtype: DType
    node: int = 0

    @property
    def name(self) -> str:
        return self.view.name


@dataclass(frozen=True)
class Groups:
    """A pointer to the packed groups of `dtype` that the elements of a tile are read as.

    `view` is the tile in groups, each of so many `lanes` of its elements. The pointer is to the
    start of the buffer, unless the tile may begin inside a group.
    """

    view: MemoryView
    tile: MemoryView
    dtype: DType
    lanes: int
    node: int = 0

    @property
    def name(self) -> str:
        return self.view.pointer


@dataclass(frozen=True)
class ItemIndex:
    """A variable that depends on the number of an item of a parallel loop: `value`, in C.

    Its values are from 0 to `last`, and multiples of `step`.
    """

    name: str
    value: str
    last: int
    step: int = 1


Definition = Buffer | Registers | Groups | ItemIndex

# ---- control flow


@dataclass(frozen=True)
class For:
    """A loop whose variable goes from `start`, another variable or 0, over `size` in steps.

    Its last iteration ends where the loop does: it overlaps the one before if steps do not fit.
    `views` are those of the operands that its body works on. It is a reduction loop if it adds to
    sums that are in registers.
    """

    variable: str
    size: int
    step: int
    body: Sequence[Statement]
    start: str = ""
    views: Sequence[View] = ()
    reduction: bool = False
    node: int = 0

    @property
    def times(self) -> int:
        return -(-self.size // self.step)

    @property
    def last(self) -> int:
        """Where the last iteration begins, counted from the start."""
        return self.size - self.step

    @property
    def overlaps(self) -> bool:
        """Whether the last iteration overlaps the one before."""
        return self.size % self.step != 0


@dataclass(frozen=True)
class Block:
    """Statements in braces."""

    body: Sequence[Statement]


@dataclass(frozen=True)
class If:
    """One of two sequences of statements."""

    condition: str
    body: Sequence[Statement]
    otherwise: Sequence[Statement]


@dataclass(frozen=True)
class RunBlock:
    """The statements for a block of so many rows of a run.

    `times` is how many such blocks there are, on average over numbers of rows.
    """

    rows: int
    times: int
    body: Sequence[Statement]


@dataclass(frozen=True)
class Runs:
    """A loop over the runs of equal numbers in a vector, and in each over blocks of its rows.

    A run is as long as it can be. The body of a block reads the variables `group`, the number of
    the run, and `row`, the first row of the block. Blocks have 1, 2, 4, ... rows; the last ones of
    a run may overlap (see `rewrites.grouped.blocks_of`). Numbers are 0 to `groups` - 1; the
    `otherwise` statements run for each `row` of any other number.
    """

    numbers: MemoryView
    group: str
    groups: int
    row: str
    blocks: Sequence[RunBlock]
    otherwise: Sequence[Statement]
    own: tuple[str, str, str, str]
    """Variables of the loop itself: the first row of a run and the row after it, the row at which
    its next block is due, and the length of that block."""
    node: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All variables that it defines."""
        return (self.group, self.row, *self.own)

    @property
    def rows(self) -> int:
        """The rows of all runs."""
        return self.numbers.extents[0]


@dataclass(frozen=True)
class Tiles:
    """Loops over tiles of a result, one after the other: iterations may run in any order."""

    loops: Sequence[Sequence[Statement]]


@dataclass(frozen=True)
class Shared:
    """Statements that fill a buffer, which the parts of an item after it read.

    With a `part`, in C the number of a part among these, a thread runs them only if the last part
    that it ran was none of these; `name` is a variable of the thread.
    """

    name: str
    body: Sequence[Statement]
    part: str = ""


@dataclass(frozen=True)
class ParallelFor:
    """A loop over items that may run at once: the body, once for each number of an item.

    It becomes a C function of this name with a workspace of its own. `pointers` and `variables`
    are what the body uses from around it. An item has so many `parts`, the last one `last_parts`,
    which may run at once as well: the body runs once for each.
    """

    name: str
    items: int
    pointers: Sequence[str]
    variables: Sequence[str]
    body: Sequence[Statement]
    workspace: int
    node: int = 0
    parts: int = 1
    last_parts: int = 1
    counter: str = ""
    """The variable that counts the parts of all its runs, if parts share buffers."""


# ---- work


@dataclass(frozen=True)
class Call:
    """A kernel on views of the operands of its Spec."""

    kernel: LeafKernel
    spec: Spec
    views: Sequence[View]
    node: int = 0

    @property
    def repeats(self) -> int:
        """How often its line of C is repeated: for each register of the largest operand."""
        return max((view.count for view in self.views if isinstance(view, RegisterView)), default=1)


class Due(Enum):
    """When a tile in main memory is read or written."""

    NEXT = "read by the next iteration of the loop around"
    STORED = "written in this iteration, as the sums of a reduction"
    LATER = "written in this iteration, by a later part of it"


@dataclass(frozen=True)
class Prefetchable:
    """Statements during which a tile in main memory may be prefetched, as it is needed soon.

    The tile is of the `operand` of the goal with this name; with `Due.NEXT`, it is the one that
    this iteration reads, and may write as well. `element` is the size of its elements, in bytes.
    """

    operand: str
    tile: MemoryView
    element: int
    written: bool
    due: Due
    body: Sequence[Statement]


@dataclass(frozen=True)
class Turn:
    """A part of the number of the line that is next: variable / `step` * `weight`."""

    variable: str
    step: int
    weight: int = 1


@dataclass(frozen=True)
class Wrap:
    """Elements further on from a tile, where a loop's variable has its `last` value."""

    variable: str
    last: int
    elements: int


@dataclass(frozen=True)
class Prefetch:
    """Prefetch instructions for the lines of a tile, in turn.

    At the start of every `every`-th iteration of the loop that it stands in, `at_once` lines are
    prefetched. `turns` add up to how many times that was so before, the loop's own first.
    `locality` is what C's intrinsic calls so: from 0, for lines used once, to 3, for all caches.
    In the last iteration of a loop around, the tile is where `wrap` says.
    """

    operand: str
    tile: MemoryView
    element: int
    written: bool
    locality: int
    turns: Sequence[Turn]
    every: int
    at_once: int
    wrap: Wrap | None = None

    @property
    def lines(self) -> float:
        """The lines that are prefetched per iteration."""
        return self.at_once / self.every


@dataclass(frozen=True)
class Barrier:
    """A place that no load is moved or kept across, whatever the compiler would do.

    What lies at addresses with this loop variable is loaded again after it.
    """

    variable: str


@dataclass(frozen=True)
class Clobber:
    """A place that no value is kept across in a vector register, whatever the compiler would do."""

    registers: Sequence[str]


@dataclass(frozen=True)
class Fence:
    """A place before which stores past the caches end, for whoever sees the stores after it."""


@dataclass(frozen=True)
class Deferred:
    """Statements without loops that are emitted when they are looked at, if they ever are.

    `code` is what is known of them, to whoever deferred them, and `views` what they work on.
    """

    code: Any
    views: Sequence[View]
    emit: Callable[[], Sequence[Statement]]

    @cached_property
    def body(self) -> Sequence[Statement]:
        return self.emit()


Statement = (
    Definition
    | For
    | Block
    | If
    | Tiles
    | Shared
    | ParallelFor
    | Runs
    | Call
    | Prefetchable
    | Prefetch
    | Barrier
    | Clobber
    | Fence
    | Deferred
)


_WITH_BODY = (For, Block, Shared, ParallelFor, Prefetchable, Deferred)


def bodies(statement: Statement) -> Sequence[Sequence[Statement]]:
    """The sequences of statements in a statement."""
    if isinstance(statement, If):
        return statement.body, statement.otherwise
    if isinstance(statement, Runs):
        return (*(block.body for block in statement.blocks), statement.otherwise)
    if isinstance(statement, Tiles):
        return statement.loops
    return (statement.body,) if isinstance(statement, _WITH_BODY) else ()


def with_bodies(statement: Statement, new: Sequence[Sequence[Statement]]) -> Statement:
    """The statement with others in place of its `bodies`."""
    if isinstance(statement, If):
        body, otherwise = new
        return replace(statement, body=body, otherwise=otherwise)
    if isinstance(statement, Runs):
        *inside, otherwise = new
        blocks = [replace(b, body=body) for b, body in zip(statement.blocks, inside, strict=True)]
        return replace(statement, blocks=blocks, otherwise=otherwise)
    if isinstance(statement, Tiles):
        return Tiles(new)
    (body,) = new
    if isinstance(statement, Deferred):
        return Block(body)
    assert isinstance(statement, For | Block | Shared | ParallelFor | Prefetchable)
    return replace(statement, body=body)


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, and those in them, in order."""
    for statement in statements:
        yield statement
        for body in bodies(statement):
            yield from walk(body)


def loops_in(statements: Sequence[Statement]) -> Iterator[For]:
    """All loops in statements, and those in them, in order; what is deferred has none."""
    for statement in statements:
        if isinstance(statement, Call | Deferred):
            continue
        if isinstance(statement, For):
            yield statement
        for body in bodies(statement):
            yield from loops_in(body)


@dataclass(frozen=True)
class Program:
    """The statements of a function.

    `parameters` are views of its arrays, by their dtypes; `workspace` is the size of its buffers,
    in bytes.
    """

    parameters: Sequence[tuple[MemoryView, DType]]
    body: Sequence[Statement]
    workspace: int

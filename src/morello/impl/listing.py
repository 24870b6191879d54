"""The nodes of an Impl in the order in which they run, indented and in words, to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from morello.impl.tree import Impl
from morello.rewrites import Application


@dataclass(frozen=True)
class Entry:
    """A node of an Impl in a listing.

    `number` is its place in pre-order, and `parent` that of the node above it, -1 for the root. It
    is indented to `depth`, and runs `runs` times in all. A `heading` that is not empty stands
    above it, indented as its parent is. A hole has no `words`.
    """

    number: int
    parent: int
    depth: int
    runs: int
    heading: str
    words: str
    impl: Impl

    @property
    def style(self) -> str:
        """The style in which the entry is printed: "loop", "move", "kernel" or "hole"."""
        return "hole" if self.impl.rewrite is None else self.impl.rewrite.style


def listing(impl: Impl) -> list[Entry]:
    """The nodes of an Impl in pre-order.

    Indented below a rewrite are the body of a loop, and the copies, fills and other steps that the
    rewrite adds. Any other body follows at the same indentation.
    """
    return list(_Listing(impl).entries(impl, -1, 0, 1, ""))


class _Listing:
    """Lists the nodes of a whole Impl, in which operands have the names of its Spec."""

    def __init__(self, whole: Impl) -> None:
        self._whole = whole
        self._count = 0

    def entries(
        self, impl: Impl, parent: int, depth: int, runs: int, heading: str
    ) -> Iterator[Entry]:
        number, rewrite = self._count, impl.rewrite
        self._count += 1
        if rewrite is None:
            yield Entry(number, parent, depth, runs, heading, "", impl)
            return
        applied = Application(impl.spec, [c.impl.spec for c in impl.children], self._names(impl))
        yield Entry(number, parent, depth, runs, heading, rewrite.words(applied), impl)
        for child in impl.children:
            above = rewrite.heading(child.role, applied)
            inner = depth + (child.role in rewrite.indents)
            yield from self.entries(child.impl, number, inner, runs * child.times, above)

    def _names(self, impl: Impl) -> Mapping[str, str]:
        return self._whole.spec.names_in(impl.spec.operation)

"""Orders of graphs of any kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def topological(roots: Sequence[T], sources: Callable[[T], Sequence[T]]) -> Iterator[T]:
    """The nodes that these need, each once and after its sources, and these themselves."""
    done: set[T] = set()
    todo = [(node, False) for node in reversed(roots)]
    while todo:
        node, ready = todo.pop()
        if node in done:
            continue
        if ready:
            done.add(node)
            yield node
        else:
            todo.append((node, True))
            todo += [(source, False) for source in reversed(sources(node)) if source not in done]

"""Solving a hypergraph under memory limits, by depth-first branch and bound with a memo.

The answers of a node are memoized as boxes: an answer with peak p, found under limit l, is the
answer to every limit in [p, l].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.hypergraph import Problem
from morello.engine.loops import LOOPS


class Boxes(NamedTuple):
    """Memoized answers: each node's are a linked list from `head` by `following`.

    A box holds as many decisions as there are columns, best first: their costs and edges. Its
    peak is the largest of theirs, and it holds for limits from the peak up to `limit`. `counts`
    has the numbers of boxes, and of edges tried to fill them.
    """

    counts: Ints
    head: Ints
    following: Ints
    cost: Floats
    edge: Ints
    peak: Ints
    limit: Ints


FILLED, TRIED = 0, 1
"""The positions in `Boxes.counts`."""


class Stack(NamedTuple):
    """The state of a depth-first search: the path from the root to the current node, a row each.

    `at` holds the current row, its node, the position of its next edge, and its limit. The rows
    before it hold the node, position, child, limit, cost and peak to resume from. `best*` are the
    best decisions so far in every row: cost, peak and edge.
    """

    at: Ints
    node: Ints
    place: Ints
    child: Ints
    limit: Ints
    cost: Floats
    peak: Ints
    best: Floats
    best_peak: Ints
    best_edge: Ints


def stack(problem: Problem, root: int, limit: int, depth: int, keeps: int) -> Stack:
    """The initial state of a search for the `keeps` best decisions of `root` under `limit`.

    `depth` is the most nodes on a path.
    """
    return Stack(
        np.array([0, root, problem.bounds.start[root], limit], np.int64),
        np.empty(depth, np.int32), np.empty(depth, np.int32), np.empty(depth, np.int32),
        np.empty(depth, np.int64), np.empty(depth), np.empty(depth, np.int64),
        np.full((depth, keeps), INFINITE), np.zeros((depth, keeps), np.int64),
        np.full((depth, keeps), -1, np.int32),
    )  # fmt: skip


def solve(problem: Problem, boxes: Boxes, stack: Stack, missed: Ints, upto: int) -> bool:
    """Run or resume a depth-first branch and bound for a node's cheapest decisions.

    Answers are memoized in boxes, which follow those that are given. Returns True when the
    search is complete; returns False, to be called again, once `upto` edges were tried or there
    may be no room for more boxes. Sets `missed` for nodes without edges whose memoized
    answers do not cover a limit that was met: then the result is invalid.
    """
    room, keeps = boxes.cost.shape
    done: bool = LOOPS.solve(problem, boxes, stack, missed, keeps, room - len(stack.node), upto)
    return done


def link(node: Ints, head: Ints, following: Ints) -> None:
    """Add the first boxes to the lists of these nodes, one box for each entry."""
    LOOPS.link_boxes(node, len(node), head, following)

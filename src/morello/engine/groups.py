"""The members of groups in flat arrays: those of group 0, then of group 1, and so on."""

from __future__ import annotations

import numpy as np

from morello.engine.arrays import INFINITE, Bools, Floats, Ints
from morello.engine.loops import LOOPS


def by_group(group: Ints, count: int) -> tuple[Ints, Ints]:
    """The members of `count` groups: where each group's start, and the members, in order."""
    start, fill = np.zeros(count + 1, np.int32), np.empty(count, np.int32)
    members = np.empty(len(group), np.int32)
    LOOPS.by_group(group.astype(np.int32, copy=False), len(group), count, start, fill, members)
    return start, members


def rules_between(
    group: Ints, above: Floats, upto: Floats, start: Ints, rule: Ints, bound: Floats, rules: int
) -> tuple[Bools, Floats]:
    """Which of `rules` rules have their least bound above one and at most another, by rule and row.

    Each row has a group, or -1, and the two bounds; each member of a group, a rule and a bound.
    Gives also the least bound of all rules beyond, by row, `INFINITE` if there are none.
    """
    rows = len(group)
    result, beyond = np.zeros((rules, rows), np.bool_), np.full(rows, INFINITE)
    LOOPS.rules_between(
        group.astype(np.int32, copy=False), above, upto, rows, start, rule, bound,
        np.empty(rules), result, beyond,
    )  # fmt: skip
    return result, beyond

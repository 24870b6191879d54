"""The members of groups in flat arrays: those of group 0, then of group 1, and so on."""

from __future__ import annotations

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import INFINITE, Bools, Floats, Ints


@compiled
def by_group(group: Ints, count: int) -> tuple[Ints, Ints]:
    """The members of `count` groups: where each group's start, and the members, in order."""
    start = np.zeros(count + 1, np.int32)
    for i in range(group.shape[0]):
        start[group[i] + 1] += 1
    for number in range(count):
        start[number + 1] += start[number]
    fill = start[:-1].copy()
    members = np.empty(group.shape[0], np.int32)
    for i in range(group.shape[0]):
        members[fill[group[i]]] = i
        fill[group[i]] += 1
    return start, members


@compiled
def rules_between(
    group: Ints, above: Floats, upto: Floats, start: Ints, rule: Ints, bound: Floats, rules: int
) -> tuple[Bools, Floats]:
    """Which of `rules` rules have their least bound above one and at most another, by rule and row.

    Each row has a group, or -1, and the two bounds; each member of a group, a rule and a bound.
    Gives also the least bound of all rules beyond, by row, `INFINITE` if there are none.
    """
    result = np.zeros((rules, group.shape[0]), np.bool_)
    beyond = np.full(group.shape[0], INFINITE)
    least = np.empty(rules)
    for row in range(group.shape[0]):
        if group[row] >= 0:
            first, last = start[group[row]], start[group[row] + 1]
            for member in range(first, last):
                least[rule[member]] = INFINITE
            for member in range(first, last):
                least[rule[member]] = min(least[rule[member]], bound[member])
            for member in range(first, last):
                lowest = least[rule[member]]
                if lowest > upto[row]:
                    beyond[row] = min(beyond[row], lowest)
                elif lowest > above[row]:
                    result[rule[member], row] = True
    return result, beyond

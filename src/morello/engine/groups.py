"""The members of groups in flat arrays: those of group 0, then of group 1, and so on."""

from __future__ import annotations

import numpy as np

from morello.base.jit import compiled
from morello.engine.arrays import Bools, Floats, Ints


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
def rules_within(
    group: Ints, cutoff: Floats, start: Ints, rule: Ints, bound: Floats, rules: int
) -> Bools:
    """Which of `rules` rules have a member within the cutoff, by rule and row.

    Each row has a group, or -1, and a cutoff; each member, a rule and a bound.
    """
    result = np.zeros((rules, group.shape[0]), np.bool_)
    for row in range(group.shape[0]):
        if group[row] >= 0:
            for member in range(start[group[row]], start[group[row] + 1]):
                if bound[member] <= cutoff[row]:
                    result[rule[member], row] = True
    return result

"""What limits a model: how well times are known, and how well features tell programs apart.

No model can order programs better than a second measurement of them does. And a model that has
seen half of a Spec's programs needs to generalize to no other shape: what it then gets wrong of
the other half, its features do not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from morello.learn.corpus import Measured
from morello.learn.evaluate import Score, judge_one, score
from morello.learn.features import NODE_FEATURES, PROGRAM_FEATURES
from morello.learn.groups import Group, part_of
from morello.learn.splits import Split

PROTOCOL = "programs"
"""Half of each Spec's programs are held out, not whole Specs."""

AGAIN = "again"
"""Predicted are the least times of even repeats, by those of odd ones."""

LEAST_REPEATS = 2


def halved(groups: Sequence[Group], seed: int) -> tuple[list[Group], list[Split]]:
    """Two groups of each, with half of its programs at random, and each half held out once."""
    random = np.random.default_rng(seed)
    halves: tuple[list[Group], list[Group]] = [], []
    for group in groups:
        order = random.permutation(len(group.seconds))
        for number, half in enumerate(halves):
            half.append(part_of(group, sorted(order[number::2].tolist())))
    count = len(groups)
    first, second = tuple(range(count)), tuple(range(count, 2 * count))
    splits = [Split("second halves", first, second), Split("first halves", second, first)]
    return [*halves[0], *halves[1]], splits


def measured_again(corpus: Iterable[Measured]) -> Score:
    """How well half of the repeats predict the other half: the noise of one process."""
    found = []
    for one in corpus:
        timed = ~np.isnan(one.repeats[:, :LEAST_REPEATS]).any(axis=1)
        odd, even = (np.nanmin(one.repeats[timed, n::2], axis=1) * 1e-9 for n in (1, 0))
        found.append(judge_one(one.family, one.expression, np.log(odd), even, 0.0, absolute=True))
    return score(AGAIN, "measured twice", found)


def starting(*starts: str) -> frozenset[str]:
    """The features whose names begin like this."""
    return frozenset(
        name for name in (*NODE_FEATURES, *PROGRAM_FEATURES) if name.startswith(starts)
    )


def blinded(group: Group, names: frozenset[str]) -> Group:
    """Without some features, which are all zero."""
    hidden = [
        np.array([one in names for one in some]) for some in (NODE_FEATURES, PROGRAM_FEATURES)
    ]
    nodes, configs = group.nodes.copy(), group.configs.copy()
    nodes[:, hidden[0]] = 0.0
    configs[:, hidden[1]] = 0.0
    return replace(group, nodes=nodes, configs=configs)

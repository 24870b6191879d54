"""What Specs cost at least: each by one of its rewrites, none of the others being cheaper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.graph import Floats, Rewritten, costs
from morello.ir.placements import Ints

NONE = 65535
"""In place of the number of a rewrite: that of a Spec that has no rewrites."""

Choose = Callable[[Ints, Ints, Floats], Ints]
"""Which rewrite each Spec takes, by its place among those of the Spec.

Given are the Specs, where the rewrites of each start, and the costs of all.
"""


def settle(waves: Sequence[Rewritten], values: Floats, choose: Choose) -> Ints:
    """Write the values of Specs that have rewrites, the lowest rank first; returns the choices.

    Raises `CertificateError` unless each Spec takes the first of its cheapest rewrites.
    """
    choices = np.full(len(values), NONE, np.int64)
    for wave in reversed(waves):
        cost = costs(wave, values)
        starts = np.flatnonzero(np.diff(wave.parent, prepend=-1))
        lengths = np.diff(starts, append=len(cost))
        nodes = wave.parent[starts]
        chosen = choose(nodes, starts, cost)
        if not ((chosen >= 0) & (chosen < lengths)).all():
            raise CertificateError("the certificate takes a rewrite that a Spec does not have.")
        value, choices[nodes] = cost[starts + chosen], chosen
        values[nodes] = value
        least, place = np.repeat(value, lengths), np.arange(len(cost)) - np.repeat(starts, lengths)
        if not ((cost > least) | ((cost == least) & (place >= np.repeat(chosen, lengths)))).all():
            raise CertificateError("a rewrite costs less than the one that the certificate takes.")
    return choices


def cheapest(nodes: Ints, starts: Ints, cost: Floats) -> Ints:
    """The first of each Spec's cheapest rewrites."""
    lengths = np.diff(starts, append=len(cost))
    least = np.repeat(np.minimum.reduceat(cost, starts), lengths)
    place = np.where(cost == least, np.arange(len(cost)), len(cost))
    result: Ints = np.minimum.reduceat(place, starts) - starts
    return result


def stated(choices: Ints) -> Choose:
    """What a certificate states, by Spec."""
    return lambda nodes, starts, cost: choices[nodes]

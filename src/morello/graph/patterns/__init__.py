"""Patterns on graphs, written once for all front-ends, one file for each family."""

from __future__ import annotations

from collections.abc import Mapping

from morello.graph.graph import Operator
from morello.graph.patterns import (
    attention,
    embedding,
    experts,
    folding,
    functions,
    integers,
    joins,
    norms,
    placing,
    rotary,
    softmax,
    units,
    views,
)
from morello.graph.patterns.matching import Rule

_FAMILIES = (
    folding, units, views, placing, joins, functions, integers, softmax, norms, attention, rotary,
    embedding, experts,
)  # fmt: skip


def _collected() -> Mapping[type[Operator], tuple[Rule, ...]]:
    rules: dict[type[Operator], tuple[Rule, ...]] = {}
    for family in _FAMILIES:
        for operator, more in family.RULES.items():
            rules[operator] = (*rules.get(operator, ()), *more)
    return rules


RULES = _collected()
"""The rules for the nodes of each class of operators, in the order in which they are tried."""

"""A corpus whose times nobody measured: a program takes as long as it costs."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

import numpy as np
from tests.learn.sampling import from_one_graph

from morello.frontends.text import parse
from morello.impl.saved import save, spec_data
from morello.learn.corpus import MeasuredSpec
from morello.learn.programs import propose
from morello.targets.catalog import recorded

CACHES = {"L2": 12288, "L1": 640, "registers": 32}
EXPRESSIONS = (
    ("sums", "f32[4,4] @ f32[4,8]"),
    ("sums", "sum(f32[8,64], axis=0)"),
    ("maps", "relu(f32[30,50])"),
    ("maps", "tanh(f32[9,64])"),
)


@cache
def made_up(family: str, expression: str, hertz: float = 4e9) -> MeasuredSpec:
    """Programs whose times are their costs, but for noise."""
    target = recorded("Zen 5", CACHES)
    goal = parse(expression)
    with from_one_graph():
        found = propose(goal, target, 12, seed=0, seconds=inf)
    random = np.random.default_rng(0)
    cost = np.array([one.impl.cost for one in found])
    times = cost[:, None] / hertz * 1e9 * random.uniform(1.0, 1.02, (len(found), 5))
    about: dict[str, Any] = {
        "family": family, "expression": expression, "spec": spec_data(goal, target),
        "cpu": "made up", "microarchitecture": "Zen 5", "target": "native", "hertz": hertz,
        "compiler": "none", "caches": CACHES, "wrong": 0, "lost": 0,
    }  # fmt: skip
    schedules = [save(one.impl)["rewrites"] for one in found]
    origins = np.array([one.origin for one in found], np.int8)
    cold = np.zeros((len(found), 0))
    return MeasuredSpec(about, schedules, origins, times, times[:1].repeat(len(found), 0), cold)

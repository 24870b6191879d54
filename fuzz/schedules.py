"""Saved schedules with random changes, and rewrites applied by hand in any order."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import morello
from fuzz.adversary import PASSED, REFUSED, Adversary
from fuzz.shrink import without_runs
from morello.base.errors import MorelloError
from morello.codegen import generate
from morello.impl import saved

GOALS = (
    "f32[8,4] @ f32[4,8]",
    "relu(f32[4,4] @ f32[4,4] + f32[4])",
    "softmax(f32[4,8])",
    "conv(f32[1,2,5,5], f32[2,2,3,3], padding=1)",
    "u8[4,4] @ i8[4,4]",
    "transpose(f32[8,8])",
    "sum(f32[4,16], axis=0)",
)
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 7, 8, 1 << 31, 1 << 70, 1.5, "", "m", "n", "k", "L1", "L2", "rf",
    "vrf", "f32", "bf16", "u8", "{1,0}", "{0,1}", "{0,1:T(4,1)}", "tile", "move", "select",
    "Matmul", "\ud800", [], {}, [[]], {"m": 1}, "x" * 10_000,
)  # fmt: skip
_STEPS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("tile", ({"m": 4}, {"n": 8}, {"m": 1}, {"m": 3}, {"m": 0}, {"q": 2}, {"m": "x"})),
    ("overlap", ({"m": 3}, {"n": 3}, {"m": 4}, {"k": 3}, {"m": 0}, {"q": 2})),
    ("split", ({"k": 2}, {"k": 1}, {"m": 2}, {"k": 1 << 70})),
    ("parallel", ({"m": 2}, {"m": 2, "n": 4}, {})),
    ("to_accumulate", ({},)),
    ("serial", ({},)),
    ("spatial_split", ({},)),
    ("pointwise", ({},)),
    ("pack", ({},)),
    ("solve", ({},)),
    ("move", ({"operand": "a", "level": "L2"}, {"operand": "b", "level": "L2", "packed": 8},
              {"operand": "b", "level": "VRF", "vector": 8}, {"operand": "c", "level": "L1"},
              {"operand": "a", "level": "L1", "layout": "{0,1}"}, {"operand": "", "level": ""},
              {"operand": "a", "level": "L2", "dtype": "bf16"}, {"operand": "a", "level": None},
              {"operand": "a", "level": "RF", "vector": -1, "along": "m"})),
    ("move_all", ({"level": "L1"}, {"level": "L2"}, {"level": "RF"}, {"level": 3})),
    ("bufferize", ({"component": 0, "level": "L1"}, {"component": 9, "level": "L2"},
                   {"component": "x", "level": "L1"})),
    ("decompose", ({"scheme": "to_softmax_parts", "level": "L1"}, {"scheme": "?", "level": "L1"},
                   {"scheme": "to_max_and_unscaled", "level": "L2"})),
    ("parallel_split", ({"dim": "k", "pieces": 2}, {"dim": "k", "pieces": 0})),
    ("pad_first", ({"level": "L1"},)),
    ("select", ({"kernel": "zero_f32"}, {"kernel": "fma_row_f32"}, {"kernel": "?"})),
)  # fmt: skip


class Schedules(Adversary):
    """Every schedule is applied or refused; if it is complete, C is generated."""

    name = "schedules"
    what = "schedules are replayed and give C, or are refused with the reason"

    def case(self, random: Random) -> str:
        goal = random.choice(GOALS)
        if random.random() < 0.3:
            steps = [_step(random) for _ in range(random.randrange(1, 9))]
            return json.dumps({"goal": goal, "steps": steps})
        count = random.choice((1, 1, 1, 2, 4))
        return json.dumps({"goal": goal, "edits": [_edit(random) for _ in range(count)]})

    def check(self, case: str) -> str:
        fields = json.loads(case)
        try:
            if "steps" in fields:
                schedule = morello.schedule(fields["goal"], target="avx2")
                for name, options in fields["steps"]:
                    schedule = getattr(schedule, name)(**options)
                impl = schedule.impl
                str(schedule)
            else:
                impl = saved.load(_edited(fields["goal"], fields["edits"]))
        except MorelloError:
            return REFUSED
        if impl.complete:
            generate(impl)
            assert saved.load(json.loads(json.dumps(saved.save(impl)))).cost == impl.cost
        return PASSED

    def smaller(self, case: str) -> Iterator[str]:
        fields = json.loads(case)
        for key in ("steps", "edits"):
            if len(fields.get(key, ())) > 1:
                yield from (
                    json.dumps({**fields, key: list(kept)}) for kept in without_runs(fields[key])
                )


def _step(random: Random) -> tuple[str, dict[str, Any]]:
    name, options = random.choice(_STEPS)
    return name, random.choice(options)


def _edit(random: Random) -> tuple[list[float], str, Any]:
    """A random edit: its place (a fraction of each level's members), its kind and a value."""
    path = [round(random.random(), 3) for _ in range(random.randrange(1, 7))]
    return (
        path,
        random.choice(("set", "set", "set", "drop", "twice", "swap")),
        random.choice(_VALUES),
    )


@cache
def saved_text(goal: str) -> str:
    impl, _ = morello.implement(goal, target="avx2")
    return json.dumps(saved.save(impl))


def _edited(goal: str, edits: list[tuple[list[float], str, Any]]) -> Any:
    data = json.loads(saved_text(goal))
    for path, what, value in edits:
        at, key = data, None
        for share in path:
            inner = at[key] if key is not None else at
            if not isinstance(inner, dict | list) or not inner:
                break
            at, keys = inner, list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            key = keys[min(int(share * len(keys)), len(keys) - 1)]
        if key is None:
            continue
        if what == "drop":
            del at[key]
        elif what == "twice" and isinstance(at, list):
            at.insert(key, copy.deepcopy(at[key]))
        elif what == "swap" and isinstance(at, list):
            at[key], at[-1] = at[-1], at[key]
        else:
            at[key] = value
    return data

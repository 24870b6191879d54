"""The name of a search space, under which a table keeps what was found in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, astuple
from functools import cache, lru_cache

from morello.space.traits import PLAIN_TILING, TilingTraits
from morello.targets.target import LeafKernel, Target

SPACE_VERSION = 58
"""The version of the search space: raised whenever rules, costs, or their formulas change."""


def space_name(target: Target, tiling: TilingTraits = PLAIN_TILING) -> str:
    """The name of a search space, as JSON: its version, the target, and tiling of the goal.

    The kernels and the costs are in it as data, so that answers for others are never used.
    """
    name = {
        "target": target.name,
        "cores": target.cores,
        "limits": {level.name: level.capacity for level in target.levels[1:]},
        "costs": _costs(target),
        "features": list(target.features),
        "version": SPACE_VERSION,
        "panels": sorted(tiling.widths),
        "vector": tiling.vector,
        "whole": tiling.whole,
        **asdict(tiling.rules),
    }
    return json.dumps(name)


@lru_cache(maxsize=64)
def _costs(target: Target) -> str:
    """A hash of a target's costs and kernels."""
    others = (
        target.machine, target.vector_bytes, target.fork, target.usable_cache, target.refetch,
        target.in_flight, target.accumulator_stall, target.accumulator_start, target.overlap,
        *astuple(target.tlb), target.rows, target.from_memory,
    )  # fmt: skip
    costs = [*map(repr, target.levels), *map(str, others)]
    costs += [_kernel_text(kernel) for kernel in target.kernels]
    return hashlib.blake2b("\n".join(costs).encode(), digest_size=8).hexdigest()


def _kernel_text(kernel: LeafKernel) -> str:
    """All of a kernel that the search depends on, but its conditions and its formula of cost."""
    parts = (
        kernel.name, kernel.operation, _text(kernel.dtypes), _text(kernel.held),
        str(kernel.registers), str(kernel.odd_even), _text(kernel.panel), _text(kernel.streams),
        _text(kernel.anywhere), str(kernel.factor),
    )  # fmt: skip
    return " ".join(parts)


@cache
def _text(field: tuple[object, ...]) -> str:
    """The text of one field of a kernel, cached, as many kernels have equal fields."""
    return str(field)

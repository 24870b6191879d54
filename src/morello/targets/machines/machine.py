"""The description of a microarchitecture: execution units, caches, and the source of its costs."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Level:
    """A cache of one core: its size, its ways, and the cycles until what it holds arrives."""

    kib: int
    ways: int
    latency: int


@dataclass(frozen=True)
class Machine:
    """A microarchitecture, as vendors' manuals and instruction tables describe it.

    A core has vector units of `vector_bytes`; every cycle it begins `multiply_adds`, each of
    which takes `latency` cycles, `loads` and `stores` of that width. It takes `l2_bytes` a cycle
    from L2, as long as that goes on, and `l3_bytes` from behind it, which arrive after
    `l3_latency` cycles. To divide a register of that width takes `division` cycles.

    `models` are the CPUs of its `vendor`: model numbers by family. One that nobody knows yet is
    most like the last machine of its vendor that has no `features` that it lacks.

    Costs follow from all this (see `targets.roofline`). Where `source` is "measured", the choices
    that they lead to were timed on such a machine, and `measured` has those costs, by name (see
    `targets.costs`), that were found to be others; `streaming` are multiples of costs for goals
    too large for the last cache.
    """

    name: str
    key: str
    vendor: str
    models: Mapping[int, Container[int]]
    features: frozenset[str]
    l1: Level
    l2: Level
    l3_latency: int
    vector_bytes: int
    multiply_adds: int
    latency: int
    loads: int
    stores: int
    l2_bytes: float
    l3_bytes: float
    division: float
    source: Literal["measured", "published"] = "published"
    measured: Mapping[str, float] = field(default_factory=dict)
    streaming: Mapping[str, float] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The name of the target that makes the most of it."""
        return "avx512" if "avx512f" in self.features else "avx2"

    def __hash__(self) -> int:
        return hash(self.name)

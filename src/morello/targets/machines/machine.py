"""The description of a microarchitecture: execution units, caches, and the source of its costs."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Literal

from morello.targets.tlb import TLB


@dataclass(frozen=True)
class CacheLevel:
    """A cache of one core: its size in KiB, its ways, and its load latency in cycles."""

    kib: int
    ways: int
    latency: int


@dataclass(frozen=True)
class Machine:
    """A microarchitecture, as vendors' manuals and instruction tables describe it.

    A core has vector units of `vector_bytes`. Every cycle it starts `multiply_adds`, each with a
    `latency` in cycles, `loads` and `stores` of that width. Its sustained bandwidth is
    `l2_bytes` a cycle from L2, and `l3_bytes` from behind L2 with a latency of `l3_latency`
    cycles. The division of a register of that width takes `division` cycles, and sums of products
    of packed bf16, where there are any, `bf16_product` times as long as a multiply-add. Its
    first TLB is `tlb`, and one core can fill `l3_kib` of the last cache.

    `models` are the CPUs of its `vendor`: model numbers by family. An unknown CPU is taken for
    the last machine of its vendor whose `features` it has.

    Costs are derived from these (see `targets.roofline`). If `source` is "measured", the programs
    chosen with them were timed on such a machine, and `measured` has the costs that turned out to
    differ, by name (see `targets.costs`); `streaming` are factors on costs for goals too large for
    the last cache. Results of at least the share `bypassed` of it are stored past all caches; 0 if
    that is not known to be faster. A line from L2 costs at least `l2_line` cycles in goals without
    products; 0 if that was not measured. Products with weights of 8 and 4 bits in caches take
    `weights_l2` times as long if they prefetch into L2 as if they do into L1.
    """

    name: str
    key: str
    vendor: str
    models: Mapping[int, Container[int]]
    features: frozenset[str]
    l1: CacheLevel
    l2: CacheLevel
    l3_latency: int
    vector_bytes: int
    multiply_adds: int
    latency: int
    loads: int
    stores: int
    l2_bytes: float
    l3_bytes: float
    division: float
    bf16_product: float = 1.0
    tlb: TLB = field(default_factory=TLB)
    l3_kib: int = 32 << 10
    source: Literal["measured", "published"] = "published"
    measured: Mapping[str, float] = field(default_factory=dict)
    streaming: Mapping[str, float] = field(default_factory=dict)
    bypassed: float = 0.0
    l2_line: float = 0.0
    weights_l2: float = 1.1

    @property
    def target(self) -> str:
        """The name of the target that makes the most of it."""
        return "avx512" if "avx512f" in self.features else "avx2"

    def __hash__(self) -> int:
        return hash(self.name)

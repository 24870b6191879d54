"""Microarchitectures: which a CPU is of, and the costs that follow from what is published."""

from __future__ import annotations

import numpy as np
import pytest
from tests.hosts import ZEN3 as MILAN

from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.placements import Placements
from morello.ir.primitives import matmul
from morello.ir.spec import goal
from morello.targets import catalog
from morello.targets.costs import coefficients
from morello.targets.cpu import HostCPU
from morello.targets.machines import (
    ALDER_LAKE,
    HASWELL,
    MACHINES,
    SKYLAKE_X,
    ZEN1,
    ZEN3,
    ZEN4,
    ZEN5,
    ZEN5_MOBILE,
    Machine,
    machine_of,
)
from morello.targets.roofline import passes, published
from morello.targets.x86 import AVX2, AVX512, avx2, avx512

every = pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.key)


def cpu(vendor: str, family: int, number: int, *features: str) -> HostCPU:
    return HostCPU("x86_64", vendor, "", frozenset(features), (), 4, family, number)


AMD, INTEL = "AuthenticAMD", "GenuineIntel"
V3 = ("avx2", "fma")


@pytest.mark.parametrize(
    ("one", "name"),
    [
        (cpu(AMD, 23, 1), "Zen 1"),
        (cpu("HygonGenuine", 24, 0), "Zen 1"),
        (cpu(AMD, 23, 0x31), "Zen 2"),
        (cpu(AMD, 25, 0x01), "Zen 3"),
        (cpu(AMD, 25, 0x50), "Zen 3"),
        (cpu(AMD, 25, 0x11), "Zen 4"),
        (cpu(AMD, 25, 0x61), "Zen 4"),
        (cpu(AMD, 25, 0xA0), "Zen 4"),
        (cpu(AMD, 26, 0x02), "Zen 5"),
        (cpu(AMD, 26, 0x44), "Zen 5"),
        (cpu(AMD, 26, 0x24), "Zen 5 with 256-bit units"),
        (cpu(AMD, 27, 0x24, *V3, "avx512f"), "Zen 5"),
        (cpu(AMD, 21, 2, "avx"), ""),
        (cpu(INTEL, 6, 0x3C), "Haswell"),
        (cpu(INTEL, 6, 0x5E), "Skylake"),
        (cpu(INTEL, 6, 0x97), "Alder Lake"),
        (cpu(INTEL, 6, 0x55), "Skylake-X"),
        (cpu(INTEL, 6, 0x6A), "Ice Lake-SP"),
        (cpu(INTEL, 6, 0x8C), "Ice Lake"),
        (cpu(INTEL, 6, 0x8F), "Sapphire Rapids"),
        (cpu(INTEL, 6, 0xA7, *V3, "avx512f", "avx512_vbmi2"), "Ice Lake"),
        (cpu(INTEL, 6, 0xA7, *V3, "avx512f", "avx512_vbmi2", "amx_tile"), "Sapphire Rapids"),
        (cpu(INTEL, 6, 0xF0, *V3), "Skylake"),
        (cpu(INTEL, 6, 0xF0, *V3, "avx_vnni"), "Alder Lake"),
        (cpu(INTEL, 6, 0xF1, *V3, "avx512f", "avx512_vbmi2", "amx_tile"), "Sapphire Rapids"),
        (cpu("CentaurHauls", 7, 0x3B, *V3), "x86-64-v3"),
        (cpu("", 0, 0), ""),
    ],
    ids=lambda x: x.name if isinstance(x, HostCPU) else x,
)
def test_microarchitectures(one: HostCPU, name: str) -> None:
    found = machine_of(one)
    assert (found.name if found else "") == name


@every
def test_no_two_machines_have_a_model(machine: Machine) -> None:
    for other in MACHINES:
        if other is not machine and other.vendor == machine.vendor:
            for family in machine.models.keys() & other.models.keys():
                both = [n for n in range(512) if n in machine.models[family]
                        and n in other.models[family]]  # fmt: skip
                assert not both, other.name


NOT_YET = ("memory.per_alias_written", "L2.per_alias_written")
"""Costs that choices which were measured did not have: they may be 0."""


@every
def test_costs_are_those_of_targets(machine: Machine) -> None:
    for target in (AVX2, AVX512):
        costs = published(machine, target.vector_bytes[0]) | dict(machine.measured)
        assert costs.keys() | machine.streaming.keys() <= coefficients(target).keys()
        assert all(0.01 < cost < 25 for name, cost in costs.items() if name not in NOT_YET)


def test_narrower_units_take_more_passes() -> None:
    assert [passes(one, 64) for one in (ZEN5, ZEN4, ZEN1)] == [1, 2, 4]
    assert passes(ZEN5, 32) == 1
    for machine, before in ((ZEN5_MOBILE, 1.0), (ZEN5, 0.5)):
        assert published(machine, 64)["kernels.products"] == 2 * before


def test_fewer_bytes_a_cycle_cost_more() -> None:
    slow, fast = (published(one, 64) for one in (SKYLAKE_X, ZEN5))
    assert slow["memory.per_line"] == pytest.approx(2.5 * fast["memory.per_line"])
    assert slow["memory.per_run"] > fast["memory.per_run"]
    assert slow["L2.per_line"] > fast["L2.per_line"]


def test_costs_that_were_measured_are_in_place_of_published_ones() -> None:
    costs = coefficients(avx512(ZEN4, frozenset()))
    assert costs["kernels.copies"] == 4.0 and costs["L2.per_line"] == 0.03
    assert costs["kernels.products"] == published(ZEN4, 64)["kernels.products"] == 2.0
    assert avx512(ZEN4, frozenset()).streaming == ZEN4.streaming
    assert ZEN4.source == ZEN5.source == "measured" and HASWELL.source == "published"


def streamed(machine: Machine) -> float:
    """The cycles of a row of 4096 sums of eight products, whose factors come from L2."""
    kernel = avx2(machine).kernel("row_sums_f32")
    assert kernel is not None
    spec = goal(matmul(accumulates=True), (1, 8, 4096), (F32, F32, F32))
    return float(np.max(kernel.cycles(Batch.of([spec], Placements()))))


def test_rows_that_stream_are_bound_by_what_l2_gives() -> None:
    for machine in (ZEN1, ZEN3, ALDER_LAKE):
        cycles = 8 * 4096 * F32.bytes / min(machine.l2_bytes, 32)
        assert 0.85 * cycles < streamed(machine) < 1.2 * cycles


def test_native_has_the_costs_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "host_cpu", lambda: MILAN)
    assert catalog.host_machine() is ZEN3
    costs = coefficients(catalog.uncalibrated())
    assert costs == coefficients(avx2(ZEN3))


def test_what_was_measured_with_wide_registers_is_not_said_of_narrow_ones() -> None:
    for machine in (ZEN4, ZEN5):
        costs = coefficients(avx2(machine))
        assert {name: costs[name] for name in machine.measured} == {
            name: published(machine, 32).get(name, coefficients(AVX2)[name])
            for name in machine.measured
        }
        assert avx2(machine).streaming == {}

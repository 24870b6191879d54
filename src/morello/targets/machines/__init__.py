"""Microarchitectures as data, and which of them a CPU has."""

from __future__ import annotations

from morello.targets.cpu import HostCPU
from morello.targets.machines.machine import Machine
from morello.targets.machines.table import (
    ALDER_LAKE,
    AMD,
    HASWELL,
    ICE_LAKE,
    ICE_LAKE_SP,
    MACHINES,
    SAPPHIRE_RAPIDS,
    SKYLAKE,
    SKYLAKE_X,
    X86_64_V3,
    X86_64_V4,
    ZEN1,
    ZEN2,
    ZEN3,
    ZEN4,
    ZEN5,
    ZEN5_MOBILE,
)

__all__ = [
    "ALDER_LAKE", "HASWELL", "ICE_LAKE", "ICE_LAKE_SP", "MACHINES", "SAPPHIRE_RAPIDS", "SKYLAKE",
    "SKYLAKE_X", "X86_64_V3", "X86_64_V4", "ZEN1", "ZEN2", "ZEN3", "ZEN4", "ZEN5", "ZEN5_MOBILE",
    "Machine", "machine_of",
]  # fmt: skip

_VENDORS = {"HygonGenuine": AMD}
"""Vendors that build the cores of another vendor, and that vendor."""


def machine_of(cpu: HostCPU) -> Machine | None:
    """The microarchitecture of a CPU, or the most similar one; None if there is none.

    For an unknown CPU, that is the last one of its vendor whose features it has, else the last
    such generic one.
    """
    vendor = _VENDORS.get(cpu.vendor, cpu.vendor)
    for machine in MACHINES:
        if machine.vendor == vendor and cpu.number in machine.models.get(cpu.family, ()):
            return machine
    for wanted in (vendor, ""):
        alike = [m for m in MACHINES if m.vendor == wanted and cpu.has(*m.features)]
        if alike:
            return alike[-1]
    return None

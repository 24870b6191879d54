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
    such generic one. So it is for one that has all features of its machine and of a later one:
    hypervisors may report the model of an older CPU.
    """
    vendor = _VENDORS.get(cpu.vendor, cpu.vendor)
    likely = [machine for machine in MACHINES if cpu.has(*machine.features)]
    for machine in MACHINES:
        if machine.vendor == vendor and cpu.number in machine.models.get(cpu.family, ()):
            later = [m for m in likely if m.vendor == vendor and m.features > machine.features]
            return later[-1] if later else machine
    for wanted in (vendor, ""):
        alike = [machine for machine in likely if machine.vendor == wanted]
        if alike:
            return alike[-1]
    return None

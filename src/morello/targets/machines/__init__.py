"""Microarchitectures, one file each."""

from __future__ import annotations

from morello.targets.cpu import HostCPU
from morello.targets.machines.alder_lake import ALDER_LAKE
from morello.targets.machines.haswell import HASWELL
from morello.targets.machines.ice_lake import ICE_LAKE
from morello.targets.machines.ice_lake_sp import ICE_LAKE_SP
from morello.targets.machines.machine import Machine
from morello.targets.machines.sapphire_rapids import SAPPHIRE_RAPIDS
from morello.targets.machines.skylake import SKYLAKE
from morello.targets.machines.skylake_x import SKYLAKE_X
from morello.targets.machines.x86_64_v3 import X86_64_V3
from morello.targets.machines.x86_64_v4 import X86_64_V4
from morello.targets.machines.zen1 import ZEN1
from morello.targets.machines.zen2 import ZEN2
from morello.targets.machines.zen3 import ZEN3
from morello.targets.machines.zen4 import ZEN4
from morello.targets.machines.zen5 import ZEN5
from morello.targets.machines.zen5_mobile import ZEN5_MOBILE

MACHINES = (
    X86_64_V3, X86_64_V4, HASWELL, SKYLAKE, ALDER_LAKE, SKYLAKE_X, ICE_LAKE, ICE_LAKE_SP,
    SAPPHIRE_RAPIDS, ZEN1, ZEN2, ZEN3, ZEN5_MOBILE, ZEN4, ZEN5,
)  # fmt: skip
"""Generic ones first, then by vendor, the most capable last."""

__all__ = [
    "ALDER_LAKE", "HASWELL", "ICE_LAKE", "ICE_LAKE_SP", "MACHINES", "SAPPHIRE_RAPIDS", "SKYLAKE",
    "SKYLAKE_X", "X86_64_V3", "X86_64_V4", "ZEN1", "ZEN2", "ZEN3", "ZEN4", "ZEN5", "ZEN5_MOBILE",
    "Machine", "machine_of",
]  # fmt: skip

_VENDORS = {"HygonGenuine": "AuthenticAMD"}
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

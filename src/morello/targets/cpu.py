"""Detection of this machine's CPU: its model, features, caches and cores."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

CacheKind = Literal["data", "instruction", "unified"]

_CPUINFO = Path("/proc/cpuinfo")
_SYSFS_CPUS = Path("/sys/devices/system/cpu")
_SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Features that operating systems name differently.
_ALIASES = {"asimd": "neon", "avx1.0": "avx"}

TILES = frozenset(("amx_bf16", "amx_int8"))
"""The features of a CPU that has products of tiles; a process has to ask for their use."""

# The system call on x86-64, its operation, and the state that is asked for.
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA = 158, 0x1023, 18

_KINDS: dict[str, CacheKind] = {
    "Data": "data",
    "Instruction": "instruction",
    "Unified": "unified",
}
_MAC_CACHES: tuple[tuple[int, CacheKind, str], ...] = (
    (1, "data", "l1dcachesize"),
    (1, "instruction", "l1icachesize"),
    (2, "unified", "l2cachesize"),
    (3, "unified", "l3cachesize"),
)


@dataclass(frozen=True)
class Cache:
    """One cache as the first usable CPU sees it. Sizes are in bytes; 0 means unknown."""

    level: int
    kind: CacheKind
    size: int
    ways: int
    line: int


@dataclass(frozen=True)
class HostCPU:
    """The CPU this process runs on."""

    machine: str
    """The architecture, such as "x86_64" or "aarch64"."""
    vendor: str
    model: str
    features: frozenset[str]
    """Instruction sets, named as Linux names them: "avx2", "fma", "avx512f", "neon"."""
    caches: tuple[Cache, ...]
    cores: int
    """The logical CPUs this process may run on."""
    family: int = 0
    number: int = 0
    """The number of the model within its family, as on x86; 0 means unknown."""

    @property
    def name(self) -> str:
        """A unique name for this model of CPU, to print and to store."""
        numbers = f"family {self.family} model {self.number}" if self.family else ""
        return ", ".join(filter(None, (self.vendor, numbers, self.model))) or self.machine

    def has(self, *features: str) -> bool:
        """Whether the CPU has all of `features`."""
        return self.features.issuperset(features)

    def cache(self, level: int) -> Cache | None:
        """The cache of `level` that holds data, if it is known."""
        held = (c for c in self.caches if c.level == level and c.kind != "instruction")
        return next(held, None)


@functools.cache
def host_cpu() -> HostCPU:
    """The CPU of this machine. What cannot be determined is left empty; nothing is raised."""
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        return _mac(machine)
    usable = _usable_cpus()
    cpu = _linux(machine, _read(_CPUINFO), min(usable, default=0), len(usable))
    return _with_permission(cpu)


def _with_permission(cpu: HostCPU) -> HostCPU:
    """The CPU without products of tiles (AMX), if this process may not use them.

    What is remembered is remembered for the features of a CPU: code with tiles must not be run
    again where they are denied.
    """
    if not cpu.has("amx_tile") or _may_use_tiles():
        return cpu
    return replace(cpu, features=cpu.features - TILES)


def _may_use_tiles() -> bool:
    """Ask Linux for the use of tiles by this process, and whether it grants that."""
    request = _ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA
    return bool(ctypes.CDLL(None).syscall(*map(ctypes.c_long, request)) == 0)


def _usable_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _linux(machine: str, cpuinfo: str, cpu: int, cores: int) -> HostCPU:
    """The `HostCPU` from the text of /proc/cpuinfo, and from sysfs for CPU number `cpu`."""
    first = cpuinfo.partition("\n\n")[0]
    fields: dict[str, str] = {}
    for line in first.splitlines():
        key, _, value = line.partition(":")
        fields[key.strip().lower()] = value.strip()
    names = fields.get("flags", fields.get("features", "")).split()
    return HostCPU(
        machine=machine,
        vendor=fields.get("vendor_id", fields.get("cpu implementer", "")),
        model=fields.get("model name", fields.get("cpu part", "")),
        features=_canonical(names),
        caches=_sysfs_caches(_SYSFS_CPUS / f"cpu{cpu}" / "cache"),
        cores=cores,
        family=_number(fields.get("cpu family", "")),
        number=_number(fields.get("model", "")),
    )


def _sysfs_caches(directory: Path) -> tuple[Cache, ...]:
    caches = []
    for index in sorted(directory.glob("index*")):
        kind = _KINDS.get(_read(index / "type"))
        if kind is None:
            continue
        caches.append(
            Cache(
                level=_number(_read(index / "level")),
                kind=kind,
                size=_number(_read(index / "size")),
                ways=_number(_read(index / "ways_of_associativity")),
                line=_number(_read(index / "coherency_line_size")),
            )
        )
    return tuple(caches)


def _mac(machine: str) -> HostCPU:
    values = _sysctl()
    listed = ("machdep.cpu.features", "machdep.cpu.leaf7_features")
    names = " ".join(values.get(key, "") for key in listed).lower().split()
    for key, value in values.items():
        if key.startswith("hw.optional.") and value == "1":
            names.append(key.rpartition(".")[2].lower().removeprefix("feat_"))
    line = _number(values.get("hw.cachelinesize", ""))
    caches = []
    # On Apple silicon, perflevel0 is the fast cluster; the plain names are the slow one's.
    for level, kind, key in _MAC_CACHES:
        size = _number(values.get(f"hw.perflevel0.{key}", values.get(f"hw.{key}", "")))
        if size:
            caches.append(Cache(level, kind, size, 0, line))
    return HostCPU(
        machine=machine,
        vendor=values.get("machdep.cpu.vendor", "Apple" if machine == "arm64" else ""),
        model=values.get("machdep.cpu.brand_string", ""),
        features=_canonical(names),
        caches=tuple(caches),
        cores=os.cpu_count() or 1,
    )


def _sysctl() -> dict[str, str]:
    command = ["sysctl", "hw", "machdep.cpu"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.partition(":") for line in done.stdout.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _canonical(names: list[str]) -> frozenset[str]:
    return frozenset(_ALIASES.get(name, name) for name in names)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int:
    """The bytes or count in `text`, such as "48K" or "12"; 0 if there is none."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) * _SIZE_UNITS[match[2]] if match else 0

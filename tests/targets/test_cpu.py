from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from morello.targets import cpu as cpu_module
from morello.targets.cpu import Cache, host_cpu

XEON = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8375C
flags\t\t: fpu sse2 avx2 fma avx512f

processor\t: 1
vendor_id\t: Other
"""

GRAVITON = """\
processor\t: 0
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cpu_module, "_SYSFS_CPUS", tmp_path)
    return tmp_path / "cpu0" / "cache"


def test_this_machine() -> None:
    cpu = host_cpu()
    assert cpu.machine == platform.machine().lower()
    assert cpu.cores >= 1
    assert host_cpu() is cpu
    host_cpu.cache_clear()
    assert host_cpu() == cpu
    if hasattr(os, "sched_getaffinity"):
        assert cpu.cores == len(os.sched_getaffinity(0))


def test_xeon(sysfs: Path) -> None:
    entry = {
        "level": "1",
        "type": "Data",
        "size": "48K",
        "ways_of_associativity": "12",
        "coherency_line_size": "64",
    }
    for index, changes in enumerate(
        [
            {},
            {"type": "Instruction"},
            {"level": "2", "type": "Unified", "size": "1280K"},
            {"type": "?"},
        ]
    ):
        directory = sysfs / f"index{index}"
        directory.mkdir(parents=True)
        for name, text in {**entry, **changes}.items():
            (directory / name).write_text(text + "\n")
    cpu = cpu_module._linux("x86_64", XEON, 0, 64)
    assert (cpu.vendor, cpu.model) == ("GenuineIntel", "Intel(R) Xeon(R) Platinum 8375C")
    assert cpu.has("avx2", "fma")
    assert not cpu.has("avx2", "amx")
    assert cpu.cores == 64
    assert len(cpu.caches) == 3
    assert cpu.cache(1) == Cache(1, "data", 48 << 10, 12, 64)
    assert cpu.cache(2) == Cache(2, "unified", 1280 << 10, 12, 64)
    assert cpu.cache(3) is None


def test_graviton(sysfs: Path) -> None:
    cpu = cpu_module._linux("aarch64", GRAVITON, 0, 4)
    assert (cpu.vendor, cpu.model) == ("0x41", "0xd40")
    assert cpu.has("neon", "sve")
    assert cpu.caches == ()


def test_nothing_to_be_found(sysfs: Path) -> None:
    cpu = cpu_module._linux("riscv64", "", 0, 1)
    assert (cpu.vendor, cpu.model, cpu.features, cpu.caches) == ("", "", frozenset(), ())


def test_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "hw.cachelinesize": "128",
        "hw.l1dcachesize": "65536",
        "hw.perflevel0.l1dcachesize": "131072",
        "hw.perflevel0.l2cachesize": "16777216",
        "hw.optional.neon": "1",
        "hw.optional.arm.FEAT_BF16": "1",
        "hw.optional.arm.FEAT_SME": "0",
        "machdep.cpu.brand_string": "Apple M3",
    }
    monkeypatch.setattr(cpu_module, "_sysctl", lambda: values)
    cpu = cpu_module._mac("arm64")
    assert (cpu.vendor, cpu.model) == ("Apple", "Apple M3")
    assert cpu.features == {"neon", "bf16"}
    assert cpu.cache(1) == Cache(1, "data", 131072, 0, 128)
    assert cpu.cache(2) == Cache(2, "unified", 16 << 20, 0, 128)

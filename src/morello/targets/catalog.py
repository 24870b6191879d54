"""The targets there are, and the one this machine is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from morello.errors import TargetError
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, fitted

TARGETS = {target.name: target for target in (AVX2, AVX512)}


def find_target(name: str) -> Target:
    """The target called `name`; `native` is this machine. Raises `TargetError`."""
    if name == "native":
        return native()
    if name not in TARGETS:
        known = ", ".join([*TARGETS, "native"])
        raise TargetError(f"unknown target {name!r}; the targets are: {known}.")
    return TARGETS[name]


@cache
def native() -> Target:
    """The nearest target that this machine runs, with its cache sizes."""
    text = Path("/proc/cpuinfo").read_text()
    base = AVX512 if "avx512vl" in text else AVX2
    return fitted(base, 48 << 10, 12, 1 << 20)

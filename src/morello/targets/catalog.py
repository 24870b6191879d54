"""The targets there are, and the one this machine is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from morello.errors import TargetError, quoted
from morello.targets.caches import sized
from morello.targets.calibration import calibrated
from morello.targets.cpu import host_cpu
from morello.targets.machines import X86_64_V3, X86_64_V4, Machine, machine_of
from morello.targets.neon import NEON
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, PRODUCTS, avx2, avx512

TARGETS = {target.name: target for target in (AVX2, AVX512, NEON)}


def find_target(name: str) -> Target:
    """The target called `name`; `native` is this machine. Raises `TargetError`."""
    if name == "native":
        return native()
    if name not in TARGETS:
        known = ", ".join([*TARGETS, "native"])
        raise TargetError(f"unknown target {quoted(name)}; the targets are: {known}.")
    return TARGETS[name]


@cache
def native() -> Target:
    """This machine, with the costs measured on it, if they were; raises `TargetError`."""
    return calibrated(uncalibrated(), host_cpu())


def uncalibrated() -> Target:
    """The nearest target that this machine runs, with its cache sizes and its kind's costs.

    Raises `TargetError` if there is none.
    """
    cpu = host_cpu()
    if runs_here(AVX512):
        base = avx512(host_machine() or X86_64_V4, cpu.features & PRODUCTS)
    elif runs_here(AVX2):
        base = avx2(host_machine() or X86_64_V3)
    elif runs_here(NEON):
        base = NEON
    else:
        raise TargetError(
            f"no target for this machine ({cpu.model or cpu.machine}); it needs AVX2 and FMA, or "
            f"Neon. Kernels can be generated, but not run, for: {', '.join(TARGETS)}."
        )
    named = replace(base, name="native", arch="native")
    return sized(named, cpu.cache(1), cpu.cache(2), cpu.cache(3))


def host_machine() -> Machine | None:
    """The microarchitecture of this machine, or the one that it is most like, if any."""
    return machine_of(host_cpu())


def runs_here(target: Target) -> bool:
    """Whether this machine has the instructions that the target's kernels use."""
    return host_cpu().has(*target.features)

"""The targets there are, and the one this machine is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from morello.errors import TargetError, quoted
from morello.targets.caches import sized
from morello.targets.calibration import calibrated
from morello.targets.cpu import host_cpu
from morello.targets.defaults import with_defaults
from morello.targets.neon import NEON
from morello.targets.target import Target
from morello.targets.x86 import AVX2, AVX512, with_products

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
    """The nearest target that this machine runs, with its cache sizes and published costs.

    Raises `TargetError` if there is none.
    """
    cpu = host_cpu()
    base = next((t for t in (AVX512, AVX2, NEON) if runs_here(t)), None)
    if base is None:
        raise TargetError(
            f"no target for this machine ({cpu.model or cpu.machine}); it needs AVX2 and FMA, or "
            f"Neon. Kernels can be generated, but not run, for: {', '.join(TARGETS)}."
        )
    machine = sized(with_products(base, cpu.features), cpu.cache(1), cpu.cache(2), cpu.cache(3))
    return with_defaults(replace(machine, name="native", arch="native"), cpu)


def runs_here(target: Target) -> bool:
    """Whether this machine has the instructions that the target's kernels use."""
    return host_cpu().has(*target.features)

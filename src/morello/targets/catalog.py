"""The known targets, and the one that describes this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from morello.base.errors import TargetError, quoted
from morello.ir.tensor import LINE_BYTES
from morello.targets.caches import beyond_nearest, rows_of, sized
from morello.targets.calibration import calibrated
from morello.targets.cpu import TILES, Cache, host_cpu
from morello.targets.machines import MACHINES, X86_64_V3, X86_64_V4, Machine, machine_of
from morello.targets.neon import neon
from morello.targets.target import Target
from morello.targets.x86 import (
    AVX2_FEATURES,
    AVX512_FEATURES,
    GENERIC,
    PORTABLE,
    PRODUCTS,
    V3,
    V4,
    avx2,
    avx512,
    portable,
)


@dataclass(frozen=True)
class _Targets(Mapping[str, Target]):
    """Targets by name, each made when it is first asked for, as that takes a while."""

    makers: Mapping[str, Callable[[], Target]]

    def __getitem__(self, name: str) -> Target:
        return self.makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


TARGETS = _Targets({"avx2": GENERIC["AVX2"], "avx512": GENERIC["AVX512"], "neon": neon})


def find_target(name: str) -> Target:
    """The target called `name`; `native` is this machine. Raises `TargetError`."""
    if name == "native":
        return native()
    if name in PORTABLE:
        return portable(name)
    if name not in TARGETS:
        known = ", ".join([*TARGETS, *PORTABLE, "native"])
        raise TargetError(f"unknown target {quoted(name)}; the targets are: {known}.")
    return TARGETS[name]


def tuned(name: str, key: str) -> Target:
    """The target of this name with the costs and caches of a microarchitecture.

    Raises `TargetError` if there is no such microarchitecture, or it lacks the instructions.
    """
    target, machines = find_target(name), {model.key: model for model in MACHINES}
    if key not in machines:
        raise TargetError(
            f"no microarchitecture is called {quoted(key)}; there are: {', '.join(machines)}."
        )
    machine = machines[key]
    if name == "native" or target.arch not in (V3, V4):
        raise TargetError(f"only x86-64 targets are tuned for a microarchitecture, not {name}.")
    wide = target.arch == V4
    if wide and machine.target != "avx512":
        raise TargetError(f"{machine.name} lacks the instructions of {name}; tune another target.")
    base = avx512(machine, frozenset()) if wide else avx2(machine)
    l1, l2 = (Cache(n, "data", level.kib << 10, level.ways, LINE_BYTES)
              for n, level in enumerate((machine.l1, machine.l2), start=1))  # fmt: skip
    return replace(sized(base, l1, l2), name=name)


@cache
def native() -> Target:
    """This machine, with the costs measured on it if there are any; raises `TargetError`."""
    return calibrated(uncalibrated(), host_cpu())


def uncalibrated() -> Target:
    """The best target that this machine runs, with its caches and its microarchitecture's costs.

    Raises `TargetError` if there is none.
    """
    cpu = host_cpu()
    if cpu.has(*AVX512_FEATURES):
        base = avx512(host_machine() or X86_64_V4, cpu.features & (PRODUCTS | TILES))
    elif cpu.has(*AVX2_FEATURES):
        base = avx2(host_machine() or X86_64_V3)
    elif runs_here(neon()):
        base = neon()
    else:
        raise TargetError(
            f"no target for this machine ({cpu.model or cpu.machine}); it needs AVX2 and FMA, or "
            f"Neon. Kernels can be generated, but not run, for: {', '.join(TARGETS)}."
        )
    named = replace(base, name="native", arch="native")
    return sized(named, cpu.cache(1), cpu.cache(2), cpu.cache(3))


def recorded(microarchitecture: str, capacities: Mapping[str, int]) -> Target:
    """The `native` of a recorded machine: a microarchitecture and the capacities of its caches.

    Its costs are those shipped with this version. Raises `TargetError` for an unknown name.
    """
    machine = next((model for model in MACHINES if model.name == microarchitecture), None)
    if machine is None:
        known = ", ".join(model.name for model in MACHINES)
        raise TargetError(
            f"no microarchitecture has the name {quoted(microarchitecture)}; there are: {known}."
        )
    base = avx512(machine, PRODUCTS) if machine.target == "avx512" else avx2(machine)
    memory, second, first, registers = base.levels
    second = beyond_nearest(second, capacities[second.name])
    rows = rows_of(machine.l1.ways)
    first = replace(first, capacity=capacities[first.name], conflict_runs=rows)
    last = (machine.l3_kib << 10) // LINE_BYTES
    levels = memory, second, first, registers
    return replace(base, name="native", levels=levels, last_cache=last)


def microarchitecture(target: Target) -> Machine:
    """The microarchitecture whose costs a target has; if none, a CPU that is like most."""
    wide = X86_64_V4 if max(target.vector_bytes) > 32 else X86_64_V3
    return next((machine for machine in MACHINES if machine.name == target.machine), wide)


def host_machine() -> Machine | None:
    """The microarchitecture of this machine, or the most similar one, if there is any."""
    return machine_of(host_cpu())


def runs_here(target: Target) -> bool:
    """Whether this machine has the instructions that the target's kernels use."""
    return host_cpu().has(*target.features)

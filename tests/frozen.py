"""A target whose costs stay as they are while the real ones are tuned, and schedules for it."""

from __future__ import annotations

from dataclasses import replace

from morello.frontends import parse
from morello.scheduling import Schedule
from morello.targets import find_target
from morello.targets.target import Level

FROZEN = replace(
    find_target("avx512"),
    name="frozen",
    in_flight=0.0,
    levels=(
        Level("memory", 1 << 40, per_line=4.0),
        Level("L2", 4096, per_line=1.0, conflict_runs=1 << 20),
        Level("L1", 512, conflict_runs=1 << 20),
        Level("registers", 32),
    ),
    kernels=tuple(
        replace(kernel, cost=lambda s: 2.0, registers=1) for kernel in find_target("avx512").kernels
    ),
)


def begin(text: str) -> Schedule:
    return Schedule.of(parse(text), FROZEN)


def to_the_kernel() -> Schedule:
    """A matmul with a packed copy, a remainder and registers, scheduled down to its kernel."""
    schedule = begin("f32[10,64]{0,1} @ f32[64,128]")
    return _rows(schedule.move("b", "L2", packed=32).tile(n=32).tile(m=4))


def _rows(schedule: Schedule) -> Schedule:
    """Rows of a product, from their places in memory to their kernel."""
    schedule = schedule.move("a", "L2").move("c", "L2").move("a", "L1").move("c", "L1")
    schedule = schedule.move("c", "registers", vector=16).to_accumulate()
    schedule = schedule.move("b", "L1").split(k=1).move("b", "registers", vector=16)
    return schedule.tile(m=1).select("fma_row_f32x16")


def complete() -> Schedule:
    """The same, with all that is left also scheduled by hand."""
    schedule = to_the_kernel()
    schedule = schedule.tile(i=1).move("src", "L2").move("src", "L1").move("dst", "L1")
    schedule = schedule.tile(j=32).tile(j=16).select("copy_f32x16")
    schedule = schedule.tile(i=1, j=16).select("zero_f32x16")
    schedule = schedule.tile(j=16).select("load_f32x16")
    schedule = schedule.tile(i=1, j=16).select("store_f32x16")
    schedule = _rows(schedule)  # the remainder, two rows
    schedule = schedule.tile(i=1, j=16).select("zero_f32x16")
    schedule = schedule.tile(j=16).select("load_f32x16")
    return schedule.tile(i=1, j=16).select("store_f32x16")

"""Checks that this machine has the instructions and the memory for a kernel."""

from __future__ import annotations

import os

from morello.base.errors import SpecError, TargetError
from morello.base.memory import gib
from morello.ir.spec import Spec
from morello.targets.catalog import runs_here
from morello.targets.target import Target


def check_runs_here(target: Target) -> None:
    """Raise `TargetError` if this machine lacks the target's instructions."""
    if not runs_here(target):
        raise TargetError(
            f"this machine cannot run kernels for {target.name}; "
            "use --target native, or generate the C alone with `morello synth`."
        )


def check_memory(spec: Spec) -> None:
    """Raise `SpecError` if the operands do not fit this machine's memory."""
    needed = sum(tensor.bytes for tensor in spec.tensors)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > have:
        raise SpecError(
            f"{spec.expression}: the operands take {gib(needed)}, and this machine has "
            f"{gib(have)}; make the sizes smaller."
        )

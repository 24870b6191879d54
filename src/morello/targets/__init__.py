"""Machines as data: memory levels, vectors and kernels.

Names are loaded when they are first used: who only asks for this CPU needs no kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from morello.base.lazy import loader

if TYPE_CHECKING:
    from morello.targets.catalog import TARGETS as TARGETS
    from morello.targets.catalog import find_target as find_target
    from morello.targets.catalog import tuned as tuned
    from morello.targets.x86 import PORTABLE as PORTABLE

__all__ = ["PORTABLE", "TARGETS", "find_target", "tuned"]

__getattr__ = loader(__name__, dict.fromkeys(__all__, "morello.targets.catalog"))

"""Machines as data: memory levels, vectors and kernels."""

from morello.targets.catalog import TARGETS, find_target, tuned
from morello.targets.x86 import PORTABLE

__all__ = ["PORTABLE", "TARGETS", "find_target", "tuned"]

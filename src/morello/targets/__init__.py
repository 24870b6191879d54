"""Machines as data: memory levels, vectors and kernels."""

from morello.targets.catalog import PORTABLE, TARGETS, find_target, tuned

__all__ = ["PORTABLE", "TARGETS", "find_target", "tuned"]

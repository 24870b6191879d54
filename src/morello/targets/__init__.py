"""Machines as data: memory levels, vectors and kernels."""

from morello.targets.catalog import TARGETS, find_target

__all__ = ["TARGETS", "find_target"]

"""Fusion: which neighbouring operations of a computation become one kernel, by predicted time.

For computations that are too large to be searched as one Spec. `operation_graph` has the operations
and their operands, `partition` the ways to divide them into kernels, `fuse` finds the best of
these, `prices` estimates the time of a kernel, and `program` runs the kernels one after the other.
"""

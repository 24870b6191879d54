"""Fusion: which neighbouring operations of a computation become one kernel, by predicted time.

For computations that are too large to be searched as one Spec. `graph` has the operations and
what they use, `partition` the ways to cut them into kernels, `fuse` the best of these ways,
`prices` what a kernel takes, and `program` runs the kernels one after the other.
"""

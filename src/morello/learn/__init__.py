"""A learned performance model: measured programs, what is learned from them, and its use.

After "A Learned Performance Model for Tensor Processing Units" (Kaufman et al., MLSys 2021).
It reads Impls, and never sits inside the search.
"""

"""A learned performance model: measuring programs, training, evaluation and use.

After "A Learned Performance Model for Tensor Processing Units" (Kaufman et al., MLSys 2021).
It reads complete Impls; the search itself never calls it.
"""

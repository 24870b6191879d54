"""The values of options that are among a few names, for `compile` and for the command."""

WEIGHTS = ("plain", "constant")
"""Whether second factors and filters lie as they are given, or may be packed once."""

STREAMED = "streamed"
"""Constant weights that other data evict from all caches between calls, as those of a model that
has more of them than the last cache holds."""

RANKINGS = ("cost", "learned")
"""The orders of programs: by the affine cost model, or by a learned performance model."""

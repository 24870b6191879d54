"""The benchmark's cases, in groups."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping

from benchmarks.work import Chain, Conv, Epilogue, Matmul, Scores, Softmax, Work

ROWS, COLUMNS = (1, 8, 32), (512, 4096, 65536, 524288)

GROUPS: Mapping[str, tuple[Work, ...]] = {
    "f32-square": tuple(
        Matmul(n, n, n) for n in (16, 32, 64, 100, 128, 256, 300, 512, 1000, 1024, 2048)
    ),
    "f32-rectangle": (Matmul(64, 1024, 64), Matmul(1024, 64, 1024), Matmul(384, 768, 3072)),
    "f32-skinny": (Matmul(1, 4096, 4096), Matmul(8, 4096, 4096)),
    "bf16-vector": tuple(
        Matmul(1, 2048, 16384, "bf16", "bf16", b_by_columns=columns) for columns in (False, True)
    ),
    "bf16-square": tuple(Matmul(n, n, n, "bf16", "bf16") for n in (128, 256, 512, 1024, 2048)),
    "int8-i32": tuple(Matmul(n, n, n, "u8", "i8", "i32") for n in (64, 128, 256, 512, 1024)),
    "int8-i16": tuple(Matmul(n, n, n, "u8", "i8", "i16") for n in (64, 128, 256, 512, 1024)),
    "softmax": tuple(Softmax(rows, columns) for rows in ROWS for columns in COLUMNS),
    "conv": (Conv(64, 56, 64, 3), Conv(256, 14, 256, 3)),
    "chain": (Chain(512), Chain(1024)),
    "scores": (Scores(1024, 64),),
    "epilogue": tuple(
        Epilogue(*size, function)
        for size in ((512, 512, 512), (384, 768, 3072))
        for function in ("relu", "gelu")
    ),
}


def group(name: str) -> str:
    """The name of a group, as a command's argument."""
    if name not in GROUPS:
        raise ArgumentTypeError(f"no group {name!r}; there are {', '.join(GROUPS)}")
    return name

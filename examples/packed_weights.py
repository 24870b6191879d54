"""Lay out weights once, as their kernel reads them fastest, and multiply by them often."""

from timeit import repeat

import numpy as np

import morello

random = np.random.default_rng(0)
x = random.standard_normal((8, 512), np.float32)
weights = random.standard_normal((512, 512), np.float32)
expression = "f32[8,512] @ f32[512,512]"

plain = morello.compile(expression)
constant = morello.compile(expression, weights="constant")
packed = constant.pack("b", weights)  # once
print(f"packed: {constant.spec.expression}")

seconds = [
    min(repeat(lambda: plain(x, weights), number=1, repeat=50)),
    min(repeat(lambda: constant(x, packed), number=1, repeat=50)),
]
print("plain {:.0f} us, packed {:.0f} us".format(*(1e6 * s for s in seconds)))
error = np.abs(constant(x, packed) - x.astype(np.float64) @ weights).max()
print(f"largest error: {error:.1e}")

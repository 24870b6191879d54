"""The same product on one thread and on two."""

from functools import partial
from timeit import repeat

import numpy as np

import morello

random = np.random.default_rng(0)
a, b = (random.standard_normal((512, 512), np.float32) for _ in range(2))
exact = a.astype(np.float64) @ b
c = np.empty((512, 512), np.float32)

for threads in (1, 2):
    kernel = morello.compile("f32[512,512] @ f32[512,512]", threads=threads)
    seconds = min(repeat(partial(kernel, a, b, out=c), number=1, repeat=50))
    error = np.abs(c - exact).max()
    print(f"{kernel.threads} threads: {seconds * 1e3:.2f} ms, largest error: {error:.1e}")

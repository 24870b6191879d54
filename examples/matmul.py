"""Compile a matrix product, call it, and compare it with NumPy."""

import numpy as np

import morello

random = np.random.default_rng(0)
a = random.standard_normal((256, 256), np.float32)
b = random.standard_normal((256, 256), np.float32)

matmul = morello.compile("f32[256,256] @ f32[256,256]")
c = matmul(a, b)  # a new array
matmul(a, b, out=c)  # or an existing one

exact = a.astype(np.float64) @ b
print(matmul)
print(f"compiled by {matmul.compiler}, {len(matmul.source.text.splitlines())} lines of C")
print(f"largest error: {np.abs(c - exact).max():.1e}")

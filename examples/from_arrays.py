"""Take types from NumPy arrays: shapes, dtypes, layouts and strides."""

import numpy as np

import morello

random = np.random.default_rng(0)
x = random.standard_normal((16, 32), np.float32)
w = random.standard_normal((64, 32), np.float32).T  # a transposed view: column-major

spec = morello.parse("relu(x @ w)", x=x, w=w)
print(f"Spec: {spec.expression}")

kernel = morello.compile(spec)
y = kernel(x, w)  # no copy of w: the kernel reads it as it lies

exact = np.maximum(x.astype(np.float64) @ w, 0)
print(f"largest error: {np.abs(y - exact).max():.1e}")

"""Take types from NumPy arrays: shapes, dtypes, layouts and strides."""

import numpy as np

import morello

random = np.random.default_rng(0)
x = random.standard_normal((32, 64), np.float32)
w = random.standard_normal((128, 64), np.float32).T  # a transposed view: column-major

spec = morello.parse("softmax(x @ w)", x=x, w=w)
print(f"Spec: {spec.expression}")

kernel = morello.compile(spec)
y = kernel(x, w)  # no copy of w: the kernel reads it as it lies

powers = np.exp(x.astype(np.float64) @ w)
exact = powers / powers.sum(axis=1, keepdims=True)
print(f"largest error: {np.abs(y - exact).max():.1e}")

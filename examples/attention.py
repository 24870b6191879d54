"""Softmax of a product, and one head of attention: each is a single kernel."""

import numpy as np
import numpy.typing as npt

import morello

Array = npt.NDArray[np.float64]


def softmax(x: Array) -> Array:
    """The reference, in float64."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    rows: Array = powers / powers.sum(axis=1, keepdims=True)
    return rows


random = np.random.default_rng(0)
q, k, v = (random.standard_normal((32, 16), np.float32) for _ in range(3))
products = q.astype(np.float64) @ k.T

weights = morello.compile("softmax(f32[32,16] @ f32[16,32])")
error = np.abs(weights(q, np.ascontiguousarray(k.T)) - softmax(products)).max()
print(f"softmax(q @ k): largest error: {error:.1e}")

attention = morello.compile("attention(f32[32,16], f32[32,16], f32[32,16])")
error = np.abs(attention(q, k, v) - softmax(products / np.sqrt(16)) @ v).max()
print(f"attention(q, k, v): largest error: {error:.1e}")

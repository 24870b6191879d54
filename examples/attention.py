"""Softmax of a product, and one head of attention: each is a single kernel."""

import numpy as np
import numpy.typing as npt

import morello

Array = npt.NDArray[np.float32]


def softmax(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The reference, in float64."""
    powers: npt.NDArray[np.float64] = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


random = np.random.default_rng(0)
q, k, v = (random.standard_normal((128, 64), np.float32) for _ in range(3))
products = q.astype(np.float64) @ k.T

weights = morello.compile("softmax(f32[128,64] @ f32[64,128])")
error = np.abs(weights(q, np.ascontiguousarray(k.T)) - softmax(products)).max()
print(f"softmax(q @ k): largest error: {error:.1e}")

attention = morello.compile("attention(f32[128,64], f32[128,64], f32[128,64])")
error = np.abs(attention(q, k, v) - softmax(products * 0.125) @ v).max()
print(f"attention(q, k, v): largest error: {error:.1e}")

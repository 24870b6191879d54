"""Compositions to evaluate fusion on: 6 to 40 operations each, in kernels that run briefly."""

from __future__ import annotations

from collections.abc import Mapping

COMPOSITIONS: Mapping[str, str] = {
    # chains of products
    "chain of 3, square": " @ ".join(["f32[128,128]"] * 4),
    "chain of 4, narrow between wide": (
        "f32[512,32] @ f32[32,512] @ f32[512,32] @ f32[32,512] @ f32[512,32]"
    ),
    "chain of 5, wide between narrow": (
        "f32[64,64] @ f32[64,512] @ f32[512,64] @ f32[64,512] @ f32[512,64] @ f32[64,128]"
    ),
    "chain of 6, a few rows": "f32[8,256]" + " @ f32[256,256]" * 6,
    # perceptrons of several layers
    "MLP of 3 layers, relu": (
        "relu(relu(f32[64,256] @ f32[256,512] + f32[512]) @ f32[512,512] + f32[512])"
        " @ f32[512,64] + f32[64]"
    ),
    "MLP of a transformer, gelu": (
        "gelu(f32[128,256] @ f32[256,1024] + f32[1024]) @ f32[1024,256] + f32[256]"
    ),
    "MLP with a gate, silu": (
        "x = f32[64,256]; (silu(x @ f32[256,512]) * (x @ f32[256,512])) @ f32[512,256]"
    ),
    "autoencoder, tanh": (
        "tanh(tanh(tanh(f32[256,128] @ f32[128,32] + f32[32]) @ f32[32,8] + f32[8])"
        " @ f32[8,32] + f32[32]) @ f32[32,128] + f32[128]"
    ),
    # norms, products and residuals
    "norm, product, gelu, residual": (
        "x = f32[128,256]; x + gelu(layer_norm(x, f32[256], f32[256]) @ f32[256,256] + f32[256])"
    ),
    "norm, MLP, residual": (
        "x = f32[64,256];"
        " x + gelu(layer_norm(x, f32[256], f32[256]) @ f32[256,512] + f32[512])"
        " @ f32[512,256] + f32[256]"
    ),
    "norm, gated MLP, residual": (
        "x = f32[32,256]; n = rms_norm(x, f32[256]);"
        " x + (silu(n @ f32[256,512]) * (n @ f32[256,512])) @ f32[512,256]"
    ),
    "product, residual, norm": (
        "x = f32[128,192];"
        " layer_norm(x + relu(x @ f32[192,192] + f32[192]) @ f32[192,192], f32[192], f32[192])"
    ),
    # attention
    "attention of one head": (
        "x = f32[64,128];"
        " attention(x @ f32[128,32], x @ f32[128,32], x @ f32[128,32]) @ f32[32,128] + x"
    ),
    "attention of two heads": (
        "x = f32[64,128];"
        " attention(x @ f32[128,64], x @ f32[128,64], x @ f32[128,64]) @ f32[64,128]"
        " + attention(x @ f32[128,64], x @ f32[128,64], x @ f32[128,64]) @ f32[64,128] + x"
    ),
    "attention of four heads at once": (
        "x = f32[64,128];"
        " q = broadcast(x, axis=0, size=4) @ f32[4,128,32];"
        " k = broadcast(x, axis=0, size=4) @ f32[4,128,32];"
        " v = broadcast(x, axis=0, size=4) @ f32[4,128,32];"
        " sum(attention(q, k, v) @ f32[4,32,128], axis=0) + x"
    ),
    # convolutions
    "two convolutions, relu": (
        "relu(conv(relu(conv(f32[1,16,30,30], f32[32,16,3,3])), f32[32,32,3,3]))"
    ),
    "convolutions of 1, 3 and 1": (
        "conv(relu(conv(relu(conv(f32[1,64,16,16], f32[32,64,1,1])), f32[32,32,3,3])),"
        " f32[64,32,1,1])"
    ),
    # reductions and maps
    "columns standardized, softmax": (
        "x = f32[256,512]; c = x - mean(x, axis=0); s = rsqrt(mean(c * c, axis=0) + 0.01);"
        " softmax(c * s * f32[512] + f32[512])"
    ),
    "similarities of cosine": (
        "x = f32[128,256]; y = f32[128,256];"
        " a = x * expand_dims(rsqrt(sum(x * x, axis=1)), axis=1);"
        " b = y * expand_dims(rsqrt(sum(y * y, axis=1)), axis=1);"
        " softmax(a @ transpose(b) * 4)"
    ),
    "pooling and a classifier": (
        "relu(mean(f32[64,32,128], axis=1) @ f32[128,256] + f32[256]) @ f32[256,100] + f32[100]"
    ),
}
"""Expressions by name."""

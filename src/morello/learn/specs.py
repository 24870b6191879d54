"""The Specs of a corpus, by family, and variants of them with random sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from morello.base.errors import MorelloError
from morello.frontends.text import parse


def _products(dtypes: tuple[str, str], *sizes: tuple[int, int, int]) -> tuple[str, ...]:
    a, b = dtypes
    return tuple(f"{a}[{m},{k}] @ {b}[{k},{n}]" for m, k, n in sizes)


def _conv(c: int, h: int, f: int, p: int, more: str = "", b: int = 1) -> str:
    return f"conv(f32[{b},{c},{h},{h}], f32[{f},{c},{p},{p}]{more})"


def _packed_conv(h: int, c: int, f: int, panel: int, more: str) -> str:
    filters = f"f32[3,3,{c},{f}]{{2,1,0,3:T({panel},1,1,1)}}"
    return f"conv(f32[1,{h},{h},{c}], {filters}, {more}, layout=NHWC)"


_F32, _BF16 = ("f32", "f32"), ("bf16", "bf16")
_PADDED = ", padding=1"

SPECS: Mapping[str, Sequence[str]] = {
    "squares": _products(
        _F32, *((n, n, n) for n in (16, 32, 48, 64, 80, 96, 100, 128, 160, 192, 250, 256, 384))
    ),
    "rectangles": _products(
        _F32,
        (128, 256, 64), (64, 1024, 64), (256, 64, 256), (96, 96, 576), (200, 72, 300),
        (512, 32, 512), (33, 257, 129), (128, 768, 96), (24, 480, 480), (384, 128, 48),
        (65, 515, 259), (511, 13, 511), (37, 301, 203), (130, 67, 129),
    ),
    "skinny": _products(
        _F32,
        (1, 512, 512), (1, 1024, 1024), (1, 768, 3072), (1, 2048, 1000), (4, 512, 512),
        (8, 1024, 256), (16, 256, 1024), (512, 512, 1), (2, 768, 768), (3, 300, 700),
        (1, 777, 999), (5, 501, 333), (1000, 7, 1000), (3, 768, 2304), (6, 512, 2048),
        (12, 384, 1536), (24, 256, 1024), (8, 768, 768),
    ),
    "bf16": (
        *_products(_BF16, *((n, n, n) for n in (32, 64, 96, 128, 256))),
        *_products(_BF16, (1, 1024, 1024), (8, 512, 512), (64, 512, 128), (100, 120, 140),
                   (64, 511, 128), (33, 301, 200), (1, 1023, 1024), (128, 99, 128),
                   (2, 768, 768), (4, 1024, 1024), (16, 384, 1536)),
        "bf16[1,1024] @ bf16[1024,1024]{0,1}",
        "gelu(bf16[64,256] @ bf16[256,512] + bf16[512]) -> bf16[64,512]",
        "bf16[8,257] @ bf16[257,256] -> bf16[8,256]",
    ),
    "bytes": (
        *_products(
            ("u8", "i8"), *((n, n, n) for n in (32, 64, 96, 128, 256)),
            (16, 512, 512), (1, 1024, 512), (200, 64, 120), (200, 301, 128), (16, 510, 256),
            (1, 2047, 512),
        ),
        *_products(("i8", "i8"), (96, 96, 96), (64, 99, 50), (33, 130, 77)),
        "i8[128,256] @ i8[256,128] + i32[128]",
        "i8[1,1024] @ i8[1024,1000] + i32[1000]",
    ),
    "batched": (
        "f32[12,64,64] @ f32[12,64,64]",
        "f32[8,32,128] @ f32[8,128,32]",
        "f32[16,16,16] @ f32[16,16,16]",
        "f32[4,128,64] @ f32[4,64,128]",
        "f32[8,1,64] @ f32[8,64,512]",
        "f32[6,50,30] @ f32[6,30,70]",
        "f32[2,3,32,64] @ f32[2,3,64,32]",
        "bf16[4,64,64] @ bf16[4,64,64]",
        "f32[8,37,65] @ f32[8,65,33]",
        "bf16[6,50,33] @ bf16[6,33,70]",
    ),
    "convs": (
        _conv(16, 16, 32, 3), _conv(64, 14, 64, 3, _PADDED), _conv(32, 28, 32, 3),
        _conv(3, 32, 16, 3, _PADDED), _conv(128, 7, 128, 3, _PADDED), _conv(64, 28, 128, 1),
        _conv(256, 14, 64, 1), _conv(16, 33, 32, 3, ", stride=2"), _conv(24, 20, 40, 5),
        _conv(8, 12, 16, 3, b=4),
        "conv(f32[1,32,56,56], f32[32,1,3,3], padding=1, groups=32)",
        "conv(f32[1,96,28,28], f32[96,1,3,3], padding=1, stride=2, groups=96)",
        "conv(f32[1,144,14,14], f32[144,1,5,5], padding=2, groups=144)",
        "conv(f32[1,64,28,28], f32[64,16,3,3], padding=1, groups=4)",
        "conv(f32[1,192,200], f32[192,1,3], padding=1, groups=192)",
        "conv(f32[1,28,28,64], f32[3,3,1,64], padding=1, groups=64, layout=NHWC)",
        _packed_conv(28, 64, 64, 16, "padding=1"), _packed_conv(7, 128, 128, 32, "padding=1"),
        _packed_conv(14, 64, 64, 32, "padding=6, dilation=6"),
        _packed_conv(28, 64, 96, 32, "padding=1, stride=2"),
        "conv(f32[1,28,28,96], f32[1,1,96,24], layout=NHWC)",
        _conv(16, 28, 32, 3, _PADDED), _conv(3, 64, 32, 3, ", padding=1, stride=2"),
        "conv(f32[1,240,14,14], f32[240,1,5,5], padding=2, stride=2, groups=240)",
        "conv(f32[1,96,14,14], f32[96,1,3,3], padding=1, groups=96)",
        "conv(f32[1,56,56,24], f32[3,3,1,24], padding=1, groups=24, layout=NHWC)",
        _packed_conv(14, 128, 64, 32, "padding=1"),
    ),
    "softmaxes": (
        *(
            f"softmax(f32[{m},{n}])"
            for m, n in ((8, 512), (1, 4096), (64, 64), (128, 1000), (256, 128), (32, 2048),
                         (512, 50), (7, 333), (197, 197), (16, 1000), (1, 30000), (96, 33),
                         (128, 48), (1000, 12), (1, 1000), (64, 300))
        ),
        "softmax(f32[64,1000], axis=0)",
        "softmax(f32[512,100], axis=0)",
        "softmax(bf16[64,512]) -> bf16[64,512]",
        "softmax(bf16[128,128]) -> bf16[128,128]",
        "softmax(bf16[16,1000]) -> bf16[16,1000]",
        "softmax(f32[12,64,64])",
        "softmax(f32[8,197,49])",
        "softmax(f32[2,64])",
        "softmax(f32[1,30])",
        "softmax(f32[8,20])",
        "softmax(f32[16,300,300])",
        "softmax(f32[300,3000])",
        "softmax(f32[4000,4000])",
        "softmax(f32[128,100000])",
        "softmax(bf16[1000,1500]) -> bf16[1000,1500]",
        "softmax(f32[1000,800], axis=0)",
        "softmax(f32[16,400,500])",
        "softmax(f32[700,3800])",
        "softmax(f32[4,16])",
        "softmax(f32[1,100])",
        "softmax(f32[10,480,520])", "softmax(f32[640,3600])", "softmax(f32[200,120], axis=0)",
        "softmax(f32[400,200], axis=0)",
    ),
    "norms": (
        "rms_norm(f32[16,512], f32[512])",
        "rms_norm(f32[1,4096], f32[4096])",
        "rms_norm(f32[128,768], f32[768])",
        "layer_norm(f32[32,256], f32[256], f32[256])",
        "layer_norm(f32[8,1024], f32[1024], f32[1024])",
        "layer_norm(f32[100,100], f32[100], f32[100])",
        "x = f32[64,512]; x - expand_dims(mean(x, axis=1), axis=1)",
        "x = f32[32,300]; x / expand_dims(sum(x, axis=1), axis=1)",
        "rms_norm(f32[64,1024], f32[1024])",
        "rms_norm(f32[7,2000], f32[2000])",
        "rms_norm(f32[512,64], f32[64])",
        "rms_norm(bf16[64,512], bf16[512]) -> bf16[64,512]",
        "rms_norm(bf16[1,4096], bf16[4096]) -> bf16[1,4096]",
        "layer_norm(f32[64,384], f32[384], f32[384])",
        "layer_norm(f32[33,300], f32[300], f32[300])",
        "layer_norm(f32[1,4096], f32[4096], f32[4096])",
        "layer_norm(f32[16,768], f32[768], f32[768])",
        "layer_norm(bf16[32,768], bf16[768], bf16[768]) -> bf16[32,768]",
        "x = f32[64,512]; x / expand_dims(sqrt(sum(square(x))), axis=1)",
        "x = f32[128,256]; mean(square(x - expand_dims(mean(x), axis=1)))",
        "layer_norm(f32[64,768] + f32[64,768], f32[768], f32[768])",
        "rms_norm(f32[32,512] + f32[32,512], f32[512])",
        "layer_norm(f32[197,192], f32[192], f32[192])",
        "rms_norm(f32[4,1536], f32[1536])",
        "layer_norm(bf16[16,1024], bf16[1024], bf16[1024]) -> bf16[16,1024]",
        "layer_norm(f32[128,256] + f32[128,256], f32[256], f32[256])",
        "layer_norm(f32[8,768] + f32[8,768], f32[768], f32[768])",
        "rms_norm(f32[1,2048] + f32[1,2048], f32[2048])",
        "rms_norm(bf16[16,1024] + bf16[16,1024], bf16[1024]) -> bf16[16,1024]",
        "rms_norm(f32[256,128], f32[128])",
        "rms_norm(f32[3,60], f32[60])",
        "layer_norm(f32[2,256], f32[256], f32[256])",
        "layer_norm(f32[700,768], f32[768], f32[768])",
        "rms_norm(f32[600,3072], f32[3072])",
        "layer_norm(f32[6000,2048], f32[2048], f32[2048])",
        "rms_norm(f32[5000,4096], f32[4096])",
        "rms_norm(bf16[4096,5120], bf16[5120]) -> bf16[4096,5120]",
        "layer_norm(f32[1000,1024] + f32[1000,1024], f32[1024], f32[1024])",
        "x = f32[1000,1000]; x - expand_dims(mean(x, axis=1), axis=1)",
        "rms_norm(f32[1500,1800], f32[1800])",
        "layer_norm(f32[1,100], f32[100], f32[100])",
        "rms_norm(f32[1,64], f32[64])",
        "layer_norm(f32[900,2400], f32[2400], f32[2400])",
        "rms_norm(f32[900,2304], f32[2304])", "rms_norm(f32[1400,2000], f32[2000])",
        "rms_norm(f32[6400,1800], f32[1800])",
        "x = f32[300,1600]; x / expand_dims(sqrt(sum(square(x))), axis=1)",
        "x = f32[200,1200]; x / expand_dims(sqrt(sum(square(x))), axis=1)",
    ),
    "attention": (
        "attention(f32[64,32], f32[64,32], f32[64,32])",
        "attention(f32[32,64], f32[128,64], f32[128,64])",
        "attention(f32[1,64], f32[256,64], f32[256,64])",
        "softmax(f32[64,64] @ f32[64,64])",
        "softmax(f32[32,64] @ f32[64,256])",
        "softmax(f32[1,128] @ f32[128,512])",
        "softmax(f32[100,40] @ f32[40,90])",
        "softmax(f32[50,33] @ f32[33,77])",
        "attention(f32[50,33], f32[50,33], f32[50,33])",
        "attention(bf16[64,64], bf16[64,64], bf16[64,64])",
        "attention(f32[12,64,64], f32[12,64,64], f32[12,64,64])",
    ),
    "epilogues": (
        "relu(f32[128,256] @ f32[256,128] + f32[128])",
        "gelu(f32[32,256] @ f32[256,512] + f32[512])",
        "f32[64,128] @ f32[128,64] + f32[64,64]",
        "silu(f32[16,512] @ f32[512,256])",
        "relu(f32[1,768] @ f32[768,768] + f32[768])",
        "tanh(f32[100,60] @ f32[60,140] + f32[140])",
        "relu(f32[256,64] @ f32[64,256])",
        "sigmoid(f32[48,96] @ f32[96,192] + f32[192])",
        "relu(f32[37,301] @ f32[301,203] + f32[203])",
        "gelu(f32[51,131] @ f32[131,259] + f32[259])",
        "f32[64,256] @ f32[256,256] + f32[256] + f32[64,256]",
        "gelu_tanh(f32[16,768] @ f32[768,1024] + f32[1024])",
        "silu(f32[8,512] @ f32[512,1024] + f32[1024])",
        "relu(f32[196,64] @ f32[64,128] + f32[128])",
    ),
    "chains": (
        "f32[64,64] @ f32[64,64] @ f32[64,64]",
        "f32[32,128] @ f32[128,64] @ f32[64,32]",
        "relu(f32[64,128] @ f32[128,64]) @ f32[64,128]",
        "gelu(f32[16,256] @ f32[256,64]) @ f32[64,256]",
        "relu(f32[1,256] @ f32[256,512]) @ f32[512,128]",
        "f32[40,50] @ f32[50,60] @ f32[60,70]",
    ),
    "reductions": (
        "sum(f32[512,512], axis=1)",
        "sum(f32[512,512], axis=0)",
        "max(f32[256,1024], axis=1)",
        "max(f32[1000,100], axis=0)",
        "mean(f32[64,4096], axis=1)",
        "sum(f32[16,32,64], axis=1)",
        "sum(f32[2048,16], axis=0)",
        "max(f32[8192], axis=0)",
        "sum(square(f32[256,512]))",
        "sum(f32[333,517], axis=1)",
        "max(f32[257,99], axis=0)",
        "sum(bf16[128,1024])",
        "argmax(f32[64,1000])",
        "mean(f32[64,49,256], axis=1)",
        "max(f32[197,768], axis=0)",
        "mean(f32[512,49], axis=1)",
        "sum(f32[400], axis=0)",
        "max(f32[20,30], axis=1)",
        "mean(f32[6,300], axis=1)",
        "sum(f32[32,80], axis=0)",
        "sum(f32[900,2000], axis=1)",
        "max(f32[2000,900], axis=0)",
        "mean(f32[256,28,28], axis=[1,2])",
        "sum(f32[4000,6000], axis=1)",
        "sum(f32[6500,4000], axis=0)",
        "max(f32[5000,8000], axis=1)",
        "sum(bf16[3000,9000])",
        "mean(f32[16,400,700], axis=1)",
        "sum(square(f32[1000,1500]))",
        "argmax(f32[5,300])",
        "argmax(f32[1,20000])",
        "argmin(f32[400,500])",
        "argmax(f32[500,600], axis=0)",
        "argmax(f32[32,30000])",
        "argmin(f32[3000,4000], axis=0)",
        "argmax(bf16[100,1000])",
        "argmax(f32[2000,8000])",
        "min(f32[150,900], axis=1)",
        "sum(f32[2200,2500], axis=0)",
        "max(f32[2500,2200], axis=1)",
        "sum(f32[9000,4000], axis=0)",
        "max(f32[7000,3000], axis=0)",
        "sum(f32[100], axis=0)",
        "sum(f32[16,16], axis=1)",
        "argmin(f32[1500,3500], axis=0)",
        "argmax(f32[150,250])",
        "argmax(f32[250,700], axis=0)",
        "sum(f32[3200,7200], axis=0)", "sum(f32[5500,3300], axis=1)",
        "max(f32[1500,1800], axis=1)", "sum(f32[600,64], axis=1)", "sum(f32[500,36], axis=1)",
        "mean(f32[900,81], axis=1)", "sum(f32[700], axis=0)", "sum(f32[1500], axis=0)",
        "sum(square(f32[60,700]))", "sum(square(f32[120,1400]))", "sum(bf16[200,700], axis=0)",
        "mean(f32[4,300,640], axis=1)", "argmax(f32[200,900], axis=0)", "argmax(f32[6,40000])",
        "sum(f32[48,40], axis=0)",
    ),
    "maps": (
        "gelu(f32[128,1024])",
        "tanh(f32[64,512])",
        "relu(f32[256,256])",
        "exp(f32[1000,33])",
        "f32[512,256] + f32[512,256]",
        "f32[300,200] * f32[200]",
        "sigmoid(f32[1,4096])",
        "f32[64,2048] + f32[64,2048] * f32[64,2048]",
        "gelu(bf16[128,1024]) -> bf16[128,1024]",
        "silu(bf16[64,2048]) -> bf16[64,2048]",
        "bf16[256,512] + bf16[256,512] -> bf16[256,512]",
        "silu(f32[64,704]) * f32[64,704]",
        "gelu(f32[33,1001])",
        "relu(f32[100,333] + f32[333])",
        "gelu_tanh(f32[64,1024])",
        "cast(f32[256,512], bf16)",
        "cast(bf16[256,1024], f32)",
        "cast(u8[300,1000], f32)",
        "gelu(f32[100,768] + f32[768])",
        "relu(f32[5,40])",
        "f32[300] + f32[300]",
        "tanh(f32[7,100])",
        "gelu(f32[3,150])",
        "exp(f32[10,20])",
        "sigmoid(f32[2,333])",
        "f32[16,50] * f32[50]",
        "silu(f32[30,64])",
        "cast(f32[4,130], bf16)",
        "cast(bf16[10,200], f32)",
        "relu(f32[900,1400])",
        "f32[800,2000] + f32[800,2000]",
        "gelu(f32[300,4096])",
        "tanh(f32[500,1600])",
        "bf16[1500,2000] + bf16[1500,2000] -> bf16[1500,2000]",
        "silu(f32[600,1408]) * f32[600,1408]",
        "cast(f32[1500,2000], bf16)",
        "cast(u8[1080,1920], f32)",
        "f32[4000,7000] + f32[4000,7000]",
        "relu(f32[5000,5000])",
        "gelu(f32[3000,7000])",
        "relu(bf16[6000,8000]) -> bf16[6000,8000]",
        "cast(f32[6000,5000], bf16)",
        "cast(bf16[5000,7000], f32)",
        "f32[8000,3000] * f32[3000]",
        "exp(f32[4500,4000])",
        "sqrt(f32[64,256])",
        "f32[256,384] - f32[256,384]",
        "f32[4000,2500] + f32[4000,2500] * f32[4000,2500]",
        "relu(f32[2000,3000] + f32[3000])",
        "cast(i8[1500,3500], f32)",
        "cast(u8[2000,2500], f32)",
        "cast(bf16[1800,2200], f32)",
        "f32[1300,1500] + f32[1300,1500]",
        "relu(f32[2000,1700])",
        "gelu(f32[1024,3500])",
        "cast(f32[7,50], bf16)",
        "relu(f32[100])",
        "f32[20,20] + f32[20,20]",
        "exp(f32[64])",
        "sqrt(f32[50,70])",
        "bf16[40,900] + bf16[40,900] -> bf16[40,900]",
        "tanh(f32[3000,4096])", "cast(f32[2500,2600], bf16)", "cast(u8[4000,4000], f32)",
        "bf16[2200,2500] + bf16[2200,2500] -> bf16[2200,2500]", "f32[3600,5000] + f32[3600,5000]",
        "f32[1100,1600] * f32[1100,1600]", "relu(f32[1700,1500])", "f32[30,120] * f32[120]",
        "f32[100,300] + f32[300]", "f32[24,64] + f32[64]", "relu(bf16[50,700]) -> bf16[50,700]",
        "relu(bf16[16,256]) -> bf16[16,256]", "abs(bf16[200,600]) -> bf16[200,600]",
        "exp(f32[600,1200])", "f32[600,900] + f32[900]", "relu(bf16[900,1500]) -> bf16[900,1500]",
    ),
    "transposes": (
        "transpose(f32[32,32])",
        "transpose(f32[64,256])",
        "transpose(f32[256,256])",
        "transpose(f32[512,384])",
        "transpose(f32[300,200])",
        "transpose(f32[1000,24])",
        "transpose(bf16[256,256])",
        "transpose(f32[8,64,32], order=[1,0,2])",
        "transpose(f32[4,32,64], order=[0,2,1])",
        "transpose(f32[123,457])",
        "transpose(bf16[100,333])",
        "transpose(f32[64,49,96], order=[0,2,1])",
        "transpose(f32[784,32])",
        "transpose(f32[49,768])",
        "transpose(f32[197,384])",
        "transpose(f32[12,64,64], order=[0,2,1])",
        "transpose(f32[197,12,64], order=[1,0,2])",
        "transpose(bf16[64,512])",
        "transpose(f32[24,40])",
        "transpose(f32[96,160])",
        "transpose(f32[900,640])",
        "transpose(f32[1600,2400])",
        "transpose(f32[5000,4800])",
        "transpose(f32[3072,8192])",
        "transpose(bf16[2000,3100])",
        "transpose(bf16[500,900])",
        "transpose(u8[1000,700])",
        "transpose(f32[16,300,8,64], order=[0,2,1,3])",
        "transpose(f32[64,500,128], order=[1,0,2])",
        "transpose(f32[12,700,500], order=[0,2,1])",
        "transpose(bf16[16,400,12,64], order=[0,2,1,3])",
        "transpose(f32[64,300,300], order=[1,2,0])",
        "transpose(f32[1200,2500])",
        "transpose(f32[2048,1700])",
        "transpose(bf16[2500,2200])",
        "transpose(f32[6,700,800], order=[0,2,1])",
        "transpose(f32[3,500,600], order=[1,2,0])",
        "transpose(f32[4,160,200], order=[1,2,0])",
        "transpose(f32[7000,3000])",
        "transpose(f32[800,700])", "transpose(f32[1100,1900])", "transpose(f32[1500,1600])",
        "transpose(f32[1999,1501])", "transpose(f32[2400,1400])", "transpose(f32[2600,3000])",
        "transpose(f32[4000,6600])", "transpose(f32[1024,1024])", "transpose(f32[2048,2048])",
        "transpose(f32[4096,1024])", "transpose(bf16[1024,2000])", "transpose(bf16[3200,1900])",
        "transpose(bf16[2700,3600])", "transpose(bf16[200,300])", "transpose(u8[300,800])",
        "transpose(u8[2000,3000])", "transpose(f32[60,36])", "transpose(f32[200,130])",
        "transpose(f32[8,200,16,64], order=[0,2,1,3])",
        "transpose(f32[12,384,12,64], order=[0,2,1,3])",
        "transpose(f32[4,1024,8,128], order=[0,2,1,3])",
        "transpose(f32[2,100,8,32], order=[0,2,1,3])",
        "transpose(bf16[24,300,16,64], order=[0,2,1,3])",
        "transpose(bf16[8,512,32,64], order=[0,2,1,3])",
        "transpose(f32[2,300,900], order=[0,2,1])", "transpose(f32[8,500,800], order=[0,2,1])",
        "transpose(f32[16,64,256], order=[0,2,1])", "transpose(f32[3,256,256], order=[1,2,0])",
        "transpose(f32[3,150,130], order=[1,2,0])", "transpose(f32[160,240,3], order=[2,0,1])",
        "transpose(f32[32,40,64], order=[2,0,1])", "transpose(f32[200,12,64], order=[1,0,2])",
        "transpose(f32[100,16,32], order=[1,0,2])",
    ),
    "grouped": (
        "grouped_matmul(f32[64,256], f32[8,256,128], i32[64])",
        "grouped_matmul(f32[16,512], f32[8,512,256], i32[16])",
        "grouped_matmul(f32[128,64], f32[4,64,192], i32[128])",
        "grouped_matmul(f32[33,100], f32[6,100,77], i32[33])",
        "grouped_matmul(f32[1,512], f32[6,512,512], i32[1])",
        "grouped_matmul(bf16[64,128], bf16[8,128,128], i32[64])",
        "grouped_matmul(bf16[16,256], bf16[4,256,256], i32[16])",
    ),
    "windows": (
        "max_pool(f32[1,64,56,56], window=3, stride=2, padding=1)",
        "avg_pool(f32[1,32,28,28], window=3, padding=1)",
        "max_pool(f32[1,128,28,28], window=2, stride=2)",
        "avg_pool(f32[1,256,7,7], window=7)",
        "max_pool(f32[1,28,28,64], window=2, stride=2, layout=NHWC)",
        "sum_pool(f32[1,64,200], window=3, stride=2)",
        "max_pool(f32[1,64,28,28], window=3, padding=1)",
        "avg_pool(f32[1,128,14,14], window=2, stride=2)",
        "max_pool(f32[1,32,56,56], window=2, stride=2)",
        "max_pool(f32[1,8,16,16], window=2, stride=2)",
        "avg_pool(f32[1,128,12,12], window=12)",
        "max_pool(f32[1,48,80,80], window=3, stride=2)",
        "avg_pool(f32[1,1024,7,7], window=7)",
        "max_pool(f32[1,96,110,110], window=2, stride=2)",
        "avg_pool(f32[1,64,60,60], window=3, padding=1)",
        "max_pool(f32[16,64,100,100], window=2, stride=2)",
        "max_pool(f32[1,80,80,64], window=3, stride=2, layout=NHWC)",
        "max_pool(f32[4,64,120,120], window=2, stride=2)",
        "sum_pool(f32[1,48,400], window=4, stride=4)",
        "sum_pool(f32[1,20,300], window=2, stride=2)",
        "avg_pool(f32[1,48,16,16], window=16)",
        "max_pool(f32[1,64,150,150], window=3, stride=2, padding=1)",
        "max_pool(f32[1,24,12,12], window=2, stride=2)",
        "avg_pool(f32[1,72,14,14], window=14)", "avg_pool(f32[1,96,10,10], window=10)",
        "avg_pool(f32[1,300,9,9], window=9)", "avg_pool(f32[1,640,7,7], window=7)",
        "avg_pool(f32[1,32,15,15], window=15)", "max_pool(f32[1,24,24,24], window=2, stride=2)",
        "max_pool(f32[1,12,18,18], window=2, stride=2)",
        "max_pool(f32[1,80,44,44], window=2, stride=2)",
        "max_pool(f32[1,64,100,100], window=3, stride=2, padding=1)",
        "max_pool(f32[1,32,126,126], window=3, stride=2, padding=1)",
        "max_pool(f32[8,40,112,112], window=2, stride=2)",
        "max_pool(f32[6,64,128,128], window=2, stride=2)",
        "max_pool(f32[16,32,96,96], window=2, stride=2)",
        "max_pool(f32[4,96,64,64], window=3, stride=2)",
        "max_pool(f32[1,64,64,80], window=2, stride=2, layout=NHWC)",
        "max_pool(f32[1,112,112,32], window=3, stride=2, layout=NHWC)",
        "sum_pool(f32[1,64,600], window=4, stride=4)",
        "sum_pool(f32[1,16,256], window=4, stride=4)",
        "avg_pool(f32[1,64,30,30], window=2, stride=2)",
        "max_pool(f32[1,32,26,26], window=3, padding=1)",
    ),
    "tables": (
        "take(f32[40,32], i32[6])",
        "take(f32[500,100], i32[40])",
        "take(f32[2000,512], i32[100])",
        "take(f32[20000,384], i32[60])",
        "take(f32[50000,640], i32[500])",
        "take(bf16[32000,2048], i32[64])",
        "take(bf16[100000,768], i32[4096])",
        "take(f32[64,300], i32[1000])",
        "take(f32[8000,256], i32[4000])",
        "take(f32[200000,256], i32[10000])",
        "take(f32[30,20], i32[10])",
        "take(f32[300,256], i32[30])",
        "take(f32[64,16], i32[5])", "take(f32[100,24], i32[12])", "take(f32[80,48], i32[30])",
        "take(f32[20,64], i32[4])", "take(f32[600,96], i32[100])", "take(f32[800,160], i32[80])",
        "take(f32[16000,300], i32[24])", "take(f32[12000,512], i32[40])",
        "take(f32[25000,192], i32[128])", "take(f32[96,72], i32[3000])",
        "take(f32[200,128], i32[1500])", "take(f32[1000,256], i32[5000])",
        "take(f32[6000,600], i32[2500])", "take(bf16[40000,1024], i32[200])",
        "take(bf16[20000,640], i32[48])",
    ),
    "weights": (
        "f32[1,1024] @ i8g32[1024,512]",
        "f32[1,512] @ i4g32[512,1024]",
        "f32[8,512] @ i4g32[512,512]",
        "f32[1,2048] @ i4g128[2048,256]",
    ),
    "panels": (
        "f32[1,768] @ f32[768,768]{0,1:T(32,1)}",
        "f32[4,1024] @ f32[1024,512]{0,1:T(32,1)}",
        "f32[17,1000] @ f32[1000,1000]{0,1:T(48,1)}",
        "f32[64,512] @ f32[512,512]{0,1:T(32,1)}",
        "bf16[16,512] @ bf16[512,512]{0,1:T(32,2)}",
        "bf16[64,256] @ bf16[256,256]{0,1:T(32,2)}",
        "u8[16,512] @ i8[512,512]{0,1:T(32,4)}",
        "relu(f32[32,384] @ f32[384,768]{0,1:T(48,1)} + f32[768])",
        "gelu(f32[8,384] @ f32[384,768]{0,1:T(32,1)} + f32[768])",
        "bf16[8,768] @ bf16[768,768]{0,1:T(32,2)}",
        "f32[8,1024] @ f32[1024,1024]{0,1:T(32,1)}",
        "relu(f32[49,256] @ f32[256,256]{0,1:T(32,1)} + f32[256])",
    ),
}  # fmt: skip


def interleaved() -> list[tuple[str, str]]:
    """All of them as (family, expression): the first of every family, then the second.

    So an unfinished corpus has Specs of every family.
    """
    longest = max(len(members) for members in SPECS.values())
    return [
        (family, members[n])
        for n in range(longest)
        for family, members in SPECS.items()
        if n < len(members)
    ]


_SIZE = re.compile(r"(?<![a-z\d])\d+")
"""A number that is no part of a dtype's name."""

_LEAST_SIZE, _OCTAVES = 6, 1.0
"""Smaller numbers (filters, strides, axes) stay; others change by at most a factor of two."""

_MULTIPLES = (1, 4, 8, 16, 32)
_MOST_FLOPS, _MOST_BYTES = 1e8, 8 << 20


def varied(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """`count` more Specs as (family, expression): those above, with sizes drawn at random.

    f32[64,1024] @ f32[1024,64] -> f32[80,752] @ f32[752,80]
    """
    return list(islice(_varied(Random(seed)), count))


def _varied(random: Random) -> Iterator[tuple[str, str]]:
    known = interleaved()
    seen = {expression for _, expression in known}
    while True:
        for family, members in SPECS.items():
            variant = _resized(random.choice(members), random)
            if variant not in seen and _is_small(variant):
                seen.add(variant)
                yield family, variant


def _resized(expression: str, random: Random) -> str:
    """The expression with random sizes; equal sizes stay equal."""
    sizes: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        text = match[0]
        if int(text) >= _LEAST_SIZE and text not in sizes:
            multiple = random.choice(_MULTIPLES)
            size = int(text) * 2 ** random.uniform(-_OCTAVES, _OCTAVES)
            sizes[text] = str(max(multiple, round(size / multiple) * multiple))
        return sizes.get(text, text)

    return _SIZE.sub(other, expression)


def _is_small(expression: str) -> bool:
    try:
        spec = parse(expression)
    except MorelloError:
        return False  # sizes of a convolution that do not fit
    return spec.flops <= _MOST_FLOPS and spec.bytes <= _MOST_BYTES

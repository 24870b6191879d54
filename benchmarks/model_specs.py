"""Specs of two models: a transformer's encoder and decoder, and ResNet-50, sixty in all."""

from __future__ import annotations

from collections.abc import Iterator


def transformer() -> Iterator[str]:
    """An encoder of 12 heads of 64 on 128 and 197 tokens, and a decoder's step in bf16."""
    for tokens in (128, 197):
        x = f"f32[{tokens},768]"
        yield f"{x} @ f32[768,768] + f32[768]"
        yield f"{x} @ f32[768,2304] + f32[2304]"
        yield f"{x} @ f32[768,768] + f32[768] + {x}"
        yield f"gelu({x} @ f32[768,3072] + f32[3072])"
        yield f"f32[{tokens},3072] @ f32[3072,768] + f32[768] + {x}"
        yield f"layer_norm({x}, f32[768], f32[768])"
        yield f"f32[12,{tokens},64] @ f32[12,64,{tokens}]"
        yield f"softmax(f32[12,{tokens},{tokens}])"
        yield f"f32[12,{tokens},{tokens}] @ f32[12,{tokens},64]"
        yield f"softmax(f32[{tokens},64] @ f32[64,{tokens}])"
        yield f"tanh({x})"
        yield f"{x} + {x}"
        yield f"transpose({x})"
    for tokens in (1, 16):
        x = f"bf16[{tokens},2048]"
        yield f"{x} @ bf16[2048,2048]"
        yield f"{x} @ bf16[2048,16384]"
        yield f"bf16[{tokens},16384] @ bf16[16384,2048]"
        yield f"rms_norm(f32[{tokens},2048], f32[2048])"


def resnet50() -> Iterator[str]:
    """The convolutions of ResNet-50 that differ, with relu and residuals, and its last layers.

    Images that windows pass over in steps of two have an odd number of rows, as no row may be
    left out; the bias of each channel is left out.
    """
    yield "relu(conv(f32[1,3,223,223], f32[64,3,7,7], stride=2, padding=3))"
    before = 64
    for size, count in ((56, 64), (28, 128), (14, 256), (7, 512)):
        wide, stride = 4 * count, 1 if count == before else 2
        image = size if stride == 1 else 2 * size - 1
        for channels, side in dict.fromkeys(((before, image), (wide, size))):
            yield f"relu({_conv(channels, count, side, 1)})"
        yield f"relu({_conv(count, count, image, 3, stride)})"
        if stride == 2:
            yield f"relu({_conv(count, count, size, 3)})"
        yield f"relu({_conv(count, wide, size, 1)} + f32[1,{wide},{size},{size}])"
        yield _conv(before, wide, image, 1, stride)
        before = wide
    yield "mean(f32[2048,49], axis=1)"
    yield "f32[1,2048] @ f32[2048,1000] + f32[1000]"


def _conv(channels: int, count: int, size: int, window: int, stride: int = 1) -> str:
    filters = f"f32[{count},{channels},{window},{window}]"
    image = f"f32[1,{channels},{size},{size}]"
    return f"conv({image}, {filters}, stride={stride}, padding={window // 2})"

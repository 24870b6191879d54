"""A U-Net, as those that remove noise from images: residual blocks at three sizes of an image."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

GROUPS = 8
"""The groups of channels that are normalized."""


class Residual(nn.Module):  # type: ignore[misc]  # torch is untyped here
    """Two convolutions of normalized images, beside a path of single pixels."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(GROUPS, width) for width in (before, after)])
        self.convs = nn.ModuleList(
            [nn.Conv2d(width, after, 3, padding=1) for width in (before, after)]
        )
        self.beside = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x: Any) -> Any:
        hidden = x
        for norm, conv in zip(self.norms, self.convs, strict=True):
            hidden = conv(functional.silu(norm(hidden)))
        return hidden + self.beside(x)


class UNet(nn.Module):  # type: ignore[misc]  # torch is untyped here
    """Each half as large with twice the channels, and back, with the images before joined on."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            [Residual(a, b) for a, b in zip((width, *sizes), sizes, strict=False)]
        )
        self.halved = nn.ModuleList([nn.Conv2d(n, n, 3, 2, padding=1) for n in sizes[:-1]])
        self.doubled = nn.ModuleList(
            [nn.Conv2d(2 * n, n, 3, padding=1) for n in reversed(sizes[:-1])]
        )
        self.up = nn.ModuleList([Residual(2 * n, n) for n in reversed(sizes[:-1])])
        self.norm = nn.GroupNorm(GROUPS, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: Any) -> Any:
        x, before = self.first(x), []
        for block, halved in zip(self.down, self.halved, strict=False):
            before.append(block(x))
            x = halved(before[-1])
        x = self.down[-1](x)
        for doubled, block in zip(self.doubled, self.up, strict=True):
            x = doubled(functional.interpolate(x, scale_factor=2.0))
            x = block(torch.cat([x, before.pop()], 1))
        return self.last(functional.silu(self.norm(x)))

"""Compile a PyTorch model by torch.compile, and compare it with PyTorch's own kernels."""

import importlib.util


def main() -> None:
    import torch
    from torch import nn

    import morello.torch

    torch.manual_seed(0)
    layers = nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64)
    model, x = nn.Sequential(*layers).eval(), torch.randn(16, 64)

    fast = torch.compile(model, backend=morello.torch.backend)
    with torch.no_grad():
        error = (fast(x) - model(x)).abs().max()
    print(morello.torch.report())
    print(f"largest error: {error:.1e}")


if importlib.util.find_spec("torch"):
    main()
else:
    print("skipped: PyTorch is not installed")

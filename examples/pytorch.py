"""Models of PyTorch, compiled by torch.compile, and compared with PyTorch's own kernels.

A perceptron, and an encoder of the package transformers, if that is installed; its weights are
random here: `AutoModel.from_pretrained(...)` gives models that are trained.
"""

import importlib.util
from typing import Any


def perceptron() -> None:
    import torch
    from torch import nn

    import morello.torch

    layers = nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64)
    model, x = nn.Sequential(*layers).eval(), torch.randn(16, 64)
    fast = torch.compile(model, backend="morello")
    compare("perceptron", fast(x), model(x))
    print(morello.torch.report())


def encoder() -> None:
    """A model as BERT and MiniLM are, and a sentence of 12 tokens with 4 of padding."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=64, intermediate_size=128, num_attention_heads=4, num_hidden_layers=1,
        vocab_size=100,
    )  # fmt: skip
    model, ids = BertModel(config).eval(), torch.randint(0, 100, (1, 16))
    mask = (torch.arange(16) < 12).long()[None]
    fast = torch.compile(model, backend="morello", options={"budget": 1, "gap": 0.1})
    compare(
        "encoder",
        fast(ids, attention_mask=mask).last_hidden_state,
        model(ids, attention_mask=mask).last_hidden_state,
    )


def compare(name: str, result: Any, expected: Any) -> None:
    """Print the largest difference, which is one of rounding."""
    error = float((result - expected).abs().max())
    assert error < 1e-4
    print(f"{name}: largest error: {error:.1e}")


def main() -> None:
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        perceptron()
        if importlib.util.find_spec("transformers"):
            encoder()


if importlib.util.find_spec("torch"):
    main()
else:
    print("skipped: PyTorch is not installed")

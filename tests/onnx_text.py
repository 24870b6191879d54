"""Models of ONNX in the language of `onnx.parser`."""

from __future__ import annotations

from typing import Any


def parsed(body: str, version: int = 17, extra: str = "") -> Any:
    """The model whose graph has this text, for a version of ONNX, and `extra` sets of operators."""
    from onnx import parser

    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}{extra}]>{body}')

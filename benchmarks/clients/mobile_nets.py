"""Networks for phones, with depthwise convolutions, as ONNX models with random weights.

MobileNetV2 (Sandler et al., 2018), MobileNetV3 small (Howard et al., 2019) and EfficientNet-B0 (Tan
and Le, 2019), for images of 224x224; batch norms are part of the weights, as exporters have them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

IMAGE = (1, 3, 224, 224)
CLASSES = 1000


@dataclass
class _Network:
    """The nodes and weights of a model so far; values are the names of nodes' results."""

    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        result = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def constant(self, array: Any) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def weights(self, *shape: int) -> list[str]:
        """The weights of a layer, with its biases; they keep the magnitude of activations."""
        deviation = (2 / np.prod(shape[1:])) ** 0.5
        arrays = deviation * self.random.standard_normal(shape), np.zeros(shape[0])
        return [self.constant(array) for array in arrays]

    def conv(
        self, x: str, inputs: int, outputs: int, size: int = 1, stride: int = 1, groups: int = 1
    ) -> str:
        weights = self.weights(outputs, inputs // groups, size, size)
        return self.node(
            "Conv", x, *weights, strides=[stride] * 2, pads=[size // 2] * 4, group=groups
        )

    def activated(self, x: str, function: str) -> str:
        match function:
            case "Relu6":
                return self.node("Clip", x, self.constant(0), self.constant(6))
            case "Silu":
                return self.node("Mul", x, self.node("Sigmoid", x))
        return self.node(function, x)

    def excited(self, x: str, channels: int, fewer: int, functions: tuple[str, str]) -> str:
        """Channels times what a small network makes of their means (squeeze and excitation)."""
        first, last = functions
        means = self.conv(self.node("GlobalAveragePool", x), channels, fewer)
        scales = self.conv(self.activated(means, first), fewer, channels)
        return self.node("Mul", x, self.activated(scales, last))

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        return self.node("Gemm", x, *self.weights(outputs, inputs), transB=1)

    def means(self, x: str) -> str:
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def save(self, output: str, path: Path) -> Path:
        import onnx
        from onnx import helper

        ends = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in (("image", IMAGE), (output, (1, CLASSES)))
        ]
        graph = helper.make_graph(self.nodes, path.stem, ends[:1], ends[1:], self.constants)
        opset = helper.make_opsetid("", 17)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
        return path


def mobilenet_v2(folder: Path) -> Path:
    net = _Network()
    x, channels = net.activated(net.conv("image", 3, 32, 3, 2), "Relu6"), 32
    stages = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )  # fmt: skip
    for times, outputs, count, first in stages:
        for number in range(count):
            stride, wide, before = first if number == 0 else 1, channels * times, x
            if times > 1:
                x = net.activated(net.conv(x, channels, wide), "Relu6")
            x = net.activated(net.conv(x, wide, wide, 3, stride, wide), "Relu6")
            x = net.conv(x, wide, outputs)
            if number:
                x = net.node("Add", before, x)
            channels = outputs
    x = net.activated(net.conv(x, channels, 1280), "Relu6")
    return net.save(net.dense(net.means(x), 1280, CLASSES), folder / "model.onnx")


def mobilenet_v3(folder: Path) -> Path:
    net = _Network()
    x, channels = net.activated(net.conv("image", 3, 16, 3, 2), "HardSwish"), 16
    blocks = (
        (3, 16, 16, True, "Relu", 2), (3, 72, 24, False, "Relu", 2), (3, 88, 24, False, "Relu", 1),
        (5, 96, 40, True, "HardSwish", 2), (5, 240, 40, True, "HardSwish", 1),
        (5, 240, 40, True, "HardSwish", 1), (5, 120, 48, True, "HardSwish", 1),
        (5, 144, 48, True, "HardSwish", 1), (5, 288, 96, True, "HardSwish", 2),
        (5, 576, 96, True, "HardSwish", 1), (5, 576, 96, True, "HardSwish", 1),
    )  # fmt: skip
    for size, wide, outputs, excites, function, stride in blocks:
        before = x
        if wide != channels:
            x = net.activated(net.conv(x, channels, wide), function)
        x = net.activated(net.conv(x, wide, wide, size, stride, wide), function)
        if excites:
            x = net.excited(x, wide, max(8, wide // 32 * 8), ("Relu", "HardSigmoid"))
        x = net.conv(x, wide, outputs)
        if stride == 1 and channels == outputs:
            x = net.node("Add", before, x)
        channels = outputs
    x = net.activated(net.conv(x, channels, 576), "HardSwish")
    x = net.activated(net.dense(net.means(x), 576, 1024), "HardSwish")
    return net.save(net.dense(x, 1024, CLASSES), folder / "model.onnx")


def efficientnet_b0(folder: Path) -> Path:
    net = _Network()
    x, channels = net.activated(net.conv("image", 3, 32, 3, 2), "Silu"), 32
    stages = (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
    )  # fmt: skip
    for times, outputs, count, first, size in stages:
        for number in range(count):
            stride, wide, before = first if number == 0 else 1, channels * times, x
            if times > 1:
                x = net.activated(net.conv(x, channels, wide), "Silu")
            x = net.activated(net.conv(x, wide, wide, size, stride, wide), "Silu")
            x = net.excited(x, wide, channels // 4, ("Silu", "Sigmoid"))
            x = net.conv(x, wide, outputs)
            if number:
                x = net.node("Add", before, x)
            channels = outputs
    x = net.activated(net.conv(x, channels, 1280), "Silu")
    return net.save(net.dense(net.means(x), 1280, CLASSES), folder / "model.onnx")

"""PyTorch, with the oneDNN and MKL inside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.peer import Candidate, Options, UnavailableError, from_python, unable
from benchmarks.work import NUMPY, Array, Chain, Conv, Epilogue, Matmul, Scores, Softmax, Work


class Torch:
    """Eager operators, with preallocated outputs where possible, and `torch.compile`."""

    def __init__(self, options: Options) -> None:
        try:
            import torch
        except ImportError:
            raise UnavailableError("pip install torch==2.13.0") from None
        torch.set_num_threads(options.threads)
        torch.set_grad_enabled(False)
        self.torch: Any = torch

    def version(self) -> str:
        lines = self.torch.__config__.show().splitlines()
        parts = [line.strip(" -").split(" (")[0] for line in lines if "MKL-DNN" in line]
        return f"torch {self.torch.__version__}, {', '.join(parts)}"

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        torch = self.torch
        tensors = [self.tensor(x) for x in inputs]
        functional = torch.nn.functional
        match work:
            case Matmul(a="f32") | Matmul(a="bf16"):
                return self.products(work, *tensors)
            case Matmul():
                a, b = tensors
                out = torch.empty(work.m, work.n, dtype=torch.int32)
                return [self.called("_int_mm, out=", lambda: torch._int_mm(a, b, out=out))]
            case Chain():
                a, b, c = tensors
                between, out = torch.empty_like(a), torch.empty_like(a)

                def chain() -> Any:
                    torch.mm(a, b, out=between)
                    return torch.mm(between, c, out=out)

                linear = self.linear
                return [
                    self.called("mm twice, out=", chain),
                    self.called("oneDNN's linear twice", lambda: linear(linear(a, b), c)),
                ]
            case Epilogue():
                a, b, bias = tensors
                out = torch.empty(work.m, work.n)
                in_place = {"relu": torch.relu_, "gelu": torch.ops.aten.gelu_}[work.function]

                def apart() -> Any:
                    return in_place(torch.addmm(bias, a, b, out=out))

                return [
                    self.called("addmm, in place", apart),
                    self.called("oneDNN's linear", lambda: self.linear(a, b, bias, work.function)),
                    self.compiled(
                        lambda a, b, bias: getattr(functional, work.function)(a @ b + bias), tensors
                    ),
                ]
            case Scores():
                q, k = tensors
                scores, out = torch.empty(work.n, work.n), torch.empty(work.n, work.n)
                return [
                    self.called(
                        "mm, softmax, out=",
                        lambda: torch.softmax(torch.mm(q, k, out=scores), -1, out=out),
                    ),
                    self.called(
                        "oneDNN's linear, softmax, out=",
                        lambda: torch.softmax(self.linear(q, k), -1, out=out),
                    ),
                    self.compiled(lambda q, k: torch.softmax(q @ k, -1), tensors),
                ]
            case Softmax():
                (x,) = tensors
                out = torch.empty_like(x)
                return [
                    self.called("softmax, out=", lambda: torch.softmax(x, -1, out=out)),
                    self.compiled(lambda x: torch.softmax(x, -1), tensors),
                ]
            case Conv():
                return self.convolutions(*tensors)
        raise unable("torch", work)

    def products(self, work: Matmul, a: Any, b: Any) -> Sequence[Candidate]:
        """Products of matrices; PyTorch returns those of bf16 in bf16 only."""
        torch = self.torch
        out = torch.empty(work.m, work.n, dtype=a.dtype)
        into = "" if a.dtype == torch.float32 else ", gives bf16"
        candidates = [self.called(f"mm, out={into}", lambda: torch.mm(a, b, out=out))]
        candidates.append(self.called(f"oneDNN's linear{into}", lambda: self.linear(a, b)))
        if work.m == 1:
            row, flat = a[0], b.t()
            vector_out = torch.empty(work.n, dtype=a.dtype)

            def vector() -> Any:
                return torch.mv(flat, row, out=vector_out)

            candidates.append(
                from_python(f"mv, out={into}", vector, lambda y: self.array(y[None, :]))
            )
        return candidates

    def linear(self, a: Any, b: Any, bias: Any = None, then: str = "none") -> Any:
        """A product by oneDNN, as torch.compile calls it: `mm` of f32 goes to MKL."""
        return self.torch.ops.mkldnn._linear_pointwise(a, b.t(), bias, then, [], "none")

    def convolutions(self, x: Any, w: Any) -> Sequence[Candidate]:
        """A convolution in the given layout, and by way of channels last."""
        torch = self.torch
        last = torch.channels_last

        def by_channels() -> Any:
            result = torch.conv2d(
                x.contiguous(memory_format=last), w.contiguous(memory_format=last)
            )
            return result.contiguous()

        return [
            self.called("conv2d", lambda: torch.conv2d(x, w)),
            self.called("conv2d, channels last between", by_channels),
        ]

    def called(self, setting: str, function: Callable[[], Any]) -> Candidate:
        return from_python(setting, function, self.array)

    def compiled(self, function: Callable[..., Any], tensors: Sequence[Any]) -> Candidate:
        """A function fused by torch.compile, which needs a C++ compiler."""
        torch = self.torch
        torch._dynamo.reset()
        fused = torch.compile(function, dynamic=False)
        return self.called("torch.compile", lambda: fused(*tensors))

    def tensor(self, x: Array) -> Any:
        """A tensor that shares an array's memory."""
        if x.dtype.name == "bfloat16":
            return self.torch.from_numpy(x.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(x)

    def array(self, tensor: Any) -> Any:
        """An array that shares a tensor's memory."""
        if tensor.dtype == self.torch.bfloat16:
            return tensor.view(self.torch.int16).numpy().view(NUMPY["bf16"])
        return tensor.numpy()

"""Random typed expressions, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from fuzz.bounded import FLOATS
from fuzz.reading import Type

Shape = tuple[int, ...]
Kind = Callable[[Shape, str, int], str]
"""Generates an expression of a shape and dtype, of so many levels."""

UNARY = (
    "abs", "ceil", "erf", "erfc", "exp", "exp2", "expm1", "floor", "gelu", "gelu_tanh", "log",
    "log1p", "log2", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "silu", "softplus",
    "sqrt", "square", "tanh", "neg", "move",
)  # fmt: skip
WHOLE = ("abs", "relu", "sign", "square", "neg", "move", "bitwise_not")
"""The unary functions of integers."""
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "quotient")
"""Functions of two integers."""
CONSTANTS = ("0.5", "2", "3", "1e-3", "0.1", "100", "-1.5", "0")
CASTS = {
    "f32": ("bf16", "f16", "i32"), "bf16": ("f32",), "f16": ("f32",), "i16": ("u8", "i8", "i32"),
    "i32": ("u8", "i8", "i16", "u16", "f32"),
}  # fmt: skip
"""The dtypes that can be cast to each dtype."""
FACTORS = {
    "f32": (("f32", "f32"), ("f32", "f32"), ("bf16", "bf16"), ("f16", "f16"), ("f32", "bf16"),
            ("bf16", "f32"), ("f32", "f16"), ("f16", "bf16")),
    "i32": (("i32", "i32"), ("u8", "i8"), ("i8", "i8"), ("u8", "u8"), ("i16", "i16"),
            ("u16", "u16"), ("i8", "u8"), ("u8", "i16"), ("i32", "i8")),
    "u32": (("u32", "u32"),),
}  # fmt: skip
"""The dtypes of factors, by that of their product."""
RESULTS = {"f32": ("bf16", "f16"), "i32": ("i16",)}
NAMES = (
    "x",
    "w",
    "q",
    "weights",
    "linux",
    "unix",
    "asm",
    "typeof",
    "NULL",
    "b_reg0",
    "xa_groups0",
    "alpha",
    "A",
    "main",
    "kernel",
    "out",
    "float",
    "m",
    "k",
    "n",
    "i0",
    "restrict",
    "int8_t",
)
MOST_DIMS = 6


@dataclass
class Grammar:
    """Generates one text. Each method gives an expression of a shape and dtype."""

    most_elements: ClassVar[int] = 4096

    random: Random
    lets: list[tuple[str, str]] = field(default_factory=list)
    inputs: int = 0

    def goal(self) -> str:
        """A whole text."""
        r = self.random
        dtype = r.choices(
            ("f32", "i32", "bf16", "f16", "u8", "i8", "u16", "i16", "u32"),
            (10, 4, 2, 2, 1, 1, 1, 1, 1),
        )[0]
        rank = r.choices((1, 2, 3, 4, 5, 6), (12, 40, 10, 2, 1, 1))[0]
        shape = self.shape(rank)
        if r.random() < 0.01:
            return f"{r.choice(('fill_zero', 'fill_lowest', 'fill_highest'))}({Type(dtype, shape)})"
        if dtype in FACTORS and rank >= 2 and r.random() < 0.25:
            body = self.product(shape, dtype, r.choice((0, 0, 1)))
            dtype = r.choice(RESULTS[dtype]) if dtype in RESULTS and r.random() < 0.3 else dtype
        else:
            body = self.computed(shape, dtype, r.choices((1, 2, 3, 4), (12, 6, 2, 1))[0])
        lets = "".join(f"{name} = {text}; " for name, text in self.lets)
        if r.random() < 0.15:
            body += f" -> {self.type(shape, dtype, plain=False)}"
        return lets + body

    # ---- shapes and types

    def size(self) -> int:
        r = self.random
        return r.choices(
            (1, 2, 3, 4, 5, r.choice((6, 7, 8)), r.choice((11, 13, 16, 17, 23, 32, 33, 64))),
            (4, 14, 10, 5, 6, 4, 2),
        )[0]

    def shape(self, rank: int) -> Shape:
        sizes = [self.size() for _ in range(rank)]
        while _elements(sizes) > self.most_elements:
            sizes[sizes.index(max(sizes))] = 2
        return tuple(sizes)

    def type(self, shape: Shape, dtype: str, *, plain: bool) -> str:
        """The text of a type, if not `plain` perhaps with a layout and strides."""
        r, rank = self.random, len(shape)
        how = 0.0 if plain else r.random()
        if how < 0.6:
            return str(Type(dtype, shape))
        order = r.sample(range(rank), rank)  # the fastest first
        layout = "{" + ",".join(map(str, order)) + "}"
        if how < 0.85:
            return str(Type(dtype, shape, layout))
        steps, step = [1] * rank, 1
        for dim in order:
            if shape[dim] > 1:
                steps[dim] = step
                step = step * shape[dim] + r.choice((0, 0, 1, 3))
        return str(Type(dtype, shape, layout, tuple(steps)))

    def leaf(self, shape: Shape, dtype: str) -> str:
        """An input, perhaps transposed."""
        r = self.random
        self.inputs += 1
        if len(shape) == 2 and r.random() < 0.1:
            return f"transpose({self.type(shape[::-1], dtype, plain=False)})"
        if len(shape) == 2 and dtype == "f32" and r.random() < 0.03:
            panel = r.choice(("{0,1:T(16,1)}", "{1,0:T(1,4)}", "{1,0:E(32)}", "{0,1:T(8,1)}"))
            return str(Type(dtype, shape, panel))
        return self.type(shape, dtype, plain=False)

    def any(self, shape: Shape, dtype: str, depth: int) -> str:
        """An input or a computed expression, perhaps referred to by a name."""
        r = self.random
        text = self.computed(shape, dtype, depth) if depth > 0 else self.leaf(shape, dtype)
        return self.named(text) if r.random() < 0.12 else text

    def named(self, text: str) -> str:
        name = self.random.choice(NAMES)
        if any(name == known for known, _ in self.lets) or self.random.random() < 0.5:
            name = f"v{len(self.lets)}"
        self.lets.append((name, text))
        return name

    # ---- operations

    def computed(self, shape: Shape, dtype: str, depth: int) -> str:
        """An operation, with up to `depth` - 1 levels of operations below it."""
        kinds = self.kinds(shape, dtype)
        chosen = self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        return chosen(shape, dtype, depth - 1)

    def kinds(self, shape: Shape, dtype: str) -> list[tuple[Kind, int]]:
        """The kinds of operations with results of a shape and dtype, and how often each is."""
        rank, is_float = len(shape), dtype in FLOATS
        kinds: list[tuple[Kind, int]] = [
            (self.unary, 4), (self.constant, 2), (self.binary, 4), (self.turned, 1),
        ]  # fmt: skip
        if rank < MOST_DIMS:
            kinds += [(self.reduced, 3)]
        if rank >= 2:
            kinds += [(self.spread, 2), (self.columns, 1), (self.kept, 1), (self.stretched, 1)]
        if rank == 2 or (rank > 2 and shape[0] > 0):
            kinds += [(self.product, 3)] if dtype in FACTORS else []
        if dtype in CASTS:
            kinds += [(self.cast, 2)]
        if is_float:
            kinds += [(self.softmax, 2), (self.centred, 1), (self.norm, 1)]
            if rank < MOST_DIMS:
                kinds += [(self.denominator, 1)]
        if dtype == "f32" and rank == 2:
            kinds += [(self.attention, 1), (self.linear, 1), (self.residual, 1)]
            if shape[0] == shape[1]:
                kinds += [(self.gram, 2)]
        return kinds

    def unary(self, shape: Shape, dtype: str, depth: int) -> str:
        names = UNARY if dtype in FLOATS else WHOLE
        name = self.random.choice([n for n in names if n != "neg" or not dtype.startswith("u")])
        inner = self.any(shape, dtype, depth)
        return f"-({inner})" if name == "neg" else f"{name}({inner})"

    def constant(self, shape: Shape, dtype: str, depth: int) -> str:
        inner, r = self.any(shape, dtype, depth), self.random
        placements = ["({}) * {}", "({}) + {}", "({}) - {}", "maximum({}, {})", "minimum({}, {})"]
        if dtype in FLOATS:
            number = r.choice(CONSTANTS)
            if number != "0":
                placements += ["({}) / {}"]
            if r.random() < 0.2:
                return r.choice(("1 / ({})", "0.5 - ({})", "maximum(0.25, {})")).format(inner)
        else:
            number = r.choice(("0", "1", "3", "100"))
            if r.random() < 0.3:
                name, operands = r.choice(BITS), (inner, number)
                return f"{name}({', '.join(operands if r.random() < 0.8 else operands[::-1])})"
        return r.choice(placements).format(inner, number)

    def binary(self, shape: Shape, dtype: str, depth: int) -> str:
        return self._operator(dtype).format(
            self.any(shape, dtype, depth), self.any(shape, dtype, depth - 1)
        )

    def spread(self, shape: Shape, dtype: str, depth: int) -> str:
        return self._operator(dtype).format(
            self.any(shape, dtype, depth), self.any(shape[1:], dtype, depth - 1)
        )

    def columns(self, shape: Shape, dtype: str, depth: int) -> str:
        column = self.any(shape[:-1], dtype, depth - 1)
        return self._operator(dtype).format(
            self.any(shape, dtype, depth), f"expand_dims({column}, axis=-1)"
        )

    def _operator(self, dtype: str) -> str:
        placements = [
            "({}) + ({})",
            "({}) - ({})",
            "({}) * ({})",
            "maximum({}, {})",
            "minimum({}, {})",
        ]
        if dtype in FLOATS:
            placements += ["({}) / ({})"]
        else:
            placements += [f"{name}({{}}, {{}})" for name in BITS]
        return self.random.choice(placements)

    def kept(self, shape: Shape, dtype: str, depth: int) -> str:
        """A tensor minus its reduction along an axis that is kept with size 1."""
        reduction = self.random.choice(("max", "min", "sum", "sum"))
        x = self._shared(shape, dtype, depth)
        axis = self.random.randrange(len(shape))
        return f"{x} - {reduction}({x}, axis={axis}, keepdims=True)"

    def centred(self, shape: Shape, dtype: str, depth: int) -> str:
        return f"exp({self.kept(shape, dtype, depth)})" if len(shape) > 1 else (
            f"tanh({self.any(shape, dtype, depth)})"
        )  # fmt: skip

    def _shared(self, shape: Shape, dtype: str, depth: int) -> str:
        text = self.any(shape, dtype, depth)
        return text if any(text == name for name, _ in self.lets) else self.named(text)

    def reduced(self, shape: Shape, dtype: str, depth: int) -> str:
        """A reduction along one axis or two."""
        r, whole = self.random, shape
        axes: list[int] = []
        for _ in range(2 if len(shape) + 2 <= MOST_DIMS and r.random() < 0.2 else 1):
            axis = r.randrange(len(whole) + 1)
            whole = (*whole[:axis], self.size(), *whole[axis:])
            axes = [*(a + (a >= axis) for a in axes), axis]
        if _elements(whole) > 4 * self.most_elements:
            return self.unary(shape, dtype, depth)
        name = r.choice(("sum", "max", "min", *(("mean",) if dtype in FLOATS else ())))
        inner = self.any(whole, dtype, depth)
        if r.random() < 0.3:
            axes = [axis - len(whole) for axis in axes]
        shown = str(axes[0]) if len(axes) == 1 else f"[{','.join(map(str, axes))}]"
        return f"{name}({inner}, axis={shown})"

    def turned(self, shape: Shape, dtype: str, depth: int) -> str:
        order = self.random.sample(range(len(shape)), len(shape))
        source = tuple(shape[order.index(d)] for d in range(len(shape)))
        inner = self.any(source, dtype, depth)
        return f"transpose({inner}, order=[{','.join(map(str, order))}])"

    def stretched(self, shape: Shape, dtype: str, depth: int) -> str:
        if shape[0] == 1 and self.random.random() < 0.5:
            return f"one_prefix({self.any(shape[1:], dtype, depth)})"
        axis = self.random.randrange(len(shape))
        inner = self.any((*shape[:axis], *shape[axis + 1 :]), dtype, depth)
        return f"broadcast({inner}, axis={axis}, size={shape[axis]})"

    def cast(self, shape: Shape, dtype: str, depth: int) -> str:
        source = self.random.choice(CASTS[dtype])
        return f"cast({self.any(shape, source, depth)}, {dtype})"

    def softmax(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self.random.randrange(-len(shape), len(shape))
        return f"softmax({self.any(shape, dtype, depth)}, axis={axis})"

    def denominator(self, shape: Shape, dtype: str, depth: int) -> str:
        whole = (*shape, self.size())
        if self.random.random() < 0.5 and len(shape) > 1:
            x, rows = self._shared(shape, dtype, depth), shape[:-1]
            tops, sums = (self.leaf(rows, dtype) for _ in range(2))
            return f"softmax_complete({x}, {tops}, {sums})"
        x = self._shared(whole, dtype, depth)
        return f"softmax_denominator({x}, max({x}))"

    def norm(self, shape: Shape, dtype: str, depth: int) -> str:
        x, last = self.any(shape, dtype, min(depth, 0)), shape[-1:]
        gamma = self.leaf(last, dtype)
        if self.random.random() < 0.6:
            return f"rms_norm({x}, {gamma})"
        return f"layer_norm({x}, {gamma}, {self.leaf(last, dtype)})"

    # ---- products

    def product(self, shape: Shape, dtype: str, depth: int) -> str:
        a, b = self.random.choice(FACTORS[dtype])
        if len(shape) == 4 and self.random.random() < 0.8:
            return self.conv(shape, a, b, depth)
        k = self.size()
        *lead, m, n = shape
        left = self.any((*lead, m, k), a, depth)
        right = self.any((*lead, k, n), b, depth - 1 if self.random.random() < 0.3 else 0)
        return f"({left}) @ ({right})"

    def conv(self, shape: Shape, a: str, b: str, depth: int) -> str:
        r = self.random
        last = r.random() < 0.4
        batch, f, y, x = shape if not last else (shape[0], shape[3], shape[1], shape[2])
        groups = r.choice([n for n in range(1, f + 1) if f % n == 0]) if r.random() < 0.3 else 1
        c = r.choice((1, 2, 3, 4)) if groups == 1 else r.choice((1, 1, 2))
        (height, width), (p, q), options = self._windows(y, x)
        image = (batch, height, width, groups * c) if last else (batch, groups * c, height, width)
        filters = (p, q, c, f) if last else (f, c, p, q)
        options += f", groups={groups}" * (groups > 1) + ", layout=NHWC" * last
        source = self.leaf(image, a) if "padding" in options else self.any(image, a, depth)
        return f"conv({source}, {self.leaf(filters, b)}{options})"

    def _windows(self, *counts: int) -> tuple[list[int], list[int], str]:
        """The sizes of an image with so many windows, those of a window, and the options."""
        r = self.random
        pixels = [r.choice((1, 2, 3, 4)) for _ in counts]
        stride, dilation = r.choice((1, 1, 2, 3)), r.choice((1, 1, 1, 2))
        unread = [r.randrange(stride) for _ in counts]
        least = min(pixels)
        ends = [r.randrange(least) for _ in range(4)] if r.random() < 0.3 else [0] * 4
        if r.random() < 0.5:
            ends = [ends[0]] * 4
        size = [
            (n - 1) * stride + dilation * (w - 1) + 1 + more - sum(ends[2 * i : 2 * i + 2])
            for i, (n, w, more) in enumerate(zip(counts, pixels, unread, strict=True))
        ]
        if min(size) < 1:
            size = [s + sum(ends) for s in size]
            ends = [0] * 4
        options = f", stride={stride}" * (stride > 1) + f", dilation={dilation}" * (dilation > 1)
        if any(ends):
            listed = f"[{','.join(map(str, ends))}]"
            options += f", padding={ends[0] if len({*ends}) == 1 else listed}"
        return size, pixels, options

    def linear(self, shape: Shape, dtype: str, depth: int) -> str:
        k = self.size()
        x = self.any((shape[0], k), dtype, depth)
        return f"linear({x}, {self.leaf((k, shape[1]), dtype)}, {self.leaf(shape[1:], dtype)})"

    def gram(self, shape: Shape, dtype: str, depth: int) -> str:
        """A product with one tensor as both factors."""
        x = self._shared((shape[0], self.size()), dtype, depth)
        return f"{x} @ transpose({x})"

    def residual(self, shape: Shape, dtype: str, depth: int) -> str:
        """A product plus one of its own factors."""
        x = self._shared(shape, dtype, depth)
        return f"({x} @ {self.leaf((shape[1], shape[1]), dtype)}) + {x}"

    def attention(self, shape: Shape, dtype: str, depth: int) -> str:
        keys, inner = self.size(), self.size()
        q = self.any((shape[0], inner), dtype, min(depth, 0))
        k, v = self.leaf((keys, inner), dtype), self.leaf((keys, shape[1]), dtype)
        return f"attention({q}, {k}, {v})"


def _elements(shape: list[int] | Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count

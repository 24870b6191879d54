"""Random texts with views, and functions that move elements, with what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Part:
    """A text, its shape, and its value for the inputs, which are numbered in order."""

    text: str
    shape: tuple[int, ...]
    value: Callable[[list[Array]], Array]


@dataclass
class RandomText:
    """Draws one text; its inputs are of these shapes."""

    random: Random
    shapes: list[tuple[int, ...]]

    def part(self, rank: int, depth: int) -> Part:
        """A part of so many dimensions, with up to so many functions, one in the other."""
        if depth == 0:
            shape = tuple(self.random.randint(2, 5) for _ in range(rank))
            place = len(self.shapes)
            self.shapes.append(shape)
            return Part(f"f32[{','.join(map(str, shape))}]", shape, lambda given: given[place])
        kinds = (
            self.sliced, self.joined, self.turned, self.rolled, self.padded, self.repeated,
            self.reshaped, self.mapped, self.summed, self.triangle, self.transposed, self.squared,
        )  # fmt: skip
        return self.random.choice(kinds)(rank, depth - 1)

    def _applied(self, x: Part, template: str, function: Callable[[Array], Array]) -> Part:
        shape = function(np.zeros(x.shape)).shape
        return Part(template.format(x.text), shape, lambda given: function(x.value(given)))

    def sliced(self, rank: int, depth: int) -> Part:
        x, words, slices = self.part(rank, depth), [], []
        for size in x.shape:
            start, step = self.random.randrange(size), self.random.choice((1, 1, 2, -1, -2))
            stop = None if step < 0 else self.random.randint(start + 1, size + 1)
            words.append(f"{start}:{'' if stop is None else stop}:{step}")
            slices.append(slice(start, stop, step))
        return self._applied(x, f"({{}})[{', '.join(words)}]", lambda x: x[tuple(slices)])

    def joined(self, rank: int, depth: int) -> Part:
        x, axis = self.part(rank, depth), self.random.randrange(rank)
        name = self.random.choice(("concat", "stack")) if rank == 1 else "concat"
        if name == "stack":
            both = self._applied(x, "stack({0}, {0}, axis=0)", lambda x: np.stack([x, x]))
            return self._applied(both, "sum({}, axis=0)", lambda x: x.sum(0))
        return self._applied(
            x, f"concat({{0}}, {{0}}, axis={axis})", lambda x: np.concatenate([x, x], axis)
        )

    def turned(self, rank: int, depth: int) -> Part:
        x, axis = self.part(rank, depth), self.random.randrange(rank)
        return self._applied(x, f"flip({{}}, axis={axis})", lambda x: np.flip(x, axis))

    def rolled(self, rank: int, depth: int) -> Part:
        x, axis, shift = self.part(rank, depth), self.random.randrange(rank), 0
        shift = self.random.randint(-7, 7)
        return self._applied(
            x, f"roll({{}}, shift={shift}, axis={axis})", lambda x: np.roll(x, shift, axis)
        )

    def padded(self, rank: int, depth: int) -> Part:
        x, widths = self.part(rank, depth), [self.random.randint(0, 2) for _ in range(2 * rank)]
        pairs = [*zip(widths[::2], widths[1::2], strict=True)]
        if self.random.random() < 0.3:
            mode = self.random.choice(("edge", "symmetric", "wrap"))
            template = f"pad({{}}, padding={widths}, mode={mode})"
            return self._applied(x, template, lambda x: np.pad(x, pairs, mode))  # type: ignore[call-overload]
        template = f"pad({{}}, padding={widths}, value=0.5)"
        return self._applied(x, template, lambda x: np.pad(x, pairs, constant_values=0.5))

    def repeated(self, rank: int, depth: int) -> Part:
        x, axis, count = self.part(rank, depth), self.random.randrange(rank), 2
        if self.random.random() < 0.5:
            template = f"repeat({{}}, count={count}, axis={axis})"
            return self._applied(x, template, lambda x: np.repeat(x, count, axis))
        return self._applied(x, f"tile({{}}, counts={count})", lambda x: np.tile(x, count))

    def reshaped(self, rank: int, depth: int) -> Part:
        x = self.part(self.random.randint(1, 3), depth)
        first = x.shape[0] if rank > 1 else -1
        shape = [first, *[1] * (rank - 2), -1] if rank > 1 else [-1]
        return self._applied(x, f"reshape({{}}, shape={shape})", lambda x: x.reshape(shape))

    def mapped(self, rank: int, depth: int) -> Part:
        x = self.part(rank, depth)
        text, function = self.random.choice(
            (
                ("({}) * 2", lambda x: x * 2),
                ("-({})", lambda x: -x),
                ("abs({})", np.abs),
                ("tanh({})", np.tanh),
            )
        )
        return self._applied(x, text, function)

    def squared(self, rank: int, depth: int) -> Part:
        return self._applied(self.part(rank, depth), "({0}) * ({0}) - ({0})", lambda x: x * x - x)

    def summed(self, rank: int, depth: int) -> Part:
        x, axis = self.part(rank + 1, depth), self.random.randrange(rank + 1)
        name = self.random.choice(("sum", "max", "mean", "var"))
        return self._applied(x, f"{name}({{}}, axis={axis})", lambda x: getattr(np, name)(x, axis))

    def triangle(self, rank: int, depth: int) -> Part:
        if rank < 2:
            return self.turned(rank, depth)
        name, k = self.random.choice(("tril", "triu")), self.random.randint(-1, 1)
        x = self.part(rank, depth)
        return self._applied(x, f"{name}({{}}, diagonal={k})", lambda x: getattr(np, name)(x, k))

    def transposed(self, rank: int, depth: int) -> Part:
        x, order = self.part(rank, depth), self.random.sample(range(rank), rank)
        return self._applied(x, f"transpose({{}}, order={order})", lambda x: x.transpose(order))


def random_text(seed: int) -> tuple[Part, list[tuple[int, ...]]]:
    """A text whose parts are given names, so that an input that is written twice is one."""
    drawn = RandomText(Random(seed), [])
    rank, depth = drawn.random.randint(1, 3), drawn.random.randint(1, 4)
    part = drawn.part(rank, depth)
    (shape,) = drawn.shapes
    literal = f"f32[{','.join(map(str, shape))}]"
    named = f"x = {literal}; {part.text.replace(literal, 'x')}"
    return Part(named, part.shape, part.value), drawn.shapes

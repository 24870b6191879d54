"""Random expressions with functions that are no single kernel: views, statistics, masks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from fuzz.bounded import FLOATS
from fuzz.grammar import MOST_DIMS, Grammar, Kind, Shape
from fuzz.reading import Type

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
LETTERS = "abcdefgh"


@dataclass
class GraphGrammar(Grammar):
    """Generates one text, of programs of several kernels as well."""

    def kinds(self, shape: Shape, dtype: str) -> list[tuple[Kind, int]]:
        rank, kinds = len(shape), super().kinds(shape, dtype)
        kinds += [
            (self.part, 3), (self.padded, 2), (self.flipped, 1), (self.rolled, 1),
            (self.repeated, 1), (self.tiled, 1), (self.joined, 2), (self.reshaped, 2),
            (self.difference, 1), (self.chosen, 2),
        ]  # fmt: skip
        if rank < MOST_DIMS:
            kinds += [(self.squeezed, 1)]
        if rank >= 2:
            kinds += [(self.stacked, 1), (self.triangle, 1)]
        if dtype in ("f32", "i32"):
            kinds += [(self.sums, 2)]
        if dtype == "i32" and rank < MOST_DIMS:
            kinds += [(self.place, 3)]
        if dtype in FLOATS:
            kinds += [(self.logarithms, 1), (self.normalized, 1)]
            if rank < MOST_DIMS:
                kinds += [(self.statistic, 3)]
            if rank >= 3:
                kinds += [(self.grouped, 2)]
        if dtype == "f32" and 2 <= rank <= 4:
            kinds += [(self.masked, 4)]
            if rank == 2:
                kinds += [(self.chain, 2)]
        return kinds

    def type(self, shape: Shape, dtype: str, *, plain: bool) -> str:
        """The text of a type, perhaps with a layout: no program takes gaps or panels."""
        if plain or self.random.random() < 0.7:
            return str(Type(dtype, shape))
        order = self.random.sample(range(len(shape)), len(shape))
        return str(Type(dtype, shape, "{" + ",".join(map(str, order)) + "}"))

    def leaf(self, shape: Shape, dtype: str) -> str:
        self.inputs += 1
        return self.type(shape, dtype, plain=False)

    def _axis(self, shape: Shape) -> int:
        return self.random.randrange(len(shape))

    def _with(self, shape: Shape, axis: int, size: int) -> Shape:
        return (*shape[:axis], size, *shape[axis + 1 :])

    # ---- views

    def part(self, shape: Shape, dtype: str, depth: int) -> str:
        """Slices, with steps of either sign, and single positions."""
        r, source, subscripts = self.random, [], []
        for size in shape:
            step, before, after = r.choice((1, 1, 1, 2, 3, -1, -2)), r.randrange(3), r.randrange(3)
            whole = (size - 1) * abs(step) + 1 + before + after
            if r.random() < 0.4 or whole > 64:
                source.append(size)
                subscripts.append(":")
            else:
                source.append(whole)
                ends = (before, before + (size - 1) * abs(step) + 1)
                if step < 0:
                    first, last = ends[1] - 1, ends[0] - 1
                    stop = str(last) if last >= 0 else ""
                    subscripts.append(f"{first}:{stop}:{step}")
                else:
                    subscripts.append(f"{ends[0]}:{ends[1]}:{step}")
        if len(shape) < MOST_DIMS and r.random() < 0.3:
            place, count = r.randrange(len(shape) + 1), r.choice((1, 2, 5))
            source.insert(place, count)
            subscripts.insert(place, str(r.randrange(-count, count)))
        if 1 in shape and r.random() < 0.2:
            place = subscripts.index(":") if ":" in subscripts else -1
            if place >= 0 and source[place] == 1 and len(source) > 1:
                source.pop(place)
                subscripts[place] = "None"
        inner = self.any(tuple(source), dtype, depth)
        return f"({inner})[{', '.join(subscripts)}]"

    def padded(self, shape: Shape, dtype: str, depth: int) -> str:
        r = self.random
        mode = r.choice(("constant", "constant", "edge", "reflect", "symmetric", "wrap"))
        source, ends = [], []
        for size in shape:
            before = r.randrange(min(size, 3))
            after = r.randrange(min(size - before, 3))
            inner = size - before - after
            if mode != "constant" and max(before, after) >= inner:
                before, after, inner = 0, 0, size
            source.append(inner)
            ends += [before, after]
        inner_text = self.any(tuple(source), dtype, depth)
        options = f", mode={mode}" if mode != "constant" else ""
        if mode == "constant" and r.random() < 0.5:
            options = f", value={r.choice(('1', '3', '0'))}"
        return f"pad({inner_text}, padding=[{','.join(map(str, ends))}]{options})"

    def flipped(self, shape: Shape, dtype: str, depth: int) -> str:
        return f"flip({self.any(shape, dtype, depth)}, axis={self._axis(shape)})"

    def rolled(self, shape: Shape, dtype: str, depth: int) -> str:
        shift, inner = self.random.randrange(-5, 6), self.any(shape, dtype, depth)
        return f"roll({inner}, shift={shift}, axis={self._axis(shape)})"

    def repeated(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self._axis(shape)
        count = self.random.choice([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0])
        inner = self.any(self._with(shape, axis, shape[axis] // count), dtype, depth)
        return f"repeat({inner}, count={count}, axis={axis})"

    def tiled(self, shape: Shape, dtype: str, depth: int) -> str:
        counts = [
            self.random.choice([n for n in range(1, size + 1) if size % n == 0]) for size in shape
        ]
        source = tuple(size // count for size, count in zip(shape, counts, strict=True))
        return f"tile({self.any(source, dtype, depth)}, counts=[{','.join(map(str, counts))}])"

    def joined(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self._axis(shape)
        if shape[axis] < 2:
            return self.flipped(shape, dtype, depth)
        first = self.random.randrange(1, shape[axis])
        sizes = [first, shape[axis] - first]
        parts = [self.any(self._with(shape, axis, size), dtype, depth) for size in sizes]
        return f"concat({', '.join(parts)}, axis={axis})"

    def stacked(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self._axis(shape)
        if not 2 <= shape[axis] <= 4:
            return self.joined(shape, dtype, depth)
        rest = (*shape[:axis], *shape[axis + 1 :])
        parts = [self.any(rest, dtype, depth - n) for n in range(shape[axis])]
        return f"stack({', '.join(parts)}, axis={axis})"

    def reshaped(self, shape: Shape, dtype: str, depth: int) -> str:
        """The elements of another shape: neighbouring sizes are multiplied, or taken apart."""
        r, sizes = self.random, list(shape)
        if len(sizes) > 1 and r.random() < 0.5:
            place = r.randrange(len(sizes) - 1)
            sizes[place : place + 2] = [sizes[place] * sizes[place + 1]]
        if len(sizes) < MOST_DIMS:
            place = r.randrange(len(sizes))
            size = sizes[place]
            first = r.choice([n for n in range(1, size + 1) if size % n == 0])
            sizes[place : place + 1] = [first, size // first]
        inner = self.any(tuple(sizes), dtype, depth)
        return f"reshape({inner}, shape=[{','.join(map(str, shape))}])"

    def squeezed(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self.random.randrange(len(shape) + 1)
        inner = self.any((*shape[:axis], 1, *shape[axis:]), dtype, depth)
        return f"squeeze({inner}, axis={axis})"

    def difference(self, shape: Shape, dtype: str, depth: int) -> str:
        axis = self._axis(shape)
        inner = self.any(self._with(shape, axis, shape[axis] + 1), dtype, depth)
        return f"diff({inner}, axis={axis})"

    def triangle(self, shape: Shape, dtype: str, depth: int) -> str:
        name, diagonal = self.random.choice(("tril", "triu")), self.random.randrange(-1, 2)
        return f"{name}({self.any(shape, dtype, depth)}, diagonal={diagonal})"

    # ---- maps and reductions

    def chosen(self, shape: Shape, dtype: str, depth: int) -> str:
        """A choice by a comparison."""
        r = self.random
        a, b = (self.any(shape, dtype, depth - n) for n in (0, 1))
        other = r.choice((b, b, "0", "1"))
        compared = f"({self.leaf(shape, dtype)} {r.choice(COMPARISONS)} {r.choice(('0', b))})"
        return f"where({compared}, {a}, {other})"

    def sums(self, shape: Shape, dtype: str, depth: int) -> str:
        return f"cumsum({self.any(shape, dtype, depth)}, axis={self._axis(shape)})"

    def place(self, shape: Shape, dtype: str, depth: int) -> str:
        axis, name = self.random.randrange(len(shape) + 1), self.random.choice(("argmax", "argmin"))
        whole = (*shape[:axis], self.size(), *shape[axis:])
        kind = self.random.choice(("f32", "i32", "bf16", "f16", "i8"))
        return f"{name}({self.any(whole, kind, min(depth, 0))}, axis={axis})"

    def statistic(self, shape: Shape, dtype: str, depth: int) -> str:
        r, axis = self.random, self.random.randrange(len(shape) + 1)
        whole = (*shape[:axis], max(self.size(), 2), *shape[axis:])
        name = r.choice(("var", "std", "norm", "norm", "logsumexp"))
        options = r.choice(("", ", ddof=1")) if name in ("var", "std") else ""
        if name == "norm":
            options = r.choice(("", ", order=1"))
        return f"{name}({self.any(whole, dtype, depth)}, axis={axis}{options})"

    def logarithms(self, shape: Shape, dtype: str, depth: int) -> str:
        return f"log_softmax({self.any(shape, dtype, depth)}, axis={self._axis(shape)})"

    def normalized(self, shape: Shape, dtype: str, depth: int) -> str:
        return f"normalize({self.any(shape, dtype, depth)}, axis={self._axis(shape)})"

    def grouped(self, shape: Shape, dtype: str, depth: int) -> str:
        channels = shape[1]
        groups = self.random.choice([n for n in range(1, channels + 1) if channels % n == 0])
        each = [self.leaf((channels,), dtype) for _ in range(2)]
        inner = self.any(shape, dtype, min(depth, 0))
        return f"group_norm({inner}, {', '.join(each)}, groups={groups})"

    # ---- products

    def masked(self, shape: Shape, dtype: str, depth: int) -> str:
        """Attention with a mask, or causal, in which heads of keys may serve several."""
        r, (*lead, rows, last) = self.random, shape
        keys, inner, heads = self.size(), self.size(), list(lead)
        if lead:
            heads[-1] = r.choice([n for n in range(1, lead[-1] + 1) if lead[-1] % n == 0])
        q = self.any((*lead, rows, inner), dtype, min(depth, 0))
        k = self.leaf((*heads, keys, inner), dtype)
        v = self.leaf((*heads, keys, last), dtype)
        how = r.choice(("", "mask", "mask", "causal"))
        if how == "causal":
            return f"attention({q}, {k}, {v}, causal=True)"
        if not how:
            return f"attention({q}, {k}, {v})"
        whole = (*lead, rows, keys)[r.randrange(len(lead) + 1) :]
        return f"attention({q}, {k}, {v}, {self.leaf(whole, r.choice(('f32', 'i32', 'i8')))})"

    def chain(self, shape: Shape, dtype: str, depth: int) -> str:
        """A sum of products of several tensors."""
        r = self.random
        between = [r.choice((1, 2, 3, 5, 8)) for _ in range(r.choice((1, 2, 3)))]
        sizes = [shape[0], *between, shape[1]]
        words = [LETTERS[n : n + 2] for n in range(len(sizes) - 1)]
        tensors = [self.leaf(each, dtype) for each in pairwise(sizes)]
        letters = f'"{",".join(words)}->{LETTERS[0]}{LETTERS[len(sizes) - 1]}"'
        return f"einsum({letters}, {', '.join(tensors)})"

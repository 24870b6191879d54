"""Random programs: searched, built, and run on all kinds of numbers."""

from __future__ import annotations

import ast
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import morello
from fuzz.adversary import OVER_BUDGET, PASSED, REFUSED, Adversary, FaultError
from fuzz.bounded import DTYPES, Bounded, apart
from fuzz.grammar import Grammar
from fuzz.graph_grammar import GraphGrammar
from fuzz.meaning import evaluate
from fuzz.memory import Guarded
from fuzz.numbers import STYLES, values
from fuzz.reading import PARTS, Node, Text, Type, alone, is_type, parts, read, replaced, retyped
from morello.base.errors import SearchError, SeveralKernelsError, SpecError

BUDGET_S = 10.0
_ENDED = ("the search found no program in", "the search ran out of memory")
"""The messages of a search whose budget ended before it had a program."""
_POISON = (0xFF, 0x7F)
"""Bytes for guards and unwritten outputs: NaN or -1, and a large number."""


@dataclass(frozen=True)
class Program:
    """A case: what to compute, how to compile it, and on what numbers to run it."""

    text: str
    threads: int = 1
    weights: str = "plain"
    compiler: str = ""
    verify: bool = True
    styles: tuple[str, ...] = STYLES
    seed: int = 0

    def __str__(self) -> str:
        usual = asdict(Program(""))
        changed = {name: value for name, value in asdict(self).items() if value != usual[name]}
        return json.dumps(changed)

    @staticmethod
    def of(case: str) -> Program:
        """The program in a line: JSON, or only its text."""
        fields = json.loads(case) if case.lstrip().startswith("{") else {"text": case}
        if "styles" in fields:
            fields["styles"] = tuple(fields["styles"])
        return Program(**fields)


class Programs(Adversary):
    """Every program computes the right result, and writes nothing else."""

    name = "programs"
    what = "random programs compute what they say, and write nowhere else"
    patience_s = 120.0
    share = 6.0

    def case(self, random: Random) -> str:
        text = random.choice((Grammar, GraphGrammar))(random).goal()
        return str(
            Program(
                text,
                threads=random.choice((1, 1, 1, 2)),
                weights="constant" if "@" in text and random.random() < 0.2 else "plain",
                compiler=random.choice(("", "", "", "gcc")),
                verify=random.random() < 0.7,
                seed=random.randrange(1000),
            )
        )

    def check(self, case: str) -> str:
        program = Program.of(case)
        try:
            morello.parse(program.text)
        except SeveralKernelsError:
            pass
        except SpecError:
            return REFUSED
        try:
            kernel = _compiled(program)
        except SearchError as error:
            if any(words in str(error) for words in _ENDED):
                return OVER_BUDGET
            raise
        except SpecError:
            if program.weights != "plain" or _refusable(program.text):
                return REFUSED
            raise
        text = read(program.text)
        for style in program.styles:
            _try(kernel, text, program, style)
        unproven = kernel.statistics is not None and not kernel.statistics.proven
        return OVER_BUDGET if unproven else PASSED

    def smaller(self, case: str) -> Iterator[str]:
        program = Program.of(case)
        for name in ("threads", "weights", "compiler", "verify"):
            usual = getattr(Program(""), name)
            if getattr(program, name) != usual:
                yield str(replace(program, **{name: usual}))
        if len(program.styles) > 1:
            yield from (str(replace(program, styles=(style,))) for style in program.styles)
        for text in _smaller(program.text):
            yield str(replace(program, text=text))
        if program.seed:
            yield str(replace(program, seed=0))


def _refusable(text: str) -> bool:
    """Whether the result's layout cannot be that of a NumPy array."""
    result = read(text).result
    return result is not None and result.in_panels


def _compiled(program: Program) -> morello.Kernel:
    return morello.compile(
        program.text,
        threads=program.threads,
        weights=program.weights,
        verify=program.verify,
        compiler=program.compiler or None,
        budget=BUDGET_S,
    )


# ---- running


def _try(kernel: morello.Kernel, text: Text, program: Program, style: str) -> None:
    """Run a kernel on numbers of a style, twice; raises `FaultError`."""
    graph = text.graph
    random = np.random.default_rng([program.seed, zlib.crc32(style.encode())])
    inputs = graph.inputs()
    if len(inputs) != len(kernel.arguments) - 1:
        inputs = []  # a fill uses only the type of its operand
    arrays = {}
    for node in graph.inputs():
        assert node.type is not None
        arrays[node] = values(style, random, node.type.shape, node.type.dtype)
    wanted = evaluate(graph, arrays, text.result.dtype if text.result else None)[graph]
    poison, shift = _POISON[random.integers(2)], int(random.integers(3))
    given = [
        _placed(kernel, number, node, arrays[node], program, poison, shift)
        for number, node in enumerate(inputs)
    ]
    out_type = text.result or Type(wanted.dtype, wanted.shape)
    if out_type.shape != wanted.shape:
        raise FaultError("wrong shape", f"{out_type} is expected to be of {wanted.shape}")
    out = _guarded(out_type, poison, shift)
    kernel(*(array.view for array in given), out=out.view)
    for number, array in enumerate(given):
        if where := array.changed():
            raise FaultError("an input changed", f"{style}: input {number}: {where}")
    if where := out.changed(output=True):
        raise FaultError("written outside", f"{style}: {where}")
    _compare(out.view, wanted, style, [arrays[node] for node in inputs])
    again = kernel(*(array.view for array in given))
    if again.shape != wanted.shape or again.dtype != DTYPES[wanted.dtype]:
        raise FaultError("wrong result type", f"{again.dtype}{again.shape}, not {wanted.shape}")
    if not np.array_equal(_wide(again), _wide(out.view), equal_nan=again.dtype.kind != "i"):
        raise FaultError("another result the second time", f"{style}: {again} after {out.view}")


def _placed(
    kernel: morello.Kernel, number: int, node: Node, array: NDArray[Any], program: Program,
    poison: int, shift: int,
) -> Guarded:  # fmt: skip
    """An input in guarded memory, in the layout that the kernel reads."""
    assert node.type is not None
    if program.weights == "plain" and not node.type.in_panels:
        guarded = _guarded(node.type, poison, shift)
        guarded.fill(array)
        return guarded
    packed = kernel.pack(kernel.arguments[number].name, array)
    guarded = Guarded(packed.shape, packed.strides, packed.dtype, poison, 0)
    guarded.fill(packed)
    return guarded


def _guarded(type: Type, poison: int, shift: int) -> Guarded:
    dtype = DTYPES[type.dtype]
    steps = tuple(step * dtype.itemsize for step in type.steps)
    return Guarded(type.shape, steps, dtype, poison, shift)


def _wide(x: NDArray[Any]) -> NDArray[np.float64]:
    return x.astype(np.float64)


def _compare(
    got: NDArray[Any], wanted: Bounded, style: str, inputs: Sequence[NDArray[Any]]
) -> None:
    with np.errstate(all="ignore"):
        value = _wide(wanted.value)
        off = apart(_wide(got), value)
    wrong = ~((off <= wanted.error) | (off == 0))  # an error may be NaN where the value is
    if wrong.any():
        at = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        sort = "wrong number"
        if not np.isfinite(value[at]):
            sort = "not NaN" if np.isnan(value[at]) else "not infinite"
        shown = "; ".join(np.array2string(_wide(x), max_line_width=10**6, threshold=24)
                          for x in inputs).replace("\n", "")  # fmt: skip
        raise FaultError(
            sort,
            f"{style}: at {list(at)} {_wide(got)[at]!s}, expected {value[at]!s} within "
            f"{wanted.error[at]:.3g}; {int(wrong.sum())} of {wrong.size}; inputs {shown[:300]}",
        )


# ---- smaller programs


def _smaller(text: str) -> Iterator[str]:
    try:
        whole = read(text)
        shapes = _types(whole)
    except Exception:  # `read` takes only what is almost Python
        return
    if whole.result is not None:
        yield str(replace(whole, result=None))
    for part in list(parts(whole))[1:]:
        yield alone(whole, part)
    for part in parts(whole):
        function = part.func if isinstance(part, ast.Call) else None
        for child in ast.iter_child_nodes(part):
            if child is not function and isinstance(child, (*PARTS, ast.Name)):
                yield replaced(whole, part, child)
        tensor_type = shapes.get(ast.unparse(part))
        if tensor_type is not None:
            new = ast.parse(f"tensor({len(whole.types)})", mode="eval").body
            yield replaced(whole, part, new, (tensor_type,))
    for old in dict.fromkeys(whole.types):
        if old.layout or old.strides:
            yield retyped(whole, lambda t, old=old: Type(t.dtype, t.shape) if t == old else t)  # type: ignore[misc]
    for number in sorted(
        {int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}, reverse=True
    ):
        for less in dict.fromkeys((1, 2, number // 2, number - 1)):
            if 0 < less < number:
                yield re.sub(rf"(?<![\w.]){number}(?![\w.])", str(less), text)
    for dtype in dict.fromkeys(t.dtype for t in whole.types):
        if dtype != "f32":
            yield re.sub(rf"\b{dtype}\b", "f32", text)


def _types(whole: Text) -> dict[str, Type]:
    """The types of all expressions in a text, by the text of each."""
    graph = whole.graph
    zeros = {n: np.zeros(n.type.shape, DTYPES[n.type.dtype]) for n in graph.inputs() if n.type}
    known = evaluate(graph, zeros, None)
    result: dict[str, Type] = {}
    for part in parts(whole):
        assert not is_type(part)
        last = ast.Module([*whole.tree.body[:-1], ast.Expr(part)], [])
        node = Text(last, whole.types, None).graph
        inner = evaluate(node, {n: zeros_of(n) for n in node.inputs()}, None)[node]
        result[ast.unparse(part)] = Type(inner.dtype, inner.shape)
    assert known
    return result


def zeros_of(node: Node) -> NDArray[Any]:
    assert node.type is not None
    return np.zeros(node.type.shape, DTYPES[node.type.dtype])

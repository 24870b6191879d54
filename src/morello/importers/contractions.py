"""Sums of products in the notation of `np.einsum`, of operators of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from string import ascii_letters

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import Concat, Dot, Reduce, Reshape, Slice
from morello.graph.patterns.matching import mapped, reshaped, sliced, transposed


def einsum(subscripts: str, *operands: Node) -> Node:
    """The sum of products that `subscripts` says, in pairs in NumPy's order.

    The operands have one dtype. Raises `GraphError` for subscripts that are invalid.
    """
    terms, output = _parsed(subscripts.replace(" ", ""), [node.type.rank for node in operands])
    parts = [_distinct(node, term) for node, term in zip(operands, terms, strict=True)]
    parts = [_without_units(*part) for part in parts]
    while len(parts) > 1:
        first, second = _cheapest(parts, output)
        rest = [part for part in parts if part is not first and part is not second]
        parts = [*rest, _pair(first, second, _labels(rest, output))]
    ((result, term),) = parts
    result, term = _summed(result, term, {*output})
    order = tuple(term.index(label) for label in output if label in term)
    result = transposed(result, order)
    sizes = {label: size for node, term in zip(operands, terms, strict=True)
             for label, size in zip(term, node.shape, strict=True) if size == 1}  # fmt: skip
    long = iter(result.shape)
    return reshaped(result, tuple(next(long) if x in term else sizes[x] for x in output))


def diagonal(node: Node) -> Node:
    """The diagonal of the last two dimensions, which have one size."""
    *batch, n, _ = node.shape
    flat = apply(Reshape((*batch, n * n)), node)
    rank = len(batch)
    steps = (*[1] * rank, n + 1)
    return apply(Slice((0,) * (rank + 1), flat.shape, steps), flat)


Term = tuple[Node, str]
"""An operand, and the labels of its dimensions."""


def _parsed(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The labels of the dimensions of each operand, and of the result, without ellipses."""
    left, arrow, output = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise GraphError(f"einsum of {subscripts!r} takes {len(terms)} operands.")
    unused = [label for label in ascii_letters if label not in subscripts]
    hidden = [rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "." in term]
    most = unused[: max(hidden, default=0)]
    if not arrow:
        single = sorted(x for x in {*left} if x.isalpha() and left.count(x) == 1)
        output = ("..." if hidden else "") + "".join(single)
    spelled = []
    for term, rank in zip(terms, ranks, strict=True):
        count = rank - len(term) + 3 if "..." in term else 0
        spelled.append(term.replace("...", "".join(most[len(most) - count :])))
        if len(spelled[-1]) != rank or (rank and not spelled[-1].isalpha()):
            raise GraphError(f"einsum of {subscripts!r}: {term!r} does not fit {rank} dimensions.")
    return spelled, output.replace("...", "".join(most))


def _distinct(node: Node, term: str) -> Term:
    """An operand in which no label occurs twice."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first, second = [d for d, each in enumerate(term) if each == label][:2]
            kept = [d for d in range(len(term)) if d not in (first, second)]
            node = diagonal(transposed(node, (*kept, first, second)))
            term = "".join(term[d] for d in kept) + label
    return node, term


def _without_units(node: Node, term: str) -> Term:
    """An operand without its dimensions of size 1, which other operands may have longer."""
    kept = [d for d, size in enumerate(node.shape) if size > 1]
    return reshaped(node, tuple(node.shape[d] for d in kept)), "".join(term[d] for d in kept)


def _cheapest(parts: Sequence[Term], output: str) -> tuple[Term, Term]:
    """The operands whose product is the smallest, compared with what they are themselves."""

    def growth(pair: tuple[Term, Term]) -> int:
        rest = [part for part in parts if part not in pair]
        sizes = {x: n for node, term in pair for x, n in zip(term, node.shape, strict=True)}
        left = prod(sizes[label] for label in sizes if label in _labels(rest, output))
        return left - sum(node.type.size for node, _ in pair)

    return min(combinations(parts, 2), key=growth)


def _labels(parts: Sequence[Term], output: str) -> set[str]:
    """The labels that these operands and the result have."""
    return {*output}.union(*(term for _, term in parts))


def _summed(node: Node, term: str, needed: set[str]) -> Term:
    """An operand summed along the dimensions that nothing else needs."""
    axes = tuple(d for d, label in enumerate(term) if label not in needed)
    if not axes:
        return node, term
    return apply(Reduce("sum", axes), node), "".join(x for x in term if x in needed)


def _pair(first: Term, second: Term, needed: set[str]) -> Term:
    """The product of two operands, summed along what nothing else needs."""
    a, left = _summed(*first, needed | {*second[1]})
    b, right = _summed(*second, needed | {*first[1]})
    shared = [label for label in left if label in right]
    contracted = [label for label in shared if label not in needed]
    batch = [label for label in shared if label in needed]
    rest = [x for x in left if x not in shared] + [x for x in right if x not in shared]
    term = "".join(batch + rest)
    alone = len(shared) in (len(left), len(right))
    if not contracted or (alone and a.dtype == np.float32):  # f16 would round the products
        every = "".join(rest[: len(left) - len(shared)] + shared + rest[len(left) - len(shared) :])
        factors = _spread(a, left, every), _spread(b, right, every)
        return _summed(mapped("multiply", *factors), every, needed)
    dot = Dot(
        tuple((left.index(x), right.index(x)) for x in batch),
        tuple((left.index(x), right.index(x)) for x in contracted),
    )
    return apply(dot, a, b), term


def _spread(node: Node, term: str, wanted: str) -> Node:
    """An operand with the dimensions of `wanted`, of size 1 where it has none."""
    ordered = [label for label in wanted if label in term]
    node = transposed(node, tuple(term.index(label) for label in ordered))
    sizes = dict(zip(ordered, node.shape, strict=True))
    return reshaped(node, tuple(sizes.get(label, 1) for label in wanted))


def cross_product(a: Node, b: Node, axis: int) -> Node:
    """The cross products of vectors of three numbers along an axis of two tensors of one shape."""

    def product(i: int, j: int) -> Node:
        return mapped("multiply", sliced(a, axis, i, i + 1), sliced(b, axis, j, j + 1))

    pairs = (1, 2), (2, 0), (0, 1)
    parts = (mapped("subtract", product(i, j), product(j, i)) for i, j in pairs)
    return apply(Concat(axis), *parts)

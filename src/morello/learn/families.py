"""Families of Specs: within one, the errors of a learned model are more alike than in all."""

from __future__ import annotations

from math import prod

from morello.ir.dtype import F32
from morello.ir.operation import Operation
from morello.ir.spec import Spec, SpecPart

COPIES = "copies"


def family_of(spec: Spec) -> str:
    """The family of a Spec, by what it computes.

    softmax(f32[8,16] @ f32[16,32]) -> attention
    """
    parts = [part.operation for part in spec.parts]
    softmax = any(part.primitive is not None and part.primitive.normalizes for part in parts)
    if any(map(_multiplies, parts)):
        return "attention" if softmax else _products(spec)
    if softmax:
        return "softmaxes"
    if any(part.primitive is not None and part.primitive.pools for part in parts):
        return "pools"
    if all(part.copies for part in parts):
        return COPIES
    operation = spec.operation
    if prod(spec.shape(operation.output)) < max(prod(spec.shape(n)) for n in operation.inputs):
        return "reductions"
    return "norms" if any(part.reduced for part in parts) else "maps"


def _products(spec: Spec) -> str:
    products = [part for part in spec.parts if _multiplies(part.operation)]
    if any(part.operation.windows for part in products):
        return "convolutions"
    return "narrow products" if any(map(_is_narrow, products)) else "products"


def _is_narrow(part: SpecPart) -> bool:
    primitive = part.operation.primitive
    assert primitive is not None
    factors = (dtype for n, dtype in enumerate(part.dtypes) if n not in primitive.indices)
    return any(dtype is not F32 for dtype in factors)


def _multiplies(part: Operation) -> bool:
    return part.is_product or (part.primitive is not None and part.primitive.in_bytes)

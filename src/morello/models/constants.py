"""Constants of compiled graphs as arrays of the caller: which inputs are worth being constant, and
segments that are given their constants, packed, in each call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from morello.graph.graph import Array, Graph, Node, TensorType, apply, in_order
from morello.graph.operators import Constant, Input
from morello.graph.patterns.matching import is_float, on_replaced
from morello.graph.views import View
from morello.kernel import Kernel
from morello.models.compiling import CompiledGraph
from morello.models.schedule import PlacedCall, PlacedStage
from morello.models.segment import Place, Segment
from morello.search.prepacking import weights_of


def with_constants(graph: Graph, arrays: Mapping[Node, Array]) -> Graph:
    """A graph with constants in place of some of its inputs."""
    after = {node: apply(Constant(array)) for node, array in arrays.items()}
    for node in graph.nodes:
        if node not in after:
            after[node] = on_replaced(node, after)
    inputs = tuple(node for node in graph.inputs if node not in arrays)
    return Graph(inputs, tuple(after[node] for node in graph.outputs))


def weights_among(model: CompiledGraph, inputs: Collection[Node]) -> frozenset[Node]:
    """The inputs, among some, that kernels of a compiled graph would take packed if constant.

    Kernels read them as weights (see `prepacking.weights_of`), perhaps after views, casts and
    elementwise functions that depend on nothing else, and never as the first factor of a product,
    as they read images. Vectors of floats are among them, too, if anything is: factors and terms
    of products are taken into the weights.
    """
    chosen = {node for node in inputs if node.shape}
    while True:
        uses = _Uses(model, chosen)
        weights = uses.as_weights - uses.as_images
        vectors = {node for node in chosen - uses.as_images if len(node.shape) == 1}
        kept = weights | {node for node in vectors if is_float(node.dtype)}
        if kept == chosen or not weights:
            return frozenset(kept if weights else ())
        chosen = kept


class _Uses:
    """The inputs that kernels read as weights, and those that they read as images.

    An image is the first factor of a product, or an operand that is no weight of one whose
    operands are joined before.
    """

    def __init__(self, model: CompiledGraph, inputs: Collection[Node]) -> None:
        self._inputs = inputs
        self._known = _known(model.graph, inputs)
        self.as_weights: set[Node] = set()
        self.as_images: set[Node] = set()
        for call, kernel in _calls(model):
            if call.output.base in self._known:
                continue
            spec = kernel.spec
            names = {spec.name(number) for number in weights_of(spec.operation)}
            for name, view in zip(spec.arrays, call.inputs, strict=False):
                if name in names:
                    self.as_weights |= self._beneath(view)
                elif names and len(view.shape) > 1:
                    self.as_images |= self._beneath(view)

    def _beneath(self, view: View) -> set[Node]:
        """The inputs that decide a view that no other input does."""
        if view.base not in self._known:
            return set()
        return {node for node in in_order([view.base]) if node in self._inputs}


def _known(graph: Graph, inputs: Collection[Node]) -> set[Node]:
    """The nodes that these inputs decide, by views and functions of elements."""
    known: set[Node] = set()
    for node in graph.nodes:
        operator = node.operator
        if (
            isinstance(operator, Constant)
            or node in inputs
            or (node.inputs and not operator.heavy and known.issuperset(node.inputs))
        ):
            known.add(node)
    return known


def _calls(model: CompiledGraph) -> Iterator[tuple[PlacedCall, Kernel]]:
    for segment in model.segments:
        yield from zip(segment.calls, segment.kernels, strict=True)


@dataclass(frozen=True)
class GivenSegment:
    """A segment that takes arrays after its inputs: what were constants of another one."""

    segment: Segment
    constants: tuple[Array, ...] = ()


def with_given_constants(segment: Segment) -> GivenSegment:
    """A segment that takes its constants of more than one element as further inputs.

    They are as the kernels take them. It refers neither to them nor to a graph.
    """
    bare: dict[Node, Node] = {}
    given: dict[int, tuple[Node, Array]] = {}

    def placed(view: View, place: Place) -> View:
        if isinstance(place.base, int):
            node = bare.setdefault(view.base, apply(Input(view.base.type)))
            return replace(view, base=node)
        if place.base.size <= 1:
            return view
        array, offset = _whole(view, place.base)
        kind = TensorType(array.shape, array.dtype)
        node, _ = given.setdefault(id(array), (apply(Input(kind)), array))
        return View(node, view.shape, view.strides, offset)

    calls = [
        replace(
            call,
            inputs=tuple(map(placed, call.inputs, places)),
            output=placed(call.output, places[-1]),
        )
        for call, places in zip(segment.calls, segment.places, strict=True)
    ]
    inputs, outputs = (
        tuple(bare.setdefault(node, apply(Input(node.type))) for node in nodes)
        for nodes in (segment.inputs, segment.outputs)
    )
    every = [PlacedCall(call.inputs, call.output, copies=call.copies) for call in calls]
    stage = PlacedStage(tuple(every), (*inputs, *(node for node, _ in given.values())), outputs)
    return GivenSegment(
        Segment(stage, segment.kernels), tuple(array for _, array in given.values())
    )


def _whole(view: View, array: Array) -> tuple[Array, int]:
    """The array that a packed constant is a part of, and where that begins, in elements.

    It is the constant itself, if kernels take that as it is.
    """
    assert isinstance(view.base.operator, Constant)
    constant = view.base.operator.array
    offset = array.ctypes.data - constant.ctypes.data
    inside = offset >= 0 and offset + array.nbytes <= constant.nbytes
    if inside and constant.flags.c_contiguous:
        return constant, offset // constant.itemsize
    return array, 0

"""Recurrent layers, whose steps are written out one after the other.

All steps share the product of the inputs; each has one of its state. The gates of a step lie one
after the other along the rows of the weights, in an order that the framework says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from morello.graph.graph import Node, apply
from morello.graph.operators import Dot, Where
from morello.graph.patterns.matching import constant, joined, mapped, reshaped, selected, sliced

MOST_STEPS = 1024
"""The most steps of recurrent layers, of all directions, that are written out."""

MOST_LOOP_STEPS = 128
"""The most steps of a loop that are written out: what one does may be much."""

Step = Callable[[Node, tuple[Node, ...]], tuple[Node, ...]]
"""A function from the input's part of the gates [b, g*h] and the state [b, h] to the next state."""

Function = Callable[[Node], Node]
"""An elementwise function of gates."""

SIGMOID, TANH = (partial(mapped, name) for name in ("sigmoid", "tanh"))


@dataclass(frozen=True)
class Weights:
    """The weights of one direction: of inputs [g*h, i], of the state [g*h, h], and biases [g*h]."""

    inputs: Node
    state: Node
    input_bias: Node
    state_bias: Node

    @property
    def hidden(self) -> int:
        return self.state.shape[1]

    def projected(self, h: Node) -> Node:
        """The output of a step as the next state."""
        return h

    def of_inputs(self, x: Node) -> Node:
        """The part of the gates that inputs [..., i] have."""
        return _linear(x, self.inputs, self.input_bias)

    def of_state(self, h: Node) -> Node:
        """The part of the gates that a state [b, h] has."""
        return _linear(h, self.state, self.state_bias)


@dataclass(frozen=True)
class ProjectedWeights(Weights):
    """Weights with a projection [p, h] of outputs, so that those of the state are [g*h, p]."""

    projection: Node

    @property
    def hidden(self) -> int:
        return self.projection.shape[1]

    def projected(self, h: Node) -> Node:
        return apply(Dot((), ((1, 1),)), h, self.projection)


def lstm(
    weights: Weights,
    order: str,
    functions: Sequence[Function] = (SIGMOID, TANH, TANH),
    peepholes: Mapping[str, Node] | None = None,
    coupled: bool = False,
) -> Step:
    """The state is (h, c): c' = f c + i g, h' = o tanh(c'); the gates are i, f, g and o.

    The `functions` are those of i, f and o, of g, and of c'. The `peepholes` have by gate factors
    [h] of c, or of c' for o, whose products are added to it. With `coupled` gates f is 1 - i.
    """
    of_gates, of_new, of_state = functions
    factors = peepholes or {}

    def step(given: Node, state: tuple[Node, ...]) -> tuple[Node, ...]:
        h, c = state
        gates = mapped("add", given, weights.of_state(h))

        def gate(name: str, seen: Node) -> Node:
            own = _gate(gates, order.index(name), weights.hidden)
            if name in factors:
                own = mapped("add", own, mapped("multiply", factors[name], seen))
            return of_gates(own)

        i = gate("i", c)
        f = mapped("subtract", constant(1, i.dtype), i) if coupled else gate("f", c)
        g = of_new(_gate(gates, order.index("g"), weights.hidden))
        c = mapped("add", mapped("multiply", f, c), mapped("multiply", i, g))
        return weights.projected(mapped("multiply", gate("o", c), of_state(c))), c

    return step


def gru(
    weights: Weights,
    order: str,
    resets_product: bool,
    functions: Sequence[Function] = (SIGMOID, TANH),
) -> Step:
    """h' = (1 - z) n + z h; the gates are r, z and n = tanh(x + r (R h + b)).

    Unless r is applied to the product (`resets_product`), n is tanh(x + R (r h) + b). The
    `functions` are those of r and z, and of n.
    """
    of_gates, of_new = functions
    hidden, first = weights.hidden, order.index("n")

    def step(given: Node, state: tuple[Node, ...]) -> tuple[Node, ...]:
        (h,) = state
        product = weights.of_state(h)
        # of r and z alone: the sum of all gates would be stored, beside the product
        parts = ([_gate(n, order.index(gate), hidden) for n in (given, product)] for gate in "rz")
        r, z = (of_gates(mapped("add", *part)) for part in parts)
        if resets_product:
            new = mapped("multiply", r, _gate(product, first, hidden))
        else:
            rows, bias = (
                _gate(each, first, hidden, 0) for each in (weights.state, weights.state_bias)
            )
            new = _linear(mapped("multiply", r, h), rows, bias)
        n = of_new(mapped("add", _gate(given, first, hidden), new))
        rest = mapped("subtract", constant(1, z.dtype), z)
        return (mapped("add", mapped("multiply", rest, n), mapped("multiply", z, h)),)

    return step


def rnn(weights: Weights, function: Function) -> Step:
    """h' = f(x + R h + b)."""

    def step(given: Node, state: tuple[Node, ...]) -> tuple[Node, ...]:
        return (function(mapped("add", given, weights.of_state(state[0]))),)

    return step


def unrolled(
    x: Node,
    weights: Weights,
    step: Step,
    state: tuple[Node, ...],
    backwards: bool,
    lengths: Node | None = None,
) -> tuple[Node, tuple[Node, ...]]:
    """The outputs [t, b, h] of all steps of inputs [t, b, i], and the last state.

    The sequences of a batch may have lengths [b]: steps beyond them keep the state, and their
    outputs are 0.
    """
    count, batch, _ = x.shape
    given = weights.of_inputs(x)
    outputs: list[Node] = []
    for t in reversed(range(count)) if backwards else range(count):
        after = step(selected(given, 0, t), state)
        output = after[0]
        if lengths is not None:
            each = reshaped(lengths, (batch, 1))
            inside = mapped("greater", each, constant(t, each.dtype))
            after = tuple(apply(Where(), inside, *pair) for pair in zip(after, state, strict=True))
            output = apply(Where(), inside, output, constant(0, output.dtype))
        state = after
        outputs.append(reshaped(output, (1, *output.shape)))
    in_order = outputs[::-1] if backwards else outputs
    return joined(in_order, 0), state


def _linear(x: Node, weights: Node, bias: Node) -> Node:
    return mapped("add", apply(Dot((), ((x.type.rank - 1, 1),)), x, weights), bias)


def _gate(gates: Node, number: int, hidden: int, axis: int = 1) -> Node:
    """One of the gates [b, g*h], or of what lies along another axis for each."""
    return sliced(gates, axis, number * hidden, (number + 1) * hidden)

"""StableHLO: programs that are no graphs are refused in a sentence."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

from morello.base.errors import GraphError
from morello.importers.stablehlo import from_module, parse


def module(body: str, more: str = "") -> bytes:
    return f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ {body} }} {more}".encode()


REFUSED = {
    "a dynamic shape": (
        b"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
        r"tensor<\?xf32> has no fixed shape",
    ),
    "a type": (
        b"func.func @main(%x: tensor<4xui4>) -> tensor<4xui4> { return %x : tensor<4xui4> }",
        "no graph holds tensor<4xui4>",
    ),
    "a token": (
        b"func.func @main(%x: !stablehlo.token) -> !stablehlo.token"
        b" { return %x : !stablehlo.token }",
        "it holds tensors",
    ),
    "nonsense": (b"nonsense", "no valid StableHLO"),
    "bytes": (b"\xff\xfe\x00", "no valid StableHLO"),
    "a huge number of a result": (
        module("%y:2 = call @f() : () -> (tensor<4xf32>) return %y#99999999999 : tensor<4xf32>"),
        "no valid StableHLO",
    ),
    "a broken artifact": (b"ML\xefR" + bytes(40), "no valid StableHLO"),
    "nothing": (b"", "no function main"),
    "two functions": (
        b"func.func @a(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        b"func.func @b(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }",
        "only a, b",
    ),
    "a recursion": (
        module("%y = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32> return %y : tensor<4xf32>"),
        "main calls itself",
    ),
    "a missing function": (
        module(
            '%y = "stablehlo.composite"(%x) {name = "a.b", decomposition = @f} :'
            " (tensor<4xf32>) -> tensor<4xf32> return %y : tensor<4xf32>"
        ),
        "no valid StableHLO|no function f",
    ),
    "a side effect": (
        module(
            "%y = stablehlo.custom_call @f(%x) {has_side_effect = true} :"
            " (tensor<4xf32>) -> tensor<4xf32> return %y : tensor<4xf32>"
        ),
        "side effects",
    ),
    "an invalid operation": (
        module("%y = stablehlo.add %x, %z : tensor<4xf32> return %y : tensor<4xf32>"),
        "no valid StableHLO",
    ),
    "a declaration": (b"func.func private @main(tensor<4xf32>) -> tensor<4xf32>", "has no body"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_graph_is_refused(name: str) -> None:
    data, message = REFUSED[name]
    with pytest.raises(GraphError, match=message):
        from_module(parse(data))


def test_functions_that_call_others_deeply_are_refused() -> None:
    kind = "tensor<4xf32>"
    text = f"func.func @f0(%x: {kind}) -> {kind} {{ return %x : {kind} }}"
    for n in range(1, 2000):
        name = "main" if n == 1999 else f"f{n}"
        text += f"func.func @{name}(%x: {kind}) -> {kind} {{ "
        text += f"%y = call @f{n - 1}(%x) : ({kind}) -> {kind} return %y : {kind} }}"
    with pytest.raises(GraphError, match="200 deep"):
        from_module(parse(text.encode()))


def test_functions_called_often_are_read_in_bounded_time() -> None:
    """Thirty functions that call the one before twice would be a billion nodes."""
    call = "%{0} = call @f{1}(%{2}) : (tensor<4xf32>) -> tensor<4xf32>"
    text = "func.func @f0(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    for n in range(1, 31):
        body = f"{call.format('y', n - 1, 'x')} {call.format('z', n - 1, 'y')}"
        name = "main" if n == 30 else f"f{n}"
        text += f"func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{ {body} "
        text += "return %z : tensor<4xf32> }"
    with pytest.raises(GraphError, match="more than 100,000 operations"):
        from_module(parse(text.encode()))

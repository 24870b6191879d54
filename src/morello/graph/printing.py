"""The text of a graph: one node a line."""

from __future__ import annotations

from morello.graph.graph import Graph, Node


def text(graph: Graph) -> str:
    """The graph as text, as in `%2 = dot[contracted=((1,0),)](%0, %1) : f32[64,32]`."""
    names: dict[Node, str] = {}
    lines = []
    for node in dict.fromkeys((*graph.inputs, *graph.nodes)):
        names[node] = f"%{len(names)}"
        arguments = ", ".join(names[source] for source in node.inputs)
        lines.append(f"{names[node]} = {node.operator}({arguments}) : {node.type}")
    lines.append(f"return {', '.join(names[node] for node in graph.outputs)}")
    return "\n".join(lines)

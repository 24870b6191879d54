"""A neutral graph of tensor operations, between the front-ends and Specs.

`graph` has nodes and graphs, `operators/` what nodes compute, `interpreter` their values in NumPy,
`printing` their text, `lowering` the Spec of a group of nodes, and `rewriting` the patterns of
`patterns/` applied until none does.
"""

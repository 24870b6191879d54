"""Print the cheapest program of a Spec, with the cost of each step, and what was searched."""

import morello
from morello.impl.printing import tree

impl, statistics = morello.implement("relu(f32[16,64] @ f32[64,32] + f32[32])")

print(tree(impl))
if statistics is not None:  # it was found by search
    print(f"\nsearched {statistics.specs:,} Specs in {statistics.seconds:.2f} s")
    print("no program is cheaper" if statistics.proven else "the budget ended the search")
print(f"predicted cost: {impl.cost:,.0f} cycles")

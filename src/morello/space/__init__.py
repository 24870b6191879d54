"""The search space: sizes, kinds of Specs, memory limits, and the rules that apply to each kind."""

"""The study behind the learned model: which models predict times best, and what limits them.

    python -m study CORPUS [--seeds 2] [--other CORPUS] [--docs PAGE] [--json]

`experiments` lists what is compared: the network that ships and its baselines (`morello.learn`),
other reductions (`networks`), losses (`losses`), gradient-boosted trees (`trees`), fewer features
and fewer Specs. `limits` measures what no model can do better, `transfer` predicts the programs of
another machine, and `report` writes tables and plots into `docs/learned-model.md`. `make learn`
runs all of these. `distances` and `orders` tell where the network errs, and what that costs when
tuning. None of it is part of what is installed.
"""

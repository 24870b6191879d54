"""Simulated annealing over the legal programs of a goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from math import exp, inf
from random import Random
from time import monotonic

from morello.search.sample import Walker

Edges = tuple[int, ...]
"""A program of a walker's graph: its rewrites in pre-order, by number."""

CHAINS = 12
STEPS = 20
HOTTEST, COLDEST = 0.3, 0.01
"""Temperatures at the first and the last step, in differences of energy."""


def anneal(
    walker: Walker,
    starts: Sequence[Edges],
    most_cost: float,
    energies: Callable[[Sequence[Edges]], Sequence[float]],
    random: Random,
    ends: float = inf,
) -> None:
    """Let chains of mutations go from some programs towards those of low energy.

    A chain goes to a mutation that is lower, and to a higher one the more rarely the higher it
    is and the lower the temperature, which falls geometrically. `energies` is asked for all that
    a chain may go to; what costs more than `most_cost` is none of that. There are no further
    steps after `ends`, of `time.monotonic`.
    """
    chains = list(islice(cycle(starts), CHAINS))
    heights = list(energies(chains))
    for step in range(STEPS):
        if monotonic() > ends:
            return
        temperature = HOTTEST * (COLDEST / HOTTEST) ** (step / (STEPS - 1))
        mutated = [walker.mutated(list(program)) for program in chains]
        proposed = {
            chain: tuple(made[1])
            for chain, made in enumerate(mutated)
            if made is not None and made[0] <= most_cost
        }
        found = energies([*proposed.values()])
        for (chain, program), energy in zip(proposed.items(), found, strict=True):
            rise = energy - heights[chain]
            if rise <= 0 or random.random() < exp(-rise / temperature):
                chains[chain], heights[chain] = program, energy

"""Simulated annealing over the legal programs of a goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from math import exp
from random import Random

from morello.search.sample import Walk, Walker

CHAINS = 12
STEPS = 6
HOTTEST, COLDEST = 0.3, 0.01
"""Temperatures at the first and the last step, in differences of energy."""


def anneal(
    walker: Walker,
    starts: Sequence[Walk],
    most_cost: float,
    energies: Callable[[Sequence[Walk]], Sequence[float]],
    random: Random,
) -> Iterator[None]:
    """Run chains of mutations from some programs towards those of low energy.

    A mutation of lower energy is accepted; one of higher energy is accepted with a probability
    that falls with the rise, and with the temperature, which decreases geometrically. `energies`
    evaluates the starts and all proposed mutations; mutations that cost more than `most_cost`
    are not proposed. Yields after each step.
    """
    chains = list(islice(cycle(starts), CHAINS))
    heights = list(energies(chains))
    for step in range(STEPS):
        temperature = HOTTEST * (COLDEST / HOTTEST) ** (step / (STEPS - 1))
        mutated = [walker.mutated(program) for program in chains]
        proposed = {
            chain: mutation[1]
            for chain, mutation in enumerate(mutated)
            if mutation is not None and mutation[0] <= most_cost
        }
        levels = energies([*proposed.values()])
        for (chain, program), energy in zip(proposed.items(), levels, strict=True):
            rise = energy - heights[chain]
            if rise <= 0 or random.random() < exp(-rise / temperature):
                chains[chain], heights[chain] = program, energy
        yield

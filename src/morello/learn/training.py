"""Trains the network with JAX and Optax, which come with `morello[learn]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from morello.learn.batches import LEAST_DEVIATION, Examples, Scale, graphs
from morello.learn.features import FETCHES
from morello.learn.groups import ProgramGroup
from morello.learn.model import Model, Reach
from morello.learn.network import Array, CoefficientNetwork, GraphNetwork, Graphs

APART = 0.015
"""Pairs of programs whose log times differ by less than this are not ranked."""

SHARPNESS = 15.0
"""Differences of predicted logarithms are multiplied by this before a rank loss sees them."""

WEIGHTED = 8.0
"""The weight of a pair is its difference of log times, times this, but at most 1."""

HUBER = 0.15
"""Errors of logarithms beyond this count linearly."""

UNTOLD = ("L2_runs", "L3_read", "L3_written", "L3_runs", "pages_read", "pages_written", "call")
"""Fetches that programs of some microseconds within the last cache tell little of."""

jax.tree_util.register_dataclass(Graphs)


class Loss(Protocol):
    """How wrong predictions are; `absolute` if it sees times, and not ranks alone."""

    @property
    def absolute(self) -> bool: ...

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        """The loss of predicted log cycles, (Specs, programs) as those `wanted` are."""
        ...


@dataclass(frozen=True)
class RankAndTime:
    """The loss that ships: the logistic loss of pairs, and `share` times Huber's of log cycles."""

    absolute: ClassVar[bool] = True
    share: float = 1.0

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        ranked = ranking_loss(predicted, wanted, lambda apart: jax.nn.softplus(-apart))
        return (
            ranked
            + self.share * jnp.mean(optax.huber_loss(predicted - wanted, delta=HUBER)) / HUBER
        )


def ranking_loss(predicted: Array, wanted: Array, penalty: Callable[[Array], Array]) -> Array:
    """The mean weighted penalty of all pairs of a Spec's programs, (Specs, programs).

    The penalty is a function of by how much the slower program is predicted to be slower.
    """
    more = wanted[:, :, None] - wanted[:, None, :]
    apart = (predicted[:, :, None] - predicted[:, None, :]) * SHARPNESS
    counted = more > APART
    weight = jnp.where(counted, jnp.minimum(more * WEIGHTED, 1.0), 0.0)
    return (weight * penalty(apart)).sum() / jnp.maximum(counted.sum(), 1)


@dataclass(frozen=True)
class Recipe:
    """How a network is trained: `steps` steps, on `programs` programs each of `specs` Specs."""

    network: GraphNetwork = field(default_factory=CoefficientNetwork)
    loss: Loss = field(default_factory=RankAndTime)
    steps: int = 2400
    specs: int = 16
    programs: int = 12
    rate: float = 2e-3
    decay: float = 1e-2
    dropout: float = 0.1


class OnJax:
    """Runs on JAX."""

    numpy = jnp

    def sums(self, values: Array, index: Array, count: int) -> Array:
        return jax.ops.segment_sum(values, index, count)

    def maxima(self, values: Array, index: Array, count: int) -> Array:
        result = jax.ops.segment_max(values, index, count)
        return jnp.where(jnp.isfinite(result), result, 0.0)


class NetworkEstimator:
    """The graph network as a model for evaluation."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.absolute = recipe.loss.absolute

    def fit(self, groups: Sequence[ProgramGroup], seed: int) -> None:
        """Learn from the programs of some Specs."""
        self._model = model_of(groups, self.recipe, seed)

    def predict(self, group: ProgramGroup) -> npt.NDArray[np.float64]:
        """The logarithm of seconds of each program, or what grows with it."""
        seconds: npt.NDArray[np.float64] = self._model.log_cycles(group) - np.log(group.hertz)
        return seconds


def model_of(groups: Sequence[ProgramGroup], recipe: Recipe, seed: int) -> Model:
    """A model of one network, trained on the programs of some Specs."""
    nodes, configs = _scales(groups)
    examples = [Examples.of(group, nodes, configs) for group in groups]
    start = recipe.network.initial(len(nodes.mean), len(configs.mean), seed)
    learned = trained(recipe, examples, start, seed)
    reach = Reach.of(groups) if recipe.loss.absolute else Reach()
    return Model(_clocks(groups), recipe.network, nodes, configs, [learned], reach=reach)


def continued(model: Model, groups: Sequence[ProgramGroup], recipe: Recipe, seed: int) -> Model:
    """The model, with each of its networks trained further, on the programs of these Specs."""
    nodes, configs = _scales(groups)
    examples = [Examples.of(group, nodes, configs) for group in groups]
    members = [
        trained(
            recipe,
            examples,
            {
                **_unlearned(member, UNTOLD),
                **rescaled(member, "nodes", model.nodes, nodes),
                **rescaled(member, "configs", model.configs, configs),
            },
            seed + number,
        )
        for number, member in enumerate(model.members)
    ]
    reach = model.reach.joined(Reach.of(groups))
    clocks = {**model.clocks, **_clocks(groups)}
    return replace(model, clocks=clocks, nodes=nodes, configs=configs, members=members, reach=reach)


def _scales(groups: Sequence[ProgramGroup]) -> tuple[Scale, Scale]:
    """The scales of features of loops and of programs."""
    return (
        Scale.of(np.concatenate([group.nodes for group in groups])),
        Scale.of(np.concatenate([group.configs for group in groups])),
    )


def _clocks(groups: Sequence[ProgramGroup]) -> dict[str, float]:
    """The median cycles per second of each machine."""
    clocks: dict[str, list[float]] = {}
    for group in groups:
        clocks.setdefault(group.machine, []).append(group.hertz)
    return {machine: float(np.median(several)) for machine, several in clocks.items()}


def _unlearned(
    member: Mapping[str, npt.NDArray[Any]], fetches: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """The parameters, with the first coefficients of these fetches.

    At the bound of a coefficient nothing is learned any more, and whatever was not told is there.
    """
    columns = [FETCHES.index(name) for name in fetches]
    first = {name: member[name].astype(np.float32) for name in ("fetch.out.w", "fetch.out.b")}
    for array in first.values():
        array[..., columns] = 0.0
    return {**member, **first}


def rescaled(
    member: Mapping[str, npt.NDArray[Any]], name: str, before: Scale, after: Scale
) -> dict[str, npt.NDArray[Any]]:
    """A first layer for features of another scale, with the same results.

    Features that had never varied get no weight: what they have was not learned.
    """
    weights, count = member[f"{name}.w"].astype(np.float64), len(before.mean)
    weights[:count][before.deviation <= np.float32(LEAST_DEVIATION)] = 0.0
    moved = (after.mean - before.mean) / before.deviation
    biases = member[f"{name}.b"] + moved @ weights[:count]
    weights[:count] *= (after.deviation / before.deviation)[:, None]
    return {f"{name}.w": weights.astype(np.float32), f"{name}.b": biases.astype(np.float32)}


def trained(
    recipe: Recipe, examples: Sequence[Examples], start: dict[str, npt.NDArray[Any]], seed: int
) -> dict[str, npt.NDArray[Any]]:
    """The parameters after training, from `start`."""
    random = np.random.default_rng(seed)
    begin, step = _compiled(recipe)
    parameters: Any = {name: jnp.asarray(value) for name, value in start.items()}
    state = begin(parameters)
    key = jax.random.PRNGKey(seed)
    for number in range(recipe.steps):
        chosen = _draw(examples, recipe, random)
        wanted = np.concatenate([of_spec.log_cycles[rows] for of_spec, rows in chosen])
        parameters, state = step(
            parameters, state, graphs(chosen, padded=True), wanted.reshape(len(chosen), -1),
            jax.random.fold_in(key, number),
        )  # fmt: skip
    return {name: np.asarray(value) for name, value in parameters.items()}


@cache
def _compiled(recipe: Recipe) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function for the optimizer's initial state, and the compiled training step, of a recipe.

    Cached, so that training again compiles nothing.
    """
    schedule = optax.cosine_decay_schedule(recipe.rate, recipe.steps)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=recipe.decay)
    )

    def loss(parameters: Any, batch: Graphs, wanted: Array, key: Array) -> Array:
        dropped = _dropped(batch, recipe.dropout, key)
        predicted = recipe.network.predict(parameters, dropped, OnJax())
        return recipe.loss(predicted[: wanted.size].reshape(wanted.shape), wanted)

    def step(parameters: Any, state: Any, batch: Any, wanted: Any, key: Any) -> Any:
        slope = jax.grad(loss)(parameters, batch, wanted, key)
        updates, state = optimizer.update(slope, state, parameters)
        return optax.apply_updates(parameters, updates), state

    return optimizer.init, jax.jit(step)


def _draw(
    examples: Sequence[Examples], recipe: Recipe, random: np.random.Generator
) -> list[tuple[Examples, npt.NDArray[Any]]]:
    """Draw some programs of some Specs."""
    numbers = random.choice(len(examples), min(recipe.specs, len(examples)), replace=False)
    drawn = []
    for number in numbers.tolist():
        programs = len(examples[number].log_cycles)
        again = programs < recipe.programs
        drawn.append((examples[number], random.choice(programs, recipe.programs, replace=again)))
    return drawn


def _dropped(batch: Graphs, part: float, key: Array) -> Graphs:
    """The batch with random features set to zero, so that no single one is relied on."""
    if not part:
        return batch
    changed = {}
    for number, name in enumerate(("nodes", "configs")):
        values = getattr(batch, name)
        kept = jax.random.bernoulli(jax.random.fold_in(key, number), 1 - part, values.shape)
        changed[name] = jnp.where(kept, values, 0.0)
    return replace(batch, **changed)

"""Losses that are compared with the one that ships; all take log cycles of (Specs, programs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from morello.learn.network import Array
from morello.learn.training import ranking_loss

MARGIN = 0.5

TEMPERATURE = 0.2
"""The temperature of ListMLE: the difference of logarithms of about one rank."""


@dataclass(frozen=True)
class Hinge:
    """The hinge loss of pairs of a Spec's programs."""

    absolute: ClassVar[bool] = False

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        return ranking_loss(predicted, wanted, lambda apart: jax.nn.relu(MARGIN - apart))


@dataclass(frozen=True)
class Logistic:
    """The logistic loss of pairs of a Spec's programs."""

    absolute: ClassVar[bool] = False

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        return ranking_loss(predicted, wanted, lambda apart: jax.nn.softplus(-apart))


@dataclass(frozen=True)
class ListMle:
    """The mean negative log likelihood of the order by time, drawing programs by prediction."""

    absolute: ClassVar[bool] = False

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        order = jnp.argsort(wanted, axis=1)
        rows = jnp.take_along_axis(predicted / -TEMPERATURE, order, axis=1)
        left = jax.lax.cumlogsumexp(rows, axis=1, reverse=True)
        return jnp.mean(left - rows)


@dataclass(frozen=True)
class SquaredError:
    """The mean squared error."""

    absolute: ClassVar[bool] = True

    def __call__(self, predicted: Array, wanted: Array) -> Array:
        return jnp.mean((predicted - wanted) ** 2)

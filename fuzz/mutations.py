"""Certificates that differ from a true one in a single field, by one unit where it is a number."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from random import Random
from typing import Any

import numpy as np

from morello.certificate.file import Certificate


def mutated(certificate: Certificate, random: Random) -> tuple[str, Certificate]:
    """A random mutation, and what it changes; all fields are equally likely."""
    name = random.choice([field.name for field in fields(certificate)])
    value = getattr(certificate, name)
    if isinstance(value, np.ndarray):
        place, other = _in_array(value, random)
        return f"{name}[{place}]", replace(certificate, **{name: other})
    where, other = _in_data(value, random)
    return f"{name}{where}", replace(certificate, **{name: other})


def _in_array(values: Any, random: Random) -> tuple[int, Any]:
    """One element off by one unit, or an element too few or too many."""
    place = random.randrange(len(values))
    kind = random.random()
    if kind < 0.05:
        return place, np.delete(values, place)
    if kind < 0.1:
        return place, np.insert(values, place, values[place])
    result = values.copy()
    up = random.random() < 0.5
    if result.dtype.kind == "f":
        up = up and bool(np.isfinite(result[place]))
        result[place] = np.nextafter(result[place], np.inf if up else -np.inf)
    else:
        value = int(values[place])
        most = int(np.iinfo(values.dtype).max)
        result[place] = value + 1 if value == 0 or (up and value < most) else value - 1
    return place, result


def _in_data(value: Any, random: Random) -> tuple[str, Any]:
    """JSON-able data with one part changed, and where."""
    if isinstance(value, dict | list) and value and random.random() < 0.97:
        result = deepcopy(value)
        key = random.choice([*value] if isinstance(value, dict) else range(len(value)))
        if random.random() < 0.03:
            del result[key]
            return f".{key} deleted", result
        where, result[key] = _in_data(value[key], random)
        return f".{key}{where}", result
    up = random.random() < 0.5
    if isinstance(value, bool):
        return "", not value
    if isinstance(value, int):
        return "", value + (1 if up else -1)
    if isinstance(value, float):
        return "", float(np.nextafter(value, np.inf if up else -np.inf))
    if isinstance(value, str) and value:
        place = random.randrange(len(value))
        letter = random.choice([c for c in "abcijk0123_,:" if c != value[place]])
        return f"[{place}]", value[:place] + letter + value[place + 1 :]
    return "", {"": 0} if value != {"": 0} else 0

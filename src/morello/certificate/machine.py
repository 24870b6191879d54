"""The machine of a certificate: the costs and capacities that its proof is for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from morello.base.errors import CertificateError
from morello.impl.fields import Fields
from morello.ir.spec import Spec
from morello.memo.space_name import space_name
from morello.space.traits import TilingTraits
from morello.targets import find_target, tuned
from morello.targets.caches import limited
from morello.targets.costs import coefficients, with_coefficients
from morello.targets.machines import MACHINES
from morello.targets.target import Target


def machine_data(target: Target, goal: Spec) -> dict[str, Any]:
    """The machine as JSON-able data; `space` has hashes of its kernels and costs."""
    return {
        "target": target.name,
        "machine": target.machine,
        "cores": target.cores,
        "from_memory": target.from_memory,
        "limits": {level.name: level.capacity for level in target.levels[1:]},
        "costs": coefficients(target),
        "space": space_name(target, TilingTraits.of(target, goal)),
    }


def read_machine(data: Any) -> Target:
    """The machine that `machine_data` gave as this data, with the kernels of this Morello."""
    fields = Fields(data, "the machine")
    name, machine = fields.get("target", str), fields.get("machine", str)
    target = find_target(name)
    if machine != target.machine:
        target = tuned(name, next((m.key for m in MACHINES if m.name == machine), machine))
    limits = dict(Fields(fields.get("limits", dict), "the limits"))
    target = replace(
        target, cores=fields.integer("cores", minimum=1), streaming={}, l2_line=0.0, tunings=(),
        from_memory=fields.get("from_memory", bool),
    )  # fmt: skip
    if limits != {level.name: level.capacity for level in target.levels[1:]}:
        target = limited(target, ",".join(f"{level}={n}" for level, n in limits.items()))
    costs = dict(Fields(fields.get("costs", dict), "the costs"))
    if not all(type(cost) is float for cost in costs.values()):
        raise CertificateError("the costs of the machine are not numbers.")
    return with_coefficients(target, costs)


def check_machine(data: Any, target: Target, goal: Spec) -> None:
    """Raise `CertificateError` unless this is the machine of the data, by hashes and numbers."""
    if as_text(data) != as_text(machine_data(target, goal)):
        raise CertificateError(
            "the certificate is for other costs, kernels or rules than this Morello has for "
            f"{target.name}; make it again."
        )


def as_text(data: Any) -> str:
    """JSON-able data as a text, which is another one for any other data."""
    return json.dumps(data, sort_keys=True)

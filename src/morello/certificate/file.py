"""The file of a certificate; `docs/certificate.md` says what is in it, and why."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.graph import Floats
from morello.certificate.machine import as_text
from morello.impl.fields import Fields
from morello.ir.placements import Ints

MAGIC = b"morello certificate 1\n"
MOST_BYTES = 1 << 30

_KEYS = {
    "machine", "program", "cost", "lower", "relaxed", "relaxed_rewrites", "relaxed_sha256",
    "specs", "states", "expanded", "rewrites",
}  # fmt: skip


@dataclass(frozen=True)
class Certificate:
    """The contents of a certificate file. Arrays are in canonical order.

    Of the relaxed space: the rewrite that each Spec takes, how many rewrites there are, and a hash
    of all values. Of what the proof rests on: the mark of each Spec, the rewrites that expanded
    states take, the values of all states, and how many rewrites there are.
    """

    machine: Any
    program: Any
    cost: float
    lower: float
    relaxed_choices: Ints
    relaxed_rewrites: int
    relaxed_sha256: str
    marks: Ints
    choices: Ints
    values: Floats
    rewrites: int


def hash_of(values: Floats) -> str:
    """The SHA-256 of values as little-endian doubles, in hexadecimal."""
    return hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()


def written(certificate: Certificate) -> bytes:
    """The file of a certificate."""
    header = {
        "machine": certificate.machine,
        "program": certificate.program,
        "cost": certificate.cost,
        "lower": certificate.lower,
        "relaxed": len(certificate.relaxed_choices),
        "relaxed_rewrites": certificate.relaxed_rewrites,
        "relaxed_sha256": certificate.relaxed_sha256,
        "specs": len(certificate.marks),
        "states": len(certificate.values),
        "expanded": len(certificate.choices),
        "rewrites": certificate.rewrites,
    }
    sections = (
        certificate.relaxed_choices.astype("<u2"),
        certificate.marks.astype("u1"),
        certificate.choices.astype("<u2"),
        certificate.values.astype("<f8"),
    )
    body = b"".join(section.tobytes() for section in sections)
    return MAGIC + zlib.compress(f"{as_text(header)}\n".encode() + body, 9)


def read(data: bytes) -> Certificate:
    """Parse the bytes of a file; raises `MorelloError` if they are no certificate."""
    header, body = _parts(data)
    top = Fields(header, "the certificate")
    if unknown := {key for key, _ in top} ^ _KEYS:
        raise CertificateError(f"the certificate lacks, or should not have: {sorted(unknown)}.")
    relaxed, specs, expanded, states = (
        top.integer(name) for name in ("relaxed", "specs", "expanded", "states")
    )
    kinds = [("<u2", relaxed), ("u1", specs), ("<u2", expanded), ("<f8", states)]
    if len(body) != sum(np.dtype(dtype).itemsize * count for dtype, count in kinds):
        raise CertificateError("the certificate has parts of other lengths than it states.")
    sections, start = [], 0
    for dtype, count in kinds:
        sections.append(np.frombuffer(body, dtype, count, start))
        start += sections[-1].nbytes
    return Certificate(
        top.get("machine", dict), top.get("program", dict), _number(top, "cost"),
        _number(top, "lower"), sections[0], top.integer("relaxed_rewrites"),
        top.get("relaxed_sha256", str), sections[1], sections[2], sections[3],
        top.integer("rewrites"),
    )  # fmt: skip


def _parts(data: bytes) -> tuple[Any, bytes]:
    """The header, and the bytes after it."""
    if not data.startswith(MAGIC):
        raise CertificateError("the file is no certificate of this version of Morello.")
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(data[len(MAGIC) :], MOST_BYTES)
        if not inflate.eof or inflate.unused_data:
            raise CertificateError("the certificate is cut off, or goes on after its end.")
        line, _, body = content.partition(b"\n")
        return json.loads(line), body
    except (zlib.error, ValueError, RecursionError) as error:
        raise CertificateError(f"the certificate is damaged: {error}.") from None


def _number(fields: Fields, name: str) -> float:
    value = fields.get(name, float)
    if not isfinite(value) or value <= 0:
        raise CertificateError(f"the certificate: {name} is {value}, and should be above 0.")
    return value

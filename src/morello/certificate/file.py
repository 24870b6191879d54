"""The file of a certificate; `docs/certificate.md` says what is in it, and why."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.graph import Floats
from morello.certificate.machine import as_text
from morello.impl.fields import Fields
from morello.ir.placements import Ints

MAGIC = b"morello certificate 2\n"
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Certificate:
    """The contents of a certificate file. Arrays are in canonical order.

    Of the relaxed space: how many rewrites there are, and a hash of all values. Of what the proof
    rests on: the mark of each Spec, the values of all states, and how many rewrites there are.
    """

    machine: Any
    program: Any
    cost: float
    lower: float
    relaxed_rewrites: int
    relaxed_sha256: str
    marks: Ints
    values: Floats
    rewrites: int


def hash_of(values: Floats) -> str:
    """The SHA-256 of values as little-endian doubles, in hexadecimal."""
    return hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()


def _number(fields: Fields, name: str) -> float:
    value = fields.get(name, float)
    if not isfinite(value) or value <= 0:
        raise CertificateError(f"the certificate: {name} is {value}, and should be above 0.")
    return value


_FIELDS: dict[str, Callable[[Fields, str], Any]] = {
    "machine": lambda fields, name: fields.get(name, dict),
    "program": lambda fields, name: fields.get(name, dict),
    "cost": _number,
    "lower": _number,
    "relaxed_rewrites": Fields.integer,
    "relaxed_sha256": lambda fields, name: fields.get(name, str),
    "rewrites": Fields.integer,
}
"""How each field of the header that is one of a `Certificate` is read."""

_ARRAYS = (
    ("specs", "marks", "u1"),
    ("states", "values", "<f8"),
)
"""The field of the header that counts the elements of each array, the array, and their dtype."""


def written(certificate: Certificate) -> bytes:
    """The file of a certificate."""
    header = {name: getattr(certificate, name) for name in _FIELDS}
    body = b""
    for count, name, dtype in _ARRAYS:
        array = getattr(certificate, name)
        header[count] = len(array)
        body += array.astype(dtype).tobytes()
    return MAGIC + zlib.compress(f"{as_text(header)}\n".encode() + body, 9)


def read(data: bytes) -> Certificate:
    """Parse the bytes of a file; raises `MorelloError` if they are no certificate."""
    header, body = _parts(data)
    top = Fields(header, "the certificate")
    known = {*_FIELDS, *(count for count, _, _ in _ARRAYS)}
    if unknown := {key for key, _ in top} ^ known:
        raise CertificateError(f"the certificate lacks, or should not have: {sorted(unknown)}.")
    given, start = {name: get(top, name) for name, get in _FIELDS.items()}, 0
    for count, name, dtype in _ARRAYS:
        end = start + top.integer(count) * np.dtype(dtype).itemsize
        if end > len(body):
            raise CertificateError("the certificate has less than it states.")
        given[name] = np.frombuffer(body[start:end], dtype)
        start = end
    if start < len(body):
        raise CertificateError("the certificate has more than it states.")
    return Certificate(**given)


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

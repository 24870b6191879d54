"""Training data: graphs and times of a Spec's programs, in TpuGraphs' tile format.

An archive has `node_feat` (n, features), `node_opcode` (n), `edge_index` (m, 2) with (u, v) where u
consumes v, `config_feat` (c, features), `config_runtime` and `config_runtime_normalizers` (c). In
TpuGraphs, the c configurations share one graph. Here each is a program with its own graph, and the
graphs are concatenated: `node_splits` and `edge_splits` (c + 1) say where each begins, `edge_kind`
is 0 for nesting (a loop consumes those inside it) and 1 for flow, `node_parts` (n, parts) and
`fetches` (c, fetches) are cycles of loops and of programs, `terms` (c, terms) the terms of the
affine cost, `config_origin` (c) where programs come from, and `about` is JSON of the family,
expression, machine, noise and version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from morello.base.errors import CorpusError
from morello.learn.archive import Array, read_about, read_arrays, write_arrays
from morello.learn.corpus import SUFFIX, MeasuredSpec, files, read
from morello.learn.features import (
    FETCHES,
    PARTS,
    TERMS,
    VERSION,
    Featurizer,
)
from morello.learn.groups import ProgramGroup, of_programs
from morello.memo.space_name import space_name
from morello.native.cache import default_cache

FEWEST = 2
"""The fewest programs of each Spec: one has no order."""

_KEYS = (
    "node_feat", "node_opcode", "edge_index", "config_feat", "config_runtime",
    "config_runtime_normalizers",
)  # fmt: skip


def program_group(measured: MeasuredSpec) -> ProgramGroup:
    """The programs of a corpus file that are still legal. Raises `CorpusError` if none is."""
    impls = measured.impls()
    kept = [number for number, impl in enumerate(impls) if impl is not None]
    if not kept:
        raise CorpusError(
            f"no program of {measured.expression} is legal any more; collect the corpus again."
        )
    group = of_programs(Featurizer(measured.target), [i for i in impls if i is not None])
    normalizers = np.nan_to_num(np.nanmin(measured.reference, axis=1)) * 1e-9
    return replace(
        group,
        family=measured.family,
        expression=measured.expression,
        seconds=measured.seconds[kept],
        normalizers=normalizers[kept],
        origins=measured.origins[kept],
        noise=measured.noise,
        hertz=float(measured.about["hertz"]),
        machine=str(measured.about["microarchitecture"]),
    )


def write_group(path: Path, group: ProgramGroup) -> None:
    """Write an archive atomically. Raises `FileError`."""
    about = {"version": VERSION, "family": group.family, "expression": group.expression,
             "noise": group.noise, "hertz": group.hertz, "machine": group.machine}  # fmt: skip
    arrays = {
        "node_feat": group.nodes.astype(np.float32),
        "node_opcode": group.opcodes.astype(np.int32),
        "node_parts": group.parts.astype(np.float32),
        "edge_index": group.edges.astype(np.int32),
        "edge_kind": group.kinds,
        "node_splits": group.node_splits,
        "edge_splits": group.edge_splits,
        "config_feat": group.configs.astype(np.float32),
        "config_runtime": np.rint(group.seconds * 1e9).astype(np.int64),
        "config_runtime_normalizers": np.rint(group.normalizers * 1e9).astype(np.int64),
        "config_seconds": group.seconds,
        "config_origin": group.origins,
        "fetches": group.fetches.astype(np.float32),
        "terms": group.terms,
    }
    write_arrays(path, arrays, about)


def read_group(path: Path) -> ProgramGroup:
    """Read an archive, ours or one of TpuGraphs' tile collection. Raises `CorpusError`."""
    arrays = read_arrays(path, "is no archive of programs, or is damaged.")
    try:
        group = _group(path, arrays)
    except (AttributeError, IndexError, TypeError, ValueError):  # of arrays of another kind
        raise CorpusError(f"{path} has arrays that do not fit each other.") from None
    return group


def _group(path: Path, arrays: dict[str, Array]) -> ProgramGroup:
    missing = [key for key in _KEYS if key not in arrays]
    if missing:
        raise CorpusError(f"{path} has no {missing[0]}, which archives of programs have.")
    count, nodes, edges = (
        len(arrays[key]) for key in ("config_runtime", "node_feat", "edge_index")
    )
    about = read_about(arrays) if "about" in arrays else {}
    if about and about.get("version") != VERSION:
        raise CorpusError(
            f"{path} has features of version {about.get('version')}, and this Morello makes "
            f"{VERSION}; make it again."
        )
    runtime = arrays["config_runtime"].astype(np.float64) * 1e-9
    group = ProgramGroup(
        about.get("family", "tpu"),
        about.get("expression", path.stem),
        arrays["node_feat"],
        arrays["node_opcode"],
        arrays.get("node_parts", np.zeros((nodes, len(PARTS)), np.float32)),
        arrays["edge_index"],
        arrays.get("edge_kind", np.zeros(edges, np.int8)),
        arrays.get("node_splits", np.array([0, nodes], np.int32)),
        arrays.get("edge_splits", np.array([0, edges], np.int32)),
        arrays["config_feat"],
        arrays.get("fetches", np.zeros((count, len(FETCHES)), np.float32)),
        arrays.get("terms", np.zeros((count, len(TERMS)))),
        arrays.get("config_seconds", runtime),
        arrays["config_runtime_normalizers"].astype(np.float64) * 1e-9,
        arrays.get("config_origin", np.full(count, -1, np.int8)),
        float(about.get("noise", 0.0)),
        float(about.get("hertz", 1.0)),
        str(about.get("machine", "")),
    )
    _check(path, group)
    return group


def _check(path: Path, group: ProgramGroup) -> None:
    count = len(group.seconds)
    if not count or not (np.isfinite(group.seconds) & (group.seconds > 0)).all():
        raise CorpusError(f"{path} has times that are no positive numbers.")
    if not (np.isfinite(group.nodes).all() and np.isfinite(group.configs).all()):
        raise CorpusError(f"{path} has features that are no numbers.")
    one_each = all(
        len(a) == count
        for a in (group.configs, group.fetches, group.terms, group.normalizers, group.origins)
    )
    splits = (group.node_splits, len(group.nodes)), (group.edge_splits, len(group.edges))
    whole = all(
        len(s) in (2, count + 1) and s[0] == 0 and s[-1] == n and (np.diff(s) >= 0).all()
        for s, n in splits
    )
    inside = (group.edges >= 0).all() and (group.edges < len(group.nodes)).all()
    if not (
        one_each and whole and inside and len(group.opcodes) == len(group.parts) == len(group.nodes)
    ):
        raise CorpusError(f"{path} has arrays that do not fit each other.")


def prepare(corpus: Path, folder: Path, workers: Executor, most: int | None = None) -> list[Path]:
    """Write archives of all files of a corpus, of at most so many programs of each Spec.

    Valid ones newer than their files are kept.
    """
    pairs = [(path, folder / path.name) for path in files(corpus)]
    stale = [pair for pair in pairs if not _is_current(*pair)]
    for _ in workers.map(partial(_prepare_one, most), *zip(*stale, strict=True)) if stale else ():
        pass
    return [archive for _, archive in pairs]


def cached_features(corpus: Path, workers: Executor, most: int | None = None) -> list[Path]:
    """Archives of all files of a corpus with the costs of today, in Morello's cache.

    Of at most so many programs of each Spec, which are `FEWEST` or more.
    """
    if most is not None and most < FEWEST:
        raise CorpusError(f"{FEWEST} programs of each Spec or more are needed, not {most}.")
    costs = space_name(read(files(corpus)[0]).target)
    about = f"{corpus.resolve()} {costs}" + ("" if most is None else f" {most}")
    name = hashlib.sha256(about.encode()).hexdigest()[:16]
    return prepare(corpus, default_cache() / "features" / name, workers, most)


def _is_current(source: Path, archive: Path) -> bool:
    if not archive.exists() or archive.stat().st_mtime < source.stat().st_mtime:
        return False
    try:
        read_group(archive)
    except CorpusError:
        return False
    return True


def _prepare_one(most: int | None, source: Path, archive: Path) -> None:
    measured = read(source)
    write_group(archive, program_group(measured if most is None else measured.sample(most)))


def load(paths: Sequence[Path]) -> list[ProgramGroup]:
    """Read the archives in these files."""
    return [read_group(path) for path in paths if path.suffix == SUFFIX]


@cache
def loaded(paths: tuple[Path, ...]) -> list[ProgramGroup]:
    """`load`, cached per process: archives are too large to be sent with every task."""
    return load(paths)

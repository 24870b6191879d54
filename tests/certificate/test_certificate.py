"""Certificates: what they prove, and that none is accepted in which anything is changed."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import fields, replace
from math import inf, nan
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.sampling import rare, some

from fuzz.adversary import REFUSED, numbered
from fuzz.kinds import KINDS
from fuzz.mutations import mutated
from morello.base.status import Status, listening
from morello.certificate import check as checking
from morello.certificate.check import check
from morello.certificate.file import MAGIC, read, written
from morello.certificate.write import certify
from morello.cli.parser import main
from morello.errors import CertificateError, MorelloError, SearchError
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.search.budget import UNTIMED
from morello.search.session import Session
from morello.targets import find_target
from morello.targets.caches import limited
from morello.targets.catalog import tuned
from morello.targets.costs import on_cores

MUTATIONS = 50


def best(text: str, target: str = "avx2", limits: str = "") -> tuple[Impl, list[Impl]]:
    """The cheapest program of a Spec, and others."""
    machine = find_target(target)
    goal, machine = on_cores(parse(text), limited(machine, limits) if limits else machine)
    session = Session(goal, machine)
    result = session.solve()
    others = [reconstruct(session.goal, machine, d) for d in session.sample(5)]
    return reconstruct(session.goal, machine, result.decisions), others


@pytest.fixture(scope="module")
def small() -> bytes:
    return certify(best("relu(f32[2,2] @ f32[2,4])", limits="registers=4")[0], UNTIMED)


@pytest.mark.parametrize(
    ("text", "limits"),
    some(
        [
            ("f32[8,8] @ f32[8,16]", ""),
            ("relu(f32[4,8] @ f32[8,8] + f32[8])", "registers=7"),
            ("f32[8,8] @ f32[8,8]", "L1=9,registers=6"),
            ("softmax(f32[4,16])", ""),
            ("f32[3,5] @ f32[5,7]", ""),
            ("gelu(f32[4,24] + f32[24])", ""),
        ],
        6,
    ),
)
def test_the_cheapest_program_is_proven(text: str, limits: str) -> None:
    impl, others = best(text, limits=limits)
    checked = check(certify(impl, UNTIMED))
    assert checked.cheapest and checked.impl.cost == impl.cost
    assert all(other.cost >= checked.lower * (1 - 1e-9) for other in others)


def test_a_goal_from_memory_is_proven_with_its_costs() -> None:
    target = replace(tuned("avx512", "zen4"), streaming={}, from_memory=True)
    session = Session(parse("f32[2,600] + f32[600]"), target)
    impl = reconstruct(session.goal, target, session.solve().decisions)
    checked = check(certify(impl, UNTIMED))
    assert checked.cheapest and checked.impl.cost == impl.cost


def test_another_program_is_certified_with_its_gap() -> None:
    impl, others = best("f32[4,4] @ f32[4,8]")
    dearest = max(others, key=lambda other: other.cost)
    checked = check(certify(dearest, UNTIMED))
    assert checked.gap == pytest.approx(dearest.cost / impl.cost - 1) and checked.gap > 0.01
    assert not checked.cheapest


def test_mutated_certificates_are_rejected() -> None:
    """One changed field is one too many, wherever it is."""
    kind = KINDS["certificates"]
    cases = [kind.case(numbered(kind.name, 0, number)) for number in range(MUTATIONS)]
    assert {kind.check(case) for case in cases} == {REFUSED}


def test_each_field_is_mutated(small: bytes) -> None:
    true, random = read(small), Random(0)
    places = {mutated(true, random)[0] for _ in range(3000)}
    for field in fields(true):
        assert any(place.startswith(field.name) for place in places), field.name
    for part in ("machine.costs.", "machine.limits.", "program.rewrites", "marks["):
        assert any(place.startswith(part) for place in places), part


def test_damaged_files_are_refused(small: bytes) -> None:
    random, refused = Random(0), 0
    for _ in range(200):
        changed = bytearray(small)
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        try:
            assert written(read(bytes(changed))) == small  # such as a stated compression level
        except MorelloError:
            refused += 1
    assert refused > 190
    for end in (0, len(MAGIC), len(small) // 2, len(small) - 1):
        with pytest.raises(CertificateError):
            read(small[:end])
    with pytest.raises(CertificateError, match="goes on after its end"):
        read(small + b"x")
    for content in (b"", b"[]\n", b"{\n", b"{}\n", b"[" * 100_000):
        with pytest.raises(MorelloError):
            read(MAGIC + zlib.compress(content))


@pytest.mark.parametrize("number", [0.0, -1.0, inf, nan])
def test_costs_are_above_zero(small: bytes, number: float) -> None:
    for wrong in (replace(read(small), cost=number), replace(read(small), lower=number)):
        with pytest.raises(CertificateError, match="should be above 0"):
            read(written(wrong))


def test_the_checker_uses_nothing_of_the_search() -> None:
    folder = Path(checking.__file__).parent
    for path in folder.glob("*.py"):
        if path.name != "write.py":
            text = path.read_text()
            assert "morello.search" not in text and "morello.engine" not in text, path.name


@rare
def test_the_page_says_how_large_a_certificate_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text()
    text, said = re.findall(r"^\| `(.*)` \| (\d+) kB \|", page, re.M)[0]
    size = len(certify(best(text, "avx512")[0], UNTIMED))
    assert size == pytest.approx(1e3 * int(said), rel=0.1) and size <= 50_000


def test_the_search_expands_more_than_the_proof_needs(small: bytes) -> None:
    impl = check(small).impl
    session = Session(impl.spec, impl.target)
    session.solve()
    expanded = session.expanded_specs()
    assert expanded is not None
    marks = read(small).marks
    assert 0 < np.count_nonzero(marks) <= sum(len(specs) for specs, _ in expanded)


def test_what_a_search_did_not_expand_is_proven_too(
    small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    impl = check(small).impl
    monkeypatch.setattr(Session, "expanded_specs", lambda _: [])
    assert check(certify(impl, UNTIMED)).cheapest


def test_a_certificate_needs_a_lower_bound_and_one_machine() -> None:
    impl, _ = best("f32[2,2] @ f32[2,2]")
    with pytest.raises(SearchError, match="one machine"):
        certify(Impl(impl.spec, find_target("x86-64-v3")), UNTIMED)


def test_the_command_does_not_search_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.cert"
    goal = ["f32[4,4] * 0.5", "--target", "avx2", "--certificate", str(path)]
    monkeypatch.setattr("morello.certificate.write.Session", None)
    assert main(["synth", *goal, "--no-table", "-o", str(tmp_path / "x.c")]) == 0
    assert main(["explain", *goal, "--no-table", "--json"]) == 0
    assert check(path.read_bytes()).cheapest


def test_a_program_from_a_table_is_certified(tmp_path: Path) -> None:
    path, table = tmp_path / "x.cert", tmp_path / "t.db"
    goal = ["f32[4,4] * 0.5", "--target", "avx2", "--db", str(table)]
    for _ in range(2):  # the second time, nothing is searched for the program
        path.unlink(missing_ok=True)
        assert main(["explain", *goal, "--certificate", str(path), "--json"]) == 0
        assert check(path.read_bytes()).cheapest


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "x.cert", tmp_path / "x.c"
    goal = ["f32[4,4] @ f32[4,8]", "--target", "avx2", "--no-table", "--certificate", str(path)]
    assert main(["synth", *goal, "-o", str(out)]) == 0
    assert out.exists()
    capsys.readouterr()
    heard: list[Status] = []
    with listening(heard.append):
        assert main(["check", str(path)]) == 0
    assert {status.phase for status in heard} == {"check"}
    assert "no program costs less.\n" in capsys.readouterr().out
    assert main(["check", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["cheapest"] and said["gap"] == 0 and said["cost"] == said["lower"]
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["check", str(path)]) == 2
    assert "cut off" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none")]) == 2
    assert main(["explain", *goal[:-2], "--top", "2", "--certificate", str(path)]) == 2
    assert "leave out --top" in capsys.readouterr().err
    assert main(["synth", *goal, "--rows", "2"]) == 2
    assert "leave out --rows" in capsys.readouterr().err

"""Corpora: programs that differ and compute the same, times, files, and files that are none."""

from __future__ import annotations

import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.waiting import PATIENCE_S

from morello.base.errors import CorpusError
from morello.base.status import Status, listening
from morello.cli.parser import main
from morello.frontends.text import parse
from morello.learn import hardware
from morello.learn import label as labels
from morello.learn.collect import MeasuringMachine, name_of
from morello.learn.corpus import VERSION, MeasuredSpec, read, write
from morello.learn.hardware import Compiled
from morello.learn.label import REPEATS, SAMPLE_NS, BuiltPrograms, label, source
from morello.learn.programs import ORIGINS, propose
from morello.learn.specs import SPECS, interleaved, varied
from morello.measure.timing import Runner
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler
from morello.targets.catalog import uncalibrated

EXPRESSION = "max(f32[8,32], axis=0)"
COUNT = 9


@pytest.fixture(scope="module")
def measured() -> MeasuredSpec:
    return MeasuringMachine.here().measured("columns", EXPRESSION, COUNT)


def test_there_are_many_specs_of_many_families() -> None:
    every = interleaved()
    assert len(SPECS) >= 10 and len(every) >= 120
    assert len({expression for _, expression in every}) == len(every)
    assert {family for family, _ in every[: len(SPECS)]} == set(SPECS)
    assert len({name_of(expression) for _, expression in every}) == len(every)
    for _, expression in every:
        assert parse(expression).flops >= 0


def test_more_specs_are_of_the_same_families_at_other_sizes() -> None:
    more = varied(200)
    assert more[:100] == varied(100) != varied(100, seed=1)
    assert {family for family, _ in more} == set(SPECS)
    assert len({*more, *interleaved()}) == 200 + len(interleaved())
    for family, expression in more:
        assert _without_sizes(expression) in map(_without_sizes, SPECS[family])
        assert parse(expression).flops >= 0


def _without_sizes(expression: str) -> str:
    return re.sub(r"(?<![a-z\d])\d+", "n", expression)


def test_programs_differ_and_come_of_all_origins() -> None:
    target = uncalibrated()
    found = propose(parse(EXPRESSION), target, 30, seed=1, seconds=inf)
    assert {ORIGINS[one.origin] for one in found} == {"best", "random", "mutated"}
    texts = {source([one.impl], ["one"]) for one in found}
    assert len(texts) == len(found) > 20
    best = found[0].impl.cost
    assert all(one.impl.cost >= best * (1 - 1e-9) for one in found)
    again = propose(parse(EXPRESSION), target, 30, seed=1, seconds=inf)
    assert [one.impl.decisions() for one in found] == [one.impl.decisions() for one in again]


def test_times_are_of_all_repeats(measured: MeasuredSpec) -> None:
    assert measured.repeats.shape == measured.reference.shape
    assert measured.repeats.shape[1] == REPEATS and len(measured.schedules) > COUNT / 2
    assert (measured.seconds > 0).all() and (measured.seconds < 1e-3).all()
    assert measured.about["wrong"] == measured.about["lost"] == 0
    impls = [impl for impl in measured.impls() if impl is not None]
    assert len(impls) == len(measured.schedules)


def test_a_file_says_what_was_measured(measured: MeasuredSpec, tmp_path: Path) -> None:
    path = tmp_path / "new" / "one.npz"
    write(path, measured)
    back = read(path)
    assert back.about == {**measured.about, "version": VERSION}
    assert json.dumps(back.schedules) == json.dumps(measured.schedules)
    np.testing.assert_array_equal(back.origins, measured.origins)
    np.testing.assert_allclose(back.repeats, measured.repeats, rtol=1e-6)
    with np.load(path, allow_pickle=False) as archive:
        runtime = archive["config_runtime"]
        assert runtime.dtype == archive["config_runtime_normalizers"].dtype == np.int64
        np.testing.assert_allclose(runtime, measured.seconds * 1e9, atol=0.51)


def _changed(field: str, value: float) -> Callable[[MeasuredSpec], MeasuredSpec]:
    def change(one: MeasuredSpec) -> MeasuredSpec:
        table = getattr(one, field).copy()
        table[0, :] = value
        return replace(one, **{field: table})

    return change


POISONS: dict[str, Callable[[MeasuredSpec], MeasuredSpec]] = {
    "no positive": _changed("repeats", 0.0),
    "no positive numbers": _changed("repeats", np.inf),
    "positive": _changed("repeats", np.nan),
    "another number": lambda one: replace(one, origins=one.origins[1:]),
    "unknown origin": lambda one: replace(one, origins=one.origins + np.int8(7)),
    "lacks": lambda one: replace(one, about={"family": "squares"}),
}


@pytest.mark.parametrize("said", POISONS)
def test_bad_numbers_are_refused(measured: MeasuredSpec, tmp_path: Path, said: str) -> None:
    path = tmp_path / "bad.npz"
    with warnings.catch_warnings(action="ignore"):
        write(path, POISONS[said](measured))
    with pytest.raises(CorpusError, match=said):
        read(path)


def test_other_files_are_refused(measured: MeasuredSpec, tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    write(path, measured)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match="damaged"):
        read(path)
    path.write_text("no archive")
    with pytest.raises(CorpusError, match="damaged"):
        read(path)
    with path.open("wb") as file:
        np.savez(file, about=np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(CorpusError, match="damaged"):  # a pickle, which may run code
        read(path)
    with pytest.raises(CorpusError, match="cannot read"):
        read(tmp_path / "none.npz")


def damages(raw: bytes) -> Iterator[bytes]:
    """A file with a byte or several changed, or cut short."""
    random = Random(0)
    for _ in range(150):
        changed = bytearray(raw)
        for _ in range(random.choice([1, 2, 8])):
            changed[random.randrange(len(raw))] = random.randrange(256)
        yield bytes(changed[: random.randrange(len(raw))] if random.random() < 0.2 else changed)


def test_no_damage_gets_a_traceback(measured: MeasuredSpec, tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    write(path, measured)
    refused = 0
    for content in damages(path.read_bytes()):
        path.write_bytes(content)
        try:
            read(path)
        except CorpusError:
            refused += 1
    assert refused > 100


def test_an_array_that_claims_to_be_huge_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "huge.npz"
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    with zipfile.ZipFile(path, "w") as archive, archive.open("repeats.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)
    with pytest.raises(CorpusError, match="damaged"):
        read(path)


NO_NUMBERS: tuple[object, ...] = (True, None, "x", [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, value) for name in ("caches", "hertz", "spec") for value in NO_NUMBERS),
        ("hertz", -1),
        ("hertz", float("nan")),
        ("caches", {"L2": 1, "L1": True, "registers": 32}),
        ("microarchitecture", 1),
    ],
)
def test_descriptions_of_wrong_types_are_refused(
    field: str, value: object, measured: MeasuredSpec, tmp_path: Path
) -> None:
    write(tmp_path / "one.npz", replace(measured, about={**measured.about, field: value}))
    with pytest.raises(CorpusError, match="lacks what a corpus has"):
        read(tmp_path / "one.npz")


@pytest.mark.parametrize("about", [b"true", b"[1]", b"{", b"3"])
def test_what_is_no_description_is_refused(about: bytes, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", about=np.frombuffer(about, np.uint8))
    with pytest.raises(CorpusError, match="lacks"):
        read(tmp_path / "one.npz")


@pytest.mark.parametrize("origins", [np.array(True), np.array(["0"]), np.zeros((1, 1))])
def test_origins_of_another_kind_are_refused(
    origins: npt.NDArray[Any], measured: MeasuredSpec, tmp_path: Path
) -> None:
    write(tmp_path / "one.npz", replace(measured, origins=origins))
    with pytest.raises(CorpusError, match=r"lacks|another number"):
        read(tmp_path / "one.npz")


def test_a_single_repeat_has_no_noise_to_tell(measured: MeasuredSpec) -> None:
    assert np.isnan(replace(measured, repeats=measured.repeats[:, :1]).noise)


def test_another_version_is_refused(
    measured: MeasuredSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morello.learn.corpus.VERSION", VERSION + 1)
    write(tmp_path / "one.npz", measured)
    monkeypatch.undo()
    with pytest.raises(CorpusError, match=f"version {VERSION + 1}"):
        read(tmp_path / "one.npz")


# ---- processes of their own


BAD = {
    "crashes": "*(volatile int *)0 = 0;",
    "hangs": "for (volatile int i = 0; i >= 0;) i = 1;",
}


@pytest.mark.parametrize("kind", BAD)
def test_one_bad_program_costs_itself(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ""

    def patience(machine: MeasuringMachine, programs: Sequence[Compiled]) -> float:
        hangs = kind == "hangs" and any(one.name == bad for one in programs)
        return 1.0 if hangs else PATIENCE_S

    def spoiled(impls: Any, names: list[str]) -> str:
        nonlocal bad
        text, bad = source(impls, names), names[1]
        head = f"void {bad}("
        before, after = text.split(head)
        return before + head + after.replace("{", "{\n  " + BAD[kind], 1)

    monkeypatch.setattr(hardware, "source", spoiled)
    monkeypatch.setattr(MeasuringMachine, "_patience", patience)
    found = MeasuringMachine.here().measured("columns", EXPRESSION, 6)
    assert found.about["lost"] == 1 and len(found.schedules) >= 4


@pytest.mark.parametrize(("slow", "repeated"), [(4.0, [5, 5, 5, 2]), (1.25, [5, 5, 2, 2])])
def test_slow_programs_are_repeated_less_often(slow: float, repeated: list[int]) -> None:
    each = [1_000, 1_200, 1_400, 5_000]
    spent = [0] * len(each)

    def runner(number: int) -> Runner:
        def run(calls: int) -> int:
            spent[number] += calls * each[number]
            return calls * each[number]

        return run

    runs = [*map(runner, range(len(each)))]
    times, reference = labels._warm(runs, np.zeros(len(each), np.bool_), slow)
    assert np.isfinite(times).sum(axis=1).tolist() == repeated
    assert np.nanmin(times, axis=1).tolist() == each
    assert np.isfinite(reference).sum(axis=1).tolist() == repeated
    for ns, repeats in zip(spent[1:], repeated[1:], strict=True):  # the first is the reference, too
        assert repeats * SAMPLE_NS <= ns * 1.05 and ns <= (repeats + 0.7) * SAMPLE_NS


def test_wrong_results_have_no_times() -> None:
    machine = MeasuringMachine.here()
    one = propose(parse(EXPRESSION), machine.target, 3, seed=0, seconds=inf)[0].impl
    text = source([one, one], ["right", "wrong"])
    text = text[::-1].replace("}", "};1 + ]0[tuo = ]1[tuo  ", 1)[::-1]
    compiler = find_compiler()
    path = build(text, compiler=compiler, flags=arch_flags(compiler, machine.target.arch))
    found = label(BuiltPrograms(EXPRESSION, [(path, ["right", "wrong"])]), compiler, cold=True)
    assert found.wrong.tolist() == [False, True]
    assert np.isnan(found.repeats).all(axis=1).tolist() == [False, True]
    assert np.isfinite(found.cold[0]).all() and (found.cold[0] > 0).all()


# ---- the command


def test_collecting_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    two = {"columns": (EXPRESSION,), "maps": ("relu(f32[64])",)}
    monkeypatch.setattr("morello.cli.learn.SPECS", two)
    monkeypatch.setattr("morello.learn.specs.SPECS", two)
    arguments = ["learn", "collect", str(tmp_path), "--programs", "6", "--json"]
    assert main([*arguments, "--only", "maps"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["specs"] == first["families"] == 1 and first["programs"] >= 3
    (path,) = tmp_path.iterdir()
    written = path.stat().st_mtime_ns
    heard: list[Status] = []
    with listening(heard.append):
        assert main(arguments) == 0
    assert [(status.done, status.count) for status in (heard[0], heard[-1])] == [(1, 2), (2, 2)]
    captured = capsys.readouterr()
    assert json.loads(captured.out)["families"] == 2 and "relu" not in captured.err
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--programs", "0"], "3 to"), (["--only", "squirrels"], "there are squares"),
     (["--varied", "-1"], "0 to 100,000 Specs"),
     (["--dask", "nowhere:1"], "Dask")],
)  # fmt: skip
def test_what_cannot_be_collected(
    more: list[str], said: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("morello.precompute.DASK_S", 1.0)
    assert main(["learn", "collect", str(tmp_path), *more]) == 2
    assert said in capsys.readouterr().err

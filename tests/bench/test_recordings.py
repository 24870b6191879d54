"""Costs as shipped choose well among the recorded programs of machines that are not here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from tests.sampling import some

from benchmarks import record
from benchmarks.recording import FOLDER, Judged, Recorded, Recording, impls, judged, read
from morello.learn import corpus
from morello.targets import costs

RECORDINGS = some(sorted(FOLDER.glob("*.json.gz")), 3)

STRIDE = 2
"""Of the programs of each Spec, the fastest first, every so many are judged."""

MOST = {
    "sapphire-rapids": (0.043, 0.0109, 2, 6),
    "zen3": (0.041, 0.0063, 2, 104),
    "zen4": (0.043, 0.0063, 3, 1),
    "zen5": (0.049, 0.0074, 3, 57),
}
"""By recording: how much slower than the fastest the first choices are in the mean, and the
fastest of the first five, at most; of how many Specs the first is slower by 12 %; and how many
programs are not legal any more, as they are now known not to fit."""


@pytest.fixture(scope="module", params=RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def recorded(request: pytest.FixtureRequest) -> tuple[str, Recording]:
    path: Path = request.param
    whole = read(path)
    specs = [replace(one, programs=one.programs[::STRIDE]) for one in whole.specs]
    return path.name.partition(".")[0], replace(whole, specs=specs)


@pytest.fixture(scope="module")
def choices(recorded: tuple[str, Recording]) -> dict[str, Judged]:
    """The choice for each expression, with costs as they ship."""
    _, recording = recorded
    return {one.expression: judged(recording, one) for one in recording.specs}


def test_choices_among_recorded_programs(
    recorded: tuple[str, Recording], choices: dict[str, Judged]
) -> None:
    name, _ = recorded
    found = choices.values()
    first, five, slow, lost = MOST[name]
    assert mean(one.first for one in found) <= first
    assert mean(one.five for one in found) <= five
    assert sum(one.first > 0.12 for one in found) <= slow
    assert sum(one.lost for one in found) <= lost


def test_costs_that_are_wrong_choose_badly(
    recorded: tuple[str, Recording],
    choices: dict[str, Judged],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, recording = recorded
    few = [one for one in recording.specs if one.expression.startswith(("f32[128,", "f32[256,2"))]
    honest = sum(choices[one.expression].first for one in few)
    known = costs.coefficients(recording.target)
    inverse = {name: 1 / cost if cost else 0.0 for name, cost in known.items()}
    wrong = costs.with_coefficients(recording.target, inverse)
    monkeypatch.setattr(Recording, "target", wrong)
    assert sum(judged(recording, one).first for one in few) > honest


def test_programs_that_are_illegal_are_counted(recorded: tuple[str, Recording]) -> None:
    _, recording = recorded
    whole = recording.specs[0]
    broken = Recorded(whole.expression, whole.spec, [([], 1e-9), *whole.programs[:3]])
    assert judged(recording, broken).lost == 1
    assert len(impls(recording, broken)) == 3
    with pytest.raises(ValueError, match="no program of"):
        judged(recording, Recorded(whole.expression, whole.spec, [([], 1e-9)]))


def test_a_machine_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = ("max(f32[8,32], axis=0)", "tanh(f32[8,64])", "sum(f32[8,32], axis=0)")
    monkeypatch.setattr(record, "EXPRESSIONS", cheap)
    out = tmp_path / "here.json.gz"
    command = [str(out), "--only", "f32[8,32]", "--programs", "6", "--seconds", "0.01"]
    assert record.main(command) == 0
    written = out.stat().st_mtime_ns
    assert record.main(command) == 0
    assert out.stat().st_mtime_ns == written, "what is there is not timed again"
    found = read(out)
    assert len(found.specs) == 2 and found.hertz > 1e8
    for one in found.specs:
        times = [seconds for _, seconds in one.programs]
        assert len(times) > 3 and times == sorted(times) and times[0] > 0
        assert judged(found, one).lost == 0


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("zen3/bf16-8-512-bf16-512-512-ec6070.npz", 0.02),
        ("zen5/bf16-4-768-bf16-768-768-4ec409.npz", 0.35),
        ("zen5/bf16-1-1024-bf16-1024-1024-8d56ee.npz", 0.01),
    ],
)
def test_rows_that_are_converted_take_as_long_from_anywhere(name: str, most: float) -> None:
    measured = corpus.read(Path(__file__).parents[2] / "corpora" / name)
    times = [
        (impl.cost, seconds)
        for impl, seconds in zip(measured.impls(), measured.seconds, strict=True)
        if impl is not None
    ]
    assert min(times)[1] / min(seconds for _, seconds in times) - 1 <= most

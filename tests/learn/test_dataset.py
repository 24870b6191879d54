"""Archives of graphs and times, ours and TpuGraphs', and models judged by them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.made_up import EXPRESSIONS, made_up

from morello.base.errors import CorpusError
from morello.base.status import Status, listening
from morello.cli.parser import main
from morello.learn import evaluate
from morello.learn.affine import Affine, Refitted
from morello.learn.corpus import read, write
from morello.learn.dataset import prepare, program_group, read_group, write_group
from morello.learn.groups import ProgramGroup


def test_archives_hold_every_program(groups: list[ProgramGroup]) -> None:
    for group, (family, expression) in zip(groups, EXPRESSIONS, strict=True):
        assert (group.family, group.expression) == (family, expression) and not group.shared
        count = len(group.seconds)
        assert len(group.node_splits) == len(group.edge_splits) == count + 1 > 5
        np.testing.assert_allclose(group.cost / group.hertz, group.seconds, rtol=0.03)
        for n in range(count):
            low, high = group.node_splits[n : n + 2]
            inside = group.edges[group.edge_splits[n] : group.edge_splits[n + 1]]
            assert ((inside >= low) & (inside < high)).all()
            nested = inside[group.kinds[group.edge_splits[n] : group.edge_splits[n + 1]] == 0]
            assert sorted(nested[:, 1].tolist()) == list(range(low + 1, high))


def test_preparing_again_changes_nothing(tmp_path: Path) -> None:
    corpus, folder = tmp_path / "corpus", tmp_path / "groups"
    for number, (family, expression) in enumerate(EXPRESSIONS[2:]):
        write(corpus / f"{number}.npz", made_up(family, expression))
    with ThreadPoolExecutor(1) as workers:
        paths = prepare(corpus, folder, workers)
        before = [path.stat().st_mtime_ns for path in paths]
        assert prepare(corpus, folder, workers) == paths
        assert [path.stat().st_mtime_ns for path in paths] == before
        paths[0].write_bytes(b"damaged")
        prepare(corpus, folder, workers)
    assert len(read_group(paths[0]).seconds) > 5
    assert paths[1].stat().st_mtime_ns == before[1]


def tpu_arrays() -> dict[str, Any]:
    """An archive as TpuGraphs has them: 3 steps, 4 configurations."""
    random = np.random.default_rng(1)
    return {
        "node_feat": random.random((3, 140), np.float32),
        "node_opcode": np.array([5, 9, 9], np.int32),
        "edge_index": np.array([[2, 1], [1, 0]], np.int32),
        "config_feat": random.random((4, 24), np.float32),
        "config_runtime": np.array([1000, 2000, 3000, 4000]),
        "config_runtime_normalizers": np.array([2000, 2000, 2000, 2000]),
    }


def test_tpu_graphs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "conv.1.npz"
    np.savez(path, **tpu_arrays())
    group = read_group(path)
    assert group.shared and group.family == "tpu" and group.expression == "conv.1"
    assert group.seconds == pytest.approx([1e-6, 2e-6, 3e-6, 4e-6]) and group.nodes.shape[1] == 140
    np.testing.assert_allclose(group.seconds / group.normalizers, [0.5, 1, 1.5, 2])


BAD: dict[str, dict[str, Any]] = {
    "no positive numbers": {"config_runtime": np.array([1, 2, 0, 4])},
    "features that are no numbers": {"node_feat": np.full((3, 140), np.nan, np.float32)},
    "no config_feat": {"config_feat": None},
    "do not fit each other": {"edge_index": np.array([[2, 7]])},
    "arrays that do not fit": {"node_opcode": np.zeros(5, np.int32)},
    "features of version 0": {"about": np.frombuffer(b'{"version": 0}', np.uint8)},
    "arrays that do not fit each": {"about": np.frombuffer(b"true", np.uint8)},
    "arrays that do not fit each other": {"about": np.frombuffer(b"{", np.uint8)},
    "not fit each other": {"node_feat": np.array(True)},
}


@pytest.mark.parametrize("said", BAD)
def test_bad_archives_are_refused(said: str, tmp_path: Path) -> None:
    arrays = {name: a for name, a in (tpu_arrays() | BAD[said]).items() if a is not None}
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(CorpusError, match=said):
        read_group(path)


def test_truncated_archives_are_refused(groups: list[ProgramGroup], tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    write_group(path, groups[0])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CorpusError, match="damaged"):
        read_group(path)
    with pytest.raises(CorpusError, match="cannot read"):
        read_group(tmp_path / "none.npz")


def test_programs_that_are_no_longer_legal_are_left_out(tmp_path: Path) -> None:
    one = made_up("maps", "relu(f32[256])")
    spoiled = [[{"name": "select", "kernel": "none"}], *one.schedules[1:]]
    assert len(program_group(replace(one, schedules=spoiled)).seconds) == len(one.schedules) - 1
    with pytest.raises(CorpusError, match="no program"):
        program_group(replace(one, schedules=[spoiled[0]] * len(spoiled)))


def test_features_may_be_of_some_of_the_programs(tmp_path: Path) -> None:
    one = made_up("maps", "relu(f32[30,50])")
    write(tmp_path / "one.npz", one)
    one = read(tmp_path / "one.npz")
    with ThreadPoolExecutor(1) as workers:
        (archive,) = prepare(tmp_path, tmp_path / "features", workers, most=4)
    some = read_group(archive)
    every = one.seconds.tolist()
    assert len({*some.seconds} & {*every}) == 4 < len(every)
    assert some.seconds[0] == every[0]  # the search's first choice
    assert one.sample(len(every)) is one and one.sample(1).seconds.tolist() == every[:1]


# ---- models that know the affine cost alone


def test_the_affine_cost_is_judged_by_its_order(groups: list[ProgramGroup]) -> None:
    model = Affine()
    for group in groups:
        np.testing.assert_allclose(np.exp(model.predict(group)), group.seconds, rtol=0.03)


def test_refitting_finds_the_coefficients(groups: list[ProgramGroup]) -> None:
    factors = np.random.default_rng(0).uniform(0.5, 2.0, groups[0].terms.shape[1])
    slower = [replace(g, seconds=(g.terms @ factors) / g.hertz) for g in groups]
    model = Refitted()
    model.fit(slower, 0)
    for group in slower:
        off = np.abs(model.predict(group) - np.log(group.seconds))
        assert off.max() < 0.3 and off.mean() < np.abs(np.log(group.cost / group.hertz)
                                                       - np.log(group.seconds)).mean()  # fmt: skip


def test_models_never_learn_from_what_they_are_judged_by(
    groups: list[ProgramGroup], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    class Spy(Affine):
        def fit(self, groups: Any, seed: int) -> None:
            self.known = {group.expression for group in groups}

        def predict(self, group: ProgramGroup) -> Any:
            assert group.expression not in self.known
            seen.append(self.known)
            return super().predict(group)

    monkeypatch.setattr(evaluate, "baselines", lambda: {"spy": Spy})
    scores = list(evaluate.evaluate(groups))
    assert [one.protocol for one in scores] == ["random", "family"] and len(seen) == 2 * len(groups)
    for one in scores:
        assert one.specs == len(groups) and one.tau[1] <= one.tau[0] <= one.tau[2]
        assert one.tau[0] > 0.9 and one.ape[0] < 2.0 and one.regrets[50] == 0.0


@pytest.mark.parametrize(
    ("numbers", "protocols"), [([0], []), ([0, 1], ["random"]), ([0, 1, 2], ["random", "family"])]
)
def test_small_corpora_are_judged_as_far_as_they_can_be(
    numbers: list[int], protocols: list[str], groups: list[ProgramGroup]
) -> None:
    few = [groups[n] for n in numbers]
    if not protocols:
        with pytest.raises(CorpusError, match="collect other Specs"):
            list(evaluate.evaluate(few))
        return
    scores = list(evaluate.evaluate(few))
    assert list(dict.fromkeys(one.protocol for one in scores)) == protocols
    assert all(np.isfinite(one.ape[0]) for one in scores)


def test_the_command_tells_the_scores(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "evaluate", str(corpus), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {one["model"] for one in scores} == set(evaluate.baselines())
    assert all(one["regrets"]["1"] < 5 for one in scores if one["model"] == "affine")
    heard: list[Status] = []
    with listening(heard.append):
        assert main(["learn", "evaluate", str(corpus)]) == 0
    assert {status.phase for status in heard} == {"train"}
    assert "APE" in capsys.readouterr().out
    assert main(["learn", "evaluate", str(corpus / "nowhere")]) == 2
    assert "has no corpus" in capsys.readouterr().err

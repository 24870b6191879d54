"""The study, what it writes, what is trained to ship, and models on another machine."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from morello.base.errors import CorpusError
from morello.cli import learn as learn_commands
from morello.cli.parser import main
from morello.learn import fits, shipping
from morello.learn.affine import Affine
from morello.learn.archive import read_arrays
from morello.learn.corpus import files, read, write
from morello.learn.dataset import read_group, write_group
from morello.learn.evaluate import judge, score
from morello.learn.features import NODE_FEATURES, PROGRAM_FEATURES
from morello.learn.groups import ProgramGroup
from morello.learn.model import read_model, write_model
from morello.learn.network import CoefficientNetwork
from morello.learn.training import NetworkEstimator, Recipe, model_of
from study import __main__ as study_command
from study import compiled, costs, experiments, shipped
from study.compiled import Counted
from study.experiments import Experiment, ExperimentResult, again
from study.groups import part_of
from study.limits import PROTOCOL, blinded, halved, measured_again, starting
from study.machine_code import CLASSES, FEATURES, divided
from study.report import BEGIN, END, write_report
from study.shipped import judged
from study.trees import Trees

QUICK = Recipe(CoefficientNetwork(width=8), steps=10, specs=2, programs=6)

HOW = "model", "model and cost", "model, corrected", "model, corrected and cost"
"""How models of other machines predict."""


@pytest.fixture(scope="module")
def paths(groups: list[ProgramGroup], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("features")
    for number, group in enumerate(groups):
        write_group(folder / f"{number}.npz", group)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def results(paths: list[Path]) -> list[ExperimentResult]:
    some = [
        Experiment("models", "affine", Affine),
        Experiment("models", "network", partial(NetworkEstimator, QUICK), "family", 2),
        Experiment(
            "models", "and cost", partial(NetworkEstimator, QUICK), "family", 2, with_cost=True
        ),
        Experiment("curve", "half", partial(NetworkEstimator, QUICK), part=0.5),
        Experiment(
            "features", "blind", partial(NetworkEstimator, QUICK), blind=starting("L1_", "times")
        ),
        Experiment("limits", "trees", partial(Trees, "residual"), PROTOCOL, blind=starting("cost")),
    ]
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as workers:
        patch.setattr(experiments, "trials", lambda seeds: iter(some))
        return list(experiments.run(paths, 2, workers))


def test_every_trial_has_a_result(results: list[ExperimentResult]) -> None:
    assert [len(one.each) for one in results] == [1, 2, 2, 1, 1, 1]
    affine, network, blended, *_ = results
    assert affine.mean.tau[0] > 0.9 and np.isfinite(network.mean.tau[0])
    assert network.mean.tau[0] < blended.mean.tau[0]
    assert affine.mean.reranked[0] < 2.0
    assert network.each[0].tau != network.each[1].tau
    assert [one.mean.specs for one in results] == [4, 4, 4, 4, 4, 8]


def test_halves_have_each_program_once(groups: list[ProgramGroup]) -> None:
    halves, splits = halved(groups, seed=0)
    for number, group in enumerate(groups):
        both = np.concatenate([one.seconds for one in halves[number :: len(groups)]])
        assert sorted(both) == sorted(group.seconds)
    assert {*splits[0].train} == {*splits[1].test} == {*range(len(groups))}
    assert not {*splits[0].train} & {*splits[0].test}


def test_costs_are_judged_without_features(
    corpus: Path, groups: list[ProgramGroup], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert costs.main([str(corpus)]) == 0
    _, _, whole, *families = capsys.readouterr().out.splitlines()
    affine = {number: Affine().predict(group) for number, group in enumerate(groups)}
    expected = score("costs", "", judge(groups, affine, absolute=True))
    assert f"| {expected.tau[0]:.3f} (" in whole and f"| {expected.mape[0]:.1f} |" in whole
    assert len(families) == len({group.family for group in groups})
    assert costs.main([str(tmp_path)]) == 2 and "no corpus" in capsys.readouterr().err


def test_noise_is_what_measuring_again_gets_wrong(corpus: Path) -> None:
    found = again(files(corpus)).mean
    assert 0.5 < found.tau[0] < 1.0 and found.specs == 4
    exact = measured_again(
        replace(one, repeats=np.ones_like(one.repeats)) for one in map(read, files(corpus))
    )
    assert exact.regrets[1] == 0.0


def test_hidden_features_are_zero(groups: list[ProgramGroup]) -> None:
    hidden = starting("share", "cycles_")
    one = blinded(groups[0], hidden)
    for names, before, after in (
        (NODE_FEATURES, groups[0].nodes, one.nodes),
        (PROGRAM_FEATURES, groups[0].configs, one.configs),
    ):
        seen = [name not in hidden for name in names]
        assert (after[:, np.logical_not(seen)] == 0).all() and not all(seen)
        np.testing.assert_array_equal(after[:, seen], before[:, seen])


def test_tables_and_plots_are_put_into_a_page(
    results: list[ExperimentResult], tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_report(page, results, "On four Specs:")
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| random | affine |" in text and "network, mean of 2" in text
    for plot in ("learning-curve.svg", "regret.svg"):
        assert f"({plot})" in text and "<svg" in (tmp_path / plot).read_text()
    first = (tmp_path / "regret.svg").read_bytes()
    write_report(page, results, "On four Specs:")
    assert page.read_text() == text and (tmp_path / "regret.svg").read_bytes() == first
    page.write_text("no marks")
    with pytest.raises(CorpusError, match="no lines"):
        write_report(page, results, "")


def test_what_ships_is_trained(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "Recipe", lambda: QUICK)
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    elsewhere = tmp_path / "elsewhere.npz"
    group = read_group(paths[0])
    write_group(elsewhere, replace(group, machine="Zen 3", hertz=3e9))
    with ThreadPoolExecutor(1) as workers:
        model = shipping.train([*paths, elsewhere], 0, workers)
        monkeypatch.setattr(fits, "model_of", None)  # nothing is trained twice
        monkeypatch.setattr(fits, "predictions", None)
        again = shipping.train([*paths, elsewhere], 0, workers)
    assert again.seen == model.seen and again.unseen == model.unseen
    for one, other in zip(model.members, again.members, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert len(model.members) == shipping.MEMBERS
    for errors in (model.seen, model.unseen):
        assert all(low < high for low, high in (errors.every, *errors.families.values()))
        assert "products" in errors.families
    assert model.clocks == {"Zen 5": 4e9, "Zen 3": 3e9}
    every = [read_group(path) for path in (*paths, elsewhere)]
    assert [split.name for split in shipping.machines_apart(every)] == ["Zen 3"]
    assert model.errors("Zen 3") == model.seen and model.errors("Zen 4") == model.unseen
    write_model(tmp_path / "model.npz", model)
    assert read_model(tmp_path / "model.npz").clocks == model.clocks


def test_what_is_trained_depends_on_the_code_that_training_imports() -> None:
    names = {path.stem for path in fits.CODE}
    assert {"training", "network", "batches", "groups", "evaluate", "affine"} <= names
    assert not names & {"features", "nest", "corpus", "tune"} and all(map(Path.exists, fits.CODE))
    assert {"trees", "limits", "groups"} <= {path.stem for path in experiments.CODE}


def test_models_of_another_machine_are_corrected(groups: list[ProgramGroup]) -> None:
    there = [replace(group, seconds=3.0 * group.seconds) for group in groups]
    found = {score.model: score for score in judged(model_of(groups, QUICK, 0), there)}
    assert list(found) == ["affine", *HOW]
    better, plain = (found[name].mape[0] for name in ("model, corrected", "model"))
    assert better < plain or np.isnan(plain)


def test_the_model_that_ships_is_judged_elsewhere(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path))
    assert shipped.main([str(corpus)]) == 0
    _, _, affine, *others = capsys.readouterr().out.splitlines()
    assert "| unseen | corpus0: affine |" in affine and len(others) == len(HOW)
    assert shipped.main([str(tmp_path / "nowhere")]) == 2
    assert "study.shipped: " in capsys.readouterr().err


def test_parts_of_groups_are_groups(paths: list[Path], tmp_path: Path) -> None:
    whole = read_group(paths[1])
    part = part_of(whole, [5, 2])
    write_group(tmp_path / "part.npz", part)  # which is checked when it is read
    assert len(read_group(tmp_path / "part.npz").seconds) == 2
    low, high = whole.node_splits[5:7]
    np.testing.assert_array_equal(part.nodes[: high - low], whole.nodes[low:high])
    first = whole.edges[slice(*whole.edge_splits[5:7])] - low
    np.testing.assert_array_equal(part.edges[: len(first)], first)


def test_without_the_extra_it_says_what_to_install(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(learn_commands, "EXTRA", ("jax", "nothing_of_this_name"))
    assert main(["learn", "train", str(corpus), "--output", str(tmp_path / "x.npz")]) == 2
    assert "nothing_of_this_name is not installed; pip install 'morello[learn]'" in (
        capsys.readouterr().err
    )


def test_one_program_of_a_spec_is_too_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["learn", "train", str(tmp_path), "--output", str(tmp_path / "x.npz")]
    assert main([*command, "--programs", "1"]) == 2
    assert "2 programs of each Spec or more are needed, not 1" in capsys.readouterr().err


def test_the_command(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path))
    monkeypatch.setattr(
        experiments, "trials", lambda seeds: iter([Experiment("models", "affine", Affine)])
    )
    assert study_command.main([str(corpus), "--programs", "9", "--json"]) == 0
    out, said = capsys.readouterr()
    assert [result["table"] for result in json.loads(out)] == ["models", "limits"]
    assert "models, random: affine: tau" in said and " s of the processor" in said
    assert study_command.main([str(tmp_path / "nowhere")]) == 2
    assert "study: " in capsys.readouterr().err


# ---- machine code


ASSEMBLY = """
	.text
program_0:
	vxorps	%xmm0, %xmm0, %xmm0
	jmp	.L3
	.p2align 4
.L2:
	vmovups	(%rdi,%rax), %zmm1
	vfmadd231ps	(%rsi){1to16}, %zmm1, %zmm0
	vmovaps	%zmm0, 64(%rsp)
.L3:
	addq	$64, %rax
	vfmadd231ps	(%rsi,%rax), %zmm2, %zmm3
	cmpq	%rdx, %rax
	jne	.L3
	ret
	.section	.rodata
.LC0:
	.long	1
"""


def test_blocks_of_assembly_and_what_they_take() -> None:
    blocks, marked, counting = divided(ASSEMBLY)
    assert [len(block.instructions) for block in blocks] == [2, 3, 4, 1]
    assert [block.loops for block in blocks] == [False, False, True, False]
    second = dict(zip(CLASSES, blocks[1].counts, strict=False))
    assert second == dict.fromkeys(CLASSES, 0.0) | {
        "multiply_adds": 1, "loads": 2, "wide_loads": 1, "stores": 1, "wide_stores": 1,
        "stack_stores": 1, "broadcasts": 1,
    }  # fmt: skip
    assert blocks[2].latency == 4.0  # of the sum, not of its load
    assert blocks[2].ports == 1.0 and blocks[1].latency == 0.0
    assert marked.count("block_") == 2 * len(blocks)
    assert counting.count("leaq 1(%rax), %rax") == len(blocks)
    rest = [line for line in counting.splitlines() if "saved_rax" not in line]
    assert [line for line in ASSEMBLY.splitlines() if line not in rest] == []


def test_programs_are_compiled_and_their_instructions_counted_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    names = "affine", "counts of instructions, least squares", "ports, latency and lines"
    models = {name: compiled.MODELS[name] for name in names}
    monkeypatch.setattr(compiled, "results_of", partial(compiled.results_of, models=models))
    few, counts = tmp_path / "few", tmp_path / "counts"
    few.mkdir()
    for path in files(corpus)[::2]:
        measured = read(path)
        write(few / path.name, measured.only(range(0, len(measured.schedules), 3)))
    assert compiled.main([str(few), str(counts)]) == 0
    table = capsys.readouterr().out
    for protocol in ("random", PROTOCOL):
        assert all(f"| {protocol} | {name} |" in table for name in names)
    kept = sorted(counts.iterdir())
    assert [path.name for path in kept] == [path.name for path in files(few)]
    product, *_ = (read_arrays(path, "is damaged.")["totals"] for path in kept)
    assert len(product) == len(read(files(few)[0]).schedules)
    assert (product[:, FEATURES.index("multiply_adds")] >= 4 * 4 * 8 / 16).all()
    written = [path.stat().st_mtime_ns for path in kept]
    assert compiled.main([str(few), str(counts)]) == 0
    assert [path.stat().st_mtime_ns for path in kept] == written
    assert capsys.readouterr().out == table
    assert compiled.main([str(tmp_path / "nowhere"), str(counts)]) == 2


def test_least_squares_find_the_cycles_of_terms(groups: list[ProgramGroup]) -> None:
    model = Counted(lambda group: np.stack([group.cost, np.ones(len(group.cost))], axis=1))
    times = [replace(g, seconds=(3 * g.cost + 50) / g.hertz) for g in groups]
    model.fit(times, 0)
    for group in times:
        np.testing.assert_allclose(np.exp(model.predict(group)), group.seconds, rtol=0.02)

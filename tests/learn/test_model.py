"""Trained models: files, predictions, ranking, and what is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.drawn import EXPRESSIONS, programs
from tests.learn.made_up import CACHES
from tests.sampling import some
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import morello
from morello.base.errors import CorpusError, SearchError
from morello.cli.parser import main
from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.learn import predictors, training
from morello.learn.adapt import corrected
from morello.learn.batches import LEAST_DEVIATION, Scale
from morello.learn.features import PROGRAM_FEATURES, VERSION
from morello.learn.groups import ProgramGroup, of_programs
from morello.learn.intervals import Intervals
from morello.learn.local import local_path, read_local, write_local
from morello.learn.model import Model, Reach, read_model, write_model
from morello.learn.network import CoefficientNetwork
from morello.learn.training import Recipe, continued, model_of
from morello.targets.catalog import find_target, recorded
from morello.targets.costs import with_costs_of

EXPRESSION = "f32[4,8] @ f32[8,16]"
MOST_BYTES = 1 << 20


@pytest.fixture(scope="module")
def model(groups: list[ProgramGroup]) -> Model:
    recipe = Recipe(CoefficientNetwork(width=8), steps=20, programs=8)
    models = [model_of(groups, recipe, seed) for seed in (0, 1)]
    members = [member for one in models for member in one.members]
    seen = Intervals((-0.2, 0.3), {"products": (-0.1, 0.2)})
    return replace(
        models[0],
        members=members,
        seen=seen,
        unseen=Intervals((-0.5, 0.6)),
        reach=Reach(-2.5, 0.0, 2.5),
    )


@pytest.fixture
def ships(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model ships that was trained on a Zen 5."""
    path = tmp_path / "x86-64.npz"
    monkeypatch.setattr(predictors, "SHIPPED", path)
    write_model(path, model)
    return path


def test_a_model_is_the_mean_of_its_networks(model: Model, groups: list[ProgramGroup]) -> None:
    for group in groups:
        alone = [replace(model, members=[one]).log_cycles(group) for one in model.members]
        assert np.abs(alone[0] - alone[1]).max() > 1e-3
        np.testing.assert_allclose(model.log_cycles(group), np.mean(alone, axis=0), rtol=1e-5)


def test_costs_decide_what_networks_cannot_tell(
    model: Model, groups: list[ProgramGroup], ships: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [replace(group, seconds=3.0 * group.seconds) for group in groups]
    reach = Reach.of(slow).joined(Reach.of(groups))
    assert reach.low == pytest.approx(-np.log(2), abs=0.05) and abs(reach.mostly) < 0.05
    assert reach.high == pytest.approx(np.log(6), abs=0.05)
    assert all(model.within_reach(group)[1].all() for group in groups)
    lost = replace(model, reach=Reach(5.0, 0.1, 6.0))  # which no prediction is in
    for group in groups:
        assert not lost.within_reach(group)[1].any()
        np.testing.assert_allclose(lost.log_cycles(group), np.log(group.cost) + 0.1)
    found = impls()[0]
    path = ships.with_name("lost.npz")
    write_model(path, lost)
    monkeypatch.setenv("MORELLO_MODEL", str(path))
    prediction = predictors.predict(found)
    assert prediction is not None
    assert prediction.seconds == pytest.approx(found.cost / 4e9 * np.exp(0.1), rel=0.05)
    assert prediction.low == pytest.approx(prediction.seconds * np.exp(4.9))
    assert prediction.high == pytest.approx(prediction.seconds * np.exp(5.9))


def test_models_are_trained_further_from_where_they_were(
    model: Model, groups: list[ProgramGroup]
) -> None:
    slower = [replace(group, seconds=1.5 * group.seconds) for group in groups]
    recipe = Recipe(model.network, steps=100, programs=8)
    moved = continued(model, slower, recipe, 0)
    assert len(moved.members) == len(model.members) and moved.clocks == model.clocks
    assert moved.reach.low == model.reach.low and moved.reach.high >= model.reach.high

    def error(of: Model) -> float:
        wanted = [np.log(group.seconds * group.hertz) for group in slower]
        found = [of.log_cycles(group) for group in slower]
        return float(np.abs(np.concatenate(found) - np.concatenate(wanted)).mean())

    assert error(moved) < 0.9 * error(model)


def test_first_layers_of_other_scales_give_the_same() -> None:
    random = np.random.default_rng(0)
    features, weights = random.standard_normal((9, 5)), random.standard_normal((7, 4))
    before = Scale(*(random.uniform(0.1, 2.0, 5).astype(np.float32) for _ in range(2)))
    before.deviation[2] = LEAST_DEVIATION  # it never varied
    after = Scale(*(random.uniform(0.1, 2.0, 5).astype(np.float32) for _ in range(2)))
    member = {"nodes.w": weights.astype(np.float32), "nodes.b": np.ones(4, np.float32)}
    found = training.rescaled(member, "nodes", before, after)
    assert not found["nodes.w"][2].any()
    np.testing.assert_array_equal(found["nodes.w"][5:], member["nodes.w"][5:])
    weights[2] = 0.0
    wanted = (features - before.mean) / before.deviation @ weights[:5] + 1.0
    given = (features - after.mean) / after.deviation @ found["nodes.w"][:5] + found["nodes.b"]
    np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-4)


def test_files_keep_what_is_predicted(
    model: Model, groups: list[ProgramGroup], ships: Path
) -> None:
    found = read_model(ships)
    assert (found.clocks, found.network) == (model.clocks, model.network)
    assert (found.seen, found.unseen) == (model.seen, model.unseen)
    assert found.reach == model.reach
    for group in groups:
        np.testing.assert_allclose(found.log_cycles(group), model.log_cycles(group), atol=0.02)


def test_another_model_may_be_named(
    ships: Path, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = recorded("Zen 5", CACHES)
    found = programs(target, EXPRESSION, 3)
    usual = predictors.learned(target)
    other = tmp_path / "other.npz"
    write_model(other, replace(model, members=model.members[:1]))
    monkeypatch.setenv("MORELLO_MODEL", str(other))
    named = predictors.learned(target)
    assert usual is not None and named is not None
    group = named.group(found)
    np.testing.assert_array_equal(
        named.model.log_cycles(group), read_model(other).log_cycles(group)
    )
    assert np.abs(usual.seconds(found) / named.seconds(found) - 1).max() > 1e-4
    monkeypatch.setenv("MORELLO_MODEL", str(tmp_path / "none.npz"))
    with pytest.raises(CorpusError, match=r"none\.npz"):
        predictors.learned(target)


def changed(path: Path, **changes: Any) -> None:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **{name: a for name, a in (arrays | changes).items() if a is not None})


BAD: dict[str, dict[str, Any]] = {
    "is no learned model": {"nodes.mean": None},
    "parameters of another network": {"0.nodes.w": None},
    "no numbers": {"1.nodes.b": np.full(8, np.nan, np.float16)},
    "does not match the features": {"nodes.mean": np.zeros(3, np.float32)},
    "features of version 0": {"about": np.frombuffer(b'{"features": 0}', np.uint8)},
    "or is damaged": {"about": np.frombuffer(b'{"features": %d}' % VERSION, np.uint8)},
}


@pytest.mark.parametrize("said", BAD)
def test_bad_models_are_refused(said: str, ships: Path) -> None:
    changed(ships, **BAD[said])
    with pytest.raises(CorpusError, match=said):
        read_model(ships)


def test_truncated_models_are_refused(ships: Path) -> None:
    ships.write_bytes(ships.read_bytes()[:-300])
    with pytest.raises(CorpusError, match="damaged"):
        read_model(ships)
    with pytest.raises(CorpusError, match="cannot read"):
        read_model(ships.with_name("none.npz"))


def impls(count: int = 5) -> list[Impl]:
    return programs(recorded("Zen 5", CACHES), EXPRESSION, count)


def by_prediction_and_cost(model: predictors.Learned, found: list[Impl]) -> list[float]:
    costs = [impl.cost for impl in found]
    return [s * cost for s, cost in zip(model.seconds(found).tolist(), costs, strict=True)]


def test_programs_are_ranked_by_prediction_and_cost(ships: Path) -> None:
    found = impls()
    model = predictors.learned(found[0].target)
    assert model is not None
    seconds = model.seconds(found)
    ranked = predictors.ranked(found)
    first, *others = by_prediction_and_cost(model, ranked)
    assert others == sorted(others) and first == pytest.approx(min(first, *others))
    one = predictors.predict(found[0])
    assert one is not None and one.seconds == pytest.approx(seconds[0], rel=1e-4)
    ends = one.low / one.seconds, one.high / one.seconds
    assert ends == pytest.approx((np.exp(-0.1), np.exp(0.2)))  # of its family


def test_programs_that_are_hardly_better_come_after_the_cheapest() -> None:
    costs = np.array([1.0, 1.02, 1.01])
    assert predictors.in_order(np.array([1.0, 0.97, 0.98]), costs) == [0, 1, 2]
    assert predictors.in_order(np.array([1.0, 0.96, 0.95]), costs) == [2, 1, 0]
    assert predictors.in_order(np.array([1.0, 0.93, 0.98]), costs) == [1, 0, 2]


def test_of_large_copies_the_cheapest_comes_first() -> None:
    costs = np.array([1.02, 1.0, 1.01])
    for text, order in {
        "transpose(f32[2000,3000])": [1, 0, 2],
        "transpose(f32[200,300])": [0, 2, 1],
        "relu(f32[2000,3000])": [0, 2, 1],
    }.items():
        surer = predictors.surer_for(parse(text))
        assert predictors.in_order(np.array([0.1, 1.0, 0.5]), costs, surer) == order


def test_measured_costs_change_no_prediction(ships: Path) -> None:
    (impl, *_) = impls()
    target = morello.targets.costs.with_coefficients(impl.target, {"kernels.products": 3.0})
    dearer = morello.impl.tree.replay(impl.spec, target, impl.decisions())
    assert dearer.cost > impl.cost
    assert predictors.predict(dearer) == predictors.predict(impl)


def test_costs_of_operands_from_memory_change_no_prediction(ships: Path) -> None:
    target = recorded("Zen 4", CACHES)
    tiled = morello.schedule("f32[6,1024] + f32[1024]", target=target).tile(j=32)
    impl, _ = morello.implement(tiled.solve())
    far = with_costs_of(target, impl.spec, evicted=True)
    dearer = morello.impl.tree.replay(impl.spec, far, impl.decisions())
    assert dearer.cost > impl.cost
    assert predictors.predict(dearer) == predictors.predict(impl)


def test_machines_that_it_has_not_seen_have_wider_intervals(ships: Path) -> None:
    widths = []
    for machine in ("Zen 5", "Sapphire Rapids"):
        (impl, *_) = programs(recorded(machine, CACHES), EXPRESSION, 1)
        told = predictors.predict(impl)
        assert told is not None and told.low < told.seconds < told.high
        widths.append(told.high / told.low)
    assert widths[0] < widths[1]


def test_targets_of_another_architecture_have_no_predictions(ships: Path) -> None:
    (impl, *_) = programs(find_target("neon"), EXPRESSION, 1)
    assert predictors.predict(impl) is None
    with pytest.raises(CorpusError, match="by their CPU, which neon does not tell"):
        morello.implement(EXPRESSION, target="neon", rank="learned")


def test_programs_for_several_threads_have_none(ships: Path) -> None:
    target = replace(recorded("Zen 5", CACHES), cores=2)
    impl, _ = morello.implement(EXPRESSION, target=target, threads=2)
    assert predictors.predict(impl) is None
    with pytest.raises(SearchError, match="for one thread"):
        morello.implement(EXPRESSION, target=target, threads=2, rank="learned")


def test_the_first_by_prediction_is_taken(ships: Path) -> None:
    target = recorded("Zen 5", CACHES)
    cheapest, _ = morello.implement(EXPRESSION, target=target)
    chosen, _ = morello.implement(EXPRESSION, target=target, rank="learned")
    model = predictors.learned(target)
    assert model is not None
    both = by_prediction_and_cost(model, [chosen, cheapest])
    assert both[0] <= both[1] and chosen.cost <= predictors.LEARNED.slack * cheapest.cost
    with pytest.raises(SearchError, match="cost or learned, not 'x'"):
        morello.implement(EXPRESSION, target=target, rank="x")


def test_a_table_keeps_the_cheapest_and_not_what_is_predicted(ships: Path, tmp_path: Path) -> None:
    target = recorded("Zen 5", CACHES)
    table = tmp_path / "specs.db"
    chosen, _ = morello.implement(EXPRESSION, target=target, rank="learned", table=table)
    cheapest, _ = morello.implement(EXPRESSION, target=target, table=table)
    assert cheapest.cost == morello.implement(EXPRESSION, target=target)[0].cost
    again, _ = morello.implement(EXPRESSION, target=target, rank="learned", table=table)
    assert again.decisions() == chosen.decisions()


def test_explain_tells_what_ranked(ships: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["explain", EXPRESSION, "--target", "avx512", "--no-table"]
    for ranking, told in ("cost", "Proven cheapest"), ("learned", "Ranked by the learned model. "):
        assert main([*asked, "--rank", ranking]) == 0
        assert f"\n{told}" in capsys.readouterr().out
        assert main([*asked, "--rank", ranking, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["search"]["ranked"] == ranking


def test_explain_tells_microseconds(ships: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", EXPRESSION, "--target", "avx512", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["predicted_us"]
    assert 0 < told["low"] < told["seconds"] < told["high"]
    assert main(["explain", EXPRESSION, "--target", "avx512"]) == 0
    assert "learned model: " in capsys.readouterr().out


# ---- on another machine


def test_a_correction_learns_what_a_machine_does_otherwise(
    model: Model, groups: list[ProgramGroup]
) -> None:
    column = model.configs(groups[0].configs).std(axis=0).argmax()
    other = []
    for group in groups:
        more = 0.7 + 0.2 * model.configs(group.configs)[:, column]
        seconds = np.exp(model.log_cycles(group) + more) / group.hertz
        other.append(replace(group, seconds=seconds))
    found, _ = corrected(model, other)
    for group in other:
        told = model.log_cycles(group) + found.of(model.configs(group.configs))
        assert np.abs(told - np.log(group.seconds * group.hertz)).mean() < 0.1


def test_noise_is_not_learned(model: Model, groups: list[ProgramGroup]) -> None:
    random = np.random.default_rng(0)
    other = [
        replace(
            group,
            seconds=np.exp(model.log_cycles(group) + random.normal(0, 0.3, len(group.seconds)))
            / group.hertz,
        )
        for group in groups
    ]
    found, _ = corrected(model, other)
    assert np.abs(found.slope).max() < 0.1 and abs(found.offset) < 0.2


def test_corrections_are_kept_beside_calibrations(
    model: Model, ships: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = recorded("Zen 5", CACHES)
    learned = predictors.Learned(model, target)
    timed: list[tuple[Impl, float]] = []
    for expression in (EXPRESSION, *(f"relu(f32[{64 * n}])" for n in range(1, 6))):
        some = programs(target, expression)
        timed += zip(some, (2.0 * learned.seconds(some)).tolist(), strict=True)
    found = predictors.correction(timed[0][0].target, timed)
    assert found is not None and found.programs == len(timed)
    assert found.error < found.costs
    path = local_path(tmp_path / "cpu.json")
    write_local(path, found)
    assert read_local(path, "another model") is None
    kept = read_local(path, predictors.shipped_name())
    assert kept is not None and kept.described() == found.described()
    np.testing.assert_array_equal(kept.correction.slope, found.correction.slope)
    impl, seconds = timed[-1]
    monkeypatch.setattr(predictors, "here", lambda: kept)
    monkeypatch.setattr(predictors, "NATIVE", impl.target.name)
    corrected_s = predictors.predict(impl)
    monkeypatch.setattr(predictors, "here", lambda: None)
    plain_s = predictors.predict(impl)
    assert corrected_s is not None and plain_s is not None
    assert abs(np.log(corrected_s.seconds / seconds)) < abs(np.log(plain_s.seconds / seconds))


def test_damaged_corrections_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cpu.model.json"
    assert read_local(path, "m") is None
    for text in ("{", json.dumps({"model": "m"}), "[]"):
        path.write_text(text)
        with pytest.raises(CorpusError, match="no correction of a learned model"):
            read_local(path, "m")
    slope = [float("nan")] * len(PROGRAM_FEATURES)
    data = {"model": "m", "slope": slope, "offset": 0, "programs": 1, "costs": 0.1,
            "error": 0.1}  # fmt: skip
    path.write_text(json.dumps(data))
    with pytest.raises(CorpusError, match="no correction of a learned model"):
        read_local(path, "m")
    path.write_text(json.dumps(data | {"model": "another"}))
    assert read_local(path, "m") is None


# ---- what ships


@pytest.mark.parametrize("machine", some(["Zen 3", "Zen 4", "Zen 5", "Sapphire Rapids"], 3))
def test_the_shipped_model_is_small_and_quick(machine: str) -> None:
    """It takes a tenth of the time that its features do."""
    model = read_model(predictors.SHIPPED)
    assert machine in model.clocks and predictors.SHIPPED.stat().st_size <= MOST_BYTES
    found = programs(recorded(machine, CACHES), EXPRESSIONS[0], 20)
    learned = predictors.Learned(model, found[0].target)
    began = time.process_time()
    group = of_programs(learned._featurizer, found)
    features, least = time.process_time() - began, inf
    with threadpool_limits(1):  # on a busy machine, threads of BLAS wait for each other
        for _ in range(5):
            began = time.process_time()
            told = model.log_cycles(group)
            least = min(least, time.process_time() - began)
    assert np.isfinite(told).all() and least < features / 10
    # seconds of a product are some times those of its multiply-adds
    flops = parse(EXPRESSIONS[0]).flops
    assert flops / 500e9 < np.exp(told.min()) / learned.hertz < flops / 2e9

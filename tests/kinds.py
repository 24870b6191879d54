"""The kind of every test module: `pytest -m "unit or property"` runs the tests of these kinds.

`pyproject.toml` registers the kinds and says what each is. A module is of its folder's kind,
unless it is named itself.
"""

from __future__ import annotations

from pathlib import PurePath

BUILDING = ("property", "emit", "train", "crash", "docs", "browser")
"""The kinds whose tests may start a compiler, or any other command."""

FOLDERS = {
    "": "emit",
    "abi": "emit",
    "adversaries": "crash",
    "bench": "unit",
    "browser": "browser",
    "calibrate": "unit",
    "certificate": "unit",
    "codegen": "emit",
    "docs": "docs",
    "doors": "emit",
    "explorer": "emit",
    "frameworks": "emit",
    "frontends": "unit",
    "graph": "emit",
    "importers": "emit",
    "ir": "unit",
    "learn": "train",
    "models": "emit",
    "rewrites": "unit",
    "runtime": "emit",
    "search": "unit",
    "table": "property",
    "targets": "unit",
}

MODULES = {
    "test_bootstrap.py": "house",
    "test_choices.py": "golden",
    "test_files.py": "crash",
    "test_kinds.py": "house",
    "test_plots.py": "unit",
    "test_precompute.py": "crash",
    "test_process.py": "crash",
    "test_pythons.py": "crash",
    "test_schedule.py": "unit",
    "test_several.py": "crash",
    "test_sharing.py": "crash",
    "test_structure.py": "house",
    "test_workers.py": "crash",
    "adversaries/test_meaning.py": "unit",
    "bench/test_model.py": "emit",
    "bench/test_predictions.py": "emit",
    "bench/test_race.py": "emit",
    "bench/test_recordings.py": "emit",
    "bench/test_tuning.py": "emit",
    "calibrate/test_first_use.py": "emit",
    "calibrate/test_measuring.py": "emit",
    "calibrate/test_multiplicities.py": "property",
    "codegen/test_expressions.py": "property",
    "codegen/test_golden_c.py": "golden",
    "codegen/test_loops.py": "unit",
    "frontends/test_hostile.py": "property",
    "frontends/test_random.py": "property",
    "graph/test_fusing.py": "exact",
    "ir/test_axes.py": "property",
    "ir/test_compose.py": "property",
    "ir/test_placements.py": "property",
    "ir/test_semantics.py": "property",
    "learn/test_corpus.py": "crash",
    "learn/test_features.py": "exact",
    "learn/test_forwarding.py": "unit",
    "learn/test_metrics.py": "unit",
    "learn/test_nest.py": "exact",
    "models/test_rounding.py": "unit",
    "rewrites/test_join.py": "emit",
    "rewrites/test_saved.py": "property",
    "runtime/test_cache.py": "crash",
    "search/test_alternatives.py": "exact",
    "search/test_budget.py": "exact",
    "search/test_definition.py": "exact",
    "search/test_engine.py": "exact",
    "search/test_families.py": "exact",
    "search/test_memo.py": "exact",
    "search/test_relaxation.py": "exact",
    "search/test_relaxed.py": "property",
    "search/test_sample.py": "property",
    "search/test_search.py": "exact",
    "search/test_space_version.py": "golden",
    "table/test_damage.py": "crash",
    "table/test_kill.py": "crash",
    "targets/test_catalog.py": "emit",
    "targets/test_kernels.py": "emit",
    "targets/test_math_helpers.py": "emit",
    "targets/test_neon.py": "emit",
    "targets/test_run_helpers.py": "emit",
    "targets/test_self_contained.py": "emit",
    "targets/test_tile_products.py": "emit",
    "targets/test_vector_helpers.py": "emit",
}


def kind_of(module: PurePath) -> str:
    """The kind of a test module, a path relative to the tests."""
    name = module.as_posix()
    return MODULES.get(name) or FOLDERS[name.rpartition("/")[0]]

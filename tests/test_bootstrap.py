"""Setting up where Python has no pip."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = "[global]\nindex-url = file:///settings/\n"


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The tool, on a machine where nobody has set anything and there is no pip."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for variable in ("PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(module, "runs", lambda *_: False)
    monkeypatch.setattr(module, "outer_pip", lambda _: False)
    return module


def test_without_pip_and_index_it_says_what_to_install(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "package_index", lambda: None)
    with pytest.raises(SystemExit, match="has neither pip nor ensurepip; install one of them"):
        bootstrap.ensure_pip()


def test_the_index_is_the_one_that_pip_is_set_to_use(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "settings").write_text(SETTINGS)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "settings"))
    assert bootstrap.package_index() == "file:///settings"
    monkeypatch.setenv("PIP_INDEX_URL", "file:///environment/")
    assert bootstrap.package_index() == "file:///environment"


def test_a_pip_that_is_not_the_pinned_one_is_refused(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever an index gives out under its name."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / bootstrap.PIP_WHEEL).write_bytes(b"another")
    pages = {f"{tmp_path.as_uri()}/pip/": f'<a href="{bootstrap.PIP_WHEEL}">'.encode()}
    fetch = bootstrap.fetch
    monkeypatch.setattr(bootstrap, "fetch", lambda url: pages.get(url) or fetch(url))
    with pytest.raises(SystemExit, match="does not have the pinned SHA-256"):
        bootstrap.download_pip(tmp_path.as_uri())


@pytest.mark.parametrize(
    ("installed", "wanted", "current"),
    [("learn", "", True), ("docs", "", True), ("", "docs", False), ("learn", "docs", False)],
)
def test_an_extra_includes_the_plain_dependencies(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    installed: str,
    wanted: str,
    current: bool,
) -> None:
    """Plain dependencies count as installed with any extra; no extra counts as another."""
    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "PYTHON", Path(__file__))
    bootstrap.stamp_of(installed).write_text(bootstrap.fingerprint(installed))
    steps: list[str] = []
    monkeypatch.setattr(bootstrap, "ensure_pip", lambda: steps.append("pip"))
    monkeypatch.setattr(bootstrap, "pip_install", lambda *arguments: steps.append(arguments[-1]))
    bootstrap.main(wanted)
    assert steps[1:2] == ([] if current else [str(bootstrap.LOCKS[wanted])])

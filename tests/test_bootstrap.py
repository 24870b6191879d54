"""Setting up where Python has no pip."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from tools import bootstrap as tool
from tools import lock

ROOT = Path(__file__).parents[1]
SETTINGS = "[global]\nindex-url = file:///settings/\n"


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The tool, on a machine where nobody has set anything and there is no pip."""
    for variable in ("PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(tool, "runs", lambda *_: False)
    monkeypatch.setattr(tool, "outer_pip", lambda _: False)
    return tool


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
    """An index may serve any other file under its name."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / bootstrap.PIP_WHEEL).write_bytes(b"another")
    pages = {f"{tmp_path.as_uri()}/pip/": f'<a href="{bootstrap.PIP_WHEEL}">'.encode()}
    fetch = bootstrap.fetch
    monkeypatch.setattr(bootstrap, "fetch", lambda url: pages.get(url) or fetch(url))
    with pytest.raises(SystemExit, match="does not have the pinned SHA-256"):
        bootstrap.download_pip(tmp_path.as_uri())


@pytest.mark.parametrize(
    ("installed", "wanted", "current"),
    [
        ("learn", "", True),
        ("docs", "", True),
        ("models", "", True),
        ("", "docs", False),
        ("learn", "docs", False),
    ],
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
    assert steps[1:2] == ([] if current else [str(bootstrap.LOCKS[wanted][-1])])


def pins(lock: Path) -> set[str]:
    """The requirements of a lock: name, version and marker."""
    lines = re.findall(r"^\w.*$", lock.read_text(), re.MULTILINE)
    assert lines and all(re.fullmatch(r"[\w-]+==\S+( ; .+)? \\", line) for line in lines)
    return set(lines)


def test_an_extra_adds_to_the_base_lock(bootstrap: ModuleType) -> None:
    """No lock repeats what the base has, and all agree on versions, so they install together."""
    base = pins(bootstrap.BASE)
    every = list(base)
    for extra in ("learn", "docs"):
        first, own = bootstrap.LOCKS[extra]
        assert first == bootstrap.BASE and not pins(own) & base
        every += pins(own)
    versions = {(line.partition("==")[0], line.split()[0]) for line in every}
    assert len(versions) == len(dict(versions))


def test_no_lock_names_a_package_index(bootstrap: ModuleType) -> None:
    for path in {path for locks in bootstrap.LOCKS.values() for path in locks}:
        assert "://" not in path.read_text()


def test_what_a_lock_lacks_of_another() -> None:
    text = "# by hand\na==1 \\\n    --hash=x\n    # via b\nb==2 \\\n    --hash=y\n"
    assert lock.without(text, "b==2 \\\n    --hash=y\n") == text.partition("b==2")[0]
    assert lock.without(text, "b==3 \\\n    --hash=y\n") == text


def test_models_add_to_the_base_lock(bootstrap: ModuleType) -> None:
    """Their packages are pinned, as those of a lock, and none is in the base."""
    base, own = bootstrap.LOCKS["models"]
    lines = [line for line in own.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==\S+", line) for line in lines)
    names = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    assert not names & {line.partition("==")[0] for line in pins(base)}

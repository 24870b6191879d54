"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from morello import rewrites
from morello.ir.primitives import PRIMITIVES

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "morello").rglob("*.py"))

LAYERS = [
    "errors",
    "debug",
    "files",
    "jit",
    "ir",
    "targets",
    "rewrites",
    "impl",
    "search.engine",
    "search.space",
    "memo",
    "search",
    "codegen",
    "runtime",
    "frontends",
    "measure",
]
"""From the lowest up; modules that are not named stand above them all."""

BESIDES = sorted(
    path for name in ("benchmarks", "examples", "fuzz") for path in (ROOT / name).rglob("*.py")
)

MOST_LINES = 600
FORBIDDEN = ("/work" + "/", "/tmp" + "/", "/home" + "/")

INDEX = re.compile(
    r"https?://\S*(?:pypi|pythonhosted|index|/simple\b|/whl\b)|(?:pypi|pythonhosted)\.org"
)
SEARCHED = {".py", ".c", ".h", ".md", ".toml", ".txt", ".lock", ".json", ".yml", ".yaml", ""}
SKIPPED = {".venv", ".venv-bench", "bench-out", ".git", "__pycache__", "build", "dist"}


def _each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda p: str(p.relative_to(ROOT)))


by_name, all_by_name = _each(SOURCES), _each(SOURCES + BESIDES)


def module(path: Path) -> tuple[str, ...]:
    """The dotted name of a source file, in parts: ("morello", "ir", "spec")."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def layer(name: tuple[str, ...]) -> int:
    for room in (".".join(name[1:3]), ".".join(name[1:2])):
        if room in LAYERS:
            return LAYERS.index(room)
    return len(LAYERS)


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of the house that a file imports, anywhere in it."""
    package = module(path) if path.name == "__init__.py" else module(path)[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *(node.module.split(".") if node.module else ()))
            # of `from morello import ir`, what is imported counts, not `morello`
            yield from ((*base, alias.name) for alias in node.names)


@by_name
def test_imports_point_downward(path: Path) -> None:
    own = layer(module(path))
    for name in imports(path):
        if name[0] == "morello":
            assert layer(name) <= own, f"{'.'.join(module(path))} imports {'.'.join(name)}"


def test_there_are_no_import_cycles() -> None:
    names = {module(path) for path in SOURCES}
    below = {
        module(path): {
            next((n for n in (name, name[:-1]) if n in names), ())
            for name in imports(path)
            if name[0] == "morello"
        }
        - {(), module(path)}
        for path in SOURCES
    }
    while below:
        free = {name for name, needed in below.items() if not needed & below.keys()}
        assert free, f"a cycle among {sorted('.'.join(name) for name in below)}"
        below = {name: needed for name, needed in below.items() if name not in free}


def test_a_class_name_stands_for_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(".".join(module(path)))
    several = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert several == {}


VAGUE = {"one", "found", "made"}


@by_name
def test_variables_say_what_they_hold(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    parameters = {n.arg for n in nodes if isinstance(n, ast.arg)}
    assert not VAGUE & (stored | parameters)


@all_by_name
def test_files_are_not_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


@all_by_name
def test_files_say_what_they_are(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


REWRITES = [
    cls
    for _, cls in inspect.getmembers(rewrites, inspect.isclass)
    if is_dataclass(cls) and hasattr(cls, "conditions")
]


def test_all_rewrites_are_known() -> None:
    names = {cls.__name__ for cls in REWRITES}
    assert names >= {"Tile", "Split", "Divide", "Move", "ToAccumulate", "Select"}


NAMES = {"Accum", *PRIMITIVES, *(f"{name}Accum" for name in PRIMITIVES)}
"""The names of operations."""

SEARCHES = {"startswith", "endswith", "removeprefix", "removesuffix"}


def compared(tree: ast.AST) -> Iterator[str]:
    """The names of operations, or parts of them, that a comparison, a key or a pattern has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from NAMES & literals(node)
        elif isinstance(node, ast.Dict):
            yield from (text for key in node.keys if key for text in NAMES & literals(key))
        elif isinstance(node, ast.MatchValue):
            yield from NAMES & literals(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            texts = literals(*node.args) if node.func.attr in SEARCHES else set()
            parts = {text for text in texts if text[:1].isupper()}
            yield from (text for text in parts if any(text in name for name in NAMES))


def literals(*nodes: ast.AST) -> set[str]:
    """The texts that are written in these expressions."""
    constants = (n.value for node in nodes for n in ast.walk(node) if isinstance(n, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


@by_name
def test_no_primitive_is_told_by_its_name(path: Path) -> None:
    """Except where primitives are defined: others ask what is known of them."""
    if "primitives" not in module(path):
        assert sorted(compared(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "code",
    [
        'op.name == "Matmul"', 'name in ("Sum", "Max")', '"Softmax" in name', '{"Conv": 2}',
        'name.startswith("Fill")', 'op.name.removesuffix("Accum")', 'name.startswith(("Conv", ""))',
        'match name:\n    case "Move": pass',
    ],
)  # fmt: skip
def test_such_code_is_noticed(code: str) -> None:
    assert [*compared(ast.parse(code))]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_shows_what_it_does(rewrite: type) -> None:
    assert "->" in (rewrite.__doc__ or "")


def test_no_file_names_the_machine_it_was_written_on() -> None:
    assert [(path, word) for path, text in texts() for word in FORBIDDEN if word in text] == []


def test_no_file_names_the_host_of_a_package_index() -> None:
    """Whoever sets it up says where packages are from."""
    assert INDEX.search("--index-url https" + "://packages.example/simple")
    found = {path: INDEX.findall(text) for path, text in texts()}
    assert {path: hosts for path, hosts in found.items() if hosts} == {}


def test_no_file_has_both_sides_of_a_merge() -> None:
    mark = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    assert mark.search("<" * 7 + " ours")
    assert [path for path, text in texts() if mark.search(text)] == []


def texts() -> Iterator[tuple[str, str]]:
    """What is searched, by the names of files."""
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and path.suffix in SEARCHED and not any(_is_skipped(p) for p in parts):
            yield str(path.relative_to(ROOT)), path.read_text(errors="ignore")


def _is_skipped(part: str) -> bool:
    return part in SKIPPED or part.endswith((".egg-info", "_cache")) or part == ".hypothesis"

"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import pytest

from morello import rewrites
from morello.ir import primitives
from morello.ir.operation import Primitive
from morello.ir.primitives import PRIMITIVES

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "morello").rglob("*.py"))
C_SOURCES = sorted((ROOT / "src" / "morello").rglob("*.[ch]"))

LAYERS = [
    "base",
    "ir",
    "targets",
    "native",
    "rewrites",
    "impl",
    "engine",
    "space",
    "memo",
    "search",
    "certificate",
    "codegen",
    "explorer",
    "runtime",
    "abi",
    "frontends",
    "graph",
    "importers",
    "measure",
    "request",
    "learn",
    "scheduling",
    "tables",
    "questions",
    "kernel",
    "recall",
    "status_line",
    "options",
    "building",
    "several",
    "models",
    "program",
    "api",
    "jitting",
    "frameworks",
    "rivals",
    "jax",
    "onnx",
    "torch",
    "errors",
    "precompute",
    "cli",
    "__main__",
]
"""The folders of the package, and the modules beside them, from the lowest up."""

BESIDES = sorted(
    path
    for name in ("benchmarks", "examples", "fuzz", "study")
    for path in (ROOT / name).rglob("*.py")
)

MOST_LINES = 600
FORBIDDEN = ("/work" + "/", "/tmp" + "/", "/home" + "/")

INDEX = re.compile(
    r"https?://\S*(?:pypi|pythonhosted|index|/simple\b|/whl\b)|(?:pypi|pythonhosted)\.org"
)
SEARCHED = {".py", ".c", ".h", ".md", ".toml", ".txt", ".lock", ".json", ".yml", ".yaml", ""}
SKIPPED = {".venv", ".venv-bench", "bench-out", ".git", "__pycache__", "build", "dist"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All there is in a file, however deep."""
    return tuple(ast.walk(parsed(path)))


@cache
def module(path: Path) -> tuple[str, ...]:
    """The dotted name of a source file, in parts: ("morello", "ir", "spec")."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def layer(name: tuple[str, ...]) -> int:
    """The place among the layers of a module; the package itself stands above them all."""
    return LAYERS.index(name[1]) if name[1:] and name[1] in LAYERS else len(LAYERS)


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of the house that a file imports, anywhere in it."""
    package = module(path) if path.name == "__init__.py" else module(path)[:-1]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *(node.module.split(".") if node.module else ()))
            # of `from morello import ir`, what is imported counts, not `morello`
            yield from ((*base, alias.name) for alias in node.names)


def test_imports_point_downward() -> None:
    upward = [
        f"{'.'.join(module(path))} imports {'.'.join(name)}"
        for path in SOURCES
        for name in imports(path)
        if name[0] == "morello" and layer(name) > layer(module(path))
    ]
    assert upward == []


def test_layers_are_the_folders_and_modules_there_are() -> None:
    assert {module(path)[1] for path in SOURCES if len(module(path)) > 1} == {*LAYERS}


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
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(".".join(module(path)))
    several = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert several == {}


VAGUE = {"one", "found", "made"}


def variables(path: Path) -> Iterator[str]:
    """The names that a file stores values in, those of parameters too."""
    for node in nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_variables_say_what_they_hold() -> None:
    vague = {relative(path): VAGUE & {*variables(path)} for path in SOURCES}
    assert {path: names for path, names in vague.items() if names} == {}


def test_files_are_not_too_long() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in SOURCES + BESIDES}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_files_say_what_they_are() -> None:
    silent = [relative(p) for p in SOURCES + BESIDES if not ast.get_docstring(parsed(p))]
    assert silent == []


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

RECORDS = {name for name, value in vars(primitives).items() if isinstance(value, Primitive)}
"""The names of primitives' records in Python."""

SEARCHES = {"startswith", "endswith", "removeprefix", "removesuffix"}


def compared(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The primitives that a comparison, a key or a pattern has: names in texts, and records."""
    nodes = [*nodes]
    records = RECORDS | {
        alias.asname
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname and alias.name in RECORDS
    }
    for node in nodes:
        if isinstance(node, ast.Compare | ast.MatchValue):
            yield from NAMES & literals(node) | records & references(node)
        elif isinstance(node, ast.Dict):
            for key in filter(None, node.keys):
                yield from NAMES & literals(key) | records & references(key)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            texts = literals(*node.args) if node.func.attr in SEARCHES else set()
            parts = {text for text in texts if text[:1].isupper()}
            yield from (text for text in parts if any(text in name for name in NAMES))


def literals(*nodes: ast.AST) -> set[str]:
    """The texts that are written in these expressions."""
    constants = (n.value for node in nodes for n in ast.walk(node) if isinstance(n, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def references(*nodes: ast.AST) -> set[str]:
    """The variables and attributes that these expressions name."""
    within = [n for node in nodes for n in ast.walk(node)]
    names = {n.id for n in within if isinstance(n, ast.Name)}
    return names | {n.attr for n in within if isinstance(n, ast.Attribute)}


def test_no_primitive_is_told_by_its_name_or_record() -> None:
    """Except where primitives are defined: others ask what is known of them.

    The operators of frameworks, which importers know, may be called the same.
    """
    others = [p for p in SOURCES if not {"primitives", "importers", "onnx"} & {*module(p)}]
    told = {relative(path): sorted(compared(nodes(path))) for path in others}
    assert {path: names for path, names in told.items() if names} == {}


@pytest.mark.parametrize(
    "code",
    [
        'op.name == "Matmul"', 'name in ("Sum", "Max")', '"Softmax" in name', '{"Conv": 2}',
        'name.startswith("Fill")', 'op.name.removesuffix("Accum")', 'name.startswith(("Conv", ""))',
        'match name:\n    case "Move": pass', "primitive is MATMUL", "CONV == op.primitive",
        "op.primitive not in (SUM, primitives.MAX)", "{SOFTMAX: 1}",
        "match primitive:\n    case primitives.PACK: pass",
        "from morello.ir.primitives import CONV as C\nprimitive is not C",
    ],
)  # fmt: skip
def test_such_code_is_noticed(code: str) -> None:
    assert [*compared(ast.walk(ast.parse(code)))]


STRUCT = re.compile(r"^} (\w+);", re.MULTILINE)
"""The name of a struct of C."""

QUOTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`")
"""A name, or names joined by dots, in backticks; it may be a call."""

OTHER_NAMES = {
    "MTPG",  # the first bytes of a file
    "c_next", "columns", "immintrin", "h", "vcvtneps2bf16",  # C and assembly
}  # fmt: skip
"""Names in docstrings that no Python code has."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The lines and texts of a file's docstrings, those below assignments too."""
    for node in nodes(path):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


@cache
def defined(path: Path) -> set[str]:
    """The names that a file gives to anything but variables of functions, and its own name."""
    names = {*module(path)}
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Module | ast.ClassDef):
            names |= {name for statement in node.body for name in _names_given(statement)}
    return names


def _names_given(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name))


@cache
def mentioned(path: Path) -> set[str]:
    """All names of a file's code: variables, parameters, attributes, imports, and texts."""
    documented = {text for _, text in docstrings(path)}
    names = literals(parsed(path)) - documented
    names |= {node.arg or "" for node in nodes(path) if isinstance(node, ast.arg | ast.keyword)}
    for node in nodes(path):
        if isinstance(node, ast.alias):
            names |= {*node.name.split("."), node.asname or ""}
    return {name for name in names | references(parsed(path)) if name}


@cache
def of_the_package() -> set[str]:
    names = {name for path in SOURCES for name in defined(path)}
    structs = {name for path in C_SOURCES for name in STRUCT.findall(path.read_text())}
    return names | structs | {*vars(builtins), *keyword.kwlist}


@cache
def modules_called(*name: str) -> list[Path]:
    """The modules whose dotted names end so."""
    return [path for path in SOURCES if module(path)[-len(name) :] == name]


def exists(name: str, path: Path) -> bool:
    """Whether the package, or the code of a file, has a name that may have dots."""
    parts = tuple(name.split("."))
    for length in range(len(parts), 0, -1):
        if modules := modules_called(*parts[:length]):
            inner = {*parts[length : length + 1]}
            return any(inner <= defined(one) | mentioned(one) for one in modules)
    return {*parts} <= of_the_package() | mentioned(path) | OTHER_NAMES or of_a_library(name)


@cache
def of_a_library(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_names_in_docstrings_exist() -> None:
    """Each name between backticks, in the package, or in the file's own code."""
    missing = [
        f"{relative(path)}:{line}: {name}"
        for path in SOURCES
        for line, text in docstrings(path)
        for name in QUOTED.findall(text)
        if not exists(name, path)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Spec", True), ("Spec.sizes", True), ("ir.spec.Spec", True), ("rewrite.Child", True),
        ("ir.tensor.tile_form", False), ("search.space.ranks", False), ("_FORM_BIT", False),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_noticed(name: str, found: bool) -> None:
    assert exists(name, SOURCES[0]) == found


@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_shows_what_it_does(rewrite: type) -> None:
    assert "->" in (rewrite.__doc__ or "")


def test_no_file_names_the_machine_it_was_written_on() -> None:
    assert [(path, word) for path, text in texts() for word in FORBIDDEN if word in text] == []


def test_no_file_names_the_host_of_a_package_index() -> None:
    """The configuration of each machine says where its packages are from."""
    assert INDEX.search("--index-url https" + "://packages.example/simple")
    found = {path: INDEX.findall(text) for path, text in texts()}
    assert {path: hosts for path, hosts in found.items() if hosts} == {}


def test_no_file_has_both_sides_of_a_merge() -> None:
    mark = re.compile(r"^(<{7} |>{7} )", re.MULTILINE)
    assert mark.search("<" * 7 + " ours")
    assert [path for path, text in texts() if mark.search(text)] == []


@cache
def texts() -> list[tuple[str, str]]:
    """The names and texts of files that are searched for forbidden words."""
    return [
        (relative(path), path.read_text(errors="ignore"))
        for path in _files(ROOT)
        if path.suffix in SEARCHED
    ]


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder, and of the folders in it that are not skipped."""
    for path in folder.iterdir():
        if _is_skipped(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        elif path.is_file():
            yield path


def _is_skipped(part: str) -> bool:
    return part in SKIPPED or part.endswith((".egg-info", "_cache")) or part == ".hypothesis"

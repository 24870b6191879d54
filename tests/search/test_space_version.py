"""The version of the search space is raised when rules or costs change, so that memos are voided.

A digest of the code that decides which programs exist, and what they cost, is kept beside the
version. Docstrings, comments and layout are no part of it. If it changes and the version does not,
this fails: raise `SPACE_VERSION` if programs or costs changed, then run pytest with
`--update-golden`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import morello
from morello.memo.space_name import SPACE_VERSION

HOME = Path(morello.__file__).parent
DECIDING = ("ir", "targets", "rewrites", "space")
"""The rooms whose code decides which programs exist and what they cost."""

GOLDEN = Path(__file__).parents[1] / "golden" / "space.json"


def digest(sources: list[str]) -> str:
    """The digest of syntax trees, without docstrings."""
    made = hashlib.blake2b(digest_size=16)
    for source in sources:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value = ast.Constant(None)
        made.update(ast.dump(tree).encode())
    return made.hexdigest()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="syntax trees differ by version")
def test_the_version_is_raised_when_the_code_changes(golden: Callable[[str, str], None]) -> None:
    paths = sorted(path for room in DECIDING for path in (HOME / room).rglob("*.py"))
    code = digest([path.read_text() for path in paths])
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    assert known.get("version", 0) <= SPACE_VERSION, "versions only grow"
    golden("space.json", json.dumps({"version": SPACE_VERSION, "code": code}) + "\n")


def test_words_do_not_change_the_digest_and_code_does() -> None:
    plain = digest(["x = 1\n"])
    assert digest(['"""Words."""\n\n# more\nx = 1\n']) != plain  # a statement more
    assert digest(['"""Words."""\nx = 1\n']) == digest(['"""Others."""\nx  =  1  # and more\n'])
    assert digest(["x = 2\n"]) != plain

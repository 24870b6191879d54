"""Compiled functions, and interrupts that come out of them in disguise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import morello
from morello.base.jit import interruptible


def disguised(cause: BaseException | None) -> int:
    if cause is None:
        return 3
    raise SystemError("<built-in method> returned a result with an exception set") from cause


def test_an_interrupt_is_an_interrupt() -> None:
    call = interruptible(disguised)
    assert call(None) == 3
    with pytest.raises(KeyboardInterrupt):
        call(KeyboardInterrupt())
    with pytest.raises(SystemError):
        call(ValueError())


@pytest.mark.parametrize("place", ["search.session.BestFirst", "search.session.candidates"])
def test_whatever_is_being_searched(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"morello.{place}", lambda *_, **__: disguised(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        morello.compile("f32[4,4] @ f32[4,4]", measure=2)


def test_an_index_of_types_that_are_gone_counts_as_empty(tmp_path: Path) -> None:
    """As an older version may have left it."""
    source = """
from typing import NamedTuple
from morello.base.jit import compiled
class {name}(NamedTuple):
    x: int
@compiled
def double(pair):
    return 2 * pair.x
print(double({name}(3)))
"""
    module = tmp_path / "module.py"
    for name in ("Old", "New"):
        module.write_text(source.format(name=name))
        done = subprocess.run(
            [sys.executable, "-c", "import module"], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout == "6\n", done.stderr


def test_a_change_of_what_a_function_calls_compiles_it_again(tmp_path: Path) -> None:
    (tmp_path / "calling.py").write_text(
        "from morello.base.jit import compiled\nfrom called import inner\n"
        "@compiled\ndef outer(x):\n    return inner(x)\nprint(outer(3))\n"
    )
    for factor, printed in ((2, "6\n"), (50, "150\n")):
        (tmp_path / "called.py").write_text(
            "from morello.base.jit import compiled\n"
            f"@compiled\ndef inner(x):\n    return {factor} * x\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", "import calling"], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout == printed, done.stderr

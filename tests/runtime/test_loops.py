"""Functions in C that are called with arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from morello.base.errors import BuildError
from morello.native.loops import Loops

SUMS = """
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t scale, shift;
} Line;

typedef struct {
  const int32_t *x;  // one, two
  Line line;
  double *y, *z;
} Columns;

static inline double at(int64_t x, Line line) { return x * line.scale + line.shift; }

void on_line(const Columns *columns, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    columns->z[i] = columns->y[i] = at(columns->x[i], columns->line);
}

double total(const double *values, int64_t count,
             double first, bool twice) {
  for (int64_t i = 0; i < count; i++) first += values[i];
  return twice ? 2 * first : first;
}
"""


class Line(NamedTuple):
    scale: int
    shift: int


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Loops:
    folder = tmp_path_factory.mktemp("loops")
    (folder / "sums.c").write_text(SUMS)
    return Loops(folder, ["sums.c"], "// sums\n")


def test_numbers_and_arrays(loops: Loops) -> None:
    values = np.array([1.5, 2.5])
    assert loops.total(values, 2, 1, False) == 5
    assert loops.total(values, np.int64(1), np.float64(0.5), True) == 4
    assert loops.total(values[:0], 0, 0.25, False) == 0.25
    values.setflags(write=False)
    assert loops.total(values, 2, 0, False) == 4


def test_structs(loops: Loops) -> None:
    x, y, z = np.arange(3, dtype=np.int32), np.empty(3), np.empty(3)
    loops.on_line((x, Line(2, 1), y, z), 3)
    assert y.tolist() == z.tolist() == [1, 3, 5]
    kept = loops.struct("Columns", (x, Line(3, 0), y, z))
    loops.on_line(kept, 2)
    assert y.tolist() == [0, 3, 5]


def test_what_is_none_of_these(loops: Loops) -> None:
    values, x, line = np.zeros(4), np.zeros(4, np.int32), Line(1, 0)
    fixed = values.copy()
    fixed.setflags(write=False)
    for wrong in (x, x.astype(np.float32), values[::2], fixed[::2]):
        with pytest.raises(TypeError):
            loops.total(wrong, 2, 0, False)
    for columns in ((x, line, values, fixed), (values, line, values, values)):
        with pytest.raises(TypeError):
            loops.on_line(columns, 2)
    with pytest.raises(TypeError):
        loops.total(values, 2.5, 0, False)
    for count in (3, 5):  # of arguments
        with pytest.raises(ValueError):
            loops.total(*(values, 2, 0, False, 0)[:count])
    for name in ("at", "none", "__wrapped__"):
        with pytest.raises(AttributeError):
            getattr(loops, name)


CALL = """
import sys
from pathlib import Path
from morello.native.loops import Loops
print(Loops(Path(sys.argv[1]), ("number.c",)).number(1))
"""


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CALL, str(folder)], stdout=subprocess.PIPE, text=True
    )


def test_a_change_of_a_file_builds_it_again_and_all_processes_may(tmp_path: Path) -> None:
    for number in (3, 4):
        (tmp_path / "number.c").write_text(
            f"#include <stdint.h>\nint64_t number(int64_t more) {{ return more + {number}; }}\n"
        )
        processes = [start(tmp_path) for _ in range(3)]
        assert [process.communicate()[0] for process in processes] == [f"{number + 1}\n"] * 3


def test_where_the_folder_cannot_be_written_the_cache_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sums.c").write_text(SUMS)
    (tmp_path / "__pycache__").write_text("no folder")
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "kernels"))
    assert Loops(tmp_path, ["sums.c"]).total(np.ones(2), 2, 0, False) == 2
    assert len([*(tmp_path / "kernels").glob("*.so")]) == 1


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    (tmp_path / "sums.c").write_text(SUMS)
    with pytest.raises(BuildError, match=r"no-such-compiler.*pip install ziglang"):
        Loops(tmp_path, ["sums.c"]).load()

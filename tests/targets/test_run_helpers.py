"""The C functions of runs, next to unreadable memory, on every width and compiler there is here."""

from __future__ import annotations

import ctypes
import math
import mmap

import numpy as np
import pytest
from tests.targets.math_library import NANS, Doubles, Floats, Library

from morello.targets.helpers.runs import ROW

INF = math.inf

GUARD = np.float32(-54321.0)
LENGTHS = [*range(1, 71), 127, 128, 129, 255, 1000, 1023, 1024, 1025, 2049, 4096, 5003]
SPECIAL_LENGTHS = [1, 2, 7, 16, 33, 70, 200, 3000]


class Fenced:
    """Memory between two pages that no one may touch."""

    PAGES = 6

    def __init__(self) -> None:
        page = mmap.PAGESIZE
        self._memory = mmap.mmap(-1, (self.PAGES + 2) * page)
        bytes_ = np.frombuffer(self._memory, np.uint8)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for first in (0, (self.PAGES + 1) * page):
            address = ctypes.c_void_p(bytes_.ctypes.data + first)
            assert protect(address, ctypes.c_size_t(page), 0) == 0
        self._floats = bytes_[page : (self.PAGES + 1) * page].view(np.float32)

    def hold(self, values: Floats, at_end: bool = True) -> Floats:
        """A copy next to one of the fences; the guard stands on its other side."""
        self._floats[:] = GUARD
        held = self._floats[-len(values) :] if at_end else self._floats[: len(values)]
        held[:] = values
        return held

    def guarded(self, held: Floats) -> bool:
        """Whether nothing beside the run was written."""
        return int(np.sum(self._floats != GUARD)) == int(np.sum(held != GUARD))


@pytest.fixture(scope="module")
def first() -> Fenced:
    return Fenced()


@pytest.fixture(scope="module")
def second() -> Fenced:
    return Fenced()


def values(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng([n, seed]).normal(0, 3, n).astype(np.float32)


def close(found: float | Floats, true: float | Doubles, scale: float = 0.0) -> None:
    np.testing.assert_allclose(found, true, rtol=3e-6, atol=3e-6 * scale)


def test_sums(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            wide = x.astype(np.float64)
            close(library.run("sum_run", x, n), wide.sum(), np.abs(wide).sum())
            close(library.run("sum_squares_run", x, n), (wide * wide).sum())
            close(library.run("deviations_run", x, 1.5, n), np.square(wide - 1.5).sum())


def test_extrema(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n) - 50, at_end)
            assert library.run("max_run", x, n, -INF) == x.max()
            assert library.run("max_run", x, n, 7.0) == 7.0
            x[:] = -x
            assert library.run("max_run", x, n, -INF) == x.max()


def test_extrema_of_runs_with_one_special(library: Library, first: Fenced) -> None:
    for n in [1, 5, 16, 31, 70, 128, 300]:
        for special in (*NANS, INF, -INF):
            for place in range(n):
                x = first.hold(values(n))
                x[place] = special
                np.testing.assert_equal(library.run("max_run", x, n, -INF), float(x.max()))
        x = first.hold(values(n))
        assert math.isnan(library.run("max_run", x, n, math.nan))


def test_exponentials(library: Library, first: Fenced, second: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            m = float(x.max())
            true = np.exp(x.astype(np.float64) - m)
            close(library.run("exp_sum_run", x, m, n), true.sum())
            out = second.hold(np.zeros(n, np.float32), at_end)
            close(library.run("exp_store_run", x, m, out, n), true.sum())
            close(out, true)
            assert second.guarded(out)
            library.run("softmax_complete_run", x, m, 2.5, out, n)
            close(out, true / 2.5)
            assert second.guarded(out)
            library.run("scale_run", out, 2.5, n)
            close(out, true)
            assert second.guarded(out)


def test_a_run_can_be_replaced(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        x = first.hold(values(n))
        m = float(x.max())
        true = np.exp(x.astype(np.float64) - m)
        close(library.run("exp_store_run", x, m, x, n), true.sum())
        close(x, true)
        x = first.hold(values(n))
        library.run("softmax_complete_run", x, m, float(true.sum()), x, n)
        close(x, true / true.sum())
        assert first.guarded(x)


def test_minima_are_maxima_of_the_opposite(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            assert library.run("min_run", x, n, INF) == x.min()
            assert library.run("min_run", x, n, -99.0) == -99.0
            x[n // 2] = math.nan
            assert math.isnan(library.run("min_run", x, n, INF))


def test_places_of_extrema(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            assert library.run("argmax_run", x, n) == x.argmax()
            assert library.run("argmin_run", x, n) == x.argmin()
            x[:] = np.round(x)  # many are equal, 0 and -0 among them
            assert library.run("argmax_run", x, n) == x.argmax()
            assert library.run("argmin_run", x, n) == x.argmin()


def test_places_of_specials(library: Library, first: Fenced) -> None:
    for n in [1, 16, 31, 255, 257, 700]:
        for special in (*NANS, INF, -INF):
            for place in range(0, n, 1 + n // 30):
                x = first.hold(values(n))
                x[place] = special
                x[n // 2] = special
                assert library.run("argmax_run", x, n) == x.argmax()
                assert library.run("argmin_run", x, n) == x.argmin()
        x[:] = -INF
        assert library.run("argmax_run", x, n) == 0


def softmax(library: Library, x: Floats) -> Floats:
    """A row's softmax in three passes."""
    out = np.empty_like(x)
    m = library.run("max_run", x, len(x), -INF)
    d = library.run("exp_store_run", x, m, out, len(x))
    with np.errstate(all="ignore"):
        library.run("scale_run", out, float(np.float32(1) / np.float32(d)), len(x))
    return out


def online_softmax(library: Library, x: Floats, pieces: int = 1) -> Floats:
    """A row's softmax in two passes, the first one in pieces."""
    out, m, d = np.empty_like(x), np.full(1, -INF, np.float32), np.zeros(1, np.float32)
    for piece in np.array_split(x, pieces):
        library.run("online_run", piece, len(piece), m, d)
    library.run("softmax_complete_run", x, float(m[0]), float(d[0]), out, len(x))
    return out


def numpy_softmax(x: Floats) -> Doubles:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max())
        result: Doubles = powers / powers.sum()
    return result


def test_softmax(library: Library) -> None:
    for n in LENGTHS:
        for row in (values(n), values(n) * 30 - 200, np.sort(values(n)), np.sort(values(n))[::-1]):
            x = np.ascontiguousarray(row, np.float32)
            true = numpy_softmax(x)
            np.testing.assert_allclose(softmax(library, x), true, rtol=4e-6, atol=1e-37)
            for pieces in range(1, min(n, 3) + 1):
                found = online_softmax(library, x, pieces)
                np.testing.assert_allclose(found, true, rtol=4e-6, atol=1e-37)


def softmax_of_row(library: Library, x: Floats, first: Fenced, second: Fenced) -> Floats:
    """A row's softmax in registers, beside fences."""
    row, out = first.hold(x), second.hold(np.zeros_like(x))
    library.run("softmax_run", row, out, len(x))
    assert second.guarded(out)
    return out


def test_softmax_in_registers(library: Library, first: Fenced, second: Fenced) -> None:
    for n in (n for n in LENGTHS if n <= ROW * library.width):
        for row in (values(n), values(n) * 30 - 200, np.sort(values(n))):
            x = row.astype(np.float32)
            found = softmax_of_row(library, x, first, second)
            np.testing.assert_allclose(found, numpy_softmax(x), rtol=4e-6, atol=1e-37)


def test_softmax_of_special_rows_in_registers(
    library: Library, first: Fenced, second: Fenced
) -> None:
    for n in (n for n in SPECIAL_LENGTHS if n <= ROW * library.width):
        for x in special_rows(n):
            true, found = numpy_softmax(x), softmax_of_row(library, x, first, second)
            np.testing.assert_allclose(found, true, rtol=4e-6, atol=1e-37)
            assert (found[true == 0] == 0).all()


def special_rows(n: int) -> list[Floats]:
    """Rows of which an element or many are infinite, NaN, or the lowest number."""
    rows = []
    for special in (INF, math.nan, -INF, float(np.finfo(np.float32).min)):
        for places in ([0], [n - 1], [n // 2], range(n), range(n // 2), range(n // 2, n)):
            x = values(n)
            x[list(places)] = special
            rows.append(x)
    mixed = values(n)
    mixed[0], mixed[-1] = INF, -INF
    return [*rows, mixed]


def test_softmax_of_special_rows(library: Library) -> None:
    for n in SPECIAL_LENGTHS:
        for x in special_rows(n):
            true = numpy_softmax(x)
            for pieces in (1, min(n, 2)):
                found = online_softmax(library, x, pieces)
                np.testing.assert_allclose(found, true, rtol=4e-6, atol=1e-37)
            np.testing.assert_allclose(softmax(library, x), true, rtol=4e-6, atol=1e-37)
            assert (softmax(library, x)[true == 0] == 0).all()


def test_online_state_that_nothing_was_added_to_stays(library: Library) -> None:
    m, d = np.full(1, -INF, np.float32), np.zeros(1, np.float32)
    for n in (1, 40, 3000):
        library.run("online_run", np.full(n, -INF, np.float32), n, m, d)
        assert (m[0], d[0]) == (-INF, 0.0)
    library.run("online_run", np.full(10, 2.0, np.float32), 10, m, d)
    assert (m[0], d[0]) == (2.0, 10.0)
    library.run("online_run", np.full(10, 1e3, np.float32), 10, m, d)
    assert (m[0], d[0]) == (1e3, 10.0)

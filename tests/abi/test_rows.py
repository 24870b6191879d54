"""Functions that compute ranges of rows: each row is that of the whole result, others are kept."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from morello.abi.rows import rows_of
from morello.base.errors import SpecError
from morello.cli.parser import main
from morello.frontends.text import parse
from morello.ir.dtype import BF16
from morello.runtime.argument import Array
from morello.targets.cpu import host_cpu

ROWS, INNER, STRIDE, BLOCK = 37, 64, 96, 8
PRODUCT = (
    f"mat = bf16[{ROWS},{INNER}]S({STRIDE},1); vec = bf16[{INNER}]; "
    f"scale = f32[1]; bias = f32[{ROWS}]; (vec @ transpose(mat)) * scale + bias"
)


def test_ranges_of_rows(tmp_path: Path) -> None:
    library, header = tmp_path / "product.so", tmp_path / "product.h"
    files = ["--object", str(library), "--header", str(header), "--name", "product"]
    assert main(["synth", PRODUCT, "--rows", str(BLOCK), *files]) == 0
    assert "void product_rows(const uint16_t *" in header.read_text()
    functions = ctypes.CDLL(str(library))
    random = np.random.default_rng(0)
    wide = random.uniform(-1, 1, (ROWS, STRIDE)).astype(BF16.np)
    vec = random.uniform(-1, 1, INNER).astype(BF16.np)
    scale, bias = np.array([0.75], np.float32), random.uniform(-1, 1, ROWS).astype(np.float32)
    exact = 0.75 * (wide[:, :INNER].astype(np.float64) @ vec.astype(np.float64)) + bias

    def computed(*ends: int) -> Array:
        out = np.full(ROWS, np.nan, np.float32)
        function = functions.product_rows if ends else functions.product
        arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (vec, wide, scale, bias, out))
        function(*arrays, *map(ctypes.c_long, ends))
        return out

    np.testing.assert_allclose(computed(), exact, rtol=1e-4, atol=1e-5)
    for begin, end in ((0, 16), (5, 6), (3, 30), (29, ROWS), (4, 4)):
        out = computed(begin, end)
        np.testing.assert_allclose(out[begin:end], exact[begin:end], rtol=1e-4, atol=1e-5)
        assert np.isnan(np.delete(out, np.s_[begin:end])).all()


@pytest.mark.skipif(host_cpu().machine != "x86_64", reason="the levels are those of x86-64")
def test_ranges_of_rows_on_every_level(tmp_path: Path) -> None:
    library = tmp_path / "rectified.so"
    options = ["--target", "x86-64-v3,x86-64", "--name", "rectified", "--object", str(library)]
    assert main(["synth", "relu(f32[9,4])", "--rows", "4", *options]) == 0
    x = np.random.default_rng(0).uniform(-1, 1, (9, 4)).astype(np.float32)
    out = np.full((9, 4), np.nan, np.float32)
    arrays = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, out))
    ctypes.CDLL(str(library)).rectified_rows(*arrays, ctypes.c_long(2), ctypes.c_long(9))
    np.testing.assert_array_equal(out[2:], np.maximum(x[2:], 0))
    assert np.isnan(out[:2]).all()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x = f32[8,4]; x @ transpose(x)", "a row reads x in two places"),
        ("sum(f32[8], axis=0)", "a result of one element"),
        ("softmax(f32[8])", "are not computed on their own"),
    ],
)
def test_results_without_rows_of_their_own(expression: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        rows_of(parse(expression))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rows", "38"], "a block has 1 to 37 rows"),
        (["--rows", "0"], "a block has 1 to 37 rows"),
        (["--rows", "-1"], "a block has 1 to 37 rows"),
        (["--rows", "8", "--threads", "2"], "leave out --threads"),
        (["--rows", "8", "--save", "x.json"], "several schedules"),
        (["--rows", "8", "--target", "x86-64-v3,neon"], "x86-64-v4, x86-64-v3, x86-64"),
    ],
)
def test_what_a_range_of_rows_is_not_for(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["synth", PRODUCT, *options]) == 2
    assert message in capsys.readouterr().err

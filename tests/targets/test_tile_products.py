"""Products of tiles (AMX), whose instructions are computed in memory, against NumPy."""

from __future__ import annotations

import ctypes
from itertools import product as product_of
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import compile_c, runs_here

from morello.ir.dtype import DTYPES
from morello.targets.cpu import TILES
from morello.targets.helpers.tiles import (
    BF16_TILES,
    BYTE_TILES,
    COLUMNS,
    LONGEST,
    TileProduct,
    tile_helpers,
)
from morello.targets.kernels.tiles import tile_sums
from morello.targets.x86 import AVX2

Array = np.ndarray[Any, np.dtype[Any]]

SIZES = [
    (16, 16, 16),
    (59, 21, 35),
    (1, 70, 15),
    (64, 1, 48),
    (32, 50, 1),
    (33, COLUMNS + 5, LONGEST + 21),
]
"""Rows, columns and groups of k: whole tiles, and fewer rows, columns and groups in the last."""


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Functions of all products of tiles, whose instructions are computed in memory."""
    parameters = "uint32_t *a, long a_m, uint32_t *b, long b_k, long b_n, void *c, long c_m"
    sizes = "long m, long n, long k, long adds"
    given = "(a, a_m, b, b_k, b_n, c, c_m, m, n, k, adds)"
    functions = [
        f"void of_{p.name}({parameters}, {sizes}) {{ {p.name}{given}; }}"
        for p in BF16_TILES + BYTE_TILES
    ]
    instructions = Path(__file__).with_name("tiles.h").read_text()
    text = "\n".join([instructions, *tile_helpers(TILES).values(), *functions])
    return compile_c(text, AVX2, tmp_path_factory.mktemp("tiles"))


@pytest.mark.skipif(not runs_here(AVX2), reason="x86-64 only")
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("product", BF16_TILES + BYTE_TILES, ids=lambda product: product.name)
def test_products_of_tiles_are_those_of_numpy(
    product: TileProduct, adds: bool, tiles: ctypes.CDLL
) -> None:
    random, kernel = np.random.default_rng(5), tile_sums(product, adds=adds)
    for (m, n, k), begin, panels in product_of(SIZES, [0, 3], [False, True]):
        width = -(-n // 16) * 16
        lines = aligned(m * k + begin)
        a = lines[begin:].reshape(m, k)  # from the beginning of a line on, or from inside of one
        a[:] = bits(random, product.a, (m, k))
        b = bits(random, product.b, (k, width))
        c = random.integers(-99, 99, (m, width)).astype(DTYPES[product.total].np)
        wanted = c.copy()
        wanted[:, :n] = kernel.semantics(a, b[:, :n], *[c[:, :n]] * adds)
        lying = np.ascontiguousarray(b.reshape(k, -1, 16).swapaxes(0, 1)) if panels else b
        a_place, b_place, c_place = (array.ctypes.data for array in (a, lying, c))
        b_steps = (16, k) if panels else (width, 1)
        places = a_place, k, b_place, *b_steps, c_place, width, m, n, k, int(adds)
        getattr(tiles, f"of_{product.name}")(*map(ctypes.c_long, places))
        assert np.array_equal(c, wanted), (m, n, k, begin, panels)
    assert ctypes.c_int.in_dll(tiles, "faults").value == 0


def bits(random: np.random.Generator, name: str, shape: tuple[int, int]) -> Array:
    """Random packed groups: of any bytes, or of integers in bf16, whose sums are exact in f32."""
    if name in ("u8x4", "i8x4"):
        return random.integers(0, 1 << 32, shape, np.uint32)
    pairs = random.integers(-8, 9, (*shape, 2)).astype(np.float32).view(np.uint32) >> 16
    return pairs.astype(np.uint16).view(np.uint32)[..., 0]


def aligned(count: int) -> Array:
    """An array of so many groups that begins at a line."""
    memory = np.zeros(count + 16, np.uint32)
    return memory[-memory.ctypes.data % 64 // 4 :][:count]

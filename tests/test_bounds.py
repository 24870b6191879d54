"""The rooflines of Specs: what has to be computed and moved, and from where."""

from pathlib import Path

import pytest

from morello.frontends.text import parse
from morello.measure import peaks
from morello.measure.bounds import Bound, Peak, bound, least_cycles, moved_bytes, product_flops
from morello.search.budget import Budget
from morello.search.session import Session
from morello.targets import find_target

KIB, MIB = 1 << 10, 1 << 20
PEAK = Peak(
    {"f32": 100.0, "bf16": 1000.0, "u8": 0.0},
    {16 * KIB: 200.0, MIB: 50.0, 64 * MIB: 10.0},
    {"L1": 32 * KIB, "L2": 2 * MIB},
)


@pytest.mark.parametrize(
    "expression, flops",
    [
        ("f32[8,16] @ f32[16,4]", {"f32": 1024}),
        ("relu(f32[8,16] @ f32[16,4] + f32[4])", {"f32": 1024}),  # no other arithmetic counts
        ("bf16[8,16] @ bf16[16,4]", {"bf16": 1024}),
        ("f32[8,16] @ bf16[16,4]", {"f32": 1024}),
        ("u8[8,16] @ i8[16,4]", {"u8": 1024}),
        ("(f32[8,16] @ f32[16,4]) @ f32[4,32]", {"f32": 1024 + 2048}),
        ("conv(f32[1,3,8,8], f32[5,3,3,3])", {"f32": 2 * 5 * 6 * 6 * 3 * 3 * 3}),
        ("softmax(f32[8,16])", {}),
    ],
)
def test_multiply_adds_are_those_of_the_definition(expression: str, flops: dict[str, int]) -> None:
    assert product_flops(parse(expression)) == flops


def test_each_array_is_moved_once_and_of_a_table_the_rows_that_are_taken() -> None:
    square = parse("x = f32[64,64]; x @ x")
    assert sorted(moved_bytes(square).values()) == [64 * 64 * 4] * 2
    taken = parse("take(f32[30000,64], i64[8])")
    assert sorted(moved_bytes(taken).values()) == [8 * 8, 8 * 64 * 4, 8 * 64 * 4]
    chosen = parse("grouped_matmul(f32[2,64], f32[8,64,32], i32[2])")
    assert moved_bytes(chosen)["matrices"] == 2 * 64 * 32 * 4  # one for each row
    assert product_flops(chosen) == {"f32": 2 * 2 * 64 * 32}


def same(limit: Bound, seconds: float, by: str) -> bool:
    return limit.by == by and limit.seconds == pytest.approx(seconds)


def test_the_larger_of_products_and_bytes_is_the_bound() -> None:
    large = parse("f32[1024,1024] @ f32[1024,1024]")
    assert same(bound(large, PEAK), 2 * 1024**3 / 100e9, "products")
    vector = parse("f32[1,4096] @ f32[4096,4096]")
    size = 4 * (4096**2 + 2 * 4096)
    assert same(bound(vector, PEAK), size / 10e9, "memory")
    assert bound(parse("relu(f32[1024])"), PEAK).by == "L1"
    assert bound(large, PEAK).share(0.1) == pytest.approx(0.1 * 2 * 1024**3 / 1e9)


@pytest.mark.parametrize("target", ["avx2", "avx512", "neon"])
@pytest.mark.parametrize(
    "expression",
    [
        "f32[64,96] @ f32[96,48]",
        "f32[1,256] @ f32[256,128]",
        "relu(conv(f32[1,16,8,8], f32[32,16,3,3]))",
        "softmax(f32[8,100])",
        "take(f32[30000,64], i64[8])",
        "f32[64,64] + transpose(f32[64,64])",
    ],
)
def test_no_program_costs_less_than_its_bytes_and_multiply_adds(
    expression: str, target: str
) -> None:
    spec, machine = parse(expression), find_target(target)
    least = least_cycles(spec, machine)
    assert 0 < least <= Session(spec, machine).solve(Budget(gap=0.5)).cost


def test_constants_come_from_where_all_of_a_model_fit() -> None:
    small = parse("f32[1,64] @ f32[64,256]")
    weights = next(name for name, size in moved_bytes(small).items() if size == 64 * 256 * 4)
    near, far = bound(small, PEAK), bound(small, PEAK, [weights], 100 * MIB)
    assert near.by == "L2" and same(far, 64 * 256 * 4 / 10e9, "memory")


def test_a_peak_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "measured_peak", lambda threads: PEAK)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert peaks.kept_peak(3) is None and not peaks.keeps_peaks()  # as $MORELLO_CALIBRATION is set
    monkeypatch.delenv("MORELLO_CALIBRATION")
    assert peaks.host_peak(3) == PEAK == peaks.kept_peak(3)
    assert peaks.kept_peak(1) is None
    (path,) = tmp_path.rglob("*.peaks.json")
    path.write_text("{")
    assert peaks.kept_peak(3) is None

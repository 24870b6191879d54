from __future__ import annotations

import pickle

import numpy as np
import pytest

from benchmarks.collection import GROUPS
from benchmarks.data import WrongError, argument, check, empty, load, make, save
from benchmarks.work import Chain, Conv, Epilogue, Matmul, Scores, Softmax, Work
from morello import parse
from morello.runtime.argument import arguments
from morello.runtime.tolerance import expected

CASES = [work for group in GROUPS.values() for work in group]

TINY: list[Work] = [
    Matmul(5, 9, 7),
    Matmul(1, 16, 4, "bf16", "bf16", b_by_columns=True),
    Matmul(4, 64, 4, "u8", "i8", "i32"),
    Matmul(4, 64, 4, "u8", "i8", "i16"),
    Epilogue(4, 8, 6, "relu"),
    Epilogue(4, 8, 6, "gelu"),
    Chain(6),
    Scores(8, 4),
    Softmax(3, 17),
    Conv(3, 7, 4, 3),
]


@pytest.mark.parametrize("work", CASES, ids=lambda work: work.expression)
def test_morello_takes_each_case_as_it_is_meant(work: Work) -> None:
    *taken, output = arguments(parse(work.expression))
    assert [(a.dtype, a.shape, a.strides) for a in taken] == [
        (a.dtype, a.shape, a.strides) for a in map(argument, work.inputs)
    ]
    assert (output.dtype, output.shape) == (argument(work.output).dtype, work.output.shape)
    assert pickle.loads(pickle.dumps(work)) == work


def test_cases_have_names_of_their_own() -> None:
    for group in GROUPS.values():
        assert len({work.size for work in group}) == len(group)


@pytest.mark.parametrize("work", TINY, ids=lambda work: work.expression)
def test_references_agree_with_morellos(work: Work, tmp_path: object) -> None:
    data = make(work)
    theirs = expected(parse(work.expression), data.inputs)
    assert check(work, data, theirs.value.astype(np.float64)) < 1e-5
    # and are tight: nothing close to zero, nothing within a thousandth, passes
    with pytest.raises(WrongError, match="wrong"):
        check(work, data, theirs.value.astype(np.float64) * 1.001 + 1e-3)


@pytest.mark.parametrize("work", TINY[:3], ids=lambda work: work.expression)
def test_data_comes_back_as_it_was(work: Work, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, made = tmp_path_factory.mktemp("data"), make(work)
    save(made, folder)
    found = load(work, folder)
    for a, b in zip(made.inputs, found.inputs, strict=True):
        assert a.dtype == b.dtype
        assert a.strides == b.strides
        assert np.array_equal(a, b)
        assert b.ctypes.data % 64 == 0
    assert np.array_equal(made.wanted, found.wanted)


def test_one_wrong_element_is_found() -> None:
    work = Matmul(8, 32, 8)
    data = make(work)
    right = data.wanted.astype(np.float32)
    assert check(work, data, right) < 1e-6
    for bad in (np.nan, right[3, 5] + 1e-4, 0):
        got = right.copy()
        got[3, 5] = bad
        with pytest.raises(WrongError, match=r"1 of 64 elements, the first at \(3, 5\)"):
            check(work, data, got)
    with pytest.raises(WrongError, match="shape"):
        check(work, data, right[:7])
    with pytest.raises(WrongError, match="64 of 64"):
        check(work, data, empty(work.output))
    with pytest.raises(WrongError):
        check(Matmul(4, 4, 4, "u8", "i8", "i32"), make(Matmul(4, 4, 4, "u8", "i8", "i32")), 0)


def test_wider_integers_wrap_around() -> None:
    work = Matmul(2, 64, 2, "u8", "i8", "i16")
    data = make(work)
    a, b = (x.astype(np.int32) for x in data.inputs)
    assert check(work, data, a @ b) == 0
    assert check(work, data, (a @ b).astype(np.int16)) == 0

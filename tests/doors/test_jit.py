"""`morello.jit`: functions of NumPy return what they did, from kernels where there are some."""

import copy
import gc
import pickle
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import morello
from morello.base.errors import CallError, FallbackWarning, SearchError
from morello.jitting.agreement import differing
from morello.jitting.functions import VARIANTS
from morello.jitting.program import NumPyProgram

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(0)


def random(*shape: int) -> Array:
    return GENERATOR.uniform(0.1, 1, shape).astype(np.float32)


def jit(function: Any) -> Any:
    return morello.jit(function, gap=1.0)


def agrees(function: Any, *args: Any, **keywords: Any) -> Any:
    """The function jitted, after calls whose results are NumPy's."""
    jitted = jit(function)
    for _ in range(3):
        assert not differing(jitted(*args, **keywords), function(*args, **keywords))
    return jitted


def text(jitted: Any) -> str:
    return str(morello.report(jitted))


def layer(x: Array, w: Array, b: Array) -> Any:
    return np.maximum(x @ w + b, 0)


@morello.jit(gap=1.0)
def doubled(x: Array) -> Any:
    return x @ x.T * 2


def test_copies_are_the_function_itself() -> None:
    for function in doubled, jit(layer):
        assert copy.copy(function) is copy.deepcopy(function) is function
    x = random(4, 8)
    doubled(x)
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    again = pickle.loads(pickle.dumps(jit(layer)))
    assert not differing(again(x, x.T, x[:, 0]), layer(x, x.T, x[:, 0]))


def test_one_kernel_is_called_directly() -> None:
    x, w, b = random(4, 8), random(8, 16), random(16)
    jitted = agrees(layer, x, w, b)
    assert type(jitted.__call__).__name__ == "builtin_function_or_method"
    assert text(jitted).startswith("layer(f32[4,8], f32[8,16], f32[16]): 1 kernel in 1 call, ")
    assert jitted.__name__ == "layer"
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        jitted(x, w, b, np.empty((4, 16), np.float32))
    with pytest.raises(ValueError, match="mismatch"):
        jitted(x, w.T, b)
    assert not differing(jitted(b=b, w=w, x=x), layer(x, w, b))
    assert len(jitted.variants) == 1


def test_arrays_of_other_types_are_other_variants() -> None:
    x, w, b = random(4, 8), random(8, 16), random(16)
    jitted = agrees(layer, x, w, b)
    for other in (x[:2], np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2], x.astype(np.float64)):
        for _ in range(2):
            assert not differing(jitted(other, w, b), layer(other, w, b))
    assert not differing(jitted(x, w, b), layer(x, w, b))
    assert len(jitted.variants) == 5
    assert "layer(float64[4,8], f32[8,16], f32[16]): NumPy computes all of it" in text(jitted)


def test_several_kernels_are_one_call() -> None:
    def attention(q: Array, k: Array, v: Array) -> Any:
        scores = q @ k.T * 0.25
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v

    arrays = random(8, 16), random(12, 16), random(12, 4)
    jitted = agrees(attention, *arrays)
    assert type(jitted.__call__).__name__ == "builtin_function_or_method"
    expected = attention(*arrays)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: jitted(*arrays), range(200)):
            assert not differing(result, expected)


def test_constants_are_packed_once() -> None:
    w = random(8, 16)
    jitted = agrees(lambda x: np.tanh(x @ w), random(4, 8))
    assert type(jitted.__call__).__name__ == "builtin_function_or_method"


def test_unused_arguments_are_checked() -> None:
    jitted = agrees(lambda x, unused, y: x + y, random(8), random(3), random(8))
    assert jitted(random(8), random(4), random(8)).shape == (8,)
    assert len(jitted.variants) == 2


def test_numbers_and_trees_are_returned_as_they_are() -> None:
    x = random(4, 8)
    assert type(agrees(lambda x: (x * x).sum(), x)(x)) is np.float32
    agrees(lambda x: {"sum": x.sum(0), "rest": [x * 2, (x.shape, "name", None)]}, x)
    jitted = agrees(lambda p: p["x"] @ p["w"][0] * p["scale"], {"x": x, "w": [x.T], "scale": 2.0})
    assert "1 kernel" in text(jitted)


def test_numbers_are_constants() -> None:
    jitted = agrees(lambda x, scale, shift=0.0: x * scale + shift, random(8), 2.0)
    for scale in (3.0, 0.0, -0.0, True):
        for _ in range(2):
            assert not differing(jitted(np.ones(8, np.float32), scale), np.full(8, scale, "f4"))


def test_what_is_left_to_numpy_is_told() -> None:
    def parted(x: Array, y: Array) -> Any:
        return np.partition(x @ y, 1, axis=0) * 3 + 1

    told = text(agrees(parted, random(4, 8), random(8, 4)))
    assert "\n  100 %     1 " in told
    assert "left to NumPy: foreign partition (no operator computes it)" in told
    assert "left to NumPy: multiply (a kernel would save less than its call takes)" in told

    def branches(x: Array) -> Any:
        return x if x.sum() > 0 else -x

    x = random(8)
    jitted = agrees(branches, x)
    assert not differing(jitted(-x), x)
    assert "an `if`, `while` or `and` on a traced array cannot be traced" in text(jitted)
    wide = agrees(lambda x: x * np.float64(2) @ x, random(8))
    assert "NumPy computes all of it" in text(wide)


def test_shapes_that_depend_on_elements_are_noticed() -> None:
    w = random(8, 8)

    def positive(x: Array) -> Any:
        return (x @ w)[x > 0] * 2

    x = random(8)
    jitted = agrees(positive, x)
    x[3] = -1
    assert not differing(jitted(x), positive(x))
    assert "the shape of what getitem returns depends on the elements" in text(jitted)


def test_results_share_memory_as_those_of_numpy() -> None:
    x = random(4, 8)
    for function, shares in (
        (lambda x: x, True), (lambda x: x.T, True), (lambda x: x.copy(), False),
        (lambda x: x.astype(np.float32), False), (lambda x: np.tile(x, (2, 1)), False),
    ):  # fmt: skip
        result = agrees(function, x)(x)
        assert np.may_share_memory(result, x) == shares
        assert result.flags.writeable


def test_arguments_that_are_changed_are_changed() -> None:
    def changes(x: Array) -> Any:
        x += 1
        return x * 2

    x = np.zeros(8, np.float32)
    jitted = jit(changes)
    for n in range(1, 4):
        assert (jitted(x) == 2 * n).all()
        assert (x == n).all()


def test_other_results_than_those_of_numpy_are_noticed() -> None:
    def impure(x: Array) -> Any:
        return x + np.float32(GENERATOR.uniform())

    jitted = jit(impure)
    with pytest.warns(FallbackWarning, match="impure is left to NumPy, as kernels computed"):
        jitted(random(8))
    x = random(8)
    assert not np.array_equal(jitted(x), jitted(x))


def test_there_is_a_limit_of_variants() -> None:
    jitted = jit(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, VARIANTS + 1):
            jitted(random(n))
    with pytest.warns(FallbackWarning, match=f"compiled {VARIANTS} times"):
        assert jitted(np.zeros(20, np.float32)).sum() == 20
    assert "for all other arguments" in text(jitted)


def test_wrong_options_are_said() -> None:
    with pytest.raises(SearchError, match=r"no option bugdet; did you mean budget\?"):
        morello.jit(lambda x: x + 1, bugdet=3)  # type: ignore[call-overload]
    x = random(4)
    for options, said in (
        ({"budget": -1.0}, "budget of a search"),
        ({"compiler": "no-cc"}, "no-cc"),
    ):
        jitted = morello.jit(lambda x: x + 1, **options)
        with pytest.warns(FallbackWarning, match=f"is left to NumPy: .*{said}"):
            np.testing.assert_array_equal(jitted(x), x + 1)
        assert said in text(jitted)


class Zeros(np.ndarray[Any, Any]):
    """A kind of arrays whose products are 0."""

    def __mul__(self, other: Any) -> Any:
        return np.zeros(self.shape)


def test_other_kinds_of_arrays_are_left_to_numpy() -> None:
    x = random(4, 4)
    jitted = agrees(lambda x: x * x, x)
    masked = np.ma.masked_array(x, x > 0.5)
    assert isinstance(jitted(masked), np.ma.MaskedArray)
    assert (jitted(x.view(Zeros)) == 0).all()
    assert jitted(np.empty((0, 4), np.float32)).shape == (0, 4)
    assert jitted(3) == 9
    with pytest.raises(TypeError):
        jitted(None)


def test_methods_and_functions_of_functions() -> None:
    @morello.jit(gap=1.0)
    def double(x: Array) -> Any:
        return x * 2

    class Model:
        @morello.jit(gap=1.0)
        def apply(self, x: Array) -> Any:
            return double(x) + 1

    model = Model()
    for _ in range(2):
        assert (model.apply(np.ones(8, np.float32)) == 3).all()
    jitted = agrees(lambda x: double(x) + double(x + 1), random(8))
    assert "1 kernel" in text(jitted)


def test_a_function_is_freed() -> None:
    jitted = agrees(lambda x: x + 1, random(8))
    reference = weakref.ref(jitted)
    del jitted
    gc.collect()
    assert reference() is None


def test_a_report_has_measured_times() -> None:
    @jit
    def chain(x: Array, w: Array) -> Array:
        result: Array = np.tanh(x @ w) @ w
        return result

    x = np.random.default_rng(0).random((32, 32), np.float32)
    chain(x, x)
    (predicted,) = morello.report(chain).programs
    measured = predicted.measured(0.01)
    times = [kernel.measured or 0.0 for kernel in measured.kernels]
    assert times == sorted(times, reverse=True) and len(times) == 2
    assert all(1e-7 < time < 1 for time in (*times, measured.call or 0.0))
    assert " us measured" in str(measured) and " us measured" not in str(predicted)
    time = predicted.compiling
    assert time.searches > 0 and 0 < time.kernels + time.weights <= time.whole
    assert f"  compiled in {time.whole:.2f} s: " in str(predicted)
    assert 0 < predicted.least <= predicted.seconds * (1 + 1e-9)
    reached = round(100 * predicted.least / predicted.seconds)
    assert f"  they reach {reached} % of the cost model's bound" in str(predicted)
    assert f"they reach {reached} % of the cost model's bound, and " in str(measured)
    unknown = replace(predicted, compiled=None)
    with pytest.raises(CallError, match="does not exist any more"):
        unknown.measured()


def test_only_functions_are_taken() -> None:
    with pytest.raises(CallError, match=r"morello\.jit takes a function, not 3"):
        jit(3)


def test_a_report_is_of_what_jit_made() -> None:
    with pytest.raises(CallError, match=r"was not made by morello\.jit"):
        morello.report(layer)
    assert text(jit(layer)) == "layer was not called yet."


@pytest.mark.parametrize(
    ("computed", "expected", "difference"),
    [
        (np.array([1, np.nan], np.float32), np.array([1, np.nan], np.float32), ""),
        (np.array([1, 2], np.float32), np.array([1, 2.1], np.float32), "2 in place of 2.1 at [1]"),
        (
            np.array([1, 2], np.float32),
            np.array([1, np.inf], np.float32),
            "2 in place of inf at [1]",
        ),
        (
            np.array([1, 2], np.float32),
            np.array([1, 2], np.float64),
            "float32(2,) in place of float64(2,)",
        ),
        (np.array([1, 2], np.int32), np.array([1, 3], np.int32), "other elements of int32"),
        ((np.float32(1),), [np.float32(1)], "a tuple of 1 in place of a list of 1"),
        ({"a": 1}, {"b": 1}, "other keys"),
        (1, 2, "1 in place of 2"),
    ],
)
def test_differences_are_described(computed: Any, expected: Any, difference: str) -> None:
    assert differing(computed, expected) == difference


def gray(image: Array) -> Any:
    return np.clip(image @ np.array([0.3, 0.6, 0.1], np.float32), 0, 255).astype(np.uint8)


def first(x: Array, w: Array) -> Any:
    return np.argmax(x @ w, axis=1)


def above(x: Array, w: Array) -> Any:
    return x @ w > 8


@pytest.mark.parametrize(
    ("function", "change", "told"),
    [(gray, 1, False), (gray, 2, True), (first, 6, False), (first, 1, True), (above, 1, True)],
)
def test_integers_differ_by_rounding_alone(
    monkeypatch: pytest.MonkeyPatch, function: Any, change: int, told: bool
) -> None:
    """Pixels may be a step off, as 0.5 is 0 and a bit more is 1; indices are of equal numbers."""
    right = NumPyProgram.__call__

    def wrong(self: NumPyProgram, arrays: Any) -> Any:
        result = right(self, arrays)
        return np.where(result == result.min(), result + change, result).astype(result.dtype)

    monkeypatch.setattr(NumPyProgram, "__call__", wrong)
    numbers = np.random.default_rng(0)
    x, w = (numbers.uniform(0.1, 1, (16, 16)).astype(np.float32) for _ in range(2))
    w[:, 3] = w[:, 9] = 2
    arrays = [255 * x[:15].reshape(8, 10, 3)] if function is gray else [x, w]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.array_equal(jit(function)(*arrays), function(*arrays))
    assert [each.category for each in caught] == [FallbackWarning] * told

"""A model of ONNX made faster: Magika, which tells the types of files (`pip install magika`).

The labels are those of the original model.
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

SIZE = 1024
PADDING = 256


def features(content: bytes) -> npt.NDArray[np.int32]:
    """The first and the last bytes of a file, as the model takes them."""
    first, last = content[:SIZE], content[-SIZE:]
    numbers = [*first, *[PADDING] * (SIZE - len(first)), *[PADDING] * (SIZE - len(last)), *last]
    return np.array([numbers], np.int32)


def run(model: Path, folder: Path) -> None:
    """Convert the model, and compare the labels of some files."""
    import onnxruntime

    from morello.onnx import convert

    conversion = convert(model, folder / "fast.onnx", {"bytes": (1, 2 * SIZE)})
    kernels = sum(len(segment.kernels) for segment in conversion.compiled.segments)
    print(f"{kernels} kernels; left to ONNX Runtime: {sum(conversion.left.values())} nodes")
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(conversion.library))
    before = onnxruntime.InferenceSession(model)
    after = onnxruntime.InferenceSession(conversion.model, options)
    largest = 0.0
    for file in (Path(__file__), Path(sys.executable), model):
        feeds = {"bytes": features(file.read_bytes())}
        (expected,), (result,) = before.run(None, feeds), after.run(None, feeds)
        assert expected.argmax() == result.argmax()
        largest = max(largest, float(np.abs(expected - result).max()))
        print(f"{file.name}: label {result.argmax()}, as before")
    print(f"largest error: {largest:.1e}")


magika = find_spec("magika")
if magika is None or not all(map(find_spec, ("onnx", "onnxruntime"))):
    print("skipped: this example needs magika, onnx and onnxruntime")
else:
    package = Path(str(magika.origin)).parent
    with tempfile.TemporaryDirectory() as made:
        run(next(package.glob("models/standard_*/model.onnx")), Path(made))

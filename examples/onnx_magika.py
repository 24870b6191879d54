"""A model in a session of ONNX Runtime: Magika, which tells the types of files.

Needs `pip install magika`, of which only the model is used.
"""

import sys
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


def run(model: Path) -> None:
    """Compare the labels of some files with those of ONNX Runtime alone."""
    import onnxruntime

    import morello.onnx

    before = onnxruntime.InferenceSession(model)
    # a small budget and a gap: kernels soon, which need not be the cheapest
    after = morello.onnx.session(model, {"bytes": (1, 2 * SIZE)}, budget=0.5, gap=0.2)
    print(*after.get_providers())
    for file in (Path(__file__), Path(sys.executable), model):
        feeds = {"bytes": features(file.read_bytes())}
        (expected,), (result,) = before.run(None, feeds), after.run(None, feeds)
        error = np.abs(expected - result).max()
        assert expected.argmax() == result.argmax() and error < 1e-4
        print(f"{file.name}: label {result.argmax()}, largest error: {error:.1e}")


magika = find_spec("magika")
if magika is None or not all(map(find_spec, ("onnx", "onnxruntime"))):
    print("skipped: this example needs magika, onnx and onnxruntime")
else:
    package = Path(str(magika.origin)).parent
    run(next(package.glob("models/standard_*/model.onnx")))

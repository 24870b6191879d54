"""Measure programs of a Spec for some seconds, and compile the fastest."""

import numpy as np

import morello
from morello.learn.tune import plan, tune

SECONDS = 1.0


def main() -> None:
    goal, target = plan("f32[64,128] @ f32[128,96]")
    for tuning in tune(goal, target, SECONDS):
        print(
            f"{len(tuning.trials):3} programs measured, the fastest {tuning.best_s * 1e6:.1f} us, "
            f"{tuning.speedup:.2f} times as fast as the first choice"
        )
    kernel = morello.compile(tuning.best.impl)

    random = np.random.default_rng(0)
    a = random.standard_normal((64, 128), np.float32)
    b = random.standard_normal((128, 96), np.float32)
    print(f"largest error: {np.abs(kernel(a, b) - a.astype(np.float64) @ b).max():.1e}")


if __name__ == "__main__":  # programs run in a process of their own, which imports this file
    main()

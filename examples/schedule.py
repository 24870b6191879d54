"""Schedule a matrix product by hand, and let the search finish it."""

import numpy as np

import morello

schedule = morello.schedule("f32[64,64] @ f32[64,64]")
try:
    schedule.tile(m=128)
except morello.MorelloError as error:
    print(f"A step that does not apply: {error}\n")

schedule = schedule.to_accumulate().move("b", "L2", packed=32).tile(m=8, n=32)
print("So far:")
print(schedule)

schedule = schedule.solve()
print("\nSolved:")
print(schedule)

kernel = morello.compile(schedule)
random = np.random.default_rng(0)
a, b = (random.standard_normal((64, 64), np.float32) for _ in range(2))
print(f"\nlargest error: {np.abs(kernel(a, b) - a.astype(np.float64) @ b).max():.1e}")

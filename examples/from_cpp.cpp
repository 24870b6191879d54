// Calls the kernel of from_cpp.py, and prints how far it is from a plain loop.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "matmul.h"

constexpr int M = 64, K = 32, N = 48;
static float a[M][K], b[K][N], c[M][N];

int main() {
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) a[i][k] = std::sin(float(i + 2 * k));
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j) b[k][j] = std::cos(float(3 * k + j));

  matmul(&a[0][0], &b[0][0], &c[0][0]);

  double largest = 0.0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0.0;
      for (int k = 0; k < K; ++k) sum += double(a[i][k]) * b[k][j];
      largest = std::max(largest, std::fabs(sum - c[i][j]));
    }
  std::printf("called from C++: largest error: %.1e\n", largest);
}

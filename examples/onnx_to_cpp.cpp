// Runs the layer that onnx_to_cpp.py exported, compares the result with that of ONNX, and times it.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "layer.h"

static std::vector<float> read(const char *path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> numbers(static_cast<std::size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float));
  return numbers;
}

int main() {
  alignas(64) static char workspace[LAYER_WORKSPACE];
  std::vector<float> x = read("x.bin");
  const std::vector<float> expected = read("expected.bin");
  std::vector<float> y(expected.size());
  void *const arrays[] = {x.data(), y.data()};
  const auto run = [&] { layer(arrays, layer_constants, workspace, nullptr, nullptr); };

  run();
  float error = 0, largest = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float off = std::fabs(y[i] - expected[i]);
    error = off <= error ? error : off;  // so that a NaN stays one
    largest = std::max(largest, std::fabs(expected[i]));
  }

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::chrono::duration<double, std::micro> time{};
  int calls = 0;
  while (time.count() < 1e5) {
    run();
    ++calls;
    time = Clock::now() - begin;
  }
  std::printf("called from C++: %.1f us, largest error: %.1e\n", time.count() / calls, error);
  return error <= 1e-4f * largest ? 0 : 1;
}

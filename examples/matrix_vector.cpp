// Calls the kernels of matrix_vector.py on ranges of rows, as threads of a pool would, and prints
// how far the results are from plain loops in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "products.h"

struct Product {
  const char *name;
  long rows, columns, stride;
  decltype(&gemma_2b_up_rows) run;
};
static const Product products[] = {PRODUCTS};

constexpr int TASKS = 5;  // of different sizes

static float wide(uint16_t bf16) {
  const uint32_t bits = uint32_t(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static float random_number() {
  static uint32_t state = 1;
  state = 1664525 * state + 1013904223;
  return float(state >> 8) / float(1 << 23) - 1;
}

static uint16_t random_bf16() {
  const float value = random_number();
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return uint16_t(bits >> 16);
}

static double largest_error(const Product &product) {
  const long rows = product.rows, columns = product.columns, stride = product.stride;
  auto *weights = static_cast<uint16_t *>(std::malloc(sizeof(uint16_t) * rows * stride));
  auto *x = static_cast<uint16_t *>(std::malloc(sizeof(uint16_t) * columns));
  auto *bias = static_cast<float *>(std::malloc(sizeof(float) * rows));
  auto *out = static_cast<float *>(std::malloc(sizeof(float) * rows));
  const float scale = 1 / std::sqrt(float(columns));
  std::generate(weights, weights + rows * stride, random_bf16);
  std::generate(x, x + columns, random_bf16);
  std::generate(bias, bias + rows, random_number);

  for (long task = 0; task < TASKS; ++task)
    product.run(x, weights, &scale, bias, out, task * rows / TASKS, (task + 1) * rows / TASKS);

  double largest = 0;
  for (long i = 0; i < rows; ++i) {
    double sum = 0;
    for (long k = 0; k < columns; ++k)
      sum += double(wide(weights[i * stride + k])) * wide(x[k]);
    largest = std::max(largest, std::fabs(scale * sum + bias[i] - out[i]));
  }
  std::free(weights);
  std::free(x);
  std::free(bias);
  std::free(out);
  return largest;
}

int main() {
  for (const Product &product : products)
    std::printf("%s: largest error: %.1e\n", product.name, largest_error(product));
}

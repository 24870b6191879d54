// Hash tables of integers in flat arrays, with open addressing; see hashing.py.
//
// A slot holds the number of a key, or -1. There are `size` slots, a power of two.

#include <stdint.h>

// The slot that has a key, or the empty one where it belongs.
static inline int64_t slot_of(int64_t key, const int32_t *slots, int64_t size, const int64_t *keys) {
  int64_t slot = (int64_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 32) & (size - 1);
  while (slots[slot] >= 0 && keys[slots[slot]] != key) slot = (slot + 1) & (size - 1);
  return slot;
}

int64_t merge(const int64_t *keys, const int64_t *limit, const double *cutoff, int64_t count,
              const LimitPacking *packing, int32_t *slots, int64_t size, int64_t *unique,
              int32_t *inverse, int64_t *limits, double *cutoffs) {
  int64_t uniques = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t slot = slot_of(keys[i], slots, size, unique);
    int32_t entry = slots[slot];
    if (entry < 0) {
      entry = slots[slot] = (int32_t)uniques++;
      unique[entry] = keys[i];
      limits[entry] = limit[i];
      cutoffs[entry] = cutoff[i];
    } else {
      limits[entry] = larger(limits[entry], limit[i], *packing);
      if (cutoff[i] > cutoffs[entry]) cutoffs[entry] = cutoff[i];
    }
    inverse[i] = entry;
  }
  return uniques;
}

int64_t minima(const int64_t *keys, const double *values, int64_t count, int32_t *slots,
               int64_t size, int64_t *unique, double *lowest) {
  int64_t uniques = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t slot = slot_of(keys[i], slots, size, unique);
    int32_t entry = slots[slot];
    if (entry < 0) {
      slots[slot] = (int32_t)uniques;
      unique[uniques] = keys[i];
      lowest[uniques++] = values[i];
    } else if (values[i] < lowest[entry]) {
      lowest[entry] = values[i];
    }
  }
  return uniques;
}

void find(const int64_t *wanted, int64_t count, const int32_t *slots, int64_t size,
          const int64_t *keys, int32_t *result) {
  for (int64_t i = 0; i < count; i++) result[i] = slots[slot_of(wanted[i], slots, size, keys)];
}

// Memory limits of all levels, packed into one integer; see limits.py.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t guard, field;
} LimitPacking;

// The largest value in every field.
static inline int64_t largest(LimitPacking packing) {
  return packing.guard - (packing.guard >> (packing.field - 1));
}

// Whether amount <= limit in every field.
static inline bool fits(int64_t amount, int64_t limit, LimitPacking packing) {
  return (((limit | packing.guard) - amount) & packing.guard) == packing.guard;
}

// The maximum of both, field by field.
static inline int64_t larger(int64_t a, int64_t b, LimitPacking packing) {
  int64_t wins = ((a | packing.guard) - b) & packing.guard;
  int64_t ones = wins - (wins >> (packing.field - 1));
  return (a & ones) | (b & ~ones & largest(packing));
}

// The members of groups in flat arrays; see groups.py.

#include <stdbool.h>
#include <stdint.h>

// `start` is 0 everywhere at first, and `fill` has room for a number of each group.
void by_group(const int32_t *group, int64_t items, int64_t count, int32_t *start, int32_t *fill,
              int32_t *members) {
  for (int64_t i = 0; i < items; i++) start[group[i] + 1]++;
  for (int64_t number = 0; number < count; number++) {
    fill[number] = start[number];
    start[number + 1] += start[number];
  }
  for (int64_t i = 0; i < items; i++) members[fill[group[i]]++] = (int32_t)i;
}

// `least` has room for a bound of each rule, `result` is 0, and `beyond` INFINITE at first.
void rules_between(const int32_t *group, const double *above, const double *upto, int64_t rows,
                   const int32_t *start, const uint8_t *rule, const float *bound, double *least,
                   bool *result, double *beyond) {
  for (int64_t row = 0; row < rows; row++) {
    if (group[row] < 0) continue;
    int32_t first = start[group[row]], last = start[group[row] + 1];
    for (int32_t member = first; member < last; member++) least[rule[member]] = INFINITE;
    for (int32_t member = first; member < last; member++)
      if (bound[member] < least[rule[member]]) least[rule[member]] = bound[member];
    for (int32_t member = first; member < last; member++) {
      double lowest = least[rule[member]];
      if (lowest > upto[row]) {
        if (lowest < beyond[row]) beyond[row] = lowest;
      } else if (lowest > above[row]) {
        result[rule[member] * rows + row] = true;
      }
    }
  }
}

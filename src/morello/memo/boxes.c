// Axis-aligned boxes of points: merging and lookup; see boxes.py.
//
// A box is a row of `columns` integers: its lowest corner, of `axes` integers, its highest corner,
// and a value.

#include <stdbool.h>
#include <stdint.h>

// All arithmetic is modulo 2^64.
static inline uint64_t mixed(int64_t value, int64_t column) {
  uint64_t h = (uint64_t)value + (uint64_t)(column + 1) * 0xD1B54A32D192ED03u;
  h *= 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 31) * 0xBF58476D1CE4E5B9u;
  return h ^ h >> 29;
}

// A hash of every row, a sum over its columns.
void hash_rows(const int64_t *rows, int64_t count, int64_t columns, uint64_t *hashes) {
  for (int64_t i = 0; i < count; i++) {
    hashes[i] = 0;
    for (int64_t j = 0; j < columns; j++) hashes[i] += mixed(rows[i * columns + j], j);
  }
}

// Take the free axes out of the hashes of some rows.
void keys_of(const int64_t *rows, int64_t columns, const int64_t *some, int64_t count,
             const int64_t *free, int64_t frees, int64_t axes, uint64_t *hashes) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t *row = rows + some[i] * columns;
    for (int64_t k = 0; k < frees; k++) {
      int64_t low = free[k], high = axes + free[k];
      hashes[i] -= mixed(row[low], low) + mixed(row[high], high);
    }
  }
}

// Whether two boxes are equal except along the free axes.
static bool same(const int64_t *first, const int64_t *second, int64_t columns,
                 const int64_t *free, int64_t frees, int64_t axes) {
  for (int64_t j = 0; j < columns; j++) {
    if (first[j] == second[j]) continue;
    bool varies = false;
    for (int64_t k = 0; k < frees; k++) varies |= j == free[k] || j == axes + free[k];
    if (!varies) return false;
  }
  return true;
}

static bool within(const int64_t *inner, const int64_t *outer, const int64_t *free, int64_t frees,
                   int64_t axes) {
  for (int64_t k = 0; k < frees; k++)
    if (inner[free[k]] < outer[free[k]] || inner[axes + free[k]] > outer[axes + free[k]])
      return false;
  return true;
}

// Remove the boxes that lie within another one of `count`, which are equal but for the free axes.
static void drop_nested(int64_t *rows, int64_t columns, const int64_t *order, int64_t count,
                        const int64_t *free, int64_t frees, int64_t axes) {
  for (int64_t a = 0; a < count; a++)
    for (int64_t b = 0; b < count; b++) {
      int64_t *inner = rows + order[a] * columns, *outer = rows + order[b] * columns;
      if (a != b && inner[0] >= 0 && outer[0] >= 0 && within(inner, outer, free, frees, axes))
        inner[0] = -1;
    }
}

// Merge those of `count` boxes that touch or overlap; they are equal but for one axis.
static void join_along(int64_t *rows, int64_t columns, uint64_t *hashes, int64_t *order,
                       int64_t count, int64_t low, int64_t high) {
  for (int64_t a = 1; a < count; a++) {  // insertion sort by low corner
    int64_t row = order[a], b = a;
    for (; b > 0 && rows[order[b - 1] * columns + low] > rows[row * columns + low]; b--)
      order[b] = order[b - 1];
    order[b] = row;
  }
  int64_t last = order[0];
  for (int64_t a = 1; a < count; a++) {
    int64_t *row = rows + order[a] * columns, *end = rows + last * columns + high;
    if (row[low] > *end + 1) {
      last = order[a];
      continue;
    }
    if (row[high] > *end) {
      hashes[last] += mixed(row[high], high) - mixed(*end, high);
      *end = row[high];
    }
    row[0] = -1;
  }
}

// Merge boxes that are equal except along the free axes; removed rows get -1 in column 0.
//
// Along one free axis, boxes that touch or overlap are merged. Along several, boxes that lie
// within another box are removed. In `order`, rows with the same key must be adjacent.
void join(int64_t *rows, int64_t columns, uint64_t *hashes, int64_t *order, int64_t count,
          const int64_t *free, int64_t frees, int64_t axes) {
  for (int64_t begin = 0, end; begin < count; begin = end) {
    const int64_t *first = rows + order[begin] * columns;
    for (end = begin + 1; end < count; end++)
      if (!same(rows + order[end] * columns, first, columns, free, frees, axes)) break;
    if (frees > 1)
      drop_nested(rows, columns, order + begin, end - begin, free, frees, axes);
    else
      join_along(rows, columns, hashes, order + begin, end - begin, free[0], axes + free[0]);
  }
}

// Gives how many pairs there are; of these, the first `room` are written.
int64_t find(const int64_t *rows, int64_t boxes, int64_t columns, int64_t axes,
             const int64_t *points, int64_t count, int64_t coordinates, int64_t room,
             int64_t *point, int64_t *row) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t *at = points + i * coordinates;
    int64_t low = 0, high = boxes;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (rows[middle * columns] < at[0])
        low = middle + 1;
      else
        high = middle;
    }
    for (; low < boxes && rows[low * columns] == at[0]; low++) {
      const int64_t *box = rows + low * columns;
      bool inside = true;
      for (int64_t axis = 1; axis < coordinates && inside; axis++)
        inside = box[axis] <= at[axis] && at[axis] <= box[axes + axis];
      if (!inside) continue;
      if (pairs < room) {
        point[pairs] = i;
        row[pairs] = low;
      }
      pairs++;
    }
  }
  return pairs;
}

// The number of grid cells that the boxes of Specs cover; gives that of distinct Specs, too.
//
// Equal Specs must be adjacent. `seen` has -1 for each cell at first, and `at` room for a cell.
int64_t count_cells(const int64_t *specs, int64_t count, int64_t coordinates, const int64_t *row,
                    const int64_t *low, const int64_t *high, const int64_t *shape, int64_t axes,
                    int64_t *seen, int64_t *at, int64_t *distinct) {
  int64_t cells = 0;
  *distinct = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t *spec = specs + i * coordinates;
    bool new = i == 0;
    for (int64_t k = 0; k < coordinates && !new; k++) new = spec[k] != spec[k - coordinates];
    *distinct += new;
    const int64_t *begin = low + row[i] * axes, *end = high + row[i] * axes;
    bool empty = false;
    for (int64_t axis = 0; axis < axes; axis++) {
      at[axis] = begin[axis];
      empty |= begin[axis] >= end[axis];
    }
    while (!empty) {
      int64_t cell = 0, axis = 0;
      for (int64_t k = 0; k < axes; k++) cell = cell * shape[k] + at[k];
      if (seen[cell] != *distinct) {
        seen[cell] = *distinct;
        cells++;
      }
      for (; axis < axes && at[axis] == end[axis] - 1; axis++) at[axis] = begin[axis];
      if (axis == axes) break;
      at[axis]++;
    }
  }
  return cells;
}

// There is room for all points in `result` and `row`.
void all_points(const int64_t *rows, int64_t count, int64_t columns, int64_t axes,
                int64_t *result, int64_t *row) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t *low = rows + i * columns, *high = low + axes;
    for (int64_t axis = 0; axis < axes; axis++) result[axis] = low[axis];
    while (true) {
      *row++ = i;
      int64_t *last = result, axis = 0;
      result += axes;
      while (axis < axes && last[axis] == high[axis]) axis++;
      if (axis == axes) break;
      for (int64_t k = 0; k < axes; k++) result[k] = k < axis ? low[k] : last[k];
      result[axis]++;
    }
  }
}

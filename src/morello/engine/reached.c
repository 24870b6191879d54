// Specs that were reached, of all kinds, which are the nodes of a graph; see reached.py.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const int32_t *row;
  const uint8_t *rule, *arity;
  const double *own;
  const int64_t *allocation;
  const int16_t *kind;  // by child, as all that follows
  const int32_t *times;
  const int64_t *words;
  int64_t edges, children, width;
} RecordedEdges;  // how a Recorded in tape.c begins

typedef struct {
  int32_t *slots;
  int64_t size;
  int16_t *kind;
  int64_t *key;
} Reached;

static inline int64_t slot_of_spec(const Reached *reached, int16_t kind, int64_t key) {
  const int32_t *slots = reached->slots;
  uint64_t mixed = ((uint64_t)key ^ (uint64_t)kind << 48) * 0x9E3779B97F4A7C15u;
  int64_t slot = (int64_t)(mixed >> 32) & (reached->size - 1);
  while (slots[slot] >= 0 &&
         (reached->key[slots[slot]] != key || reached->kind[slots[slot]] != kind))
    slot = (slot + 1) & (reached->size - 1);
  return slot;
}

// The node of a Spec; a new one is the next after `nodes`.
static inline int32_t node_of(const Reached *reached, int16_t kind, int64_t key, int64_t *nodes) {
  int64_t slot = slot_of_spec(reached, kind, key);
  if (reached->slots[slot] < 0) {
    reached->kind[*nodes] = kind;
    reached->key[*nodes] = key;
    reached->slots[slot] = (int32_t)(*nodes)++;
  }
  return reached->slots[slot];
}

// Put all nodes into slots that are empty.
void fill_slots(const Reached *reached, int64_t nodes) {
  for (int64_t node = 0; node < nodes; node++)
    reached->slots[slot_of_spec(reached, reached->kind[node], reached->key[node])] = (int32_t)node;
}

int64_t reach_keys(const Reached *reached, int64_t kind, const int64_t *keys, int64_t count,
                   int64_t nodes, int32_t *found) {
  for (int64_t i = 0; i < count; i++) found[i] = node_of(reached, (int16_t)kind, keys[i], &nodes);
  return nodes;
}

// Count the children of edges that fit, by kind; `numbers` has those of the kinds in `given`. Gives
// the first kind in `given` that has none, or -1.
static int64_t count_by_kind(const RecordedEdges *given, int64_t limit, const LimitPacking *packing,
                             const int16_t *numbers, int32_t *counts) {
  int64_t j = 0;
  for (int64_t e = 0; e < given->edges; e++) {
    bool fit = fits(given->allocation[e], limit, *packing);
    for (int64_t end = j + given->arity[e]; j < end; j++) {
      int16_t kind = numbers[given->kind[j]];
      if (kind < 0) return given->kind[j];
      counts[kind] += fit;
    }
  }
  return -1;
}

// Find the nodes of the children of edges that fit, and -1 for others. Those of one kind are reached
// after those of another. `keys` has the address of each kind's `Keys`; `counts` is 0 at first, and
// `next` and `order` have room for a number of each kind, and of each child. Gives the number of nodes
// after that. If that of a kind is lacking, or room in the keys of some, it says so, as reached.py
// does, and no node is reached.
int64_t reach(const RecordedEdges *given, int64_t limit, const LimitPacking *packing,
              const int16_t *numbers, const int64_t *keys, int64_t kinds, int32_t *counts,
              int32_t *next, int32_t *order, const Reached *reached, int64_t nodes, int32_t *child,
              int64_t *lacking) {
  if ((*lacking = count_by_kind(given, limit, packing, numbers, counts)) >= 0) return nodes;
  int32_t all = 0;
  for (int64_t kind = 0; kind < kinds; kind++) {
    next[kind] = all;
    all += counts[kind];
    if (counts[kind] && !have_room((const Keys *)keys[kind], counts[kind])) *lacking = -2;
  }
  if (*lacking < -1) return nodes;
  int64_t j = 0;
  for (int64_t e = 0; e < given->edges; e++) {
    bool fit = fits(given->allocation[e], limit, *packing);
    for (int64_t end = j + given->arity[e]; j < end; j++) {
      child[j] = -1;
      if (fit) order[next[numbers[given->kind[j]]]++] = (int32_t)j;
    }
  }
  for (int32_t i = 0; i < all; i++) {
    int32_t slot = order[i];
    int16_t kind = numbers[given->kind[slot]];
    int64_t key = joined((const Keys *)keys[kind], given->words + slot * given->width);
    child[slot] = node_of(reached, kind, key, &nodes);
  }
  return nodes;
}

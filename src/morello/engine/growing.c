// New nodes and edges of a graph that a best-first search is growing; see growing.py.

#include <stdbool.h>
#include <stdint.h>

// The Specs of a kind, and the bounds of those that have the same sizes and levels: the positions
// of these are in a hash table, if there are any. The first columns of a key are sizes, then levels,
// then placements, and those of a position as well, if something of these may be known.
typedef struct {
  const Keys *keys, *positions;
  int64_t sizes, levels, rank;
  const int32_t *slots;
  int64_t size;
  const int64_t *position;
  const double *bound;
  const int64_t *known;
  int64_t first_group;
} KindOfNodes;

// Columns with room for new rows.
typedef struct {
  int16_t *kind;
  int64_t *key, *rank;
  double *bound, *rest, *applied;
  int32_t *group, *last, *last_use;
  bool *grown;
} NodeRoom;

typedef struct {
  int32_t *parent;
  uint8_t *rule, *arity;
  double *own;
  int64_t *allocation;
  int32_t *following;
} EdgeRoom;

typedef struct {
  int32_t *child, *times, *user, *following;
} UseRoom;

static inline void put(const Keys *keys, int64_t part, int64_t number, int64_t *words) {
  words[keys->part[part].word] |= number << keys->part[part].shift;
}

static int64_t row_at(const KindOfNodes *kind, const int64_t *position) {
  int64_t key = joined_before(kind->positions, position);
  return key < 0 ? -1 : kind->slots[slot_of(key, kind->slots, kind->size, kind->position)];
}

// The row of the bounds of a Spec's kind, or -1.
static int64_t bound_of(const KindOfNodes *kind, const int64_t *words, const int32_t *placed) {
  if (!kind->positions) return -1;
  int64_t position[kind->positions->words], first = kind->sizes + kind->levels;
  for (int64_t k = 0; k < kind->positions->words; k++) position[k] = 0;
  for (int64_t i = 0; i < first; i++)
    put(kind->positions, i, part_of(kind->keys, words, i), position);
  int64_t row = row_at(kind, position);
  if (row < 0 || !kind->known[row]) return row;
  for (int64_t i = 0; i < kind->levels; i++)
    if (kind->known[row] >> i & 1)
      put(kind->positions, first + i, placed[part_of(kind->keys, words, first + i)], position);
  return row_at(kind, position);
}

// Fill the rows of nodes of which the kinds and keys are known.
void begin_nodes(const NodeRoom *nodes, const Values *values, int64_t first, int64_t last,
                 const int64_t *kinds, const int32_t *depths, int64_t registers,
                 const int32_t *placed) {
  for (int64_t node = first; node < last; node++) {
    const KindOfNodes *kind = (const KindOfNodes *)kinds[nodes->kind[node]];
    int64_t words[kind->keys->words], extent = 0;
    split(kind->keys, nodes->key[node], words);
    for (int64_t i = 0; i < kind->sizes; i++) extent += depths[part_of(kind->keys, words, i)];
    for (int64_t i = kind->sizes; i < kind->sizes + kind->levels; i++)
      extent += registers - part_of(kind->keys, words, i);
    int64_t row = bound_of(kind, words, placed);
    double bound = row < 0 ? INFINITE : kind->bound[row];
    nodes->rank[node] = kind->rank + extent;
    nodes->bound[node] = nodes->rest[node] = bound;
    nodes->group[node] = row < 0 ? -1 : (int32_t)(kind->first_group + row);
    nodes->applied[node] = -1.0;
    nodes->last[node] = nodes->last_use[node] = -1;
    nodes->grown[node] = false;
    values->limit[node] = -1;
    values->low[node] = values->estimate[node] = bound;
    values->high[node] = values->away[node] = INFINITE;
    values->low_edge[node] = values->high_edge[node] = -1;
    values->low_peak[node] = values->high_peak[node] = 0;
    values->complete[node] = values->settled[node] = false;
    values->cutoff[node] = -1.0;
    values->stale[node] = 2;
  }
}

// Append edges of nodes, by row, to the edges there are, and to the lists of nodes, but for those that
// do not fit a limit or have a child without a program. `ends` gets where the uses of each end;
// `counts` has the numbers of edges and uses.
void add_edges(const RecordedEdges *given, const int32_t *parents, const int32_t *child,
               int64_t limit, const LimitPacking *packing, const NodeRoom *nodes,
               const EdgeRoom *edges, int32_t *ends, const UseRoom *uses, int64_t *counts) {
  int64_t edge = counts[0], use = counts[1], begin = 0, end;
  for (int64_t e = 0; e < given->edges; e++, begin = end) {
    end = begin + given->arity[e];
    if (!fits(given->allocation[e], limit, *packing)) continue;
    int32_t parent = parents[given->row[e]];
    // not the values so far, which may be infinite for lack of memory
    double bound = 0.0;
    for (int64_t j = begin; j < end; j++) bound += given->times[j] * nodes->bound[child[j]];
    if (given->own[e] + bound >= INFINITE) continue;
    for (int64_t j = begin; j < end; j++, use++) {
      uses->child[use] = child[j];
      uses->times[use] = given->times[j];
      uses->user[use] = parent;
      uses->following[use] = nodes->last_use[child[j]];
      nodes->last_use[child[j]] = (int32_t)use;
    }
    edges->parent[edge] = parent;
    edges->rule[edge] = given->rule[e];
    edges->arity[edge] = given->arity[e];
    edges->own[edge] = given->own[e];
    edges->allocation[edge] = given->allocation[e];
    edges->following[edge] = nodes->last[parent];
    *ends++ = (int32_t)use;
    nodes->last[parent] = (int32_t)edge++;
  }
  counts[0] = edge;
  counts[1] = use;
}

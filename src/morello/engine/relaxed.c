// Lower bounds of all nodes of a hypergraph that is expanded without pruning; see relaxed.py.

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int32_t *edges, *children;
  uint8_t *rule, *arity;
  double *own;
  int64_t *allocation;
  int32_t *times, *child;
} ByNode;

typedef struct {
  const int32_t *first_edge, *end_edge, *first_child;
  const uint8_t *rule, *arity;
  const double *own;
  const int64_t *allocation;
  const int32_t *child, *times;
} Expanded;

// Count the edges that fit and the children of each node, which are 0 at first.
void count_by_node(const RecordedEdges *given, int64_t limit, const LimitPacking *packing,
                   int32_t *edges, int32_t *children) {
  for (int64_t e = 0; e < given->edges; e++)
    if (fits(given->allocation[e], limit, *packing)) {
      edges[given->row[e]]++;
      children[given->row[e]] += given->arity[e];
    }
}

// By node, `next_edge` and `next_child` are where its edges and children are to start.
void by_node(const RecordedEdges *given, const int32_t *child, int64_t limit,
             const LimitPacking *packing, int32_t *next_edge, int32_t *next_child,
             const ByNode *result) {
  int64_t j = 0;
  for (int64_t e = 0; e < given->edges; e++) {
    int32_t row = given->row[e];
    int64_t end = j + given->arity[e];
    if (!fits(given->allocation[e], limit, *packing)) {
      j = end;
      continue;
    }
    int32_t to = next_edge[row]++;
    result->rule[to] = given->rule[e];
    result->arity[to] = given->arity[e];
    result->own[to] = given->own[e];
    result->allocation[to] = given->allocation[e];
    for (; j < end; j++) {
      int32_t slot = next_child[row]++;
      result->times[slot] = given->times[j];
      result->child[slot] = child[j];
    }
  }
}

// `limits` is -1 everywhere at first, except those of the roots.
void memory_left(const Expanded *graph, const int32_t *order, int64_t count,
                 const LimitPacking *packing, int64_t *limits) {
  for (int64_t position = 0; position < count; position++) {
    int32_t node = order[position];
    if (limits[node] < 0) continue;
    int32_t j = graph->first_child[node];
    for (int32_t e = graph->first_edge[node]; e < graph->end_edge[node]; e++) {
      int32_t end = j + graph->arity[e];
      if (fits(graph->allocation[e], limits[node], *packing)) {
        int64_t left = limits[node] - graph->allocation[e];
        for (int32_t k = j; k < end; k++) {
          int64_t *limit = limits + graph->child[k];
          *limit = larger(*limit > 0 ? *limit : 0, left, *packing);
        }
      }
      j = end;
    }
  }
}

// `low` is NaN everywhere at first, and `bound` 0. Gives false if a child comes before its parent.
bool least_costs(const Expanded *graph, const int32_t *order, int64_t count,
                 const int64_t *limits, const LimitPacking *packing, double *low, float *bound) {
  for (int64_t position = count - 1; position >= 0; position--) {
    int32_t node = order[position];
    if (limits[node] < 0) continue;
    double lowest = INFINITE;
    int32_t j = graph->first_child[node];
    for (int32_t e = graph->first_edge[node]; e < graph->end_edge[node]; e++) {
      int32_t end = j + graph->arity[e];
      if (fits(graph->allocation[e], limits[node], *packing)) {
        double cost = graph->own[e];
        for (int32_t k = j; k < end; k++)
          cost += several(graph->times[k], low[graph->child[k]]);
        if (isnan(cost)) return false;
        bound[e] = (float)(cost < INFINITE ? cost * ROUNDING : INFINITE);
        lowest = lesser(lowest, cost);
      }
      j = end;
    }
    low[node] = lowest;
  }
  return true;
}

// The rules and bounds of the edges of nodes, those of one node after those of another.
void edges_of_nodes(const Expanded *graph, const float *bound, const int32_t *nodes,
                    int64_t count, uint8_t *rules, float *bounds) {
  for (int64_t i = 0; i < count; i++)
    for (int32_t e = graph->first_edge[nodes[i]]; e < graph->end_edge[nodes[i]]; e++) {
      *rules++ = graph->rule[e];
      *bounds++ = bound[e];
    }
}

// Passes over all nodes of a hypergraph; see hypergraph.py.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const int32_t *parent;
  const uint8_t *rule;
  const double *own;
  const int64_t *allocation;
  const int32_t *first_child, *child, *times;
} Hypergraph;

typedef struct {
  const int32_t *start, *order;
  const double *bound, *low;
  const int64_t *low_peak;
  const int32_t *low_edge;
} Bounds;

typedef struct {
  Hypergraph graph;
  Bounds bounds;
  LimitPacking packing;
} Problem;

static inline double lesser(double a, double b) { return a < b ? a : b; }
static inline double greater(double a, double b) { return a > b ? a : b; }

// The cost of running what costs `cost` so many times. What runs beside another thread's longer
// part costs nothing, but needs a program all the same.
static inline double several(double times, double cost) {
  return cost >= INFINITE ? INFINITE : times * cost;
}

// The peak of an edge whose children have these peaks, by node; at most the largest value.
static inline int64_t peak_of(const Hypergraph *graph, int32_t edge, const int64_t *peaks,
                              LimitPacking packing) {
  int64_t peak = 0;
  for (int32_t j = graph->first_child[edge]; j < graph->first_child[edge + 1]; j++)
    peak = larger(peak, peaks[graph->child[j]], packing);
  int64_t full = largest(packing), allocation = graph->allocation[edge];
  return fits(allocation, full - peak, packing) ? peak + allocation : full;
}

// `order` has the edges by node, in their order; `low` and `low_peak` the memoized answers.
void bounds(const Hypergraph *graph, int64_t nodes, const LimitPacking *packing,
            const int32_t *start, int32_t *order, double *bound, double *low, int64_t *low_peak,
            int32_t *low_edge) {
  for (int64_t node = nodes - 1; node >= 0; node--) {
    int32_t begin = start[node], end = start[node + 1];
    for (int32_t i = begin; i < end; i++) {
      int32_t edge = order[i];
      double cost = graph->own[edge];
      for (int32_t j = graph->first_child[edge]; j < graph->first_child[edge + 1]; j++)
        cost += several(graph->times[j], low[graph->child[j]]);
      cost = lesser(cost, INFINITE);
      int32_t j = i;
      for (; j > begin; j--) {
        bool later = bound[j - 1] > cost || (bound[j - 1] == cost &&
                                             graph->rule[order[j - 1]] > graph->rule[edge]);
        if (!later) break;
        bound[j] = bound[j - 1];
        order[j] = order[j - 1];
      }
      bound[j] = cost;
      order[j] = edge;
    }
    if (begin < end && bound[begin] < low[node]) {
      low[node] = bound[begin];
      low_edge[node] = order[begin];
      low_peak[node] = peak_of(graph, order[begin], low_peak, *packing);
    }
  }
}

// `most` is 0 everywhere at first.
void most_memory(const Problem *problem, int64_t nodes, int64_t *most) {
  const Bounds *bounds = &problem->bounds;
  LimitPacking packing = problem->packing;
  for (int64_t node = nodes - 1; node >= 0; node--)
    for (int32_t i = bounds->start[node]; i < bounds->start[node + 1]; i++) {
      int64_t peak = peak_of(&problem->graph, bounds->order[i], most, packing);
      most[node] = larger(most[node], peak, packing);
    }
}

// At first, all of `cost` is INFINITE, of `edge` -1, and of `peaks` 0; `lowest` is what nodes cost
// at least within the limits, and becomes what they cost at least with more memory than that.
void unlimited(const Problem *problem, int64_t nodes, const double *dropped,
               const uint8_t *answered, const double *cutoff, int64_t keeps, double *lowest,
               double *cost, int32_t *edge, int64_t *peaks, uint8_t *lasting) {
  const Hypergraph *graph = &problem->graph;
  const Bounds *bounds = &problem->bounds;
  LimitPacking packing = problem->packing;
  for (int64_t node = nodes - 1; node >= 0; node--) {
    int32_t begin = bounds->start[node], end = bounds->start[node + 1];
    if (answered[node]) {
      lasting[node] = answered[node] == 2;
      if (!lasting[node]) lowest[node] = 0.0;
      continue;
    }
    int64_t count = 0;
    for (; count < keeps && begin + count < end; count++) {
      int32_t each = bounds->order[begin + count];
      double bound = bounds->bound[begin + count];
      int64_t peak = peak_of(graph, each, bounds->low_peak, packing);
      if (bound > cutoff[node] || bound >= INFINITE || peak == largest(packing)) break;
      cost[node * keeps + count] = bound;
      edge[node * keeps + count] = each;
      peaks[node] = larger(peaks[node], peak, packing);
    }
    double worst = count ? cost[node * keeps + count - 1] : cutoff[node];
    bool settled = true;
    lowest[node] = lesser(dropped[node], cutoff[node]);
    for (int32_t i = begin; i < end; i++) {
      int32_t each = bounds->order[i];
      bool kept = i - begin < count;
      double bound = graph->own[each];
      for (int32_t j = graph->first_child[each]; j < graph->first_child[each + 1]; j++) {
        bound += graph->times[j] * lowest[graph->child[j]];
        settled = settled && (!kept || lasting[graph->child[j]]);
      }
      lowest[node] = lesser(lowest[node], bound);
      settled = settled && (kept || bound >= worst);
    }
    lasting[node] = settled && dropped[node] >= worst;
  }
}

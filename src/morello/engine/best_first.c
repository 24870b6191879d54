// Passes over a graph that a best-first search is growing; see best_first.py.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  Hypergraph edges;
  const double *rest;
  const int32_t *last, *following, *last_use, *following_use, *user;
} Growing;

typedef struct {
  int64_t *limit;
  double *low;
  int32_t *low_edge;
  int64_t *low_peak;
  bool *complete;
  double *high;
  int32_t *high_edge;
  int64_t *high_peak;
  double *estimate;
  bool *settled;
  double *cutoff, *away;
  int8_t *stale;
} Values;

// The first place from `first` on of a node with a rank below one, or the end. It is near as a rule.
static int64_t place_below(const int32_t *order, int64_t first, int64_t end, const int64_t *rank,
                           int64_t least) {
  int64_t step = 1;
  while (first + step < end && rank[order[first + step]] >= least) step *= 2;
  int64_t last = first + step < end ? first + step : end;
  while (first < last) {
    int64_t middle = (first + last) / 2;
    if (rank[order[middle]] >= least) first = middle + 1;
    else last = middle;
  }
  return first;
}

void by_falling_rank(const int32_t *order, int64_t orders, const int32_t *added, int64_t addeds,
                     const int64_t *rank, int32_t *result) {
  int64_t begin = 0;
  for (int64_t j = 0; j < addeds; j++) {
    int64_t end = place_below(order, begin, orders, rank, rank[added[j]]);
    for (; begin < end; begin++) *result++ = order[begin];
    *result++ = added[j];
  }
  for (; begin < orders; begin++) *result++ = order[begin];
}

void pass_memory_on(const Growing *graph, const int32_t *order, int64_t count, bool *grown,
                    const Values *values, const LimitPacking *packing) {
  const Hypergraph *edges = &graph->edges;
  int64_t *limits = values->limit;
  for (int64_t position = 0; position < count; position++) {
    int32_t node = order[position];
    if (!grown[node] || limits[node] < 0) continue;
    grown[node] = false;
    for (int32_t edge = graph->last[node]; edge >= 0; edge = graph->following[edge]) {
      if (!fits(edges->allocation[edge], limits[node], *packing)) continue;
      int64_t left = limits[node] - edges->allocation[edge];
      for (int32_t j = edges->first_child[edge]; j < edges->first_child[edge + 1]; j++) {
        int32_t child = edges->child[j];
        int64_t most = larger(limits[child] > 0 ? limits[child] : 0, left, *packing);
        if (most == limits[child]) continue;
        limits[child] = most;
        grown[child] = true;
        values->stale[child] = 2;
      }
    }
  }
}

// Whether there is an edge, and all of its children are known and up to date.
static bool known_below(const Hypergraph *edges, int32_t edge, const bool *known,
                        const int8_t *stale) {
  if (edge < 0) return false;
  for (int32_t j = edges->first_child[edge]; j < edges->first_child[edge + 1]; j++)
    if (!known[edges->child[j]] || stale[edges->child[j]]) return false;
  return true;
}

void evaluate(const Growing *graph, const int32_t *order, int64_t count, const Values *values,
              double weight, const LimitPacking *packing) {
  const Hypergraph *edges = &graph->edges;
  const Values v = *values;
  for (int64_t position = count - 1; position >= 0; position--) {
    int32_t node = order[position];
    if (!v.stale[node] || (v.stale[node] == 1 && v.away[node] >= INFINITE)) continue;
    v.stale[node] = 0;
    double low = graph->rest[node], high = INFINITE;
    double estimate = lesser(graph->rest[node] * weight, INFINITE);
    int32_t low_edge = -1, high_edge = -1, likely_edge = -1;
    for (int32_t edge = graph->last[node]; edge >= 0; edge = graph->following[edge]) {
      if (!fits(edges->allocation[edge], v.limit[node], *packing)) continue;
      double least = edges->own[edge], most = least, likely = least;
      for (int32_t j = edges->first_child[edge]; j < edges->first_child[edge + 1]; j++) {
        int32_t child = edges->child[j];
        double times = edges->times[j];
        least += several(times, v.low[child]);
        most += several(times, v.high[child]);
        likely += several(times, v.estimate[child]);
      }
      // of edges that cost the same, the lowest rule comes first; unknown ones before
      const uint8_t *rule = edges->rule;
      if (least < low || (least == low && low_edge >= 0 && rule[edge] < rule[low_edge])) {
        low = least;
        low_edge = edge;
      }
      if (most < high || (most == high && high_edge >= 0 && rule[edge] < rule[high_edge])) {
        high = most;
        high_edge = edge;
      }
      if (likely < estimate) {
        estimate = likely;
        likely_edge = edge;
      }
    }
    low = lesser(low, INFINITE);
    high = lesser(high, INFINITE);
    bool complete = known_below(edges, low_edge, v.complete, v.stale);
    bool settled = known_below(edges, likely_edge, v.settled, v.stale);
    int64_t low_peak = low_edge < 0 ? 0 : peak_of(edges, low_edge, v.low_peak, *packing);
    int64_t high_peak = high_edge < 0 ? 0 : peak_of(edges, high_edge, v.high_peak, *packing);
    bool falls = low < v.low[node] || estimate < v.estimate[node];
    bool same = low == v.low[node] && complete == v.complete[node] &&
                low_peak == v.low_peak[node] && high == v.high[node] &&
                high_peak == v.high_peak[node] && estimate == v.estimate[node] &&
                settled == v.settled[node];
    v.low[node] = low;
    v.low_edge[node] = low_edge;
    v.low_peak[node] = low_peak;
    v.high[node] = high;
    v.high_edge[node] = high_edge;
    v.high_peak[node] = high_peak;
    v.estimate[node] = estimate;
    v.complete[node] = complete;
    v.settled[node] = settled;
    if (same) continue;
    for (int32_t use = graph->last_use[node]; use >= 0; use = graph->following_use[use]) {
      int8_t *stale = v.stale + graph->user[use], now = falls ? 2 : 1;
      if (*stale < now) *stale = now;
    }
  }
}

// Raise the cutoffs of an edge's children to what its node's leaves; the edge costs `cost`.
static void pass_cutoff_on(const Hypergraph *edges, int32_t edge, double cutoff, double cost,
                           const Values *values) {
  for (int32_t j = edges->first_child[edge]; j < edges->first_child[edge + 1]; j++) {
    int32_t child = edges->child[j], times = edges->times[j];
    // A child that runs 0 times (in parallel with others) costs nothing; its cutoff is the
    // parent's, so that it is pruned as well.
    double share = cutoff;
    if (times > 0) share = greater(share - cost, 0.0) / times + values->low[child];
    values->cutoff[child] = greater(values->cutoff[child], share);
  }
}

// Gives how many nodes there are. All cutoffs, and all `away`, are those of nodes in no program at
// first, except those of the roots.
int64_t open_nodes(const Growing *graph, const int32_t *order, int64_t count,
                   const Values *values, double farthest, double weight,
                   const LimitPacking *packing, int32_t *nodes, double *distance) {
  const Hypergraph *edges = &graph->edges;
  const Values v = *values;
  int64_t opened = 0;
  for (int64_t position = 0; position < count; position++) {
    int32_t node = order[position];
    double away = v.away[node], rest = graph->rest[node];
    if (away >= INFINITE) continue;
    double most = v.cutoff[node] * NEARLY, estimate = greater(v.estimate[node], 1 / INFINITE);
    if (rest <= most && rest < INFINITE) {
      nodes[opened] = node;
      distance[opened] = greater(away, rest * weight / estimate - 1.0);
      if (distance[opened] <= farthest) opened++;
    }
    for (int32_t edge = graph->last[node]; edge >= 0; edge = graph->following[edge]) {
      if (!fits(edges->allocation[edge], v.limit[node], *packing)) continue;
      int32_t first = edges->first_child[edge], last = edges->first_child[edge + 1];
      double cost = edges->own[edge], likely = cost;
      for (int32_t j = first; j < last; j++) {
        int32_t child = edges->child[j];
        double times = edges->times[j];
        cost += several(times, v.low[child]);
        likely += several(times, v.estimate[child]);
      }
      double far = greater(away, likely / estimate - 1.0);
      if (cost > most || cost >= INFINITE || far > farthest) continue;
      pass_cutoff_on(edges, edge, v.cutoff[node], cost, values);
      for (int32_t j = first; j < last; j++)
        v.away[edges->child[j]] = lesser(v.away[edges->child[j]], far);
    }
  }
  return opened;
}

// `within` is false everywhere at first, and all cutoffs but that of the root are below 0.
void edges_within(const Growing *graph, const int32_t *order, int64_t count,
                  const Values *values, const LimitPacking *packing, bool *within) {
  const Hypergraph *edges = &graph->edges;
  for (int64_t position = 0; position < count; position++) {
    int32_t node = order[position];
    double cutoff = values->cutoff[node], most = cutoff * NEARLY;
    if (cutoff < 0) continue;
    for (int32_t edge = graph->last[node]; edge >= 0; edge = graph->following[edge]) {
      if (!fits(edges->allocation[edge], values->limit[node], *packing)) continue;
      double cost = edges->own[edge];
      for (int32_t j = edges->first_child[edge]; j < edges->first_child[edge + 1]; j++)
        cost += several(edges->times[j], values->low[edges->child[j]]);
      if (cost > most || cost >= INFINITE) continue;
      within[edge] = true;
      pass_cutoff_on(edges, edge, cutoff, cost, values);
    }
  }
}

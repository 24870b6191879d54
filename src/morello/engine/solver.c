// Depth-first branch and bound with a memo, under memory limits; see solver.py.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t *counts;
  int32_t *head, *following;
  double *cost;
  int32_t *edge;
  int64_t *peak, *limit;
} Boxes;

typedef struct {
  int64_t *at;
  int32_t *node, *place, *child;
  int64_t *limit;
  double *cost;
  int64_t *peak;
  double *best;
  int64_t *best_peak;
  int32_t *best_edge;
} Stack;

// An edge's children added up before the next `child`: the cost, and the largest peak.
typedef struct {
  int32_t child;
  double cost;
  int64_t peak;
} Sum;

static const Sum NOT_BEGUN = {-1, 0.0, 0};

// States of adding up an edge's children: the costs of all are added, they are too large, or the
// answer of the next child is not known yet.
typedef enum { SUMMED, TOO_MUCH, UNKNOWN_CHILD } State;

// The positions in `counts`, as in solver.py.
enum { FILLED, TRIED };

// Whether the answer of a node under a limit is known, and if so, its cost and peak.
static inline bool answer(const Problem *problem, const Boxes *boxes, int64_t keeps, int32_t node,
                          int64_t limit, double *cost, int64_t *peak) {
  LimitPacking packing = problem->packing;
  *cost = problem->bounds.low[node];
  *peak = problem->bounds.low_peak[node];
  if (*cost >= INFINITE || (*peak != largest(packing) && fits(*peak, limit, packing))) return true;
  for (int32_t box = boxes->head[node]; box >= 0; box = boxes->following[box])
    if (fits(boxes->peak[box], limit, packing) && fits(limit, boxes->limit[box], packing)) {
      *cost = boxes->cost[box * keeps];
      *peak = boxes->peak[box];
      return true;
    }
  *cost = INFINITE;
  return false;
}

// Add up an edge's children while the cost is less than `worst`.
static State add_children(const Problem *problem, const Boxes *boxes, int64_t keeps,
                          uint8_t *missed, int32_t edge, int64_t limit, double worst, Sum *sum) {
  const Hypergraph *graph = &problem->graph;
  for (; sum->child < graph->first_child[edge + 1]; sum->child++) {
    int32_t node = graph->child[sum->child];
    double cost;
    int64_t peak;
    if (!answer(problem, boxes, keeps, node, limit, &cost, &peak)) {
      if (problem->bounds.start[node] < problem->bounds.start[node + 1]) return UNKNOWN_CHILD;
      missed[node] = 1;
    }
    sum->cost += graph->times[sum->child] * cost;
    if (cost >= INFINITE || sum->cost >= worst) return TOO_MUCH;
    sum->peak = larger(sum->peak, peak, problem->packing);
  }
  return SUMMED;
}

// Insert a decision among the best of a row, the last of which it displaces.
static void insert(const Stack *stack, int64_t row, int64_t keeps, int32_t edge, double cost,
                   int64_t peak) {
  double *best = stack->best + row * keeps;
  int32_t *best_edge = stack->best_edge + row * keeps;
  int64_t *best_peak = stack->best_peak + row * keeps;
  int64_t place = keeps - 1;
  for (; place > 0 && best[place - 1] > cost; place--) {
    best[place] = best[place - 1];
    best_edge[place] = best_edge[place - 1];
    best_peak[place] = best_peak[place - 1];
  }
  best[place] = cost;
  best_edge[place] = edge;
  best_peak[place] = peak;
}

// Keep the state of a row to resume from, and clear the next one.
static void push(const Stack *stack, int64_t row, int64_t keeps, int32_t node, int32_t place,
                 int64_t limit, Sum begun) {
  stack->node[row] = node;
  stack->place[row] = place;
  stack->limit[row] = limit;
  stack->child[row] = begun.child;
  stack->cost[row] = begun.cost;
  stack->peak[row] = begun.peak;
  for (int64_t i = (row + 1) * keeps; i < (row + 2) * keeps; i++) {
    stack->best[i] = INFINITE;
    stack->best_edge[i] = -1;
    stack->best_peak[i] = 0;
  }
}

// Make the best decisions of a row a box of its node.
static void memoize(const Boxes *boxes, int64_t box, const Stack *stack, int64_t row,
                    int64_t keeps, int32_t node, int64_t limit, LimitPacking packing) {
  boxes->following[box] = boxes->head[node];
  boxes->head[node] = (int32_t)box;
  boxes->limit[box] = limit;
  boxes->peak[box] = 0;
  for (int64_t place = 0; place < keeps; place++) {
    int64_t to = box * keeps + place, from = row * keeps + place;
    boxes->cost[to] = stack->best[from];
    boxes->edge[to] = stack->best_edge[from];
    boxes->peak[box] = larger(boxes->peak[box], stack->best_peak[from], packing);
  }
}

// There are rows of `keeps` decisions, and there is room for `room` boxes.
bool solve(const Problem *problem, const Boxes *boxes, const Stack *stack, uint8_t *missed,
           int64_t keeps, int64_t room, int64_t upto) {
  const Hypergraph *graph = &problem->graph;
  const Bounds *bounds = &problem->bounds;
  int64_t count = boxes->counts[FILLED], tried = boxes->counts[TRIED];
  int64_t row = stack->at[0], limit = stack->at[3];
  int32_t node = (int32_t)stack->at[1], place = (int32_t)stack->at[2];
  Sum begun = NOT_BEGUN;
  while (true) {
    State state = SUMMED;
    int64_t inner = limit;
    for (; place < bounds->start[node + 1]; place++) {
      int32_t edge = bounds->order[place];
      double worst = stack->best[row * keeps + keeps - 1];
      if (begun.child < 0) {
        if (bounds->bound[place] >= worst) break;
        if (tried >= upto || count >= room) {
          stack->at[0] = row;
          stack->at[1] = node;
          stack->at[2] = place;
          stack->at[3] = limit;
          boxes->counts[FILLED] = count;
          boxes->counts[TRIED] = tried;
          return false;
        }
        tried++;
        if (!fits(graph->allocation[edge], limit, problem->packing)) continue;
        begun = (Sum){graph->first_child[edge], graph->own[edge], 0};
      }
      inner = limit - graph->allocation[edge];
      state = add_children(problem, boxes, keeps, missed, edge, inner, worst, &begun);
      if (state == UNKNOWN_CHILD) break;
      if (state == SUMMED)
        insert(stack, row, keeps, edge, begun.cost, begun.peak + graph->allocation[edge]);
      begun = NOT_BEGUN;
    }
    if (state == UNKNOWN_CHILD) {
      push(stack, row, keeps, node, place, limit, begun);
      row++;
      node = graph->child[begun.child];
      limit = inner;
      place = bounds->start[node];
      begun = NOT_BEGUN;
      continue;
    }
    memoize(boxes, count, stack, row, keeps, node, limit, problem->packing);
    count++;
    if (row == 0) {
      boxes->counts[FILLED] = count;
      boxes->counts[TRIED] = tried;
      return true;
    }
    row--;
    node = stack->node[row];
    place = stack->place[row];
    limit = stack->limit[row];
    begun = (Sum){stack->child[row], stack->cost[row], stack->peak[row]};
  }
}

// The boxes of `node` are the first `count`.
void link_boxes(const int64_t *node, int64_t count, int32_t *head, int32_t *following) {
  for (int64_t box = 0; box < count; box++) {
    following[box] = head[node[box]];
    head[node[box]] = (int32_t)box;
  }
}

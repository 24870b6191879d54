// Runs recorded operations on columns; see tape.py; codes.py defines the operations.

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static const int64_t UNKNOWN = INT32_MIN;  // as in ir/tracing.py

typedef struct {
  const void *values;
  int64_t rows, columns;
} Table;

typedef struct {
  const int16_t *code;
  const int32_t *operands;
  const int32_t *inputs;
  const int32_t *first_condition, *first_edge;
  const int32_t *holds, *own, *allocation, *first_child;
  const int32_t *kind, *times, *first_word, *words;
  const uint8_t *arity;  // by code: how many operands are other operations
  const int64_t *constant_ints;  // constants: the first operand is their number
  const double *constant_floats;
  int64_t input_count, rule_count;
} Tape;

// By operation of the tape that is run: its values, which of a condition are bits, the block they
// were worked out for, and a bit for each row of that for which they are unknown. Each block of any
// tape has a stamp of its own.
typedef struct {
  int64_t *ints;
  double *floats;
  uint64_t *bits;
  int64_t *done;
  uint64_t *unknown, *sought;
  int64_t *stamp;  // of the block, and of the last one of this run
} Scratch;

// Room for edges and children, which begins as `RecordedEdges` in reached.c, for what is unsure, and
// for what is missing.
typedef struct {
  int32_t *row;
  uint8_t *rule, *arity;
  double *own;
  int64_t *allocation;
  int16_t *kind;
  int32_t *times;
  int64_t *words;
  int64_t edges, children;
  int64_t width;  // of the rows of `words`, one for each child
  int32_t *unsure_rule, *unsure_row, *missing;
  int64_t unsure, lacking, most_edges, most_children, most_unsure, most_missing;
} Recorded;

enum { WIDENED = 2 };  // the operand of a condition that says whether it is needed as integers

static inline bool is_condition(int code) { return code >= EQUAL; }

#define EACH(value) \
  for (int i = 0; i < BLOCK; i++) r[i] = (value); \
  break

// By the bit of each row, one value or another; bytes have constant shifts, which are vectorized.
#define EACH_BIT(bits, r, one, other) \
  for (int byte = 0; byte < BLOCK; byte += 8) \
    for (int i = byte; i < byte + 8; i++) (r)[i] = (bits) >> byte >> (i - byte) & 1 ? (one) : (other)

// Rounded down; exact below 2^52, and vectorized. By zero, it is zero.
static inline int64_t quotient(int64_t x, int64_t y) {
  double ratio = floor((double)x / (double)(y ? y : 1));
  return y ? (int64_t)ratio : 0;
}

// Sums and products wrap around: rows past the last one hold what was there before.
#define WRAPPED(x, operator, y) ((int64_t)((uint64_t)(x) operator (uint64_t)(y)))

static void on_integers(int code, const int64_t *restrict x, const int64_t *restrict y,
                        const int64_t *restrict z, int64_t *restrict r) {
  switch (code) {
    case ADD: EACH(WRAPPED(x[i], +, y[i]));
    case SUBTRACT: EACH(WRAPPED(x[i], -, y[i]));
    case MULTIPLY: EACH(WRAPPED(x[i], *, y[i]));
    case FLOOR_DIVIDE: EACH(quotient(x[i], y[i]));
    case REMAINDER: EACH(y[i] ? WRAPPED(x[i], -, WRAPPED(quotient(x[i], y[i]), *, y[i])) : 0);
    case MINIMUM: EACH(x[i] < y[i] ? x[i] : y[i]);
    case MAXIMUM: EACH(x[i] > y[i] ? x[i] : y[i]);
    case LEFT_SHIFT: EACH((int64_t)((uint64_t)x[i] << (y[i] & 63)));
    case RIGHT_SHIFT: EACH(x[i] >> (y[i] & 63));
    case BITWISE_AND: EACH(x[i] & y[i]);
    case BITWISE_OR: EACH(x[i] | y[i]);
    case BITWISE_XOR: EACH(x[i] ^ y[i]);
    case INVERT: EACH(~x[i]);
    case WHERE: EACH(x[i] ? y[i] : z[i]);
  }
}

static void on_floats(int code, const double *restrict x, const double *restrict y,
                      double *restrict r) {
  switch (code) {
    case ADD_FLOAT: EACH(x[i] + y[i]);
    case SUBTRACT_FLOAT: EACH(x[i] - y[i]);
    case MULTIPLY_FLOAT: EACH(x[i] * y[i]);
    case DIVIDE_FLOAT: EACH(y[i] != 0 ? x[i] / y[i] : 0.0);
    case MINIMUM_FLOAT: EACH(x[i] < y[i] ? x[i] : y[i]);
    case MAXIMUM_FLOAT: EACH(x[i] > y[i] ? x[i] : y[i]);
  }
}

#define BITS(value) \
  for (int i = 0; i < BLOCK; i++) bits |= (uint64_t)(value) << i; \
  break

static uint64_t compare(int code, const int64_t *restrict x, const int64_t *restrict y) {
  uint64_t bits = 0;
  switch (code) {
    case EQUAL: BITS(x[i] == y[i]);
    case NOT_EQUAL: BITS(x[i] != y[i]);
    case LESS: BITS(x[i] < y[i]);
    case LESS_EQUAL: BITS(x[i] <= y[i]);
    case IS_ZERO: BITS(x[i] == 0);
  }
  return bits;
}

static uint64_t compare_floats(int code, const double *restrict x, const double *restrict y) {
  uint64_t bits = 0;
  switch (code) {
    case EQUAL_FLOAT: BITS(x[i] == y[i]);
    case NOT_EQUAL_FLOAT: BITS(x[i] != y[i]);
    case LESS_FLOAT: BITS(x[i] < y[i]);
    case LESS_EQUAL_FLOAT: BITS(x[i] <= y[i]);
  }
  return bits;
}

// The entries of a table of one dimension; gives a bit for each row of which it is unknown.
static uint64_t look_up(const Table *table, const int64_t *restrict x, int64_t *restrict r) {
  const int32_t *values = table->values;
  uint64_t unknown = 0, rows = (uint64_t)table->rows;
  for (int i = 0; i < BLOCK; i++) r[i] = (uint64_t)x[i] < rows ? values[x[i]] : UNKNOWN;
  for (int i = 0; i < BLOCK; i++) unknown |= (uint64_t)(r[i] == UNKNOWN) << i;
  return unknown;
}

// As `look_up`, of a table of two dimensions.
static uint64_t look_up_two(const Table *table, const int64_t *restrict x, const int64_t *restrict y,
                            int64_t *restrict r) {
  const int32_t *values = table->values;
  uint64_t unknown = 0, rows = (uint64_t)table->rows, columns = (uint64_t)table->columns;
  for (int i = 0; i < BLOCK; i++) {
    bool inside = (uint64_t)x[i] < rows && (uint64_t)y[i] < columns;
    r[i] = inside ? values[x[i] * table->columns + y[i]] : UNKNOWN;
  }
  for (int i = 0; i < BLOCK; i++) unknown |= (uint64_t)(r[i] == UNKNOWN) << i;
  return unknown;
}

// As `look_up`, of a table of truth values, which are all known.
static uint64_t look_up_bits(const Table *table, const int64_t *restrict x, uint64_t *bits) {
  const int32_t *values = table->values;
  uint64_t outside = 0, found = 0;
  for (int i = 0; i < BLOCK; i++) {
    int inside = x[i] >= 0 && x[i] < table->rows;
    found |= (uint64_t)(inside && values[x[i]]) << i;
    outside |= (uint64_t)!inside << i;
  }
  *bits = found;
  return outside;
}

// Run an operation; gives the rows for which what it looks up itself is unknown.
static uint64_t run(const Tape *tape, const Scratch *scratch, const Table *tables, int32_t operation) {
  int code = tape->code[operation];
  const int32_t *operands = tape->operands + 4 * (int64_t)operation;
  const int64_t *x = scratch->ints + BLOCK * (int64_t)operands[0];
  const int64_t *y = scratch->ints + BLOCK * (int64_t)operands[1];
  const int64_t *z = scratch->ints + BLOCK * (int64_t)operands[2];
  const double *u = scratch->floats + BLOCK * (int64_t)operands[0];
  const double *v = scratch->floats + BLOCK * (int64_t)operands[1];
  const double *w = scratch->floats + BLOCK * (int64_t)operands[2];
  const Table *table = tables + operands[3];
  int64_t *r = scratch->ints + BLOCK * (int64_t)operation;
  double *f = scratch->floats + BLOCK * (int64_t)operation;
  uint64_t holds = scratch->bits[operands[0]];
  switch (code) {
    case LOOKUP_1: return look_up(table, x, r);
    case LOOKUP_2: return look_up_two(table, x, y, r);
    case LOOKUP_FLOAT:
      for (int i = 0; i < BLOCK; i++) {
        int inside = x[i] >= 0 && x[i] < table->rows;
        f[i] = inside ? ((const double *)table->values)[x[i]] : 0.0;
      }
      break;
    case ADD_FLOAT: case SUBTRACT_FLOAT: case MULTIPLY_FLOAT: case DIVIDE_FLOAT:
    case MINIMUM_FLOAT: case MAXIMUM_FLOAT: on_floats(code, u, v, f); break;
    case TO_INT: for (int i = 0; i < BLOCK; i++) r[i] = (int64_t)u[i]; break;
    case TO_FLOAT: for (int i = 0; i < BLOCK; i++) f[i] = (double)x[i]; break;
    case WHERE_BITS: EACH_BIT(holds, r, y[i], z[i]); break;
    case WHERE_FLOAT: for (int i = 0; i < BLOCK; i++) f[i] = x[i] ? v[i] : w[i]; break;
    case WHERE_FLOAT_BITS: EACH_BIT(holds, f, v[i], w[i]); break;
    case CONSTANT:
      for (int i = 0; i < BLOCK; i++) r[i] = tape->constant_ints[operands[0]];
      for (int i = 0; i < BLOCK; i++) f[i] = tape->constant_floats[operands[0]];
      break;
    default: on_integers(code, x, y, z, r);
  }
  return 0;
}

// As `run`, of a condition; `widened` ones are integers, too.
static uint64_t run_condition(const Tape *tape, const Scratch *scratch, const Table *tables,
                              int32_t operation) {
  int code = tape->code[operation];
  const int32_t *operands = tape->operands + 4 * (int64_t)operation;
  const int64_t *x = scratch->ints + BLOCK * (int64_t)operands[0];
  const int64_t *y = scratch->ints + BLOCK * (int64_t)operands[1];
  const double *u = scratch->floats + BLOCK * (int64_t)operands[0];
  const double *v = scratch->floats + BLOCK * (int64_t)operands[1];
  uint64_t first = scratch->bits[operands[0]], second = scratch->bits[operands[1]];
  uint64_t unknown = 0, bits;
  switch (code) {
    case LOOKUP_BOOL: unknown = look_up_bits(tables + operands[3], x, &bits); break;
    case BITWISE_AND_BITS: bits = first & second; break;
    case BITWISE_OR_BITS: bits = first | second; break;
    case BITWISE_XOR_BITS: bits = first ^ second; break;
    case IS_ZERO_BITS: bits = ~first; break;
    case EQUAL_FLOAT: case NOT_EQUAL_FLOAT: case LESS_FLOAT: case LESS_EQUAL_FLOAT:
      bits = compare_floats(code, u, v);
      break;
    default: bits = compare(code, x, y);
  }
  scratch->bits[operation] = bits;
  if (operands[WIDENED]) {
    int64_t *r = scratch->ints + BLOCK * (int64_t)operation;
    EACH_BIT(bits, r, 1, 0);
  }
  return unknown;
}

static uint64_t work_out(const Tape *tape, const Scratch *scratch, const Table *tables,
                         int32_t operation);

// Work out an operation unless that is done for this block. Gives the rows for which something that
// it needs is unknown.
static inline uint64_t need(const Tape *tape, const Scratch *scratch, const Table *tables,
                            int32_t operation) {
  if (scratch->done[operation] < *scratch->stamp) return work_out(tape, scratch, tables, operation);
  return scratch->unknown[operation];
}

// Run an operation after all that it needs; constants are done for the rest of the run.
static uint64_t work_out(const Tape *tape, const Scratch *scratch, const Table *tables,
                         int32_t operation) {
  int code = tape->code[operation];
  scratch->done[operation] = scratch->stamp[code == CONSTANT];
  scratch->sought[operation] = 0;
  uint64_t unknown = 0;
  for (int k = 0; k < tape->arity[code]; k++)
    unknown |= need(tape, scratch, tables, tape->operands[4 * operation + k]);
  unknown |= is_condition(code) ? run_condition(tape, scratch, tables, operation)
                                : run(tape, scratch, tables, operation);
  return scratch->unknown[operation] = unknown;
}

// Whether a part holds, for the rows of the block, as bits.
static uint64_t holding(const Tape *tape, const Scratch *scratch, const Table *tables, int32_t part,
                        uint64_t *unknown) {
  int32_t operation = tape->holds[part];
  *unknown = 0;
  if (operation < 0) return UINT64_MAX;
  *unknown = need(tape, scratch, tables, operation);
  if (is_condition(tape->code[operation])) return scratch->bits[operation];
  const int64_t *values = scratch->ints + BLOCK * (int64_t)operation;
  uint64_t result = 0;
  for (int i = 0; i < BLOCK; i++) result |= (uint64_t)(values[i] != 0) << i;
  return result;
}

// Work out all that an edge records; gives the rows for which something of it is unknown.
static uint64_t prepare(const Tape *tape, const Scratch *scratch, const Table *tables, int32_t part) {
  uint64_t unknown = need(tape, scratch, tables, tape->own[part]);
  unknown |= need(tape, scratch, tables, tape->allocation[part]);
  for (int32_t child = tape->first_child[part]; child < tape->first_child[part + 1]; child++) {
    unknown |= need(tape, scratch, tables, tape->times[child]);
    for (int32_t k = tape->first_word[child]; k < tape->first_word[child + 1]; k++)
      unknown |= need(tape, scratch, tables, tape->words[k]);
  }
  return unknown;
}

static void record_edge(const Tape *tape, const Scratch *scratch, int32_t part, int row, Recorded *to) {
  int32_t first = tape->first_child[part], last = tape->first_child[part + 1];
  to->arity[to->edges] = (uint8_t)(last - first);
  to->own[to->edges] = scratch->floats[BLOCK * (int64_t)tape->own[part] + row];
  to->allocation[to->edges] = scratch->ints[BLOCK * (int64_t)tape->allocation[part] + row];
  to->edges++;
  for (int32_t child = first; child < last; child++) {
    to->kind[to->children] = (int16_t)tape->kind[child];
    to->times[to->children] = (int32_t)scratch->ints[BLOCK * (int64_t)tape->times[child] + row];
    int64_t *word = to->words + to->children++ * to->width, *end = word + to->width;
    for (int32_t k = tape->first_word[child]; k < tape->first_word[child + 1]; k++)
      *word++ = scratch->ints[BLOCK * (int64_t)tape->words[k] + row];
    while (word < end) *word++ = 0;
  }
}

// Find which entries of tables are missing, as what an operation gives for a row is unknown.
static void seek(const Tape *tape, const Scratch *scratch, int32_t operation, int row, Recorded *to) {
  int code = tape->code[operation];
  uint64_t bit = (uint64_t)1 << row;
  if (scratch->done[operation] < *scratch->stamp) return;
  if (!(scratch->unknown[operation] & ~scratch->sought[operation] & bit)) return;
  scratch->sought[operation] |= bit;
  const int32_t *operands = tape->operands + 4 * (int64_t)operation;
  bool below = false;
  for (int k = 0; k < tape->arity[code]; k++) {
    below |= (scratch->unknown[operands[k]] & bit) != 0;
    seek(tape, scratch, operands[k], row, to);
  }
  if (below || to->lacking == to->most_missing) return;
  int32_t *entry = to->missing + 3 * to->lacking++;
  entry[0] = operands[3];
  for (int k = 0; k < 2; k++) {
    int64_t index = k < tape->arity[code] ? scratch->ints[BLOCK * (int64_t)operands[k] + row] : 0;
    entry[1 + k] = index < 0 || index > INT32_MAX ? -1 : (int32_t)index;
  }
}

// As `seek`, of all that a rule has worked out.
static void seek_of_rule(const Tape *tape, const Scratch *scratch, int64_t rule, int row, Recorded *to) {
  for (int32_t part = tape->first_condition[rule]; part < tape->first_condition[rule + 1]; part++) {
    if (tape->holds[part] >= 0) seek(tape, scratch, tape->holds[part], row, to);
    if (part < tape->first_edge[rule]) continue;
    seek(tape, scratch, tape->own[part], row, to);
    seek(tape, scratch, tape->allocation[part], row, to);
    for (int32_t child = tape->first_child[part]; child < tape->first_child[part + 1]; child++) {
      seek(tape, scratch, tape->times[child], row, to);
      for (int32_t k = tape->first_word[child]; k < tape->first_word[child + 1]; k++)
        seek(tape, scratch, tape->words[k], row, to);
    }
  }
}

// Whether there is room for all edges that rules may leave of rows where they are wanted. If not,
// the most that the record has room for become what it should have.
static bool has_room(const Tape *tape, const bool *wanted, int64_t rows, Recorded *to) {
  int64_t edges = to->edges, children = to->children, all = 0;
  for (int64_t rule = 0; rule < tape->rule_count; rule++) {
    int32_t first = tape->first_edge[rule], last = tape->first_condition[rule + 1];
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) count += wanted[rule * rows + i];
    edges += count * (last - first);
    children += count * (tape->first_child[last] - tape->first_child[first]);
    all += count;
  }
  if (edges <= to->most_edges && children <= to->most_children && all <= to->most_unsure) return true;
  if (edges > to->most_edges) to->most_edges = 2 * edges;
  if (children > to->most_children) to->most_children = 2 * children;
  if (all > to->most_unsure) to->most_unsure = 2 * all;
  return false;
}

// Append the edges of rules for rows, by rule and row where they are wanted, to those in `record`, a
// `Recorded`. The rows are keys, by word and row, with the numbers of `given`. `layout` has the
// tables. Gives false, with the room that is needed, if there is too little.
bool run_tape(const Tape *tape, const Scratch *scratch, const int64_t *layout, const int64_t *words,
              const int32_t *given, const bool *wanted, int64_t rows, int64_t *record) {
  const Table *tables = (const Table *)layout;
  Recorded *to = (Recorded *)record;
  if (!has_room(tape, wanted, rows, to)) return false;
  to->unsure = to->lacking = 0;
  scratch->stamp[1] = *scratch->stamp + (rows + BLOCK - 1) / BLOCK;
  for (int64_t start = 0; start < rows; start += BLOCK) {
    int count = rows - start < BLOCK ? (int)(rows - start) : BLOCK;
    int64_t sure = to->unsure;
    ++*scratch->stamp;
    for (int64_t k = 0; k < tape->input_count; k++) {
      int64_t input = tape->inputs[k];
      scratch->done[input] = *scratch->stamp;
      scratch->unknown[input] = 0;
      for (int i = 0; i < count; i++) scratch->ints[BLOCK * input + i] = words[k * rows + start + i];
    }
    for (int64_t rule = 0; rule < tape->rule_count; rule++) {
      uint64_t applies = 0, unsure = 0, unknown;
      for (int i = 0; i < count; i++)
        applies |= (uint64_t)(wanted[rule * rows + start + i] != 0) << i;
      int32_t first = tape->first_edge[rule], last = tape->first_condition[rule + 1];
      for (int32_t part = tape->first_condition[rule]; part < first && applies; part++) {
        uint64_t fulfilled = holding(tape, scratch, tables, part, &unknown);
        applies &= fulfilled | unknown;
        unsure |= unknown;
      }
      unsure &= applies;
      if (!applies) continue;
      for (int32_t part = first; part < last; part++) {
        uint64_t here = holding(tape, scratch, tables, part, &unknown);
        unsure |= applies & unknown;
        if (applies & here & ~unsure) unsure |= applies & here & prepare(tape, scratch, tables, part);
      }
      uint64_t here[last - first + 1], some = 0;
      for (int32_t part = first; part < last; part++)
        some |= here[part - first] = applies & ~unsure & holding(tape, scratch, tables, part, &unknown);
      for (int i = 0; i < count; i++) {
        if (!(some >> i & 1)) continue;
        for (int32_t part = first; part < last; part++) {
          if (!(here[part - first] >> i & 1)) continue;
          to->row[to->edges] = given[start + i];
          to->rule[to->edges] = (uint8_t)rule;
          record_edge(tape, scratch, part, i, to);
        }
      }
      for (int i = 0; i < count; i++) {
        if (!(unsure >> i & 1)) continue;
        to->unsure_rule[to->unsure] = (int32_t)rule;
        to->unsure_row[to->unsure++] = (int32_t)(start + i);
      }
    }
    for (int64_t i = sure; i < to->unsure; i++)
      seek_of_rule(tape, scratch, to->unsure_rule[i], (int)(to->unsure_row[i] - start), to);
  }
  return true;
}

static int16_t on_bits(int16_t code) {
  switch (code) {
    case BITWISE_AND: return BITWISE_AND_BITS;
    case BITWISE_OR: return BITWISE_OR_BITS;
    case BITWISE_XOR: return BITWISE_XOR_BITS;
    case IS_ZERO: return IS_ZERO_BITS;
    case WHERE: return WHERE_BITS;
    case WHERE_FLOAT: return WHERE_FLOAT_BITS;
    default: return code;
  }
}

// Have operations take the bits of conditions where they can: WHERE of its first operand, others of
// all. Conditions that others take, and those among `numbers`, become widened.
void use_bits(int16_t *code, int32_t *operands, const uint8_t *arity, int64_t count,
              const int32_t *numbers, int64_t needed) {
  for (int64_t operation = 0; operation < count; operation++) {
    const int32_t *given = operands + 4 * operation;
    int16_t own = code[operation], taking = on_bits(own);
    int taken = own == WHERE || own == WHERE_FLOAT ? 1 : arity[own];
    bool all = taking != own;
    for (int k = 0; k < taken && all; k++) all = is_condition(code[given[k]]);
    if (all) code[operation] = taking;
    for (int k = all ? taken : 0; k < arity[own]; k++)
      if (is_condition(code[given[k]])) operands[4 * (int64_t)given[k] + WIDENED] = 1;
  }
  for (int64_t i = 0; i < needed; i++)
    if (is_condition(code[numbers[i]])) operands[4 * (int64_t)numbers[i] + WIDENED] = 1;
}

// The operations that are kept: their codes and operands, and which constants and tables those use.
// By operation, constant and table of all: its number among those kept, -1 so far for others.
typedef struct {
  int16_t *code;
  int32_t *operands;
  int32_t *constants, *tables;
  int32_t *numbers, *constant_numbers, *table_numbers;
} Kept;

static int32_t kept_place(int32_t place, int32_t *numbers, int32_t *places, int64_t *count) {
  if (numbers[place] < 0) {
    places[*count] = place;
    numbers[place] = (int32_t)(*count)++;
  }
  return numbers[place];
}

// Keep an operation, unless it is kept, after those that it needs.
static void keep_operation(const int16_t *code, const int32_t *operands, const uint8_t *arity,
                           int32_t operation, const Kept *kept, int64_t *counts) {
  if (kept->numbers[operation] >= 0) return;
  const int32_t *given = operands + 4 * (int64_t)operation;
  int16_t own = code[operation];
  for (int k = 0; k < arity[own]; k++)
    keep_operation(code, operands, arity, given[k], kept, counts);
  int64_t number = counts[0]++;
  int32_t *made = kept->operands + 4 * number;
  for (int k = 0; k < 4; k++) made[k] = k < arity[own] ? kept->numbers[given[k]] : given[k];
  if (own == CONSTANT)
    made[0] = kept_place(given[0], kept->constant_numbers, kept->constants, counts + 1);
  if (own == LOOKUP_1 || own == LOOKUP_2 || own == LOOKUP_BOOL || own == LOOKUP_FLOAT)
    made[3] = kept_place(given[3], kept->table_numbers, kept->tables, counts + 2);
  kept->code[number] = own;
  kept->numbers[operation] = (int32_t)number;
}

// Keep operations and all that they need. Gives the counts of operations, constants and tables.
void keep_operations(const int16_t *code, const int32_t *operands, const uint8_t *arity,
                     const int32_t *needed, int64_t needed_count, const Kept *kept,
                     int64_t *counts) {
  for (int64_t i = 0; i < needed_count; i++)
    keep_operation(code, operands, arity, needed[i], kept, counts);
}

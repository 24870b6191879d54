// Keys of Specs: columns of small integers, packed into words, and these into one; see keys.py.
//
// Whoever adds numbers to a numbering makes room for them before.

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int32_t *slots;
  int64_t size, *values, count;
} Numbering;

typedef struct {
  int64_t bits;  // of the word; those above them are the number of the words before
  Numbering *before;
} Word;

typedef struct {
  int64_t word, shift, mask;
} Part;

typedef struct {
  int64_t words, parts;
  const Word *word;
  const Part *part;
} Keys;

static inline int64_t slot_of_value(const Numbering *numbering, int64_t value) {
  return slot_of(value, numbering->slots, numbering->size, numbering->values);
}

static inline int64_t number_of(Numbering *numbering, int64_t value) {
  int64_t slot = slot_of_value(numbering, value);
  if (numbering->slots[slot] < 0) {
    numbering->values[numbering->count] = value;
    numbering->slots[slot] = (int32_t)numbering->count++;
  }
  return numbering->slots[slot];
}

static inline int64_t joined(const Keys *keys, const int64_t *words) {
  int64_t key = words[0];
  for (int64_t k = 1; k < keys->words; k++)
    key = number_of(keys->word[k].before, key) << keys->word[k].bits | words[k];
  return key;
}

// The key of words, or -1 if some of those before the last have no number.
static inline int64_t joined_before(const Keys *keys, const int64_t *words) {
  int64_t key = words[0];
  for (int64_t k = 1; k < keys->words && key >= 0; k++) {
    const Numbering *before = keys->word[k].before;
    int64_t number = before->size ? before->slots[slot_of_value(before, key)] : -1;
    key = number < 0 ? -1 : number << keys->word[k].bits | words[k];
  }
  return key;
}

// Whether there is room for the numbers of so many more keys.
static inline bool have_room(const Keys *keys, int64_t count) {
  for (int64_t k = 1; k < keys->words; k++) {
    const Numbering *before = keys->word[k].before;
    if (2 * (before->count + count) > before->size) return false;
  }
  return true;
}

static inline void split(const Keys *keys, int64_t key, int64_t *words) {
  for (int64_t k = keys->words - 1; k > 0; k--) {
    int64_t bits = keys->word[k].bits;
    words[k] = key & (((int64_t)1 << bits) - 1);
    key = keys->word[k].before->values[key >> bits];
  }
  words[0] = key;
}

static inline int64_t part_of(const Keys *keys, const int64_t *words, int64_t part) {
  const Part *p = keys->part + part;
  return words[p->word] >> p->shift & p->mask;
}

// Number integers.
void number(const int64_t *column, int64_t rows, int64_t *numbering, int64_t *numbers) {
  for (int64_t i = 0; i < rows; i++) numbers[i] = number_of((Numbering *)numbering, column[i]);
}

/* Runs a function on random arrays, compares its results with those of NumPy in float64, and
 * times it. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An array of the function: its bytes, those of an element, the name of its dtype, and how much
 * results may be off, relative to the largest. */
typedef struct {
    size_t size, element;
    const char *dtype;
    double tolerance;
} Array;

#include "case.h"

static void *aligned(size_t size)
{
    void *memory = aligned_alloc(LINE, (size + LINE) / LINE * LINE);
    if (!memory) {
        fprintf(stderr, "there is no memory for %zu bytes\n", size);
        exit(2);
    }
    return memory;
}

static double from_float16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31)
        size = fraction ? NAN : INFINITY;
    return bits >> 15 ? -size : size;
}

static double from_bfloat16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* An integer, as unsigned if it is, or a truth value. */
static double from_integer(const void *element, size_t bytes, int is_signed)
{
    int64_t value = 0;
    memcpy(&value, element, bytes);
    if (is_signed && bytes < 8 && value >> (8 * bytes - 1))
        value -= INT64_C(1) << 8 * bytes;
    return is_signed ? (double)value : (double)(uint64_t)value;
}

static double element_of(const Array *array, const void *elements, size_t index)
{
    const void *element = (const char *)elements + index * array->element;
    if (!strcmp(array->dtype, "float32"))
        return *(const float *)element;
    if (!strcmp(array->dtype, "float64"))
        return *(const double *)element;
    if (!strcmp(array->dtype, "float16"))
        return from_float16(*(const uint16_t *)element);
    if (!strcmp(array->dtype, "bfloat16"))
        return from_bfloat16(*(const uint16_t *)element);
    return from_integer(element, array->element, array->dtype[0] == 'i');
}

static void read_array(FILE *file, void *elements, size_t size)
{
    if (fread(elements, 1, size, file) != size) {
        fprintf(stderr, "cannot read %zu bytes of %s\n", size, CASE);
        exit(2);
    }
}

/* Prints the largest error of a result; returns whether it is that of rounding. */
static int is_close(const Array *array, const void *result, const void *expected)
{
    double error = 0, largest = 0;
    for (size_t n = 0; n < array->size / array->element; n++) {
        double found = element_of(array, result, n), wanted = element_of(array, expected, n);
        if (!isinf(wanted) && fabs(wanted) > largest)
            largest = fabs(wanted);
        if (found == wanted || (isnan(found) && isnan(wanted)))
            continue;
        double off = fabs(found - wanted);
        error = isnan(error) || off <= error ? error : off; /* a NaN stays one */
    }
    printf("largest error: %.1e of %.3g\n", error, largest);
    return error <= array->tolerance * largest;
}

static double seconds(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void)
{
    void *given[COUNT], *workspace = aligned(WORKSPACE);
    FILE *file = fopen(CASE, "rb");
    int right = 1;
    if (!file) {
        fprintf(stderr, "cannot open %s\n", CASE);
        return 2;
    }
    for (int i = 0; i < COUNT; i++)
        given[i] = aligned(arrays[i].size);
    for (int i = 0; i < INPUTS; i++)
        read_array(file, given[i], arrays[i].size);
    RUN(given, workspace);
    for (int i = INPUTS; i < COUNT; i++) {
        void *expected = aligned(arrays[i].size);
        read_array(file, expected, arrays[i].size);
        right &= is_close(&arrays[i], given[i], expected);
        free(expected);
    }
    fclose(file);

    double begin = seconds(), taken = 0;
    long calls = 0;
    while (taken < 0.5) {
        RUN(given, workspace);
        calls++;
        taken = seconds() - begin;
    }
    printf("%.2f us a call\n", 1e6 * taken / (double)calls);
    for (int i = 0; i < COUNT; i++)
        free(given[i]);
    free(workspace);
    return right ? 0 : 1;
}

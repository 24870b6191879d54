/* Runs a function on random arrays, compares its results with those of NumPy in float64, and
 * times it. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case.h"

static void *aligned(size_t size)
{
    return aligned_alloc(LINE, (size + LINE) / LINE * LINE);
}

static size_t bytes_of(const char *dtype)
{
    if (!strcmp(dtype, "float32") || !strcmp(dtype, "int32"))
        return 4;
    return strcmp(dtype, "bfloat16") ? 1 : 2;
}

static double element(const void *array, const char *dtype, size_t index)
{
    if (!strcmp(dtype, "float32"))
        return ((const float *)array)[index];
    if (!strcmp(dtype, "bfloat16")) {
        uint32_t bits = (uint32_t)((const uint16_t *)array)[index] << 16;
        float value;
        memcpy(&value, &bits, 4);
        return value;
    }
    if (!strcmp(dtype, "int32"))
        return ((const int32_t *)array)[index];
    return ((const uint8_t *)array)[index];
}

static void read_array(FILE *file, void *array, size_t size)
{
    if (!array || fread(array, 1, size, file) != size) {
        fprintf(stderr, "cannot read %zu bytes of %s\n", size, CASE);
        exit(2);
    }
}

int main(void)
{
    void *arrays[COUNT], *workspace = aligned(WORKSPACE);
    FILE *file = fopen(CASE, "rb");
    if (!file || !workspace) {
        fprintf(stderr, "cannot open %s\n", CASE);
        return 2;
    }
    for (int i = 0; i < COUNT; i++)
        arrays[i] = aligned(sizes[i]);
    for (int i = 0; i < INPUTS; i++)
        read_array(file, arrays[i], sizes[i]);
    RUN(arrays, workspace);
    double error = 0, largest = 0;
    for (int i = INPUTS; i < COUNT; i++) {
        void *expected = aligned(sizes[i]);
        read_array(file, expected, sizes[i]);
        for (size_t n = 0; n < sizes[i] / bytes_of(dtypes[i]); n++) {
            double wanted = element(expected, dtypes[i], n);
            double off = fabs(element(arrays[i], dtypes[i], n) - wanted);
            error = off <= error ? error : off; /* so that a NaN stays one */
            largest = fabs(wanted) > largest ? fabs(wanted) : largest;
        }
    }
    struct timespec begin, end;
    long calls = 0;
    double seconds = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (seconds < 0.5) {
        RUN(arrays, workspace);
        calls++;
        clock_gettime(CLOCK_MONOTONIC, &end);
        seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    }
    printf("largest error: %.1e of %.3g\n", error, largest);
    printf("%.2f us a call\n", 1e6 * seconds / (double)calls);
    return error <= TOLERANCE * largest ? 0 : 1;
}

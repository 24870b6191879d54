/* Runs the kernels of a segment one after the other. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* How a host runs work: it calls `body` for ranges that make up [0, count), on any of its threads
 * and in any order, and returns when all are done. */
typedef void (*parallel_t)(void *pool, void (*body)(void *environment, long begin, long end),
                           void *environment, long count);

/* Where an argument lies: at an offset, in bytes, from one of the bases. */
typedef struct {
    int64_t base;
    int64_t offset;
} Place;

/* A kernel, and its arguments: `count` places from number `first` on. If it has parallel loops, how
 * the host runs work comes after them, as two more. */
typedef struct {
    void *kernel;
    int64_t first;
    int64_t count;
    int64_t parallel;
} Step;

typedef struct {
    const Step *steps;
    const Place *places;
    int64_t count;
} Segment;

/* The bases are null, for absolute addresses, the arena, and then the `arrays`. */
static char *at(const Place *place, char *arena, char *const *arrays)
{
    if (place->base > 1)
        return arrays[place->base - 2] + place->offset;
    return (place->base ? arena : (char *)0) + place->offset;
}

enum { CACHE_LINE = 64, LARGE_PAGE = 2 << 20 };

/* Memory for an arena, which begins at a cache line; null if there is none. It is in large pages if
 * it fills some. */
void *segment_memory(size_t bytes)
{
    void *memory;
    size_t alignment = bytes < LARGE_PAGE ? CACHE_LINE : LARGE_PAGE;
    if (posix_memalign(&memory, alignment, bytes ? bytes : 1) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (alignment == LARGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

void segment_free(void *memory)
{
    free(memory);
}

/* Runs a segment in an arena. Its kernels' parallel loops run by `run` on `pool`, or if that is
 * null on the calling thread. */
void segment_run(const Segment *segment, char *arena, char *const *arrays, parallel_t run,
                 void *pool)
{
#define P void *
    for (int64_t i = 0; i < segment->count; i++) {
        const Step *step = &segment->steps[i];
        void *f = step->kernel, *a[10];
        int64_t count = step->count;
        for (int64_t n = 0; n < count; n++)
            a[n] = at(&segment->places[step->first + n], arena, arrays);
        if (step->parallel) {
            a[count++] = (void *)run;
            a[count++] = pool;
        }
        switch (count) {
        case 1: ((void (*)(P))f)(a[0]); break;
        case 2: ((void (*)(P, P))f)(a[0], a[1]); break;
        case 3: ((void (*)(P, P, P))f)(a[0], a[1], a[2]); break;
        case 4: ((void (*)(P, P, P, P))f)(a[0], a[1], a[2], a[3]); break;
        case 5: ((void (*)(P, P, P, P, P))f)(a[0], a[1], a[2], a[3], a[4]); break;
        case 6: ((void (*)(P, P, P, P, P, P))f)(a[0], a[1], a[2], a[3], a[4], a[5]); break;
        case 7:
            ((void (*)(P, P, P, P, P, P, P))f)(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
            break;
        case 8:
            ((void (*)(P, P, P, P, P, P, P, P))f)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
            break;
        case 9:
            ((void (*)(P, P, P, P, P, P, P, P, P))f)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
            break;
        case 10:
            ((void (*)(P, P, P, P, P, P, P, P, P, P))f)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
            break;
        }
    }
#undef P
}

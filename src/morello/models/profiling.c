/* Times each kernel of a segment. It comes after runner.c. */
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Runs a segment as segment_run does, and stores the nanoseconds that each step takes; returns those
 * of all. */
int64_t segment_times(const Segment *segment, char *arena, char *const *arrays, parallel_t run,
                      void *pool, int64_t *nanoseconds)
{
    int64_t first = now_ns();
    for (int64_t i = 0; i < segment->count; i++) {
        Segment alone = {&segment->steps[i], segment->places, 1};
        int64_t began = now_ns();
        segment_run(&alone, arena, arrays, run, pool);
        nanoseconds[i] = now_ns() - began;
    }
    return now_ns() - first;
}

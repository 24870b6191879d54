/* How long things take, in nanoseconds, without Python in between. */
#include <stdint.h>
#include <time.h>

typedef void Body(void *environment, long begin, long end);
typedef void Run(void *pool, Body *body, void *environment, long count);

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void call(void *f, int count, void **a)
{
    switch (count) {
    case 1: ((void (*)(void *))f)(a[0]); break;
    case 2: ((void (*)(void *, void *))f)(a[0], a[1]); break;
    case 3: ((void (*)(void *, void *, void *))f)(a[0], a[1], a[2]); break;
    case 4: ((void (*)(void *, void *, void *, void *))f)(a[0], a[1], a[2], a[3]); break;
    }
}

/* Some calls of a function of 1 to 4 pointers. */
int64_t time_calls(void *function, int count, void **arguments, long calls)
{
    int64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        call(function, count, arguments);
    return now_ns() - start;
}

static void nothing(void *environment, long begin, long end)
{
    (void)environment, (void)begin, (void)end;
}

/* Some parallel regions, of as many items, in which there is nothing to do. */
int64_t time_regions(Run *run, void *pool, long items, long calls)
{
    int64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        run(pool, nothing, 0, items);
    return now_ns() - start;
}

/* Additions each of which waits for the one before it, a cycle each. Of a register, since
 * adding a constant costs some CPUs nothing. */
int64_t time_additions(long count)
{
    int64_t start = now_ns();
    uint64_t sum = (uint64_t)start, one = (uint64_t)(start >> 63) + 1;
    for (long i = 0; i < count; i += 16) {
#define ADD __asm__ volatile("" : "+r"(sum), "+r"(one)); sum += one;
#define FOUR ADD ADD ADD ADD
        FOUR FOUR FOUR FOUR
    }
    __asm__ volatile("" : : "r"(sum));
    return now_ns() - start;
}

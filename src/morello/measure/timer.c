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
    case 5:
        ((void (*)(void *, void *, void *, void *, void *))f)(a[0], a[1], a[2], a[3], a[4]);
        break;
    }
}

/* Some calls of a function of 1 to 5 pointers. */
int64_t time_calls(void *function, int count, void **arguments, long calls)
{
    int64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        call(function, count, arguments);
    return now_ns() - start;
}

/* Additions each of which waits for the one before it, a cycle each. Of a register, since
 * adding a constant costs some CPUs nothing. */
static void add(long count)
{
    uint64_t sum = 0, one = 1;
#define ADD __asm__ volatile("" : "+r"(sum), "+r"(one)); sum += one;
#define FOUR ADD ADD ADD ADD
    for (long i = 0; i < count; i += 16) {
        FOUR FOUR FOUR FOUR
    }
    __asm__ volatile("" : : "r"(sum));
}

int64_t time_additions(long count, long calls)
{
    int64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        add(count);
    return now_ns() - start;
}

static void add_items(void *environment, long begin, long end)
{
    for (long i = begin; i < end; i++)
        add(*(long *)environment);
}

/* Some parallel regions of as many items, each of as many additions. */
int64_t time_regions(Run *run, void *pool, long items, long count, long calls)
{
    int64_t start = now_ns();
    for (long i = 0; i < calls; i++)
        run(pool, add_items, &count, items);
    return now_ns() - start;
}

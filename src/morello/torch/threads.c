/* Runs parallel loops on torch's threads. The text before this is claims.h. */
#include <stdint.h>

/* torch_parallel_for, of torch's stable C interface since 2.10; it returns 0, or an error. */
typedef int32_t ParallelFor(int64_t begin, int64_t end, int64_t grain,
                            void (*body)(int64_t begin, int64_t end, void *environment),
                            void *environment);

static void claim(int64_t begin, int64_t end, void *claims)
{
    (void)begin;
    (void)end;
    do_items(claims);
}

void aten_run(ParallelFor *parallel_for, Body *body, void *environment, long count)
{
    Claims claims;
    unclaim(&claims, body, environment, count);
    (void)parallel_for(0, count, 1, claim, &claims);
    do_items(&claims); /* what it left, if it failed */
}

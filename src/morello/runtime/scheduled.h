/* Parallel loops on a host's threads. The text before this is claims.h and gate.h. */
#include <stdlib.h>

/* A pool of a host that runs single tasks, some time, on any of its threads or at once. */
typedef struct {
    int (*schedule)(void *host, void (*task)(void *), void *data); /* 0 if it does not */
    void *host;
    int64_t threads; /* how many are worth asking for */
} Scheduler;

/* A region whose items tasks claim. It lasts until all of them have run: the last one may be long
 * after the region is done. */
typedef struct {
    Gate undone; /* the claims that are not done */
    Claims claims;
    atomic_int users; /* the tasks that have not run, and the caller */
} Region;

static void leave(Region *region)
{
    if (atomic_fetch_sub(&region->users, 1) == 1)
        free(region);
}

static void join(void *argument)
{
    Region *region = argument;
    int done = do_items(&region->claims);
    if (done > 0 && atomic_fetch_sub(&region->undone.value, done) == done)
        wake(&region->undone, 1);
    leave(region);
}

/* Calls `body` for ranges that make up [0, count), on the threads of a scheduler, and waits for
 * all. Nothing waits for a task that has not begun. */
static void scheduled_run(void *given, Body *body, void *environment, long count)
{
    const Scheduler *scheduler = given;
    Region *region = NULL;
    if (count > 1 && scheduler->threads > 1)
        region = aligned_alloc(LINE, sizeof *region);
    if (region == NULL) {
        body(environment, 0, count);
        return;
    }
    region->undone = (Gate)GATE;
    unclaim(&region->claims, body, environment, count);
    long claims = claims_of(&region->claims.loop);
    atomic_store(&region->undone.value, (int)claims);
    atomic_store(&region->users, 2);
    for (long tasks = 1; tasks < scheduler->threads && tasks < claims; tasks++) {
        atomic_fetch_add(&region->users, 1);
        if (!scheduler->schedule(scheduler->host, join, region)) {
            leave(region);
            break;
        }
    }
    join(region);
    int undone;
    while ((undone = atomic_load_explicit(&region->undone.value, memory_order_acquire)) > 0)
        wait_while(&region->undone, undone);
    leave(region);
}

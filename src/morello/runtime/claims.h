/* The items of a parallel loop, which any number of threads claim until none is left. */
#include <stdatomic.h>

enum { MOST_CLAIMS = 1024 };

typedef void Body(void *environment, long begin, long end);

typedef struct {
    Body *body;
    void *environment;
    long count, size; /* the items, and how many are claimed at a time */
    atomic_long next; /* the first item that nobody has claimed */
} Claims;

static inline Claims unclaimed(Body *body, void *environment, long count)
{
    return (Claims){body, environment, count, (count - 1) / MOST_CLAIMS + 1, 0};
}

/* Does items until all are claimed, by whomever; returns how many claims it made. */
static inline int do_items(Claims *claims)
{
    int done = 0;
    long begin;
    while ((begin = atomic_fetch_add_explicit(
                &claims->next, claims->size, memory_order_relaxed)) < claims->count) {
        long rest = claims->count - begin;
        claims->body(
            claims->environment, begin, begin + (rest < claims->size ? rest : claims->size));
        done++;
    }
    return done;
}

/* The items of a parallel loop, which threads claim until none is left.
 *
 * A thread has a share of the claims, and makes them in order: neighbours often read the same. A
 * thread whose share is empty takes the second half of another's. So the share of a thread that
 * another program keeps from running, or that has yet to begin, is done by others.
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    LINE = 128, /* CPUs fetch cache lines in pairs */
    MOST_CLAIMS = 1024,
    MOST_SHARES = 128,
};

typedef void Body(void *environment, long begin, long end);

typedef struct {
    Body *body;
    void *environment;
    long count, size; /* the items, and how many are claimed at a time */
} Loop;

/* The claims from the lower half of a number up to its upper half. */
typedef struct {
    alignas(LINE) _Atomic uint64_t claims;
} Share;

static inline uint64_t claims_between(uint64_t begin, uint64_t end) { return end << 32 | begin; }

/* A loop of at most so many claims. */
static inline Loop claimed(Body *body, void *environment, long count, long most)
{
    return (Loop){body, environment, count, (count - 1) / most + 1};
}

static inline long claims_of(const Loop *loop) { return (loop->count - 1) / loop->size + 1; }

/* Takes the first claim of a share; -1 if there is none. */
static inline long take_first(Share *share)
{
    uint64_t old = atomic_load_explicit(&share->claims, memory_order_relaxed);
    do {
        if ((uint32_t)old == old >> 32)
            return -1;
    } while (!atomic_compare_exchange_weak_explicit(
        &share->claims, &old, old + 1, memory_order_acquire, memory_order_relaxed));
    return (long)(uint32_t)old;
}

/* Takes half of the claims of another share into one's own, which is empty, if there are any.
 * Nobody else writes to an empty share. */
static inline int take_half(Share *shares, int count, int own)
{
    for (int i = 1; i < count; i++) {
        int other = (own + i) % count;
        uint64_t old = atomic_load_explicit(&shares[other].claims, memory_order_relaxed);
        uint64_t begin, end;
        while ((begin = (uint32_t)old) != (end = old >> 32)) {
            uint64_t middle = begin + (end - begin) / 2;
            if (!atomic_compare_exchange_weak_explicit(
                    &shares[other].claims, &old, claims_between(begin, middle),
                    memory_order_acquire, memory_order_relaxed))
                continue;
            atomic_store_explicit(
                &shares[own].claims, claims_between(middle, end), memory_order_release);
            return 1;
        }
    }
    return 0;
}

/* Makes claims until none is left in any of the shares; returns how many it made. What is in
 * `loop` is read after a claim. */
static inline int make_claims(const Loop *loop, Share *shares, int count, int own)
{
    int made = 0;
    do {
        long claim;
        while ((claim = take_first(&shares[own])) >= 0) {
            long begin = claim * loop->size, rest = loop->count - begin;
            loop->body(
                loop->environment, begin, begin + (rest < loop->size ? rest : loop->size));
            made++;
        }
    } while (take_half(shares, count, own));
    return made;
}

/* The claims of a loop for any number of threads. */
typedef struct {
    Loop loop;
    int count; /* the shares */
    atomic_int joined;
    Share shares[MOST_SHARES];
} Claims;

static inline void unclaim(Claims *claims, Body *body, void *environment, long count)
{
    claims->loop = claimed(body, environment, count, MOST_CLAIMS);
    long all = claims_of(&claims->loop);
    claims->count = all < MOST_SHARES ? (int)all : MOST_SHARES;
    atomic_init(&claims->joined, 0);
    for (int i = 0; i < claims->count; i++)
        atomic_init(&claims->shares[i].claims, claims_between(0, i == 0 ? (uint64_t)all : 0));
}

/* Does items until all are claimed, by whomever; returns how many claims it made. */
static inline int do_items(Claims *claims)
{
    int own = atomic_fetch_add_explicit(&claims->joined, 1, memory_order_relaxed);
    if (own >= claims->count)
        return 0;
    int all = 0, made;
    do { /* others may have joined meanwhile */
        int joined = atomic_load_explicit(&claims->joined, memory_order_relaxed);
        int count = joined < claims->count ? joined : claims->count;
        made = make_claims(&claims->loop, claims->shares, count, own);
        all += made;
    } while (made > 0);
    return all;
}

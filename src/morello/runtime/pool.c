/* A small pool of threads for the parallel regions of kernels. The text before this is claims.h
 * and gate.h.
 *
 * A region is a loop whose items threads claim, and lasts until every claim is done. So what a
 * thread reads about the region after a claim cannot change meanwhile, and a thread that comes
 * late finds either nothing to do or a newer region, which is as good. Nobody waits for a thread
 * that has claimed nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

enum { CLAIMS_PER_THREAD = 64 }; /* at most; enough to balance the load */

typedef struct {
    struct Pool *pool;
    pthread_t thread;
    int share;
    atomic_int id; /* what Linux calls it, once it runs */
} Worker;

typedef struct Pool {
    Gate regions; /* how many there were */
    Gate undone;  /* the claims that are not done */
    alignas(LINE) Loop loop;
    Share *shares; /* of the caller, then of the workers */
    atomic_int busy, stopped;
    int workers;
    pid_t owner; /* the process that the workers are in */
#ifdef __linux__
    cpu_set_t cpus; /* where the workers may run, */
    int avoided;    /* but not here; -1 if anywhere */
#endif
    Worker members[];
} Pool;

#ifdef __linux__

/* Notes where the pool's threads may run. */
static void survey(Pool *pool)
{
    pool->avoided = -1;
    syscall(SYS_sched_getaffinity, 0, sizeof pool->cpus, &pool->cpus);
}

static void identify(Worker *worker)
{
    atomic_store(&worker->id, (int)syscall(SYS_gettid));
}

/* Lets the workers run on all CPUs but one, or on all. */
static void avoid(Pool *pool, int cpu)
{
    cpu_set_t allowed = pool->cpus;
    if (cpu >= 0)
        CPU_CLR(cpu, &allowed);
    if (cpu == pool->avoided || CPU_COUNT(&allowed) == 0)
        return;
    pool->avoided = cpu;
    for (int i = 0; i < pool->workers; i++) {
        int id = atomic_load(&pool->members[i].id);
        if (id != 0)
            syscall(SYS_sched_setaffinity, id, sizeof allowed, &allowed);
        else
            pool->avoided = -1; /* it has yet to begin */
    }
}

/* Keeps the workers off the caller's CPU, if they may be there: before they are woken, as Linux
 * often wakes a thread there though others are idle, above all in virtual machines, and after
 * they were let onto it. Otherwise one would wait for milliseconds until the caller pauses. */
static void make_way(Pool *pool, int asleep)
{
    if (asleep || pool->avoided < 0)
        avoid(pool, sched_getcpu());
}

/* Lets the workers run there again, as the caller is about to sleep. If another program keeps
 * one from running, Linux moves it to the CPU that is idle now. */
static void give_way(Pool *pool)
{
    avoid(pool, -1);
}

#else

static void survey(Pool *pool) { (void)pool; }
static void identify(Worker *worker) { (void)worker; }
static void make_way(Pool *pool, int asleep) { (void)pool, (void)asleep; }
static void give_way(Pool *pool) { (void)pool; }

#endif

/* Makes claims until none is left. */
static void help(Pool *pool, int own)
{
    int made = make_claims(&pool->loop, pool->shares, pool->workers + 1, own);
    if (made > 0 && atomic_fetch_sub(&pool->undone.value, made) == made)
        wake(&pool->undone, 1);
}

static void *work(void *argument)
{
    Worker *self = argument;
    Pool *pool = self->pool;
    identify(self);
    for (;;) {
        int regions = atomic_load(&pool->regions.value);
        if (atomic_load(&pool->stopped))
            return NULL;
        help(pool, self->share);
        wait_while(&pool->regions, regions);
    }
}

/* Lets the workers look for what is new; returns whether some of them may be asleep. */
static int announce(Pool *pool)
{
    atomic_fetch_add(&pool->regions.value, 1);
    return atomic_load(&pool->regions.sleepers) > 0;
}

/* Ends the workers; there must be no region under way, nor one to come. */
void pool_destroy(Pool *pool)
{
    if (getpid() == pool->owner) {
        atomic_store(&pool->stopped, 1);
        if (announce(pool))
            wake_sleepers(&pool->regions, pool->workers);
        for (int i = 0; i < pool->workers; i++)
            pthread_join(pool->members[i].thread, NULL);
    }
    free(pool->shares);
    free(pool);
}

/* A pool of `threads` threads, one of which is whoever calls `pool_run`; NULL if there cannot
 * be so many. */
Pool *pool_create(int threads)
{
    size_t bytes = sizeof(Pool) + (size_t)threads * sizeof(Worker);
    Pool *pool = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    Share *shares = aligned_alloc(LINE, (size_t)threads * sizeof(Share));
    if (pool == NULL || shares == NULL) {
        free(pool);
        free(shares);
        return NULL;
    }
    *pool = (Pool){.regions = GATE, .undone = GATE, .shares = shares, .owner = getpid()};
    for (int i = 0; i < threads; i++)
        atomic_init(&shares[i].claims, 0);
    survey(pool);

    /* Signals are for the program's own threads, except those that a fault sends to its own. */
    sigset_t signals, before;
    sigfillset(&signals);
    sigdelset(&signals, SIGSEGV);
    sigdelset(&signals, SIGBUS);
    sigdelset(&signals, SIGFPE);
    sigdelset(&signals, SIGILL);
    pthread_sigmask(SIG_SETMASK, &signals, &before);
    int failed = 0;
    while (!failed && pool->workers < threads - 1) {
        Worker *worker = &pool->members[pool->workers];
        *worker = (Worker){.pool = pool, .share = pool->workers + 1};
        failed = pthread_create(&worker->thread, NULL, work, worker);
        pool->workers += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pool_destroy(pool);
        return NULL;
    }
    return pool;
}

/* Calls `body` for ranges that make up [0, count), on any of the threads, and waits for all.
 *
 * A call from within a region, or while another thread has one under way, runs in its caller
 * alone, as does one in a child of the process, where there are no workers.
 */
void pool_run(Pool *pool, Body *body, void *environment, long count)
{
    if (count <= 1 || pool->workers == 0 || getpid() != pool->owner ||
        atomic_exchange_explicit(&pool->busy, 1, memory_order_acquire)) {
        body(environment, 0, count);
        return;
    }
    pool->loop = claimed(body, environment, count, CLAIMS_PER_THREAD * (pool->workers + 1));
    long claims = claims_of(&pool->loop);
    atomic_store_explicit(&pool->undone.value, (int)claims, memory_order_relaxed);
    atomic_store_explicit(
        &pool->shares[0].claims, claims_between(0, (uint64_t)claims), memory_order_release);
    int asleep = announce(pool);
    make_way(pool, asleep);
    if (asleep)
        wake_sleepers(&pool->regions, (int)claims - 1);
    help(pool, 0);
    int undone;
    while ((undone = atomic_load_explicit(&pool->undone.value, memory_order_acquire)) > 0) {
        if (spin_while(&pool->undone, undone)) {
            give_way(pool);
            sleep_through(&pool->undone, undone);
        }
    }
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
}

/* A small pool of threads for the parallel regions of kernels. The text before this is gate.h.
 *
 * A region is cut into pieces, and one number says how many of them nobody has taken yet.
 * Whoever lowers it owns a piece, and a region lasts until every owned piece is done. So what
 * a thread reads about the region after taking a piece cannot change meanwhile, and a thread
 * that comes late finds either nothing to do or a newer region, which is as good. Nobody
 * waits for a thread that has taken nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

enum {
    PIECES_PER_THREAD = 64, /* at most; enough to balance the load */
    STOP = -1,
};

typedef void Body(void *environment, long begin, long end);

typedef struct {
    struct Pool *pool;
    pthread_t thread;
    atomic_int id; /* what Linux calls it, once it runs */
} Worker;

typedef struct Pool {
    Gate left;   /* the pieces that nobody has taken, or STOP */
    Gate undone; /* the pieces that are not done */
    alignas(LINE) Body *body;
    void *environment;
    long count, size; /* the items of the region, and of a piece */
    long pieces;
    atomic_int busy;
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

/* Takes and does pieces until none is left. */
static void help(Pool *pool)
{
    int done = 0;
    int left = atomic_load_explicit(&pool->left.value, memory_order_relaxed);
    while (left > 0) {
        if (!atomic_compare_exchange_weak_explicit(&pool->left.value, &left, left - 1,
                                                   memory_order_acquire, memory_order_relaxed))
            continue;
        long begin = (pool->pieces - left) * pool->size, rest = pool->count - begin;
        pool->body(pool->environment, begin, begin + (rest < pool->size ? rest : pool->size));
        done++;
        left = atomic_load_explicit(&pool->left.value, memory_order_relaxed);
    }
    if (done > 0 && atomic_fetch_sub(&pool->undone.value, done) == done)
        wake(&pool->undone, 1);
}

static void *work(void *argument)
{
    Worker *self = argument;
    Pool *pool = self->pool;
    identify(self);
    while (atomic_load_explicit(&pool->left.value, memory_order_relaxed) != STOP) {
        help(pool);
        wait_while(&pool->left, 0);
    }
    return NULL;
}

/* Ends the workers; there must be no region under way, nor one to come. */
void pool_destroy(Pool *pool)
{
    if (getpid() == pool->owner) {
        atomic_store(&pool->left.value, STOP);
        wake(&pool->left, pool->workers);
        for (int i = 0; i < pool->workers; i++)
            pthread_join(pool->members[i].thread, NULL);
    }
    free(pool);
}

/* A pool of `threads` threads, one of which is whoever calls `pool_run`; NULL if there cannot
 * be so many. */
Pool *pool_create(int threads)
{
    size_t bytes = sizeof(Pool) + (size_t)threads * sizeof(Worker);
    Pool *pool = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (pool == NULL)
        return NULL;
    *pool = (Pool){.left = GATE, .undone = GATE, .owner = getpid()};
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
        *worker = (Worker){.pool = pool};
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
    pool->body = body;
    pool->environment = environment;
    pool->count = count;
    pool->size = (count - 1) / (PIECES_PER_THREAD * (pool->workers + 1)) + 1;
    pool->pieces = (count - 1) / pool->size + 1;
    atomic_store_explicit(&pool->undone.value, pool->pieces, memory_order_relaxed);
    atomic_store(&pool->left.value, pool->pieces);
    int asleep = atomic_load(&pool->left.sleepers) > 0;
    make_way(pool, asleep);
    if (asleep)
        wake_sleepers(&pool->left, pool->pieces - 1);
    help(pool);
    int undone;
    while ((undone = atomic_load_explicit(&pool->undone.value, memory_order_acquire)) > 0) {
        if (spin_while(&pool->undone, undone)) {
            give_way(pool);
            sleep_through(&pool->undone, undone);
        }
    }
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
}

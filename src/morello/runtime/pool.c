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

enum {
    CLAIMS_PER_THREAD = 64, /* at most; enough to balance the load */
    LOOK_NS = 20 * 1000,    /* after which a thread that has not run at all is late */
    LOOKS = 3,
};

typedef struct {
    struct Pool *pool;
    pthread_t thread;
    int share;
    atomic_int id;    /* what Linux calls it, once it runs */
    atomic_int works; /* whether it may have claimed something */
    atomic_int moved; /* whether it is on the caller's CPU, and should leave it at once */
    int64_t ran;      /* for so long when the caller last looked */
} Worker;

typedef struct Pool {
    Gate regions; /* how many there were */
    Gate undone;  /* the claims that are not done */
    alignas(LINE) Loop loop;
    Share *shares; /* of the caller, then of the workers */
    int threads;   /* that have one */
    atomic_int busy, stopped;
    int workers; /* that have been started, for the caller alone */
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
 * one from running, Linux moves it some time to the CPU that is idle now. */
static void give_way(Pool *pool)
{
    avoid(pool, -1);
}

/* How long a worker has run; 0 if that is not known. */
static int64_t time_of(Worker *worker)
{
    clockid_t clock;
    struct timespec time;
    if (pthread_getcpuclockid(worker->thread, &clock) || clock_gettime(clock, &time))
        return 0;
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Notes for how long the workers have run. */
static void look(Pool *pool)
{
    for (int i = 0; i < pool->workers; i++)
        if (atomic_load(&pool->members[i].works))
            pool->members[i].ran = time_of(&pool->members[i]);
}

/* Moves the workers that have claimed something, and have not run since the last look, to the
 * caller's CPU; returns whether there are any. The caller is about to sleep. */
static int fetch_late(Pool *pool)
{
    int fetched = 0, cpu = sched_getcpu();
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    if (!CPU_ISSET(cpu, &pool->cpus))
        return 0;
    for (int i = 0; i < pool->workers; i++) {
        Worker *worker = &pool->members[i];
        if (!atomic_load(&worker->works) || time_of(worker) != worker->ran)
            continue;
        atomic_store(&worker->moved, 1);
        pool->avoided = -1;
        syscall(SYS_sched_setaffinity, atomic_load(&worker->id), sizeof here, &here);
        fetched = 1;
    }
    return fetched;
}

#else

static void survey(Pool *pool) { (void)pool; }
static void identify(Worker *worker) { (void)worker; }
static void make_way(Pool *pool, int asleep) { (void)pool, (void)asleep; }
static void give_way(Pool *pool) { (void)pool; }
static void look(Pool *pool) { (void)pool; }
static int fetch_late(Pool *pool) { return (void)pool, 0; }

#endif

/* Makes claims until none is left. */
static void help(Pool *pool, int own)
{
    int made = make_claims(&pool->loop, pool->shares, pool->threads, own);
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
        atomic_store(&self->works, 1);
        help(pool, self->share);
        atomic_store(&self->works, 0);
        if (atomic_exchange(&self->moved, 0))
            sleep_through(&pool->regions, regions);
        else
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
    *pool = (Pool){
        .regions = GATE, .undone = GATE, .shares = shares, .threads = threads, .owner = getpid()};
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

/* Returns once all claims are done. */
static void wait_for_workers(Pool *pool)
{
    int undone, looks = 0;
    while ((undone = atomic_load_explicit(&pool->undone.value, memory_order_acquire)) > 0) {
        if (!spin_while(&pool->undone, undone, LOOK_NS))
            continue;
        look(pool);
        if (!spin_while(&pool->undone, undone, LOOK_NS))
            continue;
        if (!fetch_late(pool)) {
            if (++looks < LOOKS)
                continue;
            give_way(pool);
        }
        sleep_through(&pool->undone, undone);
    }
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
    pool->loop = claimed(body, environment, count, CLAIMS_PER_THREAD * pool->threads);
    long claims = claims_of(&pool->loop);
    atomic_store_explicit(&pool->undone.value, (int)claims, memory_order_relaxed);
    atomic_store_explicit(
        &pool->shares[0].claims, claims_between(0, (uint64_t)claims), memory_order_release);
    int asleep = announce(pool);
    make_way(pool, asleep);
    if (asleep)
        wake_sleepers(&pool->regions, (int)claims - 1);
    help(pool, 0);
    wait_for_workers(pool);
    atomic_store_explicit(&pool->busy, 0, memory_order_release);
}

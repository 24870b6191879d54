/* Numbers that threads wait for. The text before this is claims.h. */
#include <stddef.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
long syscall(long number, ...); /* without the many names of unistd.h */
#else
#include <pthread.h>
#endif

enum {
    SPIN_NS = 100 * 1000, /* about what it costs to be woken */
    LOOKS_PER_CLOCK = 64,
};

/* A number that threads wait for, at first awake and then asleep. */
typedef struct {
    alignas(LINE) atomic_int value;
    atomic_int sleepers;
#ifndef __linux__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
} Gate;

#ifdef __linux__

#define GATE {0}

static void sleep_while(Gate *gate, int old)
{
    syscall(SYS_futex, &gate->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

static void wake_sleepers(Gate *gate, int count)
{
    syscall(SYS_futex, &gate->value, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#else

#define GATE {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}

static void sleep_while(Gate *gate, int old)
{
    pthread_mutex_lock(&gate->mutex);
    if (atomic_load(&gate->value) == old)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

static void wake_sleepers(Gate *gate, int count)
{
    (void)count; /* those too many go back to sleep */
    pthread_mutex_lock(&gate->mutex);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

#endif

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks at the gate for so long, and says whether its value is still `old`. */
static int spin_while(Gate *gate, int old, int64_t ns)
{
    int64_t end = now_ns() + ns;
    do {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&gate->value, memory_order_relaxed) != old)
                return 0;
            relax();
        }
    } while (now_ns() < end);
    return 1;
}

/* Sleeps until the gate's value is not `old`, or for no reason. */
static void sleep_through(Gate *gate, int old)
{
    /* Either `wake`, after the value was set, sees a sleeper here, or the sleeper the value. */
    atomic_fetch_add(&gate->sleepers, 1);
    sleep_while(gate, old);
    atomic_fetch_sub(&gate->sleepers, 1);
}

/* Returns once the gate's value is not `old`, or for no reason. */
static void wait_while(Gate *gate, int old)
{
    if (spin_while(gate, old, SPIN_NS))
        sleep_through(gate, old);
}

static void wake(Gate *gate, int count)
{
    if (atomic_load(&gate->sleepers) > 0)
        wake_sleepers(gate, count);
}

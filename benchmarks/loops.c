/* Calls of C functions, many in a row: each loop gives the nanoseconds that `calls` calls take. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#define TIMES(calls, call)                     \
    int64_t began = now();                     \
    for (int64_t i = 0; i < (calls); i++) {    \
        call;                                  \
        __asm__ volatile("" ::: "memory");     \
    }                                          \
    return now() - began

int64_t pointers2(int64_t calls, void (*f)(void *, void *), void **p) {
    TIMES(calls, f(p[0], p[1]));
}

int64_t pointers3(int64_t calls, void (*f)(void *, void *, void *), void **p) {
    TIMES(calls, f(p[0], p[1], p[2]));
}

int64_t pointers4(int64_t calls, void (*f)(void *, void *, void *, void *), void **p) {
    TIMES(calls, f(p[0], p[1], p[2], p[3]));
}

/* A product by cblas's conventions; the scalars of integer products are floats, too. */
typedef struct {
    int order, ta, tb, m, n, k, lda, ldb, ldc;
    const void *a, *b;
    void *c;
} Gemm;

typedef void (*SGemm)(int, int, int, int, int, int, float, const void *, int, const void *, int,
                      float, void *, int);
typedef void (*IGemm)(int, int, int, int, int, int, int, float, const void *, int, int8_t,
                      const void *, int, int8_t, float, void *, int, const int32_t *);
typedef void (*SGemv)(int, int, int, int, float, const void *, int, const void *, int, float,
                      void *, int);
typedef int (*DnnlGemm)(char, char, int64_t, int64_t, int64_t, float, const void *, int64_t,
                        const void *, int64_t, float, void *, int64_t);

int64_t gemms(int64_t calls, SGemm f, const Gemm *g, int count) {
    TIMES(calls, for (const Gemm *x = g; x < g + count; x++) f(
        x->order, x->ta, x->tb, x->m, x->n, x->k, 1.0f, x->a, x->lda, x->b, x->ldb, 0.0f, x->c,
        x->ldc));
}

/* cblas_gemm_s8u8s32 in column-major order: c' = b' a', signed by unsigned. */
int64_t integer_gemm(int64_t calls, IGemm f, const Gemm *x) {
    const int32_t zero = 0;
    const int fix_offset = 173;
    TIMES(calls, f(x->order, x->ta, x->tb, fix_offset, x->m, x->n, x->k, 1.0f, x->a, x->lda, 0,
                   x->b, x->ldb, 0, 0.0f, x->c, x->ldc, &zero));
}

/* The row a times b: y = b' x, for b of k rows and n columns in either order. */
int64_t gemv(int64_t calls, SGemv f, int order, int transposed, int m, int n, int ld,
             const void *a, const void *x, void *y) {
    TIMES(calls, f(order, transposed, m, n, 1.0f, a, ld, x, 1, 0.0f, y, 1));
}

int64_t dnnl_gemms(int64_t calls, DnnlGemm f, const Gemm *g, int count) {
    TIMES(calls, for (const Gemm *x = g; x < g + count; x++) f(
        x->ta == 111 ? 'N' : 'T', x->tb == 111 ? 'N' : 'T', x->m, x->n, x->k, 1.0f, x->a, x->lda,
        x->b, x->ldb, 0.0f, x->c, x->ldc));
}

/* oneDNN's primitives, one after the other. */
typedef struct {
    void *primitive;
    void *arguments;
    int64_t count;
} Step;

int64_t primitives(int64_t calls, int (*execute)(void *, void *, int, void *), int (*wait)(void *),
                   void *stream, const Step *s, int count) {
    TIMES(calls, for (const Step *x = s; x < s + count; x++)
                     execute(x->primitive, stream, (int)x->count, x->arguments);
          wait(stream));
}

void nothing(void *a, void *b) { (void)a, (void)b; }

/* What programs of other hosts call: code in C, and the arrays that it takes. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* How a host runs work on its threads, as kernels take it. */
typedef void (*parallel_t)(void *pool, void (*body)(void *environment, long begin, long end),
                           void *environment, long count);

/* An array, row-major but for its strides (in elements; null if it has no gaps). Its type is given
   as ONNX, XLA and DLPack number it: the last is the kind times 256, plus the bits. */
typedef struct {
    int onnx, xla, dlpack;
    int64_t rank;
    const int64_t *shape;
    const int64_t *strides;
    size_t bytes; /* from its first element to just past its last */
    size_t alignment;
    const char *problem; /* what is said of any other array */
} AbiTensor;

typedef struct {
    const char *name;
    int64_t inputs, outputs;
    const AbiTensor *tensors; /* the inputs, then the outputs */
    /* Parallel loops run by `loop` on `pool`; if it is null, on the calling thread. */
    void (*run)(const void *code, char *arena, char *const *arrays, parallel_t loop, void *pool);
    const void *code;
    size_t arena; /* bytes of memory that it works in, a multiple of 64 */
} AbiPlan;

static inline int abi_has_shape(const AbiTensor *tensor, int64_t rank, const int64_t *shape)
{
    if (rank != tensor->rank)
        return 0;
    for (int64_t d = 0; d < rank; d++)
        if (shape[d] != tensor->shape[d])
            return 0;
    return 1;
}

static inline int abi_overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* What is wrong with the memory of arrays, whose types and shapes are right; null if nothing is. */
static inline const char *abi_problem(const AbiPlan *plan, char *const *arrays)
{
    int64_t count = plan->inputs + plan->outputs;
    for (int64_t i = 0; i < count; i++)
        if (plan->tensors[i].bytes &&
            (!arrays[i] || (uintptr_t)arrays[i] % plan->tensors[i].alignment))
            return "an array does not begin at a multiple of its elements' size";
    for (int64_t i = plan->inputs; i < count; i++)
        for (int64_t n = 0; n < i; n++)
            if (abi_overlap(arrays[i], plan->tensors[i].bytes, arrays[n], plan->tensors[n].bytes))
                return "an output shares memory with another array";
    return 0;
}

static const char abi_no_memory[] = "there is not enough memory.";

enum { ABI_LINE = 64 };

static pthread_key_t abi_kept; /* what a thread keeps, to be freed as it ends */
static int abi_has_key;

static void abi_make_key(void) { abi_has_key = !pthread_key_create(&abi_kept, free); }

/* As this library is unloaded: a process has few keys. What other threads keep is not freed then. */
__attribute__((destructor)) static void abi_delete_key(void)
{
    if (abi_has_key) {
        free(pthread_getspecific(abi_kept));
        pthread_key_delete(abi_kept);
    }
}

/* Memory for what one thread computes, after a line with its size; it is kept for later calls. Of
   this library, nothing is called as a thread ends: it may have been unloaded. */
static inline char *abi_arena(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, abi_make_key);
    if (!abi_has_key)
        return 0;
    char *memory = pthread_getspecific(abi_kept);
    if (!memory || *(size_t *)memory < bytes) {
        free(memory);
        memory = aligned_alloc(ABI_LINE, ABI_LINE + bytes);
        if (memory)
            *(size_t *)memory = bytes;
        if (pthread_setspecific(abi_kept, memory)) {
            free(memory);
            memory = 0;
        }
    }
    return memory ? memory + ABI_LINE : 0;
}

/* Runs a plan on arrays that are right; returns whether there was memory for it. */
static inline int abi_run(const AbiPlan *plan, char *const *arrays, parallel_t loop, void *pool)
{
    char *arena = plan->arena ? abi_arena(plan->arena) : 0;
    if (plan->arena && !arena)
        return 0;
    plan->run(plan->code, arena, arrays, loop, pool);
    return 1;
}

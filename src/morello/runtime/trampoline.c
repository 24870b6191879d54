/* The fast way from Python to a kernel: a builtin function that checks its arrays
 * against what the kernel was compiled for, and calls it.
 *
 * Machines often lack Python.h, so the little of CPython this needs is declared here.
 * All of it is the stable ABI of 3.11 or, for PyObject_Vectorcall, of 3.12 (in 3.11 it is
 * there, not yet promised), so the layouts and signatures cannot change under us.
 */
#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t Py_ssize_t;
typedef struct _object PyObject;
typedef struct _threadstate PyThreadState;

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

typedef PyObject *(*FastMethod)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

typedef struct {
    const char *name;
    FastMethod method;
    int flags;
    const char *doc;
} PyMethodDef;

enum { METH_KEYWORDS = 0x2, METH_FASTCALL = 0x80 };
enum { PyBUF_WRITABLE = 0x1, PyBUF_FORMAT = 0x4, PyBUF_STRIDES = 0x18 };

extern PyObject _Py_NoneStruct;

void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
void *PyMem_Malloc(size_t);
void PyMem_Free(void *);
void PyErr_Clear(void);
PyObject *PyErr_NoMemory(void);
int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
void PyBuffer_Release(Py_buffer *);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyType_IsSubtype(PyObject *, PyObject *);
PyObject *PyImport_GetModule(PyObject *);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
int PyUnicode_CompareWithASCIIString(PyObject *, const char *);
PyObject *PyObject_GetItem(PyObject *, PyObject *);
PyObject *PyTuple_New(Py_ssize_t);
PyObject *PyObject_CallObject(PyObject *, PyObject *);
PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
PyObject *PyLong_FromSsize_t(Py_ssize_t);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *);

enum { MAX_ARGUMENTS = 8, MAX_RANK = 8, MAX_FORMATS = 8, CACHE_LINE = 64 };

/* What an array must be. load.py has the same struct. */
typedef struct {
    int64_t ndim, itemsize, alignment, extent, row_major, written;
    int64_t shape[MAX_RANK], strides[MAX_RANK];
    char formats[MAX_FORMATS]; /* the buffer-protocol letters that name the dtype */
} Argument;

/* A segment, the functions of runner.c for it, and the arguments of each call. load.py has the same
 * struct. */
typedef struct {
    void (*run)(const void *segment, void *arena, void **arrays, void *run, void *pool);
    void *(*allocate)(size_t);
    void (*release)(void *);
    const void *segment;
    size_t arena; /* the bytes of memory that it needs */
    void *run_parallel;
    void *pool;
} Segment;

/* What a function knows: its `self` is a capsule around one of these.
 *
 * It runs the kernel; or if that is null a segment, on arrays of NumPy only, and without an output
 * that is passed. */
typedef struct {
    void *kernel;
    Segment segment;
    void *memory; /* an arena for the next call of the segment, if there is one */
    Py_ssize_t inputs; /* the last output comes after them; others are passed as they are */
    int release_gil;
    PyObject *allocate; /* () -> a new output, or memory for one that begins with a line */
    PyObject *place;    /* (memory, offset) -> the output in it; None if memory is the output */
    PyObject *explain;  /* (same arguments) -> raises CallError */
    PyObject *keep;     /* holds the kernel's code in memory */
    PyObject *index;    /* the empty tuple if it returns output[()], a number; or null */
    Argument arguments[MAX_ARGUMENTS];
} Plan;

/* NumPy's type of arrays; the name of its module of masked ones, and their type once that is imported;
 * and where in an object its type is, which differs between CPython's builds with and without the GIL. */
static PyObject *array_type, *masked_module, *masked_type;
static Py_ssize_t type_offset;

void set_types(PyObject *array, PyObject *masked, Py_ssize_t offset)
{
    Py_IncRef(array); /* for good */
    Py_IncRef(masked);
    array_type = array;
    masked_module = masked;
    type_offset = offset;
}

/* There are no masked arrays before their module is imported, which takes long. */
static int is_masked(PyObject *type)
{
    if (masked_type == NULL) {
        PyObject *module = PyImport_GetModule(masked_module);
        if (module != NULL) {
            masked_type = PyObject_GetAttrString(module, "MaskedArray");
            Py_DecRef(module);
        }
        if (masked_type == NULL) {
            PyErr_Clear();
            return 0;
        }
    }
    return PyType_IsSubtype(type, masked_type);
}

/* Whether `object` lends its memory. A masked array does not: nobody would see its mask. */
static int borrow(PyObject *object, Py_buffer *view, int flags, int only_arrays)
{
    PyObject *type = *(PyObject **)((char *)object + type_offset);
    if (type != array_type && (only_arrays || is_masked(type)))
        return 0;
    return PyObject_GetBuffer(object, view, flags) == 0;
}

static int names_dtype(const char *format, const char *accepted)
{
    if (format == NULL)
        format = "B";
    if (*format == '@' || *format == '=')
        format++;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    else if (*format == '<')
        format++;
#endif
    if (format[0] == 0 || format[1] != 0)
        return 0;
    for (int i = 0; i < MAX_FORMATS && accepted[i]; i++)
        if (accepted[i] == format[0])
            return 1;
    return 0;
}

static int matches(const Py_buffer *view, const Argument *argument)
{
    if (view->ndim != argument->ndim || view->itemsize != argument->itemsize)
        return 0;
    if (!names_dtype(view->format, argument->formats) || view->suboffsets != NULL)
        return 0;
    if (view->ndim > 0 && view->shape == NULL)
        return 0;
    /* Without strides, which ctypes leaves out though asked, it is row-major. */
    if (view->strides == NULL && !argument->row_major)
        return 0;
    for (int i = 0; i < view->ndim; i++) {
        if (view->shape[i] != argument->shape[i])
            return 0;
        if (view->strides != NULL && view->strides[i] != argument->strides[i] &&
            argument->shape[i] != 1)
            return 0;
    }
    return (uintptr_t)view->buf % (uintptr_t)argument->alignment == 0;
}

static int overlap(const Py_buffer *a, int64_t a_extent, const Py_buffer *b, int64_t b_extent)
{
    const char *a_start = a->buf, *b_start = b->buf;
    return a_start < b_start + b_extent && b_start < a_start + a_extent;
}

static void run(void *kernel, Py_ssize_t count, const Py_buffer *v)
{
#define P void *
    switch (count) {
    case 1: ((void (*)(P))kernel)(v[0].buf); break;
    case 2: ((void (*)(P, P))kernel)(v[0].buf, v[1].buf); break;
    case 3: ((void (*)(P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf); break;
    case 4:
        ((void (*)(P, P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf, v[3].buf);
        break;
    case 5:
        ((void (*)(P, P, P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf, v[3].buf, v[4].buf);
        break;
    case 6:
        ((void (*)(P, P, P, P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf, v[3].buf, v[4].buf,
                                             v[5].buf);
        break;
    case 7:
        ((void (*)(P, P, P, P, P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf, v[3].buf, v[4].buf,
                                                v[5].buf, v[6].buf);
        break;
    case 8:
        ((void (*)(P, P, P, P, P, P, P, P))kernel)(v[0].buf, v[1].buf, v[2].buf, v[3].buf,
                                                   v[4].buf, v[5].buf, v[6].buf, v[7].buf);
        break;
    }
#undef P
}

/* Runs a segment in memory of its own: that of an earlier call, unless one is still running. */
static int run_segment(Plan *plan, const Py_buffer *views)
{
    void *arrays[MAX_ARGUMENTS];
    for (Py_ssize_t i = 0; i <= plan->inputs; i++)
        arrays[i] = views[i].buf;
    const Segment *segment = &plan->segment;
    void *memory = __atomic_exchange_n(&plan->memory, NULL, __ATOMIC_ACQ_REL);
    if (memory == NULL)
        memory = segment->allocate(segment->arena);
    if (memory == NULL)
        return 0;
    segment->run(segment->segment, memory, arrays, segment->run_parallel, segment->pool);
    memory = __atomic_exchange_n(&plan->memory, memory, __ATOMIC_ACQ_REL);
    if (memory != NULL)
        segment->release(memory);
    return 1;
}

static int run_plan(Plan *plan, const Py_buffer *views)
{
    if (plan->kernel == NULL)
        return run_segment(plan, views);
    run(plan->kernel, plan->inputs + 1, views);
    return 1;
}

/* Whether the call makes sense; if so, `*output` is the output passed, NULL if none was. */
static int find_output(const Plan *plan, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                       PyObject **output)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
    Py_ssize_t given = nargs + named;
    if (nargs < plan->inputs || given > plan->inputs + (plan->kernel != NULL))
        return 0;
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "out") != 0)
        return 0;
    /* Keyword values follow the positional ones, so either way it comes after the inputs. */
    *output = given > plan->inputs ? args[plan->inputs] : NULL;
    if (*output == &_Py_NoneStruct)
        *output = NULL;
    return 1;
}

/* A new output; NULL if there is no memory for it. What this costs is done by few functions of
 * Python, as a kernel may have evicted them from the caches. */
static PyObject *new_output(const Plan *plan)
{
    PyObject *memory = PyObject_CallObject(plan->allocate, NULL);
    if (memory == NULL || plan->place == &_Py_NoneStruct)
        return memory;
    PyObject *result = NULL, *offset = NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(memory, &view, 0) == 0) {
        offset = PyLong_FromSsize_t((Py_ssize_t)(-(uintptr_t)view.buf % CACHE_LINE));
        PyBuffer_Release(&view);
    }
    if (offset != NULL) {
        PyObject *args[] = {memory, offset};
        result = PyObject_Vectorcall(plan->place, args, 2, NULL);
        Py_DecRef(offset);
    }
    Py_DecRef(memory);
    return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Plan *plan = PyCapsule_GetPointer(self, NULL);
    const Argument *wanted = plan->arguments;
    const Py_ssize_t inputs = plan->inputs;
    Py_buffer views[MAX_ARGUMENTS];
    Py_buffer *out = &views[inputs];
    Py_ssize_t held = 0;
    PyObject *given, *result = NULL; /* borrowed, owned */
    int done = 0, ran;

    if (!find_output(plan, args, nargs, names, &given))
        goto finish;
    while (held < inputs) {
        Py_ssize_t i = held;
        int flags = PyBUF_STRIDES | PyBUF_FORMAT | (wanted[i].written ? PyBUF_WRITABLE : 0);
        if (!borrow(args[i], &views[i], flags, plan->kernel == NULL))
            goto finish;
        held++;
        if (!matches(&views[i], &wanted[i]))
            goto finish;
    }
    if (given == NULL) {
        result = new_output(plan);
        if (result == NULL) {
            done = 1; /* out of memory, which `explain` knows nothing of */
            goto finish;
        }
    } else {
        Py_IncRef(given);
        result = given;
    }
    if (!borrow(result, out, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE, 0))
        goto finish;
    held++;
    if (!matches(out, &wanted[inputs]))
        goto finish;
    for (Py_ssize_t j = inputs; j == inputs || (j >= 0 && wanted[j].written); j--)
        for (Py_ssize_t i = 0; i < j; i++)
            if (overlap(&views[i], wanted[i].extent, &views[j], wanted[j].extent))
                goto finish;

    if (plan->release_gil) {
        PyThreadState *state = PyEval_SaveThread();
        ran = run_plan(plan, views);
        PyEval_RestoreThread(state);
    } else {
        ran = run_plan(plan, views);
    }
    if (!ran) {
        Py_DecRef(result);
        result = PyErr_NoMemory();
    }
    done = 1;

finish:
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    if (done && result != NULL && plan->index != NULL) {
        PyObject *number = PyObject_GetItem(result, plan->index);
        Py_DecRef(result);
        return number;
    }
    if (done)
        return result;
    PyErr_Clear();
    if (result != NULL)
        Py_DecRef(result);
    return PyObject_Vectorcall(plan->explain, args, (size_t)nargs, names);
}

static void destroy(PyObject *capsule)
{
    Plan *plan = PyCapsule_GetPointer(capsule, NULL);
    Py_DecRef(plan->allocate);
    Py_DecRef(plan->place);
    Py_DecRef(plan->explain);
    Py_DecRef(plan->keep);
    Py_DecRef(plan->index);
    if (plan->memory != NULL)
        plan->segment.release(plan->memory);
    PyMem_Free(plan);
}

static PyMethodDef method = {"kernel", call, METH_FASTCALL | METH_KEYWORDS, NULL};

/* A new builtin function that calls `kernel` with `count` pointers, the last one the output; or
 * runs the segment, if there is one. With `number`, it returns the only element of the output. */
PyObject *make_function(void *kernel, const Segment *segment, int number, const Argument *arguments,
                        Py_ssize_t count, int release_gil, PyObject *allocate,
                        PyObject *place, PyObject *explain, PyObject *keep)
{
    Plan *plan = PyMem_Malloc(sizeof *plan);
    if (plan == NULL)
        return PyErr_NoMemory();
    plan->kernel = kernel;
    if (segment != NULL)
        plan->segment = *segment;
    plan->memory = NULL;
    plan->index = number ? PyTuple_New(0) : NULL;
    plan->inputs = count - 1;
    plan->release_gil = release_gil;
    plan->allocate = allocate;
    plan->place = place;
    plan->explain = explain;
    plan->keep = keep;
    for (Py_ssize_t i = 0; i < count; i++)
        plan->arguments[i] = arguments[i];
    PyObject *capsule = PyCapsule_New(plan, NULL, destroy);
    if (capsule == NULL) {
        PyMem_Free(plan);
        return NULL;
    }
    Py_IncRef(allocate);
    Py_IncRef(place);
    Py_IncRef(explain);
    Py_IncRef(keep);
    PyObject *function = PyCFunction_NewEx(&method, capsule, NULL);
    Py_DecRef(capsule);
    return function;
}

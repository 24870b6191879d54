/* Segments as operators of ONNX Runtime, whose headers this does not need: what it uses of their
   structs is declared here, as API version 18 has it. The text before this has `segment_run` and
   the table `groups` of the model. */

enum { API_VERSION = 18, INVALID_ARGUMENT = 2, MOST_ARRAYS = 4096 };

typedef struct Status Status;
typedef struct Group Group;
typedef const void *const *Api; /* a table of functions, by the numbers below */

enum {
    CREATE_STATUS = 0,
    CREATE_CUSTOM_OP_DOMAIN = 26,
    CUSTOM_OP_DOMAIN_ADD = 27,
    ADD_CUSTOM_OP_DOMAIN = 28,
    GET_TENSOR_MUTABLE_DATA = 51,
    CREATE_SHAPE = 57,
    SET_ELEMENT_TYPE = 58,
    SET_DIMENSIONS = 59,
    GET_ELEMENT_COUNT = 64,
    GET_SHAPE = 65,
    GET_INPUT = 90,
    GET_OUTPUT = 91,
    RELEASE_SHAPE = 99,
    SET_OUTPUT_SHAPE = 270,
};

typedef struct {
    Api (*get_api)(uint32_t version);
    const char *(*get_version)(void);
} ApiBase;

/* OrtCustomOp. */
typedef struct {
    uint32_t version;
    void *(*create_kernel)(const Group *, Api, const void *info);
    const char *(*get_name)(const Group *);
    const char *(*get_provider)(const Group *);
    int (*get_input_type)(const Group *, size_t);
    size_t (*get_input_count)(const Group *);
    int (*get_output_type)(const Group *, size_t);
    size_t (*get_output_count)(const Group *);
    void (*compute)(void *kernel, void *context);
    void (*destroy)(void *kernel);
    int (*get_input_characteristic)(const Group *, size_t);
    int (*get_output_characteristic)(const Group *, size_t);
    int (*get_input_memory)(const Group *, size_t);
    int (*get_variadic_input_arity)(const Group *);
    int (*get_variadic_input_homogeneity)(const Group *);
    int (*get_variadic_output_arity)(const Group *);
    int (*get_variadic_output_homogeneity)(const Group *);
    Status *(*create_kernel_v2)(const Group *, Api, const void *info, void **kernel);
    Status *(*compute_v2)(void *kernel, void *context);
    Status *(*infer_shapes)(const Group *, void *context);
    int (*get_start_version)(const Group *);
    int (*get_end_version)(const Group *);
    size_t (*get_may_inplace)(int **, int **);
    void (*release_may_inplace)(int *, int *);
    size_t (*get_alias_map)(int **, int **);
    void (*release_alias_map)(int *, int *);
} CustomOp;

/* A tensor: the number of its type in ONNX, its elements, and its shape. */
typedef struct {
    int type;
    size_t count;
    size_t rank;
    const int64_t *shape;
} Tensor;

struct Group {
    CustomOp op; /* first, as ONNX Runtime gives pointers to it */
    const char *name;
    size_t inputs;
    size_t outputs;
    const Tensor *tensors; /* the inputs, then the outputs */
    const Segment *segment;
    size_t arena;
};

static Group groups[];
static const size_t group_count;
static Api api;

static const char *get_name(const Group *group) { return group->name; }
static const char *get_provider(const Group *group) { (void)group; return "CPUExecutionProvider"; }
static size_t get_input_count(const Group *group) { return group->inputs; }
static size_t get_output_count(const Group *group) { return group->outputs; }
static int get_input_type(const Group *group, size_t n) { return group->tensors[n].type; }
static int zero(const Group *group, size_t n) { (void)group; (void)n; return 0; }
static int get_one(const Group *group) { (void)group; return 1; }
static int get_end_version(const Group *group) { (void)group; return 0x7fffffff; }
static void destroy(void *kernel) { (void)kernel; }

static int get_output_type(const Group *group, size_t n)
{
    return group->tensors[group->inputs + n].type;
}

static Status *create_kernel(const Group *group, Api given, const void *info, void **kernel)
{
    (void)given;
    (void)info;
    *kernel = (void *)group;
    return 0;
}

static Status *infer_shapes(const Group *group, void *context)
{
    for (size_t n = 0; n < group->outputs; n++) {
        const Tensor *tensor = &group->tensors[group->inputs + n];
        void *shape;
        Status *status = ((Status * (*)(void **)) api[CREATE_SHAPE])(&shape);
        if (!status)
            status = ((Status * (*)(void *, int)) api[SET_ELEMENT_TYPE])(shape, tensor->type);
        if (!status)
            status = ((Status * (*)(void *, const int64_t *, size_t)) api[SET_DIMENSIONS])(
                shape, tensor->shape, tensor->rank);
        if (!status)
            status = ((Status * (*)(void *, size_t, void *)) api[SET_OUTPUT_SHAPE])(
                context, n, shape);
        if (status)
            return status;
        ((void (*)(void *))api[RELEASE_SHAPE])(shape);
    }
    return 0;
}

/* The address of an input; an error if it has not as many elements as the kernels read. */
static Status *input(const Group *group, void *context, size_t n, char **address)
{
    const void *value;
    void *shape;
    size_t count = 0;
    Status *status =
        ((Status * (*)(void *, size_t, const void **)) api[GET_INPUT])(context, n, &value);
    if (!status)
        status = ((Status * (*)(const void *, void **)) api[GET_SHAPE])(value, &shape);
    if (status)
        return status;
    status = ((Status * (*)(const void *, size_t *)) api[GET_ELEMENT_COUNT])(shape, &count);
    ((void (*)(void *))api[RELEASE_SHAPE])(shape);
    if (!status && count != group->tensors[n].count)
        status = ((Status * (*)(int, const char *)) api[CREATE_STATUS])(
            INVALID_ARGUMENT, "an input of a morello node has another shape than it is for");
    if (!status)
        status = ((Status * (*)(const void *, void **)) api[GET_TENSOR_MUTABLE_DATA])(
            value, (void **)address);
    return status;
}

static Status *output(const Group *group, void *context, size_t n, char **address)
{
    const Tensor *tensor = &group->tensors[group->inputs + n];
    void *value;
    Status *status =
        ((Status * (*)(void *, size_t, const int64_t *, size_t, void **)) api[GET_OUTPUT])(
            context, n, tensor->shape, tensor->rank, &value);
    if (!status)
        status = ((Status * (*)(void *, void **)) api[GET_TENSOR_MUTABLE_DATA])(
            value, (void **)address);
    return status;
}

/* Memory for what one thread computes; it is kept for its later calls. */
static char *arena_of(size_t bytes)
{
    static _Thread_local char *memory;
    static _Thread_local size_t size;
    if (size < bytes) {
        free(memory);
        memory = aligned_alloc(64, bytes);
        size = memory ? bytes : 0;
    }
    return memory;
}

static Status *compute(void *kernel, void *context)
{
    const Group *group = kernel;
    char *arrays[MOST_ARRAYS];
    Status *status = 0;
    for (size_t n = 0; n < group->inputs && !status; n++)
        status = input(group, context, n, &arrays[n]);
    for (size_t n = 0; n < group->outputs && !status; n++)
        status = output(group, context, n, &arrays[group->inputs + n]);
    if (status)
        return status;
    char *arena = arena_of(group->arena);
    if (!arena && group->arena)
        return ((Status * (*)(int, const char *)) api[CREATE_STATUS])(1, "out of memory");
    segment_run(group->segment, arena, arrays);
    return 0;
}

Status *RegisterCustomOps(void *options, const ApiBase *base)
{
    static const CustomOp op = {
        .version = API_VERSION,
        .get_name = get_name,
        .get_provider = get_provider,
        .get_input_type = get_input_type,
        .get_input_count = get_input_count,
        .get_output_type = get_output_type,
        .get_output_count = get_output_count,
        .destroy = destroy,
        .get_input_characteristic = zero,
        .get_output_characteristic = zero,
        .get_input_memory = zero,
        .get_variadic_input_arity = get_one,
        .get_variadic_input_homogeneity = get_one,
        .get_variadic_output_arity = get_one,
        .get_variadic_output_homogeneity = get_one,
        .create_kernel_v2 = create_kernel,
        .compute_v2 = compute,
        .infer_shapes = infer_shapes,
        .get_start_version = get_one,
        .get_end_version = get_end_version,
    };
    void *domain;
    api = base->get_api(API_VERSION);
    Status *status =
        ((Status * (*)(const char *, void **)) api[CREATE_CUSTOM_OP_DOMAIN])("morello", &domain);
    for (size_t n = 0; n < group_count && !status; n++) {
        groups[n].op = op;
        status = ((Status * (*)(void *, const Group *)) api[CUSTOM_OP_DOMAIN_ADD])(
            domain, &groups[n]);
    }
    if (!status)
        status = ((Status * (*)(void *, void *)) api[ADD_CUSTOM_OP_DOMAIN])(options, domain);
    return status;
}

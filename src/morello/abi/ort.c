/* Plans as operators of ONNX Runtime, whose headers this does not need: what it uses of their
   structs is declared here, as API version 18 has it. */

enum { ORT_VERSION = 18, ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_MOST_THREADS = 64 };

typedef struct OrtStatus OrtStatus;
typedef struct OrtPlan OrtPlan;
typedef void (*const *OrtApi)(void); /* a table of functions, by the numbers below */

enum {
    ORT_CREATE_STATUS = 0,
    ORT_CREATE_CUSTOM_OP_DOMAIN = 26,
    ORT_CUSTOM_OP_DOMAIN_ADD = 27,
    ORT_ADD_CUSTOM_OP_DOMAIN = 28,
    ORT_GET_TENSOR_MUTABLE_DATA = 51,
    ORT_CREATE_SHAPE = 57,
    ORT_SET_ELEMENT_TYPE = 58,
    ORT_SET_DIMENSIONS = 59,
    ORT_GET_DIMENSION_COUNT = 61,
    ORT_GET_DIMENSIONS = 62,
    ORT_GET_SHAPE = 65,
    ORT_GET_INPUT = 90,
    ORT_GET_OUTPUT = 91,
    ORT_RELEASE_SHAPE = 99,
    ORT_RELEASE_STATUS = 93,
    ORT_SET_OUTPUT_SHAPE = 270,
    ORT_PARALLEL_FOR = 274,
};

typedef struct {
    OrtApi (*get_api)(uint32_t version);
    const char *(*get_version)(void);
} OrtBase;

typedef struct {
    uint32_t version;
    void *(*create_kernel)(const OrtPlan *, OrtApi, const void *info);
    const char *(*get_name)(const OrtPlan *);
    const char *(*get_provider)(const OrtPlan *);
    int (*get_input_type)(const OrtPlan *, size_t);
    size_t (*get_input_count)(const OrtPlan *);
    int (*get_output_type)(const OrtPlan *, size_t);
    size_t (*get_output_count)(const OrtPlan *);
    void (*compute)(void *kernel, void *context);
    void (*destroy)(void *kernel);
    int (*get_input_characteristic)(const OrtPlan *, size_t);
    int (*get_output_characteristic)(const OrtPlan *, size_t);
    int (*get_input_memory)(const OrtPlan *, size_t);
    int (*get_variadic_input_arity)(const OrtPlan *);
    int (*get_variadic_input_homogeneity)(const OrtPlan *);
    int (*get_variadic_output_arity)(const OrtPlan *);
    int (*get_variadic_output_homogeneity)(const OrtPlan *);
    OrtStatus *(*create_kernel_v2)(const OrtPlan *, OrtApi, const void *info, void **kernel);
    OrtStatus *(*compute_v2)(void *kernel, void *context);
    OrtStatus *(*infer_shapes)(const OrtPlan *, void *context);
    int (*get_start_version)(const OrtPlan *);
    int (*get_end_version)(const OrtPlan *);
    size_t (*get_may_inplace)(int **, int **);
    void (*release_may_inplace)(int *, int *);
    size_t (*get_alias_map)(int **, int **);
    void (*release_alias_map)(int *, int *);
} OrtCustomOp;

struct OrtPlan {
    OrtCustomOp op; /* first, as ONNX Runtime gives pointers to it */
    const AbiPlan *plan;
};

static OrtApi ort_api;

/* A function of the table, which has these parameters and returns a status. */
#define ORT_FUNCTION(number, ...) ((OrtStatus * (*)(__VA_ARGS__)) ort_api[number])

static OrtStatus *ort_error(int code, const char *message)
{
    return ORT_FUNCTION(ORT_CREATE_STATUS, int, const char *)(code, message);
}

static void ort_release_shape(void *shape)
{
    ((void (*)(void *))ort_api[ORT_RELEASE_SHAPE])(shape);
}

static const char *ort_get_name(const OrtPlan *self) { return self->plan->name; }
static const char *ort_get_provider(const OrtPlan *self)
{
    (void)self;
    return "CPUExecutionProvider";
}

static size_t ort_get_input_count(const OrtPlan *self) { return (size_t)self->plan->inputs; }
static size_t ort_get_output_count(const OrtPlan *self) { return (size_t)self->plan->outputs; }
static int ort_get_input_type(const OrtPlan *self, size_t n) { return self->plan->tensors[n].onnx; }
static int ort_zero(const OrtPlan *self, size_t n) { (void)self; (void)n; return 0; }
static int ort_get_one(const OrtPlan *self) { (void)self; return 1; }
static int ort_get_end_version(const OrtPlan *self) { (void)self; return 0x7fffffff; }
static void ort_destroy(void *kernel) { (void)kernel; }

static const AbiTensor *ort_output_tensor(const OrtPlan *self, size_t n)
{
    return &self->plan->tensors[(size_t)self->plan->inputs + n];
}

static int ort_get_output_type(const OrtPlan *self, size_t n)
{
    return ort_output_tensor(self, n)->onnx;
}

static OrtStatus *ort_create_kernel(
    const OrtPlan *self, OrtApi given, const void *info, void **kernel)
{
    (void)given;
    (void)info;
    *kernel = (void *)self;
    return 0;
}

static OrtStatus *ort_infer_shapes(const OrtPlan *self, void *context)
{
    for (size_t n = 0; n < ort_get_output_count(self); n++) {
        const AbiTensor *tensor = ort_output_tensor(self, n);
        void *shape;
        OrtStatus *status = ORT_FUNCTION(ORT_CREATE_SHAPE, void **)(&shape);
        if (status)
            return status;
        status = ORT_FUNCTION(ORT_SET_ELEMENT_TYPE, void *, int)(shape, tensor->onnx);
        if (!status)
            status = ORT_FUNCTION(ORT_SET_DIMENSIONS, void *, const int64_t *, size_t)(
                shape, tensor->shape, (size_t)tensor->rank);
        if (!status)
            status = ORT_FUNCTION(ORT_SET_OUTPUT_SHAPE, void *, size_t, void *)(context, n, shape);
        ort_release_shape(shape);
        if (status)
            return status;
    }
    return 0;
}

/* Finds out whether an array has the shape of a tensor, whose type it has. */
static OrtStatus *ort_compare(const AbiTensor *tensor, const void *value, int *is_right)
{
    void *shape;
    size_t rank = 0;
    OrtStatus *status = ORT_FUNCTION(ORT_GET_SHAPE, const void *, void **)(value, &shape);
    if (status)
        return status;
    status = ORT_FUNCTION(ORT_GET_DIMENSION_COUNT, const void *, size_t *)(shape, &rank);
    *is_right = 0;
    if (!status && rank == (size_t)tensor->rank) {
        int64_t sizes[rank + 1];
        status = ORT_FUNCTION(ORT_GET_DIMENSIONS, const void *, int64_t *, size_t)(
            shape, sizes, rank);
        *is_right = !status && abi_has_shape(tensor, tensor->rank, sizes);
    }
    ort_release_shape(shape);
    return status;
}

/* The address of input `number` of a node; an error if its shape is not that of the tensor. */
static OrtStatus *ort_input(
    const AbiTensor *tensor, void *context, size_t number, char **address)
{
    const void *value;
    int is_right = 0;
    OrtStatus *status =
        ORT_FUNCTION(ORT_GET_INPUT, void *, size_t, const void **)(context, number, &value);
    if (!status)
        status = ort_compare(tensor, value, &is_right);
    if (!status && !is_right)
        status = ort_error(ORT_INVALID_ARGUMENT, tensor->problem);
    if (!status)
        status = ORT_FUNCTION(ORT_GET_TENSOR_MUTABLE_DATA, const void *, void **)(
            value, (void **)address);
    return status;
}

static OrtStatus *ort_output(
    const AbiTensor *tensor, void *context, size_t number, char **address)
{
    void *value;
    OrtStatus *status =
        ORT_FUNCTION(ORT_GET_OUTPUT, void *, size_t, const int64_t *, size_t, void **)(
            context, number, tensor->shape, (size_t)tensor->rank, &value);
    if (!status)
        status = ORT_FUNCTION(ORT_GET_TENSOR_MUTABLE_DATA, void *, void **)(
            value, (void **)address);
    return status;
}

static void ort_claim(void *claims, size_t number)
{
    (void)number;
    do_items(claims);
}

/* Runs a parallel loop on the threads of a session, in the computation of a node. */
static void ort_loop(void *context, Body *body, void *environment, long count)
{
    Claims claims;
    unclaim(&claims, body, environment, count);
    size_t most = count < ORT_MOST_THREADS ? (size_t)count : ORT_MOST_THREADS;
    OrtStatus *status = ORT_FUNCTION(
        ORT_PARALLEL_FOR, const void *, void (*)(void *, size_t), size_t, size_t, void *)(
        context, ort_claim, most, 0, &claims);
    if (status)
        ((void (*)(OrtStatus *))ort_api[ORT_RELEASE_STATUS])(status);
    do_items(&claims); /* what it left, if it failed */
}

/* Runs a plan as a node. Unless they are null, `constants` are the last of its inputs, which the
   node then lacks, and `places` has for each tensor its number among the node's inputs or outputs;
   else they are in order. */
static OrtStatus *ort_run(
    const AbiPlan *plan, const char *constants, const size_t *places, void *context)
{
    size_t first = (size_t)plan->inputs, outputs = (size_t)plan->outputs;
    size_t given = first - (constants != 0);
    const AbiTensor *tensors = plan->tensors;
    char *arrays[first + outputs];
    OrtStatus *status = 0;
    for (size_t n = 0; n < given && !status; n++)
        status = ort_input(&tensors[n], context, places ? places[n] : n, &arrays[n]);
    if (constants)
        arrays[given] = (char *)constants;
    for (size_t n = first; n < first + outputs && !status; n++)
        status = ort_output(&tensors[n], context, places ? places[n] : n - first, &arrays[n]);
    if (status)
        return status;
    const char *problem = abi_problem(plan, arrays);
    if (problem)
        return ort_error(ORT_INVALID_ARGUMENT, problem);
    return abi_run(plan, arrays, ort_loop, context) ? 0 : ort_error(ORT_FAIL, abi_no_memory);
}

static OrtStatus *ort_compute(void *kernel, void *context)
{
    return ort_run(((const OrtPlan *)kernel)->plan, 0, 0, context);
}

/* Adds operators to the options of a session, in a domain that no other library has there. */
static OrtStatus *ort_register(
    const char *name, OrtPlan *plans, size_t count, void *options, const OrtBase *base)
{
    static const OrtCustomOp op = {
        .version = ORT_VERSION,
        .get_name = ort_get_name,
        .get_provider = ort_get_provider,
        .get_input_type = ort_get_input_type,
        .get_input_count = ort_get_input_count,
        .get_output_type = ort_get_output_type,
        .get_output_count = ort_get_output_count,
        .destroy = ort_destroy,
        .get_input_characteristic = ort_zero,
        .get_output_characteristic = ort_zero,
        .get_input_memory = ort_zero,
        .get_variadic_input_arity = ort_get_one,
        .get_variadic_input_homogeneity = ort_get_one,
        .get_variadic_output_arity = ort_get_one,
        .get_variadic_output_homogeneity = ort_get_one,
        .create_kernel_v2 = ort_create_kernel,
        .compute_v2 = ort_compute,
        .infer_shapes = ort_infer_shapes,
        .get_start_version = ort_get_one,
        .get_end_version = ort_get_end_version,
    };
    void *domain;
    ort_api = base->get_api(ORT_VERSION);
    OrtStatus *status = ORT_FUNCTION(ORT_CREATE_CUSTOM_OP_DOMAIN, const char *, void **)(
        name, &domain);
    for (size_t n = 0; n < count && !status; n++) {
        plans[n].op = op;
        status = ORT_FUNCTION(ORT_CUSTOM_OP_DOMAIN_ADD, void *, const OrtPlan *)(
            domain, &plans[n]);
    }
    if (!status)
        status = ORT_FUNCTION(ORT_ADD_CUSTOM_OP_DOMAIN, void *, void *)(options, domain);
    return status;
}

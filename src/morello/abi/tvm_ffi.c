/* A plan as a function of TVM FFI, which takes the outputs after the inputs.
 *
 * The structs are those of its stable ABI and of DLPack, declared here so that no header is
 * needed. */
enum { TVM_NONE = 0, TVM_DLTENSOR = 7, TVM_TENSOR = 70, TVM_OBJECT_BYTES = 24, TVM_CPU = 1 };

typedef struct {
    int32_t type;
    uint32_t padding;
    union {
        int64_t number;
        char *pointer;
    } value;
} TvmAny;

typedef struct {
    char *data;
    int32_t device, device_number;
    int32_t rank;
    uint8_t kind, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t offset;
} TvmTensor;

/* It is in libtvm_ffi, which the host has loaded. */
__attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

static int tvm_error(const char *kind, const char *message)
{
    if (TVMFFIErrorSetRaisedFromCStr)
        TVMFFIErrorSetRaisedFromCStr(kind, message);
    return -1;
}

static int tvm_has_strides(const AbiTensor *tensor, const int64_t *strides)
{
    int64_t step = 1;
    for (int64_t d = tensor->rank - 1; strides && d >= 0; d--) {
        int64_t wanted = tensor->strides ? tensor->strides[d] : step;
        if (tensor->shape[d] != 1 && strides[d] != wanted)
            return 0;
        step *= tensor->shape[d];
    }
    return strides || !tensor->strides;
}

static const char *tvm_array(const AbiTensor *tensor, const TvmAny *given, char **array)
{
    const TvmTensor *found = (const TvmTensor *)given->value.pointer;
    if (given->type == TVM_TENSOR)
        found = (const TvmTensor *)(given->value.pointer + TVM_OBJECT_BYTES);
    else if (given->type != TVM_DLTENSOR)
        return tensor->problem;
    if (found->device != TVM_CPU || found->lanes != 1 ||
        found->kind * 256 + found->bits != tensor->dlpack ||
        !abi_has_shape(tensor, found->rank, found->shape) ||
        !tvm_has_strides(tensor, found->strides))
        return tensor->problem;
    *array = found->data + found->offset;
    return 0;
}

static int tvm_call(const AbiPlan *plan, const TvmAny *given, int32_t count, TvmAny *result)
{
    char *arrays[plan->inputs + plan->outputs];
    const char *problem = 0;
    if (count != plan->inputs + plan->outputs)
        return tvm_error("TypeError", "the call has more or fewer arrays than its kernel.");
    for (int32_t i = 0; i < count && !problem; i++)
        problem = tvm_array(&plan->tensors[i], &given[i], &arrays[i]);
    if (!problem)
        problem = abi_problem(plan, arrays);
    if (problem)
        return tvm_error("ValueError", problem);
    if (!abi_run(plan, arrays, 0, 0))
        return tvm_error("MemoryError", abi_no_memory);
    *result = (TvmAny){TVM_NONE, 0, {0}};
    return 0;
}

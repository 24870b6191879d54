/* A plan as a handler of XLA. */

static const char *xla_buffers(const AbiTensor *tensors, const XlaBuffers *given, char **arrays)
{
    for (int64_t i = 0; i < given->count; i++) {
        const XlaBuffer *buffer = given->buffers[i];
        if (given->types[i] != XLA_BUFFER || buffer->type != tensors[i].xla ||
            !abi_has_shape(&tensors[i], buffer->rank, buffer->sizes))
            return tensors[i].problem;
        arrays[i] = buffer->data;
    }
    return 0;
}

static void *xla_call(const AbiPlan *plan, XlaFrame *frame)
{
    char *arrays[plan->inputs + plan->outputs];
    const char *problem;
    if (xla_described(frame))
        return 0;
    if (frame->struct_size < sizeof *frame)
        return xla_error(frame, xla_too_old);
    if (frame->inputs.count != plan->inputs || frame->outputs.count != plan->outputs)
        return xla_error(frame, "the call has more or fewer arrays than its kernel.");
    problem = xla_buffers(plan->tensors, &frame->inputs, arrays);
    if (!problem)
        problem = xla_buffers(
            plan->tensors + plan->inputs, &frame->outputs, arrays + plan->inputs);
    if (!problem)
        problem = abi_problem(plan, arrays);
    if (problem)
        return xla_error(frame, problem);
    Scheduler threads = xla_threads(frame);
    return abi_run(plan, arrays, scheduled_run, &threads) ? 0 : xla_error(frame, abi_no_memory);
}

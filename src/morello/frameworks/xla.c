/* XLA's custom call that runs a segment. The text before this declares XLA's interface. */

/* pool.c's. */
typedef struct {
    int (*schedule)(void *host, void (*task)(void *), void *data);
    void *host;
    int64_t threads;
} Scheduler;

/* A segment, how it is run, and how many arrays it takes; and how pool.c runs parallel loops on
 * XLA's threads, if there are any, of which so many may have work. */
typedef struct {
    void (*run)(const void *segment, char *arena, char *const *arrays, void *run, void *pool);
    const void *segment;
    int64_t inputs;
    int64_t outputs;
    void *scheduled_run;
    int64_t threads;
} Plan;

/* Programs know their plans by number. The numbers of a process begin at random, so that a program
 * that another process compiled is refused instead of running what it finds. */
enum { MOST_PLANS = 1 << 16 };
static const Plan *plans[MOST_PLANS];
static int64_t first, count;

void begin(int64_t number)
{
    first = number;
}

/* The number of a plan, which must live forever; -1 if there are too many. */
int64_t add_plan(const Plan *plan)
{
    if (count == MOST_PLANS)
        return -1;
    plans[count] = plan;
    return first + count++;
}

/* Has one of XLA's threads run a task; returns 0 if none will. */
static int schedule(void *host, void (*task)(void *), void *data)
{
    const XlaFrame *frame = host;
    XlaScheduleArguments arguments = {sizeof arguments, NULL, frame->context, task, data};
    void *error = frame->api->schedule(&arguments);
    if (error == NULL)
        return 1;
    XlaDestroyArguments destroyed = {sizeof destroyed, NULL, error};
    frame->api->destroy_error(&destroyed);
    return 0;
}

/* The handler. Its outputs are those of the segment, then the arena. */
void *call_segment(XlaFrame *frame)
{
    if (xla_described(frame))
        return NULL;
    if (frame->struct_size < sizeof *frame)
        return xla_error(frame, xla_too_old);
    const XlaAttributes *attributes = &frame->attributes;
    if (attributes->count != 1 || attributes->types[0] != XLA_SCALAR)
        return xla_error(frame, "the call has no number of a plan.");
    const XlaScalar *scalar = attributes->values[0];
    int64_t number = scalar->type == XLA_S64 ? *(int64_t *)scalar->value - first : -1;
    if (number < 0 || number >= count)
        return xla_error(frame, "another process compiled this program; compile it again.");
    const Plan *plan = plans[number];
    const XlaBuffers *inputs = &frame->inputs, *outputs = &frame->outputs;
    if (inputs->count != plan->inputs || outputs->count != plan->outputs + 1)
        return xla_error(frame, "the call has not the arrays that its segment takes.");
    char *arrays[inputs->count + outputs->count];
    for (int64_t i = 0; i < inputs->count; i++)
        arrays[i] = inputs->buffers[i]->data;
    for (int64_t i = 0; i < outputs->count; i++)
        arrays[inputs->count + i] = outputs->buffers[i]->data;
    Scheduler scheduler = {schedule, frame, plan->threads};
    if (frame->api->struct_size < sizeof *frame->api)
        scheduler.threads = 1;
    plan->run(plan->segment, arrays[inputs->count + plan->outputs], arrays, plan->scheduled_run,
              &scheduler);
    return NULL;
}

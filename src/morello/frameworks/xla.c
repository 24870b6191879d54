/* XLA's custom call that runs a segment. The text before this is xla.h. */

typedef void ParallelFor(void *pool, Body *body, void *environment, long count);

/* A segment, how it is run, how many arrays it takes, and how many threads may have work. */
typedef struct {
    void (*run)(
        const void *segment, char *arena, char *const *arrays, ParallelFor *run, void *pool);
    const void *segment;
    int64_t inputs;
    int64_t outputs;
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
    char *arena = arrays[inputs->count + plan->outputs];
    Scheduler threads = {xla_schedule, frame, 1};
    if (plan->threads > 1)
        threads = xla_threads(frame);
    plan->run(plan->segment, arena, arrays, plan->threads > 1 ? scheduled_run : NULL, &threads);
    return NULL;
}

/* XLA's custom call that runs a segment.
 *
 * The structs are those of version 0.1 of XLA's FFI, whose fields have stayed where they are in
 * all later versions. They are declared here so that no header is needed. */
#include <stddef.h>
#include <stdint.h>

enum { METADATA = 1, SCALAR = 3, INVALID_ARGUMENT = 3, S64 = 5 };

typedef struct Extension {
    size_t struct_size;
    int type;
    struct Extension *next;
} Extension;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int major, minor;
} Version;

typedef struct {
    size_t struct_size;
    Version version;
    uint32_t traits;
    int64_t state_type; /* since version 0.2 */
} Metadata;

typedef struct {
    Extension base;
    Metadata *metadata;
} MetadataExtension;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    const char *message;
    int code;
} ErrorArguments;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    Version version;
    const void *internal;
    void *(*create_error)(ErrorArguments *);
} Api;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *sizes;
} Buffer;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int64_t count;
    int *types;
    Buffer **buffers;
} Buffers;

typedef struct {
    int type;
    void *value;
} Scalar;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    int64_t count;
    int *types;
    void **names;
    void **values;
} Attributes;

typedef struct {
    size_t struct_size;
    Extension *extensions;
    const Api *api;
    void *context;
    int stage;
    Buffers inputs;
    Buffers outputs;
    Attributes attributes;
} Frame;

/* A segment, how it is run, and how many arrays it takes. */
typedef struct {
    void (*run)(const void *segment, char *arena, char *const *arrays);
    const void *segment;
    int64_t inputs;
    int64_t outputs;
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

static void *failed(const Frame *frame, const char *message)
{
    ErrorArguments arguments = {sizeof arguments, NULL, message, INVALID_ARGUMENT};
    return frame->api->create_error(&arguments);
}

static void *describe(Metadata *metadata)
{
    metadata->version.major = 0;
    metadata->version.minor = 1;
    metadata->traits = 0;
    if (metadata->struct_size >= sizeof *metadata)
        metadata->state_type = 0;
    return NULL;
}

/* The handler. Its outputs are those of the segment, then the arena. */
void *call_segment(Frame *frame)
{
    for (Extension *extension = frame->extensions; extension; extension = extension->next)
        if (extension->type == METADATA)
            return describe(((MetadataExtension *)extension)->metadata);
    if (frame->struct_size < sizeof *frame)
        return failed(frame, "this version of XLA is older than morello can work with.");
    const Attributes *attributes = &frame->attributes;
    if (attributes->count != 1 || attributes->types[0] != SCALAR)
        return failed(frame, "the call has no number of a plan.");
    const Scalar *scalar = attributes->values[0];
    int64_t number = scalar->type == S64 ? *(int64_t *)scalar->value - first : -1;
    if (number < 0 || number >= count)
        return failed(frame, "another process compiled this program; compile it again.");
    const Plan *plan = plans[number];
    const Buffers *inputs = &frame->inputs, *outputs = &frame->outputs;
    if (inputs->count != plan->inputs || outputs->count != plan->outputs + 1)
        return failed(frame, "the call has not the arrays that its segment takes.");
    char *arrays[inputs->count + outputs->count];
    for (int64_t i = 0; i < inputs->count; i++)
        arrays[i] = inputs->buffers[i]->data;
    for (int64_t i = 0; i < outputs->count; i++)
        arrays[inputs->count + i] = outputs->buffers[i]->data;
    plan->run(plan->segment, arrays[inputs->count + plan->outputs], arrays);
    return NULL;
}

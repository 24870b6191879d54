/* XLA's foreign function interface. The text before this is scheduled.h.
 *
 * The structs are those of its version 0.1, whose fields have stayed where they are in all later
 * versions. They are declared here so that no header is needed. */
#include <stddef.h>
#include <stdint.h>

enum { XLA_METADATA = 1, XLA_BUFFER = 1, XLA_SCALAR = 3, XLA_INVALID_ARGUMENT = 3, XLA_S64 = 5 };

typedef struct XlaExtension {
    size_t struct_size;
    int type;
    struct XlaExtension *next;
} XlaExtension;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    int major, minor;
} XlaVersion;

typedef struct {
    size_t struct_size;
    XlaVersion version;
    uint32_t traits;
    int64_t state_type; /* since version 0.2 */
} XlaMetadata;

typedef struct {
    XlaExtension base;
    XlaMetadata *metadata;
} XlaMetadataExtension;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    const char *message;
    int code;
} XlaErrorArguments;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    void *error;
} XlaDestroyArguments;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    void *context;
    void (*task)(void *);
    void *data;
} XlaScheduleArguments;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    void *context;
    int64_t *count;
} XlaThreadsArguments;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    XlaVersion version;
    const void *internal;
    void *(*create_error)(XlaErrorArguments *);
    void *get_message;
    void (*destroy_error)(XlaDestroyArguments *);
    void *others[8];
    /* These return an error, if they fail. */
    void *(*schedule)(XlaScheduleArguments *);
    void *(*count_threads)(XlaThreadsArguments *);
} XlaApi;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *sizes;
} XlaBuffer;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    int64_t count;
    int *types;
    XlaBuffer **buffers;
} XlaBuffers;

typedef struct {
    int type;
    void *value;
} XlaScalar;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    int64_t count;
    int *types;
    void **names;
    void **values;
} XlaAttributes;

typedef struct {
    size_t struct_size;
    XlaExtension *extensions;
    const XlaApi *api;
    void *context;
    int stage;
    XlaBuffers inputs;
    XlaBuffers outputs;
    XlaAttributes attributes;
} XlaFrame;

static void *xla_error(const XlaFrame *frame, const char *message)
{
    XlaErrorArguments arguments = {sizeof arguments, NULL, message, XLA_INVALID_ARGUMENT};
    return frame->api->create_error(&arguments);
}

/* Whether a call only asks which version a handler is for, which this answers. */
static int xla_described(const XlaFrame *frame)
{
    for (XlaExtension *extension = frame->extensions; extension; extension = extension->next)
        if (extension->type == XLA_METADATA) {
            XlaMetadata *metadata = ((XlaMetadataExtension *)extension)->metadata;
            metadata->version.major = 0;
            metadata->version.minor = 1;
            metadata->traits = 0;
            if (metadata->struct_size >= sizeof *metadata)
                metadata->state_type = 0;
            return 1;
        }
    return 0;
}

/* Whether there was no error; it is freed. */
static int xla_done(const XlaFrame *frame, void *error)
{
    XlaDestroyArguments arguments = {sizeof arguments, NULL, error};
    if (error)
        frame->api->destroy_error(&arguments);
    return !error;
}

/* Has one of XLA's threads run a task; returns 0 if none will. */
static int xla_schedule(void *given, void (*task)(void *), void *data)
{
    const XlaFrame *frame = given;
    XlaScheduleArguments arguments = {sizeof arguments, NULL, frame->context, task, data};
    return xla_done(frame, frame->api->schedule(&arguments));
}

/* XLA's threads during a call; one if this version of XLA lends none. */
static Scheduler xla_threads(XlaFrame *frame)
{
    Scheduler scheduler = {xla_schedule, frame, 1};
    XlaThreadsArguments arguments = {sizeof arguments, NULL, frame->context, &scheduler.threads};
    if (frame->api->struct_size >= sizeof *frame->api &&
        !xla_done(frame, frame->api->count_threads(&arguments)))
        scheduler.threads = 1;
    return scheduler;
}

static const char xla_too_old[] = "this version of XLA is older than morello can work with.";

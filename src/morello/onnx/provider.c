/* An execution provider of ONNX Runtime, whose nodes are groups. The text before this is
   plan.h, ort.c, and the table `groups`, which has GROUP_COUNT.

   Nodes of type EPContext that name a group of the table run it. For any other node, and for other
   models, the `Callbacks` say what to run, if they are set; they may be called while a session is
   created, and at no other time. */
#include <string.h>

enum {
    EP_API_VERSION = 24,
    STRUCT_VERSION = 23,
    HARDWARE_CPU = 0,
    STRING = 5,
    NAME_LENGTH = 256,
    MOST_ARRAYS = 4096,
};

enum {
    READ_ATTRIBUTE = 272,
    GET_VALUE_NAME = 289,
    DEVICE_TYPE = 307,
    GET_EP_API = 317,
    GET_NODE_COUNT = 344,
    GET_NODES = 345,
    GET_NODE_TYPE = 350,
    GET_INPUT_COUNT = 353,
    GET_INPUTS = 354,
    GET_OUTPUT_COUNT = 355,
    GET_OUTPUTS = 356,
    GET_ATTRIBUTE = 361,
    RELEASE_STATUS = 93,
};

enum { CREATE_DEVICE = 0, ADD_NODES = 2 };

/* OrtEp, OrtEpFactory, OrtNodeComputeInfo and OrtNodeFusionOptions, up to what version 23 of the
   API has. */
typedef struct Provider Provider;
typedef struct Factory Factory;
typedef struct Computation Computation;

struct Provider {
    uint32_t version;
    const char *(*get_name)(const Provider *);
    OrtStatus *(*get_capability)(Provider *, const void *graph, void *support);
    OrtStatus *(*compile)(Provider *, const void **graphs, const void **nodes, size_t count,
                       Computation **, void **contexts);
    void (*release_computations)(Provider *, Computation **, size_t count);
    const void *others[24]; /* null: what it need not have, later versions included */
    const Factory *factory;
    int64_t session; /* its number for the callbacks */
};

struct Factory {
    uint32_t version;
    const char *(*get_name)(const Factory *);
    const char *(*get_vendor)(const Factory *);
    OrtStatus *(*get_devices)(Factory *, const void *const *devices, size_t count, void **chosen,
                           size_t most, size_t *chosen_count);
    OrtStatus *(*create)(Factory *, const void *const *devices, const void *const *metadata,
                      size_t count, const void *options, const void *logger, Provider **);
    void (*release)(Factory *, Provider *);
    uint32_t (*get_vendor_id)(const Factory *);
    const char *(*get_version)(const Factory *);
    OrtStatus *(*validate)(Factory *, const void *const *devices, size_t count, const char *about,
                        int *compatibility);
    OrtStatus *(*create_allocator)(Factory *, const void *memory, const void *options, void **);
    void (*release_allocator)(Factory *, void *);
    OrtStatus *(*create_transfer)(Factory *, void **);
    _Bool (*is_stream_aware)(const Factory *);
    OrtStatus *(*create_stream)(Factory *, const void *device, const void *options, void **);
    char name[NAME_LENGTH];
};

struct Computation {
    uint32_t version;
    OrtStatus *(*create_state)(Computation *, void *context, void **state);
    OrtStatus *(*compute)(Computation *, void *state, void *context);
    void (*release_state)(Computation *, void *state);
    Group *group;
    size_t places[]; /* for ort_run */
};

typedef struct {
    uint32_t version;
    _Bool drop_constants;
} FusionOptions;

typedef struct {
    /* The number of a new session, whose options are given, of a provider of this name. */
    OrtStatus *(*create)(OrtApi, const void *options, const void *logger, const char *name,
                      int64_t *session);
    /* Claim the nodes of a graph that have kernels. */
    OrtStatus *(*claim)(int64_t session, const void *graph, void *support);
    /* The group that nodes were claimed for, which were replaced by one; null if there is none. */
    Group *(*find)(int64_t session, const void *graph, const void *node);
    /* The nodes for a model that is to be loaded without compiling, if it is asked for. */
    OrtStatus *(*save)(int64_t session, const void **nodes, size_t count, void **contexts);
} Callbacks;

static Callbacks callbacks;

void morello_set_callbacks(const Callbacks *given) { callbacks = *given; }

/* A group by its name; null if there is none. */
Group *morello_group(const char *name)
{
    for (size_t n = 0; n < GROUP_COUNT; n++)
        if (strcmp(groups[n].plan->name, name) == 0)
            return &groups[n];
    return 0;
}

/* The nodes of a graph, to be freed. */
static OrtStatus *nodes_of(const void *graph, const void ***nodes, size_t *count)
{
    OrtStatus *status = ((OrtStatus * (*)(const void *, size_t *)) ort_api[GET_NODE_COUNT])(graph, count);
    if (status)
        return status;
    *nodes = malloc((*count + 1) * sizeof **nodes);
    if (!*nodes)
        return ort_error(ORT_FAIL, "out of memory");
    status = ((OrtStatus * (*)(const void *, const void **, size_t)) ort_api[GET_NODES])(
        graph, *nodes, *count);
    if (status)
        free(*nodes);
    return status;
}

/* The group that an EPContext node names; null if the node is another one. */
static Group *group_of(const void *node)
{
    const char *type = "";
    const void *attribute = 0;
    char name[NAME_LENGTH] = {0};
    size_t size = 0;
    OrtStatus *status = ((OrtStatus * (*)(const void *, const char **)) ort_api[GET_NODE_TYPE])(node, &type);
    if (!status && strcmp(type, "EPContext") != 0)
        return 0;
    if (!status)
        status = ((OrtStatus * (*)(const void *, const char *, const void **)) ort_api[GET_ATTRIBUTE])(
            node, "partition_name", &attribute);
    if (!status && attribute)
        status = ((OrtStatus * (*)(const void *, int, void *, size_t, size_t *)) ort_api[READ_ATTRIBUTE])(
            attribute, STRING, name, sizeof name - 1, &size);
    if (status)
        ((void (*)(OrtStatus *))ort_api[RELEASE_STATUS])(status);
    if (status || !attribute)
        return 0;
    return morello_group(name);
}

/* Claim the EPContext nodes of groups; if there are none, what the callbacks claim. */
static OrtStatus *get_capability(Provider *provider, const void *graph, void *support)
{
    static const FusionOptions fusion = {.version = STRUCT_VERSION, .drop_constants = 1};
    OrtApi ep_api = ((OrtApi (*)(void)) ort_api[GET_EP_API])();
    size_t count = 0, claimed = 0;
    const void **nodes;
    OrtStatus *status = nodes_of(graph, &nodes, &count);
    if (status)
        return status;
    for (size_t n = 0; n < count && !status; n++) {
        if (!group_of(nodes[n]))
            continue;
        status = ((OrtStatus * (*)(void *, const void *const *, size_t, const FusionOptions *))
                      ep_api[ADD_NODES])(support, &nodes[n], 1, &fusion);
        claimed++;
    }
    free(nodes);
    if (status || claimed || !callbacks.claim)
        return status;
    return callbacks.claim(provider->session, graph, support);
}

static OrtStatus *create_state(Computation *computation, void *context, void **state)
{
    (void)context;
    *state = computation;
    return 0;
}

static OrtStatus *run_node(Computation *computation, void *state, void *context)
{
    (void)state;
    const Group *group = computation->group;
    return ort_run(group->plan, group->constants, computation->places, context);
}

static void release_state(Computation *computation, void *state)
{
    (void)computation;
    (void)state;
}

/* The names of the inputs of a node, or of its outputs. */
static OrtStatus *names_of(const void *node, int get_count, int get, const char **names, size_t *count)
{
    const void *values[MOST_ARRAYS];
    OrtStatus *status =
        ((OrtStatus * (*)(const void *, size_t *)) ort_api[get_count])(node, count);
    if (!status && *count > MOST_ARRAYS)
        return ort_error(ORT_FAIL, "a morello node has too many inputs or outputs");
    if (!status)
        status = ((OrtStatus * (*)(const void *, const void **, size_t)) ort_api[get])(
            node, values, *count);
    for (size_t n = 0; n < *count && !status; n++)
        status = ((OrtStatus * (*)(const void *, const char **)) ort_api[GET_VALUE_NAME])(
            values[n], &names[n]);
    return status;
}

/* Find the tensors from number `first` to `end` of a group among the inputs, or outputs, of the
   node that runs it; they have the names that the group says, or else a node of the model. */
static OrtStatus *place(Computation *computation, const void *stated, const void *node, int get_count,
                     int get, size_t first, size_t end)
{
    const char *own[MOST_ARRAYS], *names[MOST_ARRAYS];
    size_t own_count = end - first, count;
    OrtStatus *status = names_of(node, get_count, get, names, &count);
    if (computation->group->names)
        memcpy(own, computation->group->names + first, own_count * sizeof *own);
    else if (!status)
        status = names_of(stated, get_count, get, own, &own_count);
    if (status)
        return status;
    if (own_count != end - first)
        return ort_error(ORT_FAIL, "a morello node has not the tensors that its library says");
    for (size_t n = first; n < end; n++) {
        size_t k = 0;
        while (k < count && strcmp(names[k], own[n - first]) != 0)
            k++;
        if (k == count)
            return ort_error(ORT_FAIL, "a morello node lacks a tensor of the graph that it replaces");
        computation->places[n] = k;
    }
    return 0;
}

/* What computes `node`, which replaces the nodes of a graph. */
static OrtStatus *computation_of(Provider *provider, const void *graph, const void *node,
                              Computation **result)
{
    const void **nodes;
    size_t count;
    OrtStatus *status = nodes_of(graph, &nodes, &count);
    if (status)
        return status;
    const void *stated = count ? nodes[0] : 0;
    free(nodes);
    Group *group = count == 1 ? group_of(stated) : 0;
    if (!group && callbacks.find)
        group = callbacks.find(provider->session, graph, node);
    if (!group)
        return ort_error(ORT_FAIL, "morello has no kernels for a part of the model that it claimed");
    size_t inputs = (size_t)group->plan->inputs, tensors = inputs + (size_t)group->plan->outputs;
    size_t given = inputs - (group->constants != 0);
    Computation *computation = malloc(sizeof *computation + tensors * sizeof(size_t));
    if (!computation)
        return ort_error(ORT_FAIL, "out of memory");
    *computation = (Computation){
        .version = STRUCT_VERSION,
        .create_state = create_state,
        .compute = run_node,
        .release_state = release_state,
        .group = group,
    };
    status = place(computation, stated, node, GET_INPUT_COUNT, GET_INPUTS, 0, given);
    if (!status)
        status = place(computation, stated, node, GET_OUTPUT_COUNT, GET_OUTPUTS, inputs, tensors);
    if (status) {
        free(computation);
        return status;
    }
    __atomic_fetch_add(&group->users, 1, __ATOMIC_RELAXED);
    *result = computation;
    return 0;
}

static void release_computations(Provider *provider, Computation **computations, size_t count)
{
    (void)provider;
    for (size_t n = 0; n < count; n++) {
        if (computations[n])
            __atomic_fetch_sub(&computations[n]->group->users, 1, __ATOMIC_RELEASE);
        free(computations[n]);
        computations[n] = 0;
    }
}

static OrtStatus *compile(Provider *provider, const void **graphs, const void **nodes, size_t count,
                       Computation **computations, void **contexts)
{
    OrtStatus *status = 0;
    size_t done = 0;
    while (done < count &&
           !(status = computation_of(provider, graphs[done], nodes[done], &computations[done])))
        done++;
    if (!status && callbacks.save)
        status = callbacks.save(provider->session, nodes, count, contexts);
    if (status)
        release_computations(provider, computations, done);
    return status;
}

static const char *provider_name(const Provider *provider) { return provider->factory->name; }

static OrtStatus *create(Factory *factory, const void *const *devices, const void *const *metadata,
                      size_t count, const void *options, const void *logger, Provider **result)
{
    (void)devices;
    (void)metadata;
    (void)count;
    Provider *provider = calloc(1, sizeof *provider);
    if (!provider)
        return ort_error(ORT_FAIL, "out of memory");
    provider->version = STRUCT_VERSION;
    provider->factory = factory;
    provider->get_name = provider_name;
    provider->get_capability = get_capability;
    provider->compile = compile;
    provider->release_computations = release_computations;
    OrtStatus *status = callbacks.create
        ? callbacks.create(ort_api, options, logger, factory->name, &provider->session)
        : 0;
    if (status)
        free(provider);
    else
        *result = provider;
    return status;
}

static void release(Factory *factory, Provider *provider)
{
    (void)factory;
    free(provider);
}

static const char *factory_name(const Factory *factory) { return factory->name; }
static const char *get_vendor(const Factory *factory) { (void)factory; return "morello"; }
static uint32_t get_vendor_id(const Factory *factory) { (void)factory; return 0; }
static const char *get_version(const Factory *factory) { (void)factory; return "1.0.0"; }
static _Bool is_stream_aware(const Factory *factory) { (void)factory; return 0; }

static OrtStatus *get_devices(Factory *factory, const void *const *devices, size_t count,
                           void **chosen, size_t most, size_t *chosen_count)
{
    OrtApi ep_api = ((OrtApi (*)(void)) ort_api[GET_EP_API])();
    OrtStatus *status = 0;
    *chosen_count = 0;
    for (size_t n = 0; n < count && *chosen_count < most && !status; n++) {
        if (((int (*)(const void *))ort_api[DEVICE_TYPE])(devices[n]) != HARDWARE_CPU)
            continue;
        status = ((OrtStatus * (*)(Factory *, const void *, const void *, const void *, void **))
                      ep_api[CREATE_DEVICE])(factory, devices[n], 0, 0, &chosen[*chosen_count]);
        *chosen_count += !status;
    }
    return status;
}

static OrtStatus *validate(Factory *factory, const void *const *devices, size_t count,
                        const char *about, int *compatibility)
{
    (void)factory;
    (void)devices;
    (void)count;
    (void)about;
    *compatibility = 0; /* it does not say */
    return 0;
}

static OrtStatus *no_allocator(Factory *factory, const void *memory, const void *options, void **made)
{
    (void)factory;
    (void)memory;
    (void)options;
    *made = 0;
    return 0;
}

static void release_allocator(Factory *factory, void *made) { (void)factory; (void)made; }
static OrtStatus *no_transfer(Factory *factory, void **made) { (void)factory; *made = 0; return 0; }

OrtStatus *CreateEpFactories(const char *name, const OrtBase *base, const void *logger,
                          Factory **factories, size_t most, size_t *count)
{
    (void)logger;
    ort_api = base->get_api(EP_API_VERSION);
    if (!ort_api) /* an older version, which has no plugin execution providers that compile */
        return ((OrtStatus * (*)(int, const char *)) base->get_api(1)[ORT_CREATE_STATUS])(
            ORT_FAIL, "morello needs ONNX Runtime 1.24 or later");
    if (!most || strlen(name) >= NAME_LENGTH)
        return ort_error(ORT_INVALID_ARGUMENT, "the name of the provider is too long");
    Factory *factory = calloc(1, sizeof *factory);
    if (!factory)
        return ort_error(ORT_FAIL, "out of memory");
    *factory = (Factory){
        .version = STRUCT_VERSION,
        .get_name = factory_name,
        .get_vendor = get_vendor,
        .get_devices = get_devices,
        .create = create,
        .release = release,
        .get_vendor_id = get_vendor_id,
        .get_version = get_version,
        .validate = validate,
        .create_allocator = no_allocator,
        .release_allocator = release_allocator,
        .create_transfer = no_transfer,
        .is_stream_aware = is_stream_aware,
    };
    strcpy(factory->name, name);
    factories[0] = factory;
    *count = 1;
    return 0;
}

OrtStatus *ReleaseEpFactory(Factory *factory)
{
    free(factory);
    return 0;
}

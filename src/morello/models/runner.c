/* Runs the kernels of a segment one after the other. */
#include <stdint.h>

/* Where an argument lies: at an offset, in bytes, from one of the bases. */
typedef struct {
    int64_t base;
    int64_t offset;
} Place;

/* A kernel, and its arguments: `count` places from number `first` on. */
typedef struct {
    void *kernel;
    int64_t first;
    int64_t count;
} Step;

typedef struct {
    const Step *steps;
    const Place *places;
    int64_t count;
} Segment;

/* The bases are null, for absolute addresses, the arena, and then the `arrays`. */
static char *at(const Place *place, char *arena, char *const *arrays)
{
    if (place->base > 1)
        return arrays[place->base - 2] + place->offset;
    return (place->base ? arena : (char *)0) + place->offset;
}

void segment_run(const Segment *segment, char *arena, char *const *arrays)
{
    for (int64_t i = 0; i < segment->count; i++) {
        const Step *step = &segment->steps[i];
        char *a[8];
        for (int64_t n = 0; n < step->count; n++)
            a[n] = at(&segment->places[step->first + n], arena, arrays);
        void *f = step->kernel;
        switch (step->count) {
        case 1: ((void (*)(void *))f)(a[0]); break;
        case 2: ((void (*)(void *, void *))f)(a[0], a[1]); break;
        case 3: ((void (*)(void *, void *, void *))f)(a[0], a[1], a[2]); break;
        case 4: ((void (*)(void *, void *, void *, void *))f)(a[0], a[1], a[2], a[3]); break;
        case 5:
            ((void (*)(void *, void *, void *, void *, void *))f)(a[0], a[1], a[2], a[3], a[4]);
            break;
        case 6:
            ((void (*)(void *, void *, void *, void *, void *, void *))f)(
                a[0], a[1], a[2], a[3], a[4], a[5]);
            break;
        case 7:
            ((void (*)(void *, void *, void *, void *, void *, void *, void *))f)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
            break;
        case 8:
            ((void (*)(void *, void *, void *, void *, void *, void *, void *, void *))f)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
            break;
        }
    }
}

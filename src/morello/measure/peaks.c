/* What one core can do at most. Each probe gives the nanoseconds that some rounds took, and says how
 * many operations a round has; 0 if there are no such instructions. */

#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

/* Enough accumulators to hide the latency, few enough for the registers. */
#define CHAINS 12
#define ALL(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) \
    step(10) step(11)

/* Keeps a compiler from seeing that accumulators are equal. */
#define APART(i) __asm__ volatile("" : "+x"(s##i));

typedef float Floats __attribute__((vector_size(BYTES)));
typedef int64_t Words __attribute__((vector_size(BYTES)));
typedef Words Unaligned __attribute__((aligned(8)));

int64_t f32_operations(void) { return CHAINS * BYTES / 4 * 2; }

int64_t f32(int64_t rounds) {
    Floats x = {0}, s0 = x, s1 = x, s2 = x, s3 = x, s4 = x, s5 = x, s6 = x, s7 = x, s8 = x, s9 = x,
           s10 = x, s11 = x;
    x += 0.5f;
    __asm__ volatile("" : "+x"(x));
    ALL(APART)
    int64_t began = now();
    for (int64_t i = 0; i < rounds; i++) {
#define STEP(i) s##i = s##i * x + x;
        ALL(STEP)
#undef STEP
        __asm__ volatile("" : "+x"(x));
    }
    int64_t took = now() - began;
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
    __asm__ volatile("" ::"x"(s0));
    return took;
}

#define PRODUCTS(name, Vector, instruction)                                                       \
    int64_t name(int64_t rounds) {                                                                \
        __m512i x = _mm512_set1_epi8(1);                                                          \
        __asm__ volatile("" : "+x"(x));                                                           \
        Vector s0 = (Vector)_mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0,  \
               s6 = s0, s7 = s0, s8 = s0, s9 = s0, s10 = s0, s11 = s0;                            \
        ALL(APART)                                                                                \
        int64_t began = now();                                                                    \
        for (int64_t i = 0; i < rounds; i++) {                                                    \
            ALL(instruction)                                                                      \
            __asm__ volatile("" : "+x"(x));                                                       \
        }                                                                                         \
        int64_t took = now() - began;                                                             \
        s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;                             \
        __asm__ volatile("" ::"x"(s0));                                                           \
        return took;                                                                              \
    }

#if defined(__AVX512BF16__)
int64_t bf16_operations(void) { return CHAINS * 64; }
#define STEP(i) s##i = _mm512_dpbf16_ps(s##i, (__m512bh)x, (__m512bh)x);
PRODUCTS(bf16, __m512, STEP)
#undef STEP
#else
int64_t bf16_operations(void) { return 0; }
int64_t bf16(int64_t rounds) { return rounds; }
#endif

#if defined(__AVX512VNNI__)
int64_t u8_operations(void) { return CHAINS * 128; }
#define STEP(i) s##i = _mm512_dpbusd_epi32(s##i, x, x);
PRODUCTS(u8, __m512i, STEP)
#undef STEP
#else
int64_t u8_operations(void) { return 0; }
int64_t u8(int64_t rounds) { return rounds; }
#endif

/* Tiles: four blocks of sums are enough to hide the latency. A process has to have asked for their
 * use. */
#define TILE_SIDE 16
#define TILES(name, in_group, product)                                                            \
    int64_t name##_operations(void) {                                                             \
        return 4 * TILE_SIDE * TILE_SIDE * TILE_SIDE * in_group * 2;                              \
    }                                                                                             \
    int64_t name(int64_t rounds) {                                                                \
        struct {                                                                                  \
            uint8_t palette, start, zeros[14];                                                    \
            uint16_t bytes[16];                                                                   \
            uint8_t rows[16];                                                                     \
        } tiles = {                                                                               \
            1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};       \
        _tile_loadconfig(&tiles);                                                                 \
        _tile_zero(0);                                                                            \
        _tile_zero(1);                                                                            \
        _tile_zero(2);                                                                            \
        _tile_zero(3);                                                                            \
        _tile_zero(4);                                                                            \
        _tile_zero(5);                                                                            \
        _tile_zero(6);                                                                            \
        _tile_zero(7);                                                                            \
        int64_t began = now();                                                                    \
        for (int64_t i = 0; i < rounds; i++) {                                                    \
            product(0, 4, 6);                                                                     \
            product(1, 4, 7);                                                                     \
            product(2, 5, 6);                                                                     \
            product(3, 5, 7);                                                                     \
        }                                                                                         \
        int64_t took = now() - began;                                                             \
        _tile_release();                                                                          \
        return took;                                                                              \
    }
#define NO_TILES(name)                                                                            \
    int64_t name##_operations(void) { return 0; }                                                 \
    int64_t name(int64_t rounds) { return rounds; }

#if defined(__AMX_BF16__)
TILES(bf16_tiles, 2, _tile_dpbf16ps)
#else
NO_TILES(bf16_tiles)
#endif

#if defined(__AMX_INT8__)
TILES(u8_tiles, 4, _tile_dpbusd)
#else
NO_TILES(u8_tiles)
#endif

/* Reads memory from end to end, `passes` times. */
int64_t read_all(int64_t passes, const char *memory, int64_t bytes) {
    Words s[8];
    memset(s, 0, sizeof s);
    int64_t began = now();
    for (int64_t pass = 0; pass < passes; pass++) {
        Words s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3], s4 = s[4], s5 = s[5], s6 = s[6], s7 = s[7];
        for (int64_t at = 0; at + 8 * BYTES <= bytes; at += 8 * BYTES) {
            const Unaligned *p = (const Unaligned *)(memory + at);
            s0 |= p[0], s1 |= p[1], s2 |= p[2], s3 |= p[3];
            s4 |= p[4], s5 |= p[5], s6 |= p[6], s7 |= p[7];
        }
        s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3, s[4] = s4, s[5] = s5, s[6] = s6, s[7] = s7;
        __asm__ volatile("" ::: "memory");
    }
    int64_t took = now() - began;
    for (int i = 0; i < 8; i++) __asm__ volatile("" ::"m"(s[i]));
    return took;
}

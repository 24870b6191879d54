/* The instructions of AMX, as Intel describes them, in memory: kernels of tiles run on any x86-64.

   What a CPU would refuse, as a product of tiles whose shapes do not fit, is counted in `faults`. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static struct { uint8_t palette, start, zeros[14]; uint16_t bytes[16]; uint8_t rows[16]; } shapes;
static uint8_t registers[8][16][64];
int faults;

static void configure(const void *memory)
{
    memcpy(&shapes, memory, sizeof shapes);
    memset(registers, 0, sizeof registers);
    faults += shapes.palette != 1;
    for (int t = 0; t < 16; ++t)
        faults += t < 8 ? shapes.bytes[t] > 64 || shapes.rows[t] > 16 : shapes.bytes[t] || shapes.rows[t];
}

/* Whether a tile may be used; one without rows or columns is not configured. */
static int known(int t)
{
    const int is = shapes.palette == 1 && shapes.rows[t] && shapes.bytes[t];
    faults += !is;
    return is;
}

static void load(int t, const void *memory, long step)
{
    if (!known(t)) return;
    memset(registers[t], 0, sizeof registers[t]);
    for (int i = 0; i < shapes.rows[t]; ++i)
        memcpy(registers[t][i], (const char *)memory + i * step, shapes.bytes[t]);
}

static void store(int t, void *memory, long step)
{
    if (!known(t)) return;
    for (int i = 0; i < shapes.rows[t]; ++i)
        memcpy((char *)memory + i * step, registers[t][i], shapes.bytes[t]);
}

static void clear(int t)
{
    if (known(t)) memset(registers[t], 0, sizeof registers[t]);
}

/* Whether tile c may have products of a and b added: rows by groups, and groups by columns. */
static int fit(int c, int a, int b)
{
    if (!known(c) || !known(a) || !known(b)) return 0;
    const int is = shapes.rows[c] == shapes.rows[a] && shapes.bytes[c] == shapes.bytes[b]
        && shapes.bytes[a] == 4 * shapes.rows[b] && c != a && c != b && a != b;
    faults += !is;
    return is;
}

static float of_bf16(const uint8_t *two)
{
    const uint32_t bits = (uint32_t)two[1] << 24 | (uint32_t)two[0] << 16;
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

static void add_bf16(int c, int a, int b)
{
    if (!fit(c, a, b)) return;
    for (int i = 0; i < shapes.rows[c]; ++i)
        for (int j = 0; j < shapes.bytes[c]; j += 4) {
            float sum, parts[2] = {0, 0};
            for (int p = 0; p < shapes.rows[b]; ++p)
                for (int half = 0; half < 2; ++half)
                    parts[half] += of_bf16(&registers[a][i][4 * p + 2 * half])
                        * of_bf16(&registers[b][p][j + 2 * half]);
            memcpy(&sum, &registers[c][i][j], 4);
            sum += parts[0] + parts[1];
            memcpy(&registers[c][i][j], &sum, 4);
        }
}

static void add_bytes(int c, int a, int b, int a_signed, int b_signed)
{
    if (!fit(c, a, b)) return;
    for (int i = 0; i < shapes.rows[c]; ++i)
        for (int j = 0; j < shapes.bytes[c]; j += 4) {
            uint32_t sum;
            memcpy(&sum, &registers[c][i][j], 4);
            for (int p = 0; p < shapes.rows[b]; ++p)
                for (int n = 0; n < 4; ++n) {
                    const uint8_t x = registers[a][i][4 * p + n], y = registers[b][p][j + n];
                    sum += (uint32_t)((a_signed ? (int8_t)x : x) * (b_signed ? (int8_t)y : y));
                }
            memcpy(&registers[c][i][j], &sum, 4);
        }
}

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#define _tile_loadconfig configure
#define _tile_release() memset(&shapes, 0, sizeof shapes)
#define _tile_loadd load
#define _tile_stored store
#define _tile_zero clear
#define _tile_dpbf16ps add_bf16
#define _tile_dpbssd(c, a, b) add_bytes(c, a, b, 1, 1)
#define _tile_dpbsud(c, a, b) add_bytes(c, a, b, 1, 0)
#define _tile_dpbusd(c, a, b) add_bytes(c, a, b, 0, 1)
#define _tile_dpbuud(c, a, b) add_bytes(c, a, b, 0, 0)

/* A register of AVX-512, by which kernels of tiles copy rows. */
typedef struct { uint32_t numbers[16]; } Register;

static Register masked(unsigned mask, const uint32_t *memory)
{
    Register result;
    for (int n = 0; n < 16; ++n) result.numbers[n] = mask >> n & 1 ? memory[n] : 0;
    return result;
}

static void aligned(uint32_t *memory, Register value)
{
    faults += (uintptr_t)memory % 64 != 0;
    memcpy(memory, &value, 64);
}

#define _mm512_maskz_loadu_epi32 masked
#define _mm512_store_si512 aligned

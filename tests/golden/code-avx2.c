// f32[64,64] @ f32[64,64]
__attribute__((force_align_arg_pointer))
void kernel_1(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 60; m0 += 6) {
    for (long n0 = 0; n0 < 64; n0 += 16) {
      {
        f32x8 c_reg0[6][2];
        c_reg0[0][0] = (f32x8){0};
        c_reg0[0][1] = (f32x8){0};
        c_reg0[1][0] = (f32x8){0};
        c_reg0[1][1] = (f32x8){0};
        c_reg0[2][0] = (f32x8){0};
        c_reg0[2][1] = (f32x8){0};
        c_reg0[3][0] = (f32x8){0};
        c_reg0[3][1] = (f32x8){0};
        c_reg0[4][0] = (f32x8){0};
        c_reg0[4][1] = (f32x8){0};
        c_reg0[5][0] = (f32x8){0};
        c_reg0[5][1] = (f32x8){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 64; ++k0) {
          {
            f32x8 b_reg0[1][2];
            b_reg0[0][0] = load_f32x8(&b[n0 + 64 * k0]);
            b_reg0[0][1] = load_f32x8(&b[n0 + 64 * k0 + 8]);
            c_reg0[0][0] += a[64 * m0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += a[64 * m0 + k0] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
            c_reg0[1][0] += a[64 * m0 + k0 + 64] * b_reg0[0][0];
            c_reg0[1][1] += a[64 * m0 + k0 + 64] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
            c_reg0[2][0] += a[64 * m0 + k0 + 128] * b_reg0[0][0];
            c_reg0[2][1] += a[64 * m0 + k0 + 128] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
            c_reg0[3][0] += a[64 * m0 + k0 + 192] * b_reg0[0][0];
            c_reg0[3][1] += a[64 * m0 + k0 + 192] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
            c_reg0[4][0] += a[64 * m0 + k0 + 256] * b_reg0[0][0];
            c_reg0[4][1] += a[64 * m0 + k0 + 256] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
            c_reg0[5][0] += a[64 * m0 + k0 + 320] * b_reg0[0][0];
            c_reg0[5][1] += a[64 * m0 + k0 + 320] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
          }
        }
        store_f32x8(&c[64 * m0 + n0], c_reg0[0][0]);
        store_f32x8(&c[64 * m0 + n0 + 8], c_reg0[0][1]);
        store_f32x8(&c[64 * m0 + n0 + 64], c_reg0[1][0]);
        store_f32x8(&c[64 * m0 + n0 + 72], c_reg0[1][1]);
        store_f32x8(&c[64 * m0 + n0 + 128], c_reg0[2][0]);
        store_f32x8(&c[64 * m0 + n0 + 136], c_reg0[2][1]);
        store_f32x8(&c[64 * m0 + n0 + 192], c_reg0[3][0]);
        store_f32x8(&c[64 * m0 + n0 + 200], c_reg0[3][1]);
        store_f32x8(&c[64 * m0 + n0 + 256], c_reg0[4][0]);
        store_f32x8(&c[64 * m0 + n0 + 264], c_reg0[4][1]);
        store_f32x8(&c[64 * m0 + n0 + 320], c_reg0[5][0]);
        store_f32x8(&c[64 * m0 + n0 + 328], c_reg0[5][1]);
      }
    }
  }
  for (long n0 = 0; n0 < 64; n0 += 32) {
    for (long n1 = 0; n1 < 32; n1 += 16) {
      {
        f32x8 c_reg0[4][2];
        c_reg0[0][0] = (f32x8){0};
        c_reg0[0][1] = (f32x8){0};
        c_reg0[1][0] = (f32x8){0};
        c_reg0[1][1] = (f32x8){0};
        c_reg0[2][0] = (f32x8){0};
        c_reg0[2][1] = (f32x8){0};
        c_reg0[3][0] = (f32x8){0};
        c_reg0[3][1] = (f32x8){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 64; ++k0) {
          {
            f32x8 b_reg0[1][2];
            b_reg0[0][0] = load_f32x8(&b[n0 + n1 + 64 * k0]);
            b_reg0[0][1] = load_f32x8(&b[n0 + n1 + 64 * k0 + 8]);
            c_reg0[0][0] += a[k0 + 3840] * b_reg0[0][0];
            c_reg0[0][1] += a[k0 + 3840] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
            c_reg0[1][0] += a[k0 + 3904] * b_reg0[0][0];
            c_reg0[1][1] += a[k0 + 3904] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
            c_reg0[2][0] += a[k0 + 3968] * b_reg0[0][0];
            c_reg0[2][1] += a[k0 + 3968] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
            c_reg0[3][0] += a[k0 + 4032] * b_reg0[0][0];
            c_reg0[3][1] += a[k0 + 4032] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
          }
        }
        store_f32x8(&c[n0 + n1 + 3840], c_reg0[0][0]);
        store_f32x8(&c[n0 + n1 + 3848], c_reg0[0][1]);
        store_f32x8(&c[n0 + n1 + 3904], c_reg0[1][0]);
        store_f32x8(&c[n0 + n1 + 3912], c_reg0[1][1]);
        store_f32x8(&c[n0 + n1 + 3968], c_reg0[2][0]);
        store_f32x8(&c[n0 + n1 + 3976], c_reg0[2][1]);
        store_f32x8(&c[n0 + n1 + 4032], c_reg0[3][0]);
        store_f32x8(&c[n0 + n1 + 4040], c_reg0[3][1]);
      }
    }
  }
}

// f32[7,13] @ f32[13,11]
__attribute__((force_align_arg_pointer))
void kernel_2(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long n0 = 0; n0 < 11; n0 += 8) {
    if (n0 > 3) n0 = 3;
    {
      f32x8 b_reg0[13][1];
      b_reg0[0][0] = load_f32x8(&b[n0]);
      b_reg0[1][0] = load_f32x8(&b[n0 + 11]);
      b_reg0[2][0] = load_f32x8(&b[n0 + 22]);
      b_reg0[3][0] = load_f32x8(&b[n0 + 33]);
      b_reg0[4][0] = load_f32x8(&b[n0 + 44]);
      b_reg0[5][0] = load_f32x8(&b[n0 + 55]);
      b_reg0[6][0] = load_f32x8(&b[n0 + 66]);
      b_reg0[7][0] = load_f32x8(&b[n0 + 77]);
      b_reg0[8][0] = load_f32x8(&b[n0 + 88]);
      b_reg0[9][0] = load_f32x8(&b[n0 + 99]);
      b_reg0[10][0] = load_f32x8(&b[n0 + 110]);
      b_reg0[11][0] = load_f32x8(&b[n0 + 121]);
      b_reg0[12][0] = load_f32x8(&b[n0 + 132]);
      for (long m0 = 0; m0 < 7; ++m0) {
        {
          f32x8 c_reg0[1][1];
          c_reg0[0][0] = (f32x8){0};
          c_reg0[0][0] += a[13 * m0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 1] * b_reg0[1][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 2] * b_reg0[2][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 3] * b_reg0[3][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 4] * b_reg0[4][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 5] * b_reg0[5][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 6] * b_reg0[6][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 7] * b_reg0[7][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 8] * b_reg0[8][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 9] * b_reg0[9][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 10] * b_reg0[10][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 11] * b_reg0[11][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[13 * m0 + 12] * b_reg0[12][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          store_f32x8(&c[n0 + 11 * m0], c_reg0[0][0]);
        }
      }
    }
  }
}

// bf16[16,64] @ bf16[64,32]
__attribute__((force_align_arg_pointer))
void kernel_9(const uint16_t *restrict a, const uint16_t *restrict b, float *restrict c) {
  _Alignas(64) unsigned char workspace[12288];
  {
    float *const restrict a_L1_0 = (float *)(workspace + 0);  /* f32[16,64]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 64; j0 += 8) {
        store_f32x8(&a_L1_0[64 * i0 + j0], load_f32x8_bf16(&a[64 * i0 + j0]));
      }
    }
    {
      float *const restrict b_L1_0 = (float *)(workspace + 4096);  /* f32[64,32]{1,0} */
      for (long i0 = 0; i0 < 64; ++i0) {
        for (long j0 = 0; j0 < 32; j0 += 8) {
          store_f32x8(&b_L1_0[32 * i0 + j0], load_f32x8_bf16(&b[32 * i0 + j0]));
        }
      }
      for (long m0 = 0; m0 < 12; m0 += 6) {
        for (long n0 = 0; n0 < 32; n0 += 16) {
          {
            f32x8 c_reg0[6][2];
            c_reg0[0][0] = (f32x8){0};
            c_reg0[0][1] = (f32x8){0};
            c_reg0[1][0] = (f32x8){0};
            c_reg0[1][1] = (f32x8){0};
            c_reg0[2][0] = (f32x8){0};
            c_reg0[2][1] = (f32x8){0};
            c_reg0[3][0] = (f32x8){0};
            c_reg0[3][1] = (f32x8){0};
            c_reg0[4][0] = (f32x8){0};
            c_reg0[4][1] = (f32x8){0};
            c_reg0[5][0] = (f32x8){0};
            c_reg0[5][1] = (f32x8){0};
            #pragma GCC unroll 4
            for (long k0 = 0; k0 < 64; ++k0) {
              {
                f32x8 b_reg0[1][2];
                b_reg0[0][0] = load_f32x8(&b_L1_0[n0 + 32 * k0]);
                b_reg0[0][1] = load_f32x8(&b_L1_0[n0 + 32 * k0 + 8]);
                c_reg0[0][0] += a_L1_0[64 * m0 + k0] * b_reg0[0][0];
                c_reg0[0][1] += a_L1_0[64 * m0 + k0] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
                c_reg0[1][0] += a_L1_0[64 * m0 + k0 + 64] * b_reg0[0][0];
                c_reg0[1][1] += a_L1_0[64 * m0 + k0 + 64] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
                c_reg0[2][0] += a_L1_0[64 * m0 + k0 + 128] * b_reg0[0][0];
                c_reg0[2][1] += a_L1_0[64 * m0 + k0 + 128] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
                c_reg0[3][0] += a_L1_0[64 * m0 + k0 + 192] * b_reg0[0][0];
                c_reg0[3][1] += a_L1_0[64 * m0 + k0 + 192] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
                c_reg0[4][0] += a_L1_0[64 * m0 + k0 + 256] * b_reg0[0][0];
                c_reg0[4][1] += a_L1_0[64 * m0 + k0 + 256] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
                c_reg0[5][0] += a_L1_0[64 * m0 + k0 + 320] * b_reg0[0][0];
                c_reg0[5][1] += a_L1_0[64 * m0 + k0 + 320] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
              }
            }
            store_f32x8(&c[32 * m0 + n0], c_reg0[0][0]);
            store_f32x8(&c[32 * m0 + n0 + 8], c_reg0[0][1]);
            store_f32x8(&c[32 * m0 + n0 + 32], c_reg0[1][0]);
            store_f32x8(&c[32 * m0 + n0 + 40], c_reg0[1][1]);
            store_f32x8(&c[32 * m0 + n0 + 64], c_reg0[2][0]);
            store_f32x8(&c[32 * m0 + n0 + 72], c_reg0[2][1]);
            store_f32x8(&c[32 * m0 + n0 + 96], c_reg0[3][0]);
            store_f32x8(&c[32 * m0 + n0 + 104], c_reg0[3][1]);
            store_f32x8(&c[32 * m0 + n0 + 128], c_reg0[4][0]);
            store_f32x8(&c[32 * m0 + n0 + 136], c_reg0[4][1]);
            store_f32x8(&c[32 * m0 + n0 + 160], c_reg0[5][0]);
            store_f32x8(&c[32 * m0 + n0 + 168], c_reg0[5][1]);
          }
        }
      }
      for (long n0 = 0; n0 < 32; n0 += 16) {
        {
          f32x8 c_reg0[4][2];
          c_reg0[0][0] = (f32x8){0};
          c_reg0[0][1] = (f32x8){0};
          c_reg0[1][0] = (f32x8){0};
          c_reg0[1][1] = (f32x8){0};
          c_reg0[2][0] = (f32x8){0};
          c_reg0[2][1] = (f32x8){0};
          c_reg0[3][0] = (f32x8){0};
          c_reg0[3][1] = (f32x8){0};
          #pragma GCC unroll 4
          for (long k0 = 0; k0 < 64; ++k0) {
            {
              f32x8 b_reg0[1][2];
              b_reg0[0][0] = load_f32x8(&b_L1_0[n0 + 32 * k0]);
              b_reg0[0][1] = load_f32x8(&b_L1_0[n0 + 32 * k0 + 8]);
              c_reg0[0][0] += a_L1_0[k0 + 768] * b_reg0[0][0];
              c_reg0[0][1] += a_L1_0[k0 + 768] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
              c_reg0[1][0] += a_L1_0[k0 + 832] * b_reg0[0][0];
              c_reg0[1][1] += a_L1_0[k0 + 832] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
              c_reg0[2][0] += a_L1_0[k0 + 896] * b_reg0[0][0];
              c_reg0[2][1] += a_L1_0[k0 + 896] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
              c_reg0[3][0] += a_L1_0[k0 + 960] * b_reg0[0][0];
              c_reg0[3][1] += a_L1_0[k0 + 960] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
            }
          }
          store_f32x8(&c[n0 + 384], c_reg0[0][0]);
          store_f32x8(&c[n0 + 392], c_reg0[0][1]);
          store_f32x8(&c[n0 + 416], c_reg0[1][0]);
          store_f32x8(&c[n0 + 424], c_reg0[1][1]);
          store_f32x8(&c[n0 + 448], c_reg0[2][0]);
          store_f32x8(&c[n0 + 456], c_reg0[2][1]);
          store_f32x8(&c[n0 + 480], c_reg0[3][0]);
          store_f32x8(&c[n0 + 488], c_reg0[3][1]);
        }
      }
    }
  }
}

// u8[16,32] @ i8[32,16] -> i32[16,16]
__attribute__((force_align_arg_pointer))
void kernel_12(const uint8_t *restrict a, const int8_t *restrict b, int32_t *restrict c) {
  _Alignas(64) unsigned char workspace[4096];
  {
    int32_t *const restrict a_L1_0 = (int32_t *)(workspace + 0);  /* i32[16,32]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 8) {
        store_i32x8(&a_L1_0[32 * i0 + j0], load_i32x8_u8(&a[32 * i0 + j0]));
      }
    }
    {
      int32_t *const restrict b_L1_0 = (int32_t *)(workspace + 2048);  /* i32[32,16]{1,0} */
      for (long i0 = 0; i0 < 32; ++i0) {
        for (long j0 = 0; j0 < 16; j0 += 8) {
          store_i32x8(&b_L1_0[16 * i0 + j0], load_i32x8_i8(&b[16 * i0 + j0]));
        }
      }
      for (long m0 = 0; m0 < 12; m0 += 6) {
        {
          i32x8 c_reg0[6][2];
          c_reg0[0][0] = (i32x8){0};
          c_reg0[0][1] = (i32x8){0};
          c_reg0[1][0] = (i32x8){0};
          c_reg0[1][1] = (i32x8){0};
          c_reg0[2][0] = (i32x8){0};
          c_reg0[2][1] = (i32x8){0};
          c_reg0[3][0] = (i32x8){0};
          c_reg0[3][1] = (i32x8){0};
          c_reg0[4][0] = (i32x8){0};
          c_reg0[4][1] = (i32x8){0};
          c_reg0[5][0] = (i32x8){0};
          c_reg0[5][1] = (i32x8){0};
          #pragma GCC unroll 4
          for (long k0 = 0; k0 < 32; ++k0) {
            {
              i32x8 b_reg0[1][2];
              b_reg0[0][0] = load_i32x8(&b_L1_0[16 * k0]);
              b_reg0[0][1] = load_i32x8(&b_L1_0[16 * k0 + 8]);
              c_reg0[0][0] = multiply_add_i32x8(c_reg0[0][0], a_L1_0[32 * m0 + k0], b_reg0[0][0]);
              c_reg0[0][1] = multiply_add_i32x8(c_reg0[0][1], a_L1_0[32 * m0 + k0], b_reg0[0][1]);
              c_reg0[1][0] = multiply_add_i32x8(c_reg0[1][0], a_L1_0[32 * m0 + k0 + 32], b_reg0[0][0]);
              c_reg0[1][1] = multiply_add_i32x8(c_reg0[1][1], a_L1_0[32 * m0 + k0 + 32], b_reg0[0][1]);
              c_reg0[2][0] = multiply_add_i32x8(c_reg0[2][0], a_L1_0[32 * m0 + k0 + 64], b_reg0[0][0]);
              c_reg0[2][1] = multiply_add_i32x8(c_reg0[2][1], a_L1_0[32 * m0 + k0 + 64], b_reg0[0][1]);
              c_reg0[3][0] = multiply_add_i32x8(c_reg0[3][0], a_L1_0[32 * m0 + k0 + 96], b_reg0[0][0]);
              c_reg0[3][1] = multiply_add_i32x8(c_reg0[3][1], a_L1_0[32 * m0 + k0 + 96], b_reg0[0][1]);
              c_reg0[4][0] = multiply_add_i32x8(c_reg0[4][0], a_L1_0[32 * m0 + k0 + 128], b_reg0[0][0]);
              c_reg0[4][1] = multiply_add_i32x8(c_reg0[4][1], a_L1_0[32 * m0 + k0 + 128], b_reg0[0][1]);
              c_reg0[5][0] = multiply_add_i32x8(c_reg0[5][0], a_L1_0[32 * m0 + k0 + 160], b_reg0[0][0]);
              c_reg0[5][1] = multiply_add_i32x8(c_reg0[5][1], a_L1_0[32 * m0 + k0 + 160], b_reg0[0][1]);
            }
          }
          store_i32x8(&c[16 * m0], c_reg0[0][0]);
          store_i32x8(&c[16 * m0 + 8], c_reg0[0][1]);
          store_i32x8(&c[16 * m0 + 16], c_reg0[1][0]);
          store_i32x8(&c[16 * m0 + 24], c_reg0[1][1]);
          store_i32x8(&c[16 * m0 + 32], c_reg0[2][0]);
          store_i32x8(&c[16 * m0 + 40], c_reg0[2][1]);
          store_i32x8(&c[16 * m0 + 48], c_reg0[3][0]);
          store_i32x8(&c[16 * m0 + 56], c_reg0[3][1]);
          store_i32x8(&c[16 * m0 + 64], c_reg0[4][0]);
          store_i32x8(&c[16 * m0 + 72], c_reg0[4][1]);
          store_i32x8(&c[16 * m0 + 80], c_reg0[5][0]);
          store_i32x8(&c[16 * m0 + 88], c_reg0[5][1]);
        }
      }
      {
        i32x8 c_reg0[4][2];
        c_reg0[0][0] = (i32x8){0};
        c_reg0[0][1] = (i32x8){0};
        c_reg0[1][0] = (i32x8){0};
        c_reg0[1][1] = (i32x8){0};
        c_reg0[2][0] = (i32x8){0};
        c_reg0[2][1] = (i32x8){0};
        c_reg0[3][0] = (i32x8){0};
        c_reg0[3][1] = (i32x8){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 32; ++k0) {
          {
            i32x8 b_reg0[1][2];
            b_reg0[0][0] = load_i32x8(&b_L1_0[16 * k0]);
            b_reg0[0][1] = load_i32x8(&b_L1_0[16 * k0 + 8]);
            c_reg0[0][0] = multiply_add_i32x8(c_reg0[0][0], a_L1_0[k0 + 384], b_reg0[0][0]);
            c_reg0[0][1] = multiply_add_i32x8(c_reg0[0][1], a_L1_0[k0 + 384], b_reg0[0][1]);
            c_reg0[1][0] = multiply_add_i32x8(c_reg0[1][0], a_L1_0[k0 + 416], b_reg0[0][0]);
            c_reg0[1][1] = multiply_add_i32x8(c_reg0[1][1], a_L1_0[k0 + 416], b_reg0[0][1]);
            c_reg0[2][0] = multiply_add_i32x8(c_reg0[2][0], a_L1_0[k0 + 448], b_reg0[0][0]);
            c_reg0[2][1] = multiply_add_i32x8(c_reg0[2][1], a_L1_0[k0 + 448], b_reg0[0][1]);
            c_reg0[3][0] = multiply_add_i32x8(c_reg0[3][0], a_L1_0[k0 + 480], b_reg0[0][0]);
            c_reg0[3][1] = multiply_add_i32x8(c_reg0[3][1], a_L1_0[k0 + 480], b_reg0[0][1]);
          }
        }
        store_i32x8(&c[192], c_reg0[0][0]);
        store_i32x8(&c[200], c_reg0[0][1]);
        store_i32x8(&c[208], c_reg0[1][0]);
        store_i32x8(&c[216], c_reg0[1][1]);
        store_i32x8(&c[224], c_reg0[2][0]);
        store_i32x8(&c[232], c_reg0[2][1]);
        store_i32x8(&c[240], c_reg0[3][0]);
        store_i32x8(&c[248], c_reg0[3][1]);
      }
    }
  }
}

// softmax(f32[8,100])
__attribute__((force_align_arg_pointer))
void kernel_19(const float *restrict x, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    float *const restrict denominator_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    {
      float *const restrict out_L1_0 = (float *)(workspace + 64);  /* f32[8]{0} */
      store_f32x8(&out_L1_0[0], splat_f32x8(-__builtin_inff()));
      for (long i0 = 0; i0 < 8; ++i0) {
        out_L1_0[i0] = max_run_f32x8(&x[100 * i0], 100, out_L1_0[i0]);
      }
      store_f32x8(&denominator_L1_0[0], (f32x8){0});
      for (long i0 = 0; i0 < 8; ++i0) {
        denominator_L1_0[i0] += exp_store_run_f32x8(&x[100 * i0], out_L1_0[i0], &out[100 * i0], 100);
      }
    }
    for (long i0 = 0; i0 < 8; ++i0) {
      scale_run_f32x8(&out[100 * i0], 1.0f / denominator_L1_0[i0], 100);
    }
  }
}

// attention(f32[16,16], f32[16,16], f32[16,16])
__attribute__((force_align_arg_pointer))
void kernel_21(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[3072];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    {
      float *const restrict out_L1_1 = (float *)(workspace + 1024);  /* f32[16,16]{1,0} */
      {
        float *const restrict b_L1_0 = (float *)(workspace + 2048);  /* f32[16,16]{1,0:T(8,1)} */
        for (long i0 = 0; i0 < 16; i0 += 8) {
          for (long j0 = 0; j0 < 16; j0 += 8) {
            transpose_4_8(&b[16 * i0 + j0], 16, &b_L1_0[16 * i0 + 8 * j0], 8);
          }
        }
        for (long m0 = 0; m0 < 16; m0 += 4) {
          {
            __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
            f32x8 c_reg0[4][2];
            c_reg0[0][0] = (f32x8){0};
            c_reg0[0][1] = (f32x8){0};
            c_reg0[1][0] = (f32x8){0};
            c_reg0[1][1] = (f32x8){0};
            c_reg0[2][0] = (f32x8){0};
            c_reg0[2][1] = (f32x8){0};
            c_reg0[3][0] = (f32x8){0};
            c_reg0[3][1] = (f32x8){0};
            #pragma GCC unroll 4
            for (long k0 = 0; k0 < 16; ++k0) {
              {
                f32x8 b_reg0[2][1];
                b_reg0[0][0] = load_f32x8(&b_L1_0[8 * k0]);
                b_reg0[1][0] = load_f32x8(&b_L1_0[8 * k0 + 128]);
                c_reg0[0][0] += a[16 * m0 + k0] * b_reg0[0][0];
                c_reg0[0][1] += a[16 * m0 + k0] * b_reg0[1][0];
                __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
                c_reg0[1][0] += a[16 * m0 + k0 + 16] * b_reg0[0][0];
                c_reg0[1][1] += a[16 * m0 + k0 + 16] * b_reg0[1][0];
                __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
                c_reg0[2][0] += a[16 * m0 + k0 + 32] * b_reg0[0][0];
                c_reg0[2][1] += a[16 * m0 + k0 + 32] * b_reg0[1][0];
                __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
                c_reg0[3][0] += a[16 * m0 + k0 + 48] * b_reg0[0][0];
                c_reg0[3][1] += a[16 * m0 + k0 + 48] * b_reg0[1][0];
                __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
              }
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[0][0] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[0][1] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 8], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[1][0] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 16], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[1][1] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 24], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[2][0] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 32], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[2][1] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 40], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[3][0] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 48], out_reg0[0][0]);
            }
            {
              f32x8 out_reg0[1][1];
              out_reg0[0][0] = c_reg0[3][1] * splat_f32x8((0.25f));
              store_f32x8(&out_L1_1[16 * m0 + 56], out_reg0[0][0]);
            }
          }
        }
      }
      for (long i0 = 0; i0 < 16; i0 += 8) {
        {
          float *const restrict denominator_L1_0 = (float *)(workspace + 2048);  /* f32[8]{0} */
          {
            float *const restrict out_L1_2 = (float *)(workspace + 2112);  /* f32[8]{0} */
            store_f32x8(&out_L1_2[0], splat_f32x8(-__builtin_inff()));
            for (long i1 = 0; i1 < 8; ++i1) {
              out_L1_2[i1] = max_run_f32x8(&out_L1_1[16 * i0 + 16 * i1], 16, out_L1_2[i1]);
            }
            store_f32x8(&denominator_L1_0[0], (f32x8){0});
            for (long i1 = 0; i1 < 8; ++i1) {
              denominator_L1_0[i1] += exp_store_run_f32x8(&out_L1_1[16 * i0 + 16 * i1], out_L1_2[i1], &out_L1_0[16 * i0 + 16 * i1], 16);
            }
          }
          for (long i1 = 0; i1 < 8; ++i1) {
            {
              f32x8 out_reg0[1][2];
              out_reg0[0][0] = load_f32x8(&out_L1_0[16 * i0 + 16 * i1]);
              out_reg0[0][1] = load_f32x8(&out_L1_0[16 * i0 + 16 * i1 + 8]);
              out_reg0[0][0] *= splat_f32x8(1.0f / denominator_L1_0[i1]);
              out_reg0[0][1] *= splat_f32x8(1.0f / denominator_L1_0[i1]);
              store_f32x8(&out_L1_0[16 * i0 + 16 * i1], out_reg0[0][0]);
              store_f32x8(&out_L1_0[16 * i0 + 16 * i1 + 8], out_reg0[0][1]);
            }
          }
        }
      }
    }
    for (long m0 = 0; m0 < 12; m0 += 6) {
      {
        __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
        f32x8 c_reg0[6][2];
        c_reg0[0][0] = (f32x8){0};
        c_reg0[0][1] = (f32x8){0};
        c_reg0[1][0] = (f32x8){0};
        c_reg0[1][1] = (f32x8){0};
        c_reg0[2][0] = (f32x8){0};
        c_reg0[2][1] = (f32x8){0};
        c_reg0[3][0] = (f32x8){0};
        c_reg0[3][1] = (f32x8){0};
        c_reg0[4][0] = (f32x8){0};
        c_reg0[4][1] = (f32x8){0};
        c_reg0[5][0] = (f32x8){0};
        c_reg0[5][1] = (f32x8){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 16; ++k0) {
          {
            f32x8 b_reg0[1][2];
            b_reg0[0][0] = load_f32x8(&c[16 * k0]);
            b_reg0[0][1] = load_f32x8(&c[16 * k0 + 8]);
            c_reg0[0][0] += out_L1_0[16 * m0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += out_L1_0[16 * m0 + k0] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
            c_reg0[1][0] += out_L1_0[16 * m0 + k0 + 16] * b_reg0[0][0];
            c_reg0[1][1] += out_L1_0[16 * m0 + k0 + 16] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
            c_reg0[2][0] += out_L1_0[16 * m0 + k0 + 32] * b_reg0[0][0];
            c_reg0[2][1] += out_L1_0[16 * m0 + k0 + 32] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
            c_reg0[3][0] += out_L1_0[16 * m0 + k0 + 48] * b_reg0[0][0];
            c_reg0[3][1] += out_L1_0[16 * m0 + k0 + 48] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
            c_reg0[4][0] += out_L1_0[16 * m0 + k0 + 64] * b_reg0[0][0];
            c_reg0[4][1] += out_L1_0[16 * m0 + k0 + 64] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
            c_reg0[5][0] += out_L1_0[16 * m0 + k0 + 80] * b_reg0[0][0];
            c_reg0[5][1] += out_L1_0[16 * m0 + k0 + 80] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
          }
        }
        store_f32x8(&out[16 * m0], c_reg0[0][0]);
        store_f32x8(&out[16 * m0 + 8], c_reg0[0][1]);
        store_f32x8(&out[16 * m0 + 16], c_reg0[1][0]);
        store_f32x8(&out[16 * m0 + 24], c_reg0[1][1]);
        store_f32x8(&out[16 * m0 + 32], c_reg0[2][0]);
        store_f32x8(&out[16 * m0 + 40], c_reg0[2][1]);
        store_f32x8(&out[16 * m0 + 48], c_reg0[3][0]);
        store_f32x8(&out[16 * m0 + 56], c_reg0[3][1]);
        store_f32x8(&out[16 * m0 + 64], c_reg0[4][0]);
        store_f32x8(&out[16 * m0 + 72], c_reg0[4][1]);
        store_f32x8(&out[16 * m0 + 80], c_reg0[5][0]);
        store_f32x8(&out[16 * m0 + 88], c_reg0[5][1]);
      }
    }
    {
      __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
      f32x8 c_reg0[4][2];
      c_reg0[0][0] = (f32x8){0};
      c_reg0[0][1] = (f32x8){0};
      c_reg0[1][0] = (f32x8){0};
      c_reg0[1][1] = (f32x8){0};
      c_reg0[2][0] = (f32x8){0};
      c_reg0[2][1] = (f32x8){0};
      c_reg0[3][0] = (f32x8){0};
      c_reg0[3][1] = (f32x8){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 16; ++k0) {
        {
          f32x8 b_reg0[1][2];
          b_reg0[0][0] = load_f32x8(&c[16 * k0]);
          b_reg0[0][1] = load_f32x8(&c[16 * k0 + 8]);
          c_reg0[0][0] += out_L1_0[k0 + 192] * b_reg0[0][0];
          c_reg0[0][1] += out_L1_0[k0 + 192] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
          c_reg0[1][0] += out_L1_0[k0 + 208] * b_reg0[0][0];
          c_reg0[1][1] += out_L1_0[k0 + 208] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
          c_reg0[2][0] += out_L1_0[k0 + 224] * b_reg0[0][0];
          c_reg0[2][1] += out_L1_0[k0 + 224] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
          c_reg0[3][0] += out_L1_0[k0 + 240] * b_reg0[0][0];
          c_reg0[3][1] += out_L1_0[k0 + 240] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
        }
      }
      store_f32x8(&out[192], c_reg0[0][0]);
      store_f32x8(&out[200], c_reg0[0][1]);
      store_f32x8(&out[208], c_reg0[1][0]);
      store_f32x8(&out[216], c_reg0[1][1]);
      store_f32x8(&out[224], c_reg0[2][0]);
      store_f32x8(&out[232], c_reg0[2][1]);
      store_f32x8(&out[240], c_reg0[3][0]);
      store_f32x8(&out[248], c_reg0[3][1]);
    }
  }
}

// layer_norm(f32[8,64], f32[64], f32[64])
__attribute__((force_align_arg_pointer))
void kernel_22(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[192];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[8]{0} */
      store_f32x8(&out_L1_1[0], (f32x8){0});
      for (long i0 = 0; i0 < 8; ++i0) {
        out_L1_1[i0] += sum_run_f32x8(&a[64 * i0], 64);
      }
      {
        f32x8 x_reg0[1];
        x_reg0[0] = load_f32x8(&out_L1_1[0]);
        {
          f32x8 out_reg0[1];
          out_reg0[0] = x_reg0[0] * splat_f32x8((0.015625f));
          store_f32x8(&out_L1_0[0], out_reg0[0]);
        }
      }
    }
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[8]{0} */
      {
        f32x8 out_reg0[1];
        {
          f32x8 out_reg1[1];
          {
            float *const restrict out_L1_2 = (float *)(workspace + 128);  /* f32[8]{0} */
            store_f32x8(&out_L1_2[0], (f32x8){0});
            for (long i0 = 0; i0 < 8; ++i0) {
              out_L1_2[i0] += deviations_run_f32x8(&a[64 * i0], out_L1_0[i0], 64);
            }
            {
              f32x8 x_reg0[1];
              x_reg0[0] = load_f32x8(&out_L1_2[0]);
              out_reg1[0] = x_reg0[0] * splat_f32x8((0.015625f));
            }
          }
          out_reg0[0] = out_reg1[0] + splat_f32x8((1e-05f));
        }
        {
          f32x8 out_reg1[1];
          out_reg1[0] = rsqrt_f32x8(out_reg0[0]);
          store_f32x8(&out_L1_1[0], out_reg1[0]);
        }
      }
      for (long j0 = 0; j0 < 64; j0 += 8) {
        {
          f32x8 out_reg0[8][1];
          {
            f32x8 out_reg1[4][1];
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[0]);
              }
              out_reg1[0][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[0]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 64]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[1]);
              }
              out_reg1[1][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[1]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 128]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[2]);
              }
              out_reg1[2][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[2]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 192]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[3]);
              }
              out_reg1[3][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[3]);
            }
            {
              f32x8 b_reg0[1];
              b_reg0[0] = load_f32x8(&b[j0]);
              out_reg0[0][0] = out_reg1[0][0] * b_reg0[0];
              out_reg0[1][0] = out_reg1[1][0] * b_reg0[0];
              out_reg0[2][0] = out_reg1[2][0] * b_reg0[0];
              out_reg0[3][0] = out_reg1[3][0] * b_reg0[0];
            }
          }
          {
            f32x8 out_reg1[4][1];
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 256]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[4]);
              }
              out_reg1[0][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[4]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 320]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[5]);
              }
              out_reg1[1][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[5]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 384]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[6]);
              }
              out_reg1[2][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[6]);
            }
            {
              f32x8 out_reg2[1][1];
              {
                f32x8 a_reg0[1][1];
                a_reg0[0][0] = load_f32x8(&a[j0 + 448]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x8(out_L1_0[7]);
              }
              out_reg1[3][0] = out_reg2[0][0] * splat_f32x8(out_L1_1[7]);
            }
            {
              f32x8 b_reg0[1];
              b_reg0[0] = load_f32x8(&b[j0]);
              out_reg0[4][0] = out_reg1[0][0] * b_reg0[0];
              out_reg0[5][0] = out_reg1[1][0] * b_reg0[0];
              out_reg0[6][0] = out_reg1[2][0] * b_reg0[0];
              out_reg0[7][0] = out_reg1[3][0] * b_reg0[0];
            }
          }
          {
            f32x8 b_reg0[1];
            b_reg0[0] = load_f32x8(&c[j0]);
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[0][0] + b_reg0[0];
              store_f32x8(&out[j0], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[1][0] + b_reg0[0];
              store_f32x8(&out[j0 + 64], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[2][0] + b_reg0[0];
              store_f32x8(&out[j0 + 128], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[3][0] + b_reg0[0];
              store_f32x8(&out[j0 + 192], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[4][0] + b_reg0[0];
              store_f32x8(&out[j0 + 256], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[5][0] + b_reg0[0];
              store_f32x8(&out[j0 + 320], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[6][0] + b_reg0[0];
              store_f32x8(&out[j0 + 384], out_reg1[0][0]);
            }
            {
              f32x8 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[7][0] + b_reg0[0];
              store_f32x8(&out[j0 + 448], out_reg1[0][0]);
            }
          }
        }
      }
    }
  }
}

// sum(f32[32,48], axis=1)
__attribute__((force_align_arg_pointer))
void kernel_25(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 32; i0 += 8) {
    store_f32x8(&out[i0], (f32x8){0});
  }
  for (long i0 = 0; i0 < 32; ++i0) {
    out[i0] += sum_run_f32x8(&x[48 * i0], 48);
  }
}

// transpose(f32[32,48])
__attribute__((force_align_arg_pointer))
void kernel_28(const float *restrict src, float *restrict dst) {
  for (long i0 = 0; i0 < 48; i0 += 8) {
    for (long j0 = 0; j0 < 32; j0 += 8) {
      transpose_4_8(&src[i0 + 48 * j0], 48, &dst[32 * i0 + j0], 32);
    }
  }
}

// conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)
__attribute__((force_align_arg_pointer))
void kernel_35(const float *restrict image, const float *restrict filter, float *restrict out) {
  _Alignas(64) unsigned char workspace[2624];
  {
    float *const restrict dst_L1_0 = (float *)(workspace + 0);  /* f32[1,8,9,9]{3,2,1,0} */
    for (long j0 = 0; j0 < 8; ++j0) {
      __asm__ volatile("");  // no gathers
      for (long k0 = 0; k0 < 9; ++k0) {
        __asm__ volatile("");  // no gathers
        for (long l0 = 0; l0 < 9; ++l0) {
          dst_L1_0[81 * j0 + 9 * k0 + l0] = 0;
        }
      }
    }
    for (long j0 = 0; j0 < 8; ++j0) {
      for (long k0 = 0; k0 < 7; ++k0) {
        for (long l0 = 0; l0 < 7; l0 += 4) {
          if (l0 > 3) l0 = 3;
          store_f32x4(&dst_L1_0[81 * j0 + 9 * k0 + l0 + 10], load_f32x4(&image[49 * j0 + 7 * k0 + l0]));
        }
      }
    }
    for (long y0 = 0; y0 < 4; ++y0) {
      {
        f32x4 out_reg0[1][8][1][1];
        out_reg0[0][0][0][0] = (f32x4){0};
        out_reg0[0][1][0][0] = (f32x4){0};
        out_reg0[0][2][0][0] = (f32x4){0};
        out_reg0[0][3][0][0] = (f32x4){0};
        out_reg0[0][4][0][0] = (f32x4){0};
        out_reg0[0][5][0][0] = (f32x4){0};
        out_reg0[0][6][0][0] = (f32x4){0};
        out_reg0[0][7][0][0] = (f32x4){0};
        for (long c0 = 0; c0 < 8; ++c0) {
          for (long p0 = 0; p0 < 3; ++p0) {
            #pragma GCC unroll 3
            for (long q0 = 0; q0 < 3; ++q0) {
              out_reg0[0][0][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[0 * 72];
              out_reg0[0][1][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[1 * 72];
              out_reg0[0][2][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[2 * 72];
              out_reg0[0][3][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[3 * 72];
              out_reg0[0][4][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[4 * 72];
              out_reg0[0][5][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[5 * 72];
              out_reg0[0][6][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[6 * 72];
              out_reg0[0][7][0][0] += every_second_f32x4(&dst_L1_0[18 * y0 + 81 * c0 + 9 * p0 + q0]) * (&filter[9 * c0 + 3 * p0 + q0])[7 * 72];
              __asm__ volatile("" : "+v"(out_reg0[0][0][0][0]), "+v"(out_reg0[0][1][0][0]), "+v"(out_reg0[0][2][0][0]), "+v"(out_reg0[0][3][0][0]), "+v"(out_reg0[0][4][0][0]), "+v"(out_reg0[0][5][0][0]), "+v"(out_reg0[0][6][0][0]), "+v"(out_reg0[0][7][0][0]));
            }
          }
        }
        store_f32x4(&out[4 * y0], out_reg0[0][0][0][0]);
        store_f32x4(&out[4 * y0 + 16], out_reg0[0][1][0][0]);
        store_f32x4(&out[4 * y0 + 32], out_reg0[0][2][0][0]);
        store_f32x4(&out[4 * y0 + 48], out_reg0[0][3][0][0]);
        store_f32x4(&out[4 * y0 + 64], out_reg0[0][4][0][0]);
        store_f32x4(&out[4 * y0 + 80], out_reg0[0][5][0][0]);
        store_f32x4(&out[4 * y0 + 96], out_reg0[0][6][0][0]);
        store_f32x4(&out[4 * y0 + 112], out_reg0[0][7][0][0]);
      }
    }
  }
}

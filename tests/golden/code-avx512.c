// f32[16,16] @ f32[16,16]
__attribute__((force_align_arg_pointer))
void kernel_0(const float *restrict a, const float *restrict b, float *restrict c) {
  {
    f32x16 b_reg0[16][1];
    b_reg0[0][0] = load_f32x16(&b[0]);
    b_reg0[1][0] = load_f32x16(&b[16]);
    b_reg0[2][0] = load_f32x16(&b[32]);
    b_reg0[3][0] = load_f32x16(&b[48]);
    b_reg0[4][0] = load_f32x16(&b[64]);
    b_reg0[5][0] = load_f32x16(&b[80]);
    b_reg0[6][0] = load_f32x16(&b[96]);
    b_reg0[7][0] = load_f32x16(&b[112]);
    b_reg0[8][0] = load_f32x16(&b[128]);
    b_reg0[9][0] = load_f32x16(&b[144]);
    b_reg0[10][0] = load_f32x16(&b[160]);
    b_reg0[11][0] = load_f32x16(&b[176]);
    b_reg0[12][0] = load_f32x16(&b[192]);
    b_reg0[13][0] = load_f32x16(&b[208]);
    b_reg0[14][0] = load_f32x16(&b[224]);
    b_reg0[15][0] = load_f32x16(&b[240]);
    for (long m0 = 0; m0 < 16; ++m0) {
      {
        f32x16 c_reg0[1][1];
        c_reg0[0][0] = (f32x16){0};
        c_reg0[0][0] += a[16 * m0] * b_reg0[0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 1] * b_reg0[1][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 2] * b_reg0[2][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 3] * b_reg0[3][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 4] * b_reg0[4][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 5] * b_reg0[5][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 6] * b_reg0[6][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 7] * b_reg0[7][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 8] * b_reg0[8][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 9] * b_reg0[9][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 10] * b_reg0[10][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 11] * b_reg0[11][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 12] * b_reg0[12][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 13] * b_reg0[13][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 14] * b_reg0[14][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        c_reg0[0][0] += a[16 * m0 + 15] * b_reg0[15][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0]));
        store_f32x16(&c[16 * m0], c_reg0[0][0]);
      }
    }
  }
}

// f32[64,64] @ f32[64,64]
__attribute__((force_align_arg_pointer))
void kernel_1(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 56; m0 += 14) {
    for (long n0 = 0; n0 < 64; n0 += 32) {
      {
        f32x16 c_reg0[14][2];
        c_reg0[0][0] = (f32x16){0};
        c_reg0[0][1] = (f32x16){0};
        c_reg0[1][0] = (f32x16){0};
        c_reg0[1][1] = (f32x16){0};
        c_reg0[2][0] = (f32x16){0};
        c_reg0[2][1] = (f32x16){0};
        c_reg0[3][0] = (f32x16){0};
        c_reg0[3][1] = (f32x16){0};
        c_reg0[4][0] = (f32x16){0};
        c_reg0[4][1] = (f32x16){0};
        c_reg0[5][0] = (f32x16){0};
        c_reg0[5][1] = (f32x16){0};
        c_reg0[6][0] = (f32x16){0};
        c_reg0[6][1] = (f32x16){0};
        c_reg0[7][0] = (f32x16){0};
        c_reg0[7][1] = (f32x16){0};
        c_reg0[8][0] = (f32x16){0};
        c_reg0[8][1] = (f32x16){0};
        c_reg0[9][0] = (f32x16){0};
        c_reg0[9][1] = (f32x16){0};
        c_reg0[10][0] = (f32x16){0};
        c_reg0[10][1] = (f32x16){0};
        c_reg0[11][0] = (f32x16){0};
        c_reg0[11][1] = (f32x16){0};
        c_reg0[12][0] = (f32x16){0};
        c_reg0[12][1] = (f32x16){0};
        c_reg0[13][0] = (f32x16){0};
        c_reg0[13][1] = (f32x16){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 64; ++k0) {
          {
            f32x16 b_reg0[1][2];
            b_reg0[0][0] = load_f32x16(&b[n0 + 64 * k0]);
            b_reg0[0][1] = load_f32x16(&b[n0 + 64 * k0 + 16]);
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
            c_reg0[6][0] += a[64 * m0 + k0 + 384] * b_reg0[0][0];
            c_reg0[6][1] += a[64 * m0 + k0 + 384] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
            c_reg0[7][0] += a[64 * m0 + k0 + 448] * b_reg0[0][0];
            c_reg0[7][1] += a[64 * m0 + k0 + 448] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
            c_reg0[8][0] += a[64 * m0 + k0 + 512] * b_reg0[0][0];
            c_reg0[8][1] += a[64 * m0 + k0 + 512] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[8][0]), "+v"(c_reg0[8][1]));
            c_reg0[9][0] += a[64 * m0 + k0 + 576] * b_reg0[0][0];
            c_reg0[9][1] += a[64 * m0 + k0 + 576] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[9][0]), "+v"(c_reg0[9][1]));
            c_reg0[10][0] += a[64 * m0 + k0 + 640] * b_reg0[0][0];
            c_reg0[10][1] += a[64 * m0 + k0 + 640] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[10][0]), "+v"(c_reg0[10][1]));
            c_reg0[11][0] += a[64 * m0 + k0 + 704] * b_reg0[0][0];
            c_reg0[11][1] += a[64 * m0 + k0 + 704] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[11][0]), "+v"(c_reg0[11][1]));
            c_reg0[12][0] += a[64 * m0 + k0 + 768] * b_reg0[0][0];
            c_reg0[12][1] += a[64 * m0 + k0 + 768] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[12][0]), "+v"(c_reg0[12][1]));
            c_reg0[13][0] += a[64 * m0 + k0 + 832] * b_reg0[0][0];
            c_reg0[13][1] += a[64 * m0 + k0 + 832] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[13][0]), "+v"(c_reg0[13][1]));
          }
        }
        store_f32x16(&c[64 * m0 + n0], c_reg0[0][0]);
        store_f32x16(&c[64 * m0 + n0 + 16], c_reg0[0][1]);
        store_f32x16(&c[64 * m0 + n0 + 64], c_reg0[1][0]);
        store_f32x16(&c[64 * m0 + n0 + 80], c_reg0[1][1]);
        store_f32x16(&c[64 * m0 + n0 + 128], c_reg0[2][0]);
        store_f32x16(&c[64 * m0 + n0 + 144], c_reg0[2][1]);
        store_f32x16(&c[64 * m0 + n0 + 192], c_reg0[3][0]);
        store_f32x16(&c[64 * m0 + n0 + 208], c_reg0[3][1]);
        store_f32x16(&c[64 * m0 + n0 + 256], c_reg0[4][0]);
        store_f32x16(&c[64 * m0 + n0 + 272], c_reg0[4][1]);
        store_f32x16(&c[64 * m0 + n0 + 320], c_reg0[5][0]);
        store_f32x16(&c[64 * m0 + n0 + 336], c_reg0[5][1]);
        store_f32x16(&c[64 * m0 + n0 + 384], c_reg0[6][0]);
        store_f32x16(&c[64 * m0 + n0 + 400], c_reg0[6][1]);
        store_f32x16(&c[64 * m0 + n0 + 448], c_reg0[7][0]);
        store_f32x16(&c[64 * m0 + n0 + 464], c_reg0[7][1]);
        store_f32x16(&c[64 * m0 + n0 + 512], c_reg0[8][0]);
        store_f32x16(&c[64 * m0 + n0 + 528], c_reg0[8][1]);
        store_f32x16(&c[64 * m0 + n0 + 576], c_reg0[9][0]);
        store_f32x16(&c[64 * m0 + n0 + 592], c_reg0[9][1]);
        store_f32x16(&c[64 * m0 + n0 + 640], c_reg0[10][0]);
        store_f32x16(&c[64 * m0 + n0 + 656], c_reg0[10][1]);
        store_f32x16(&c[64 * m0 + n0 + 704], c_reg0[11][0]);
        store_f32x16(&c[64 * m0 + n0 + 720], c_reg0[11][1]);
        store_f32x16(&c[64 * m0 + n0 + 768], c_reg0[12][0]);
        store_f32x16(&c[64 * m0 + n0 + 784], c_reg0[12][1]);
        store_f32x16(&c[64 * m0 + n0 + 832], c_reg0[13][0]);
        store_f32x16(&c[64 * m0 + n0 + 848], c_reg0[13][1]);
      }
    }
  }
  for (long n0 = 0; n0 < 64; n0 += 32) {
    {
      f32x16 c_reg0[8][2];
      c_reg0[0][0] = (f32x16){0};
      c_reg0[0][1] = (f32x16){0};
      c_reg0[1][0] = (f32x16){0};
      c_reg0[1][1] = (f32x16){0};
      c_reg0[2][0] = (f32x16){0};
      c_reg0[2][1] = (f32x16){0};
      c_reg0[3][0] = (f32x16){0};
      c_reg0[3][1] = (f32x16){0};
      c_reg0[4][0] = (f32x16){0};
      c_reg0[4][1] = (f32x16){0};
      c_reg0[5][0] = (f32x16){0};
      c_reg0[5][1] = (f32x16){0};
      c_reg0[6][0] = (f32x16){0};
      c_reg0[6][1] = (f32x16){0};
      c_reg0[7][0] = (f32x16){0};
      c_reg0[7][1] = (f32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 64; ++k0) {
        {
          f32x16 b_reg0[1][2];
          b_reg0[0][0] = load_f32x16(&b[n0 + 64 * k0]);
          b_reg0[0][1] = load_f32x16(&b[n0 + 64 * k0 + 16]);
          c_reg0[0][0] += a[k0 + 3584] * b_reg0[0][0];
          c_reg0[0][1] += a[k0 + 3584] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
          c_reg0[1][0] += a[k0 + 3648] * b_reg0[0][0];
          c_reg0[1][1] += a[k0 + 3648] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
          c_reg0[2][0] += a[k0 + 3712] * b_reg0[0][0];
          c_reg0[2][1] += a[k0 + 3712] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
          c_reg0[3][0] += a[k0 + 3776] * b_reg0[0][0];
          c_reg0[3][1] += a[k0 + 3776] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
          c_reg0[4][0] += a[k0 + 3840] * b_reg0[0][0];
          c_reg0[4][1] += a[k0 + 3840] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
          c_reg0[5][0] += a[k0 + 3904] * b_reg0[0][0];
          c_reg0[5][1] += a[k0 + 3904] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
          c_reg0[6][0] += a[k0 + 3968] * b_reg0[0][0];
          c_reg0[6][1] += a[k0 + 3968] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
          c_reg0[7][0] += a[k0 + 4032] * b_reg0[0][0];
          c_reg0[7][1] += a[k0 + 4032] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
        }
      }
      store_f32x16(&c[n0 + 3584], c_reg0[0][0]);
      store_f32x16(&c[n0 + 3600], c_reg0[0][1]);
      store_f32x16(&c[n0 + 3648], c_reg0[1][0]);
      store_f32x16(&c[n0 + 3664], c_reg0[1][1]);
      store_f32x16(&c[n0 + 3712], c_reg0[2][0]);
      store_f32x16(&c[n0 + 3728], c_reg0[2][1]);
      store_f32x16(&c[n0 + 3776], c_reg0[3][0]);
      store_f32x16(&c[n0 + 3792], c_reg0[3][1]);
      store_f32x16(&c[n0 + 3840], c_reg0[4][0]);
      store_f32x16(&c[n0 + 3856], c_reg0[4][1]);
      store_f32x16(&c[n0 + 3904], c_reg0[5][0]);
      store_f32x16(&c[n0 + 3920], c_reg0[5][1]);
      store_f32x16(&c[n0 + 3968], c_reg0[6][0]);
      store_f32x16(&c[n0 + 3984], c_reg0[6][1]);
      store_f32x16(&c[n0 + 4032], c_reg0[7][0]);
      store_f32x16(&c[n0 + 4048], c_reg0[7][1]);
    }
  }
}

// f32[7,13] @ f32[13,11]
__attribute__((force_align_arg_pointer))
void kernel_2(const float *restrict a, const float *restrict b, float *restrict c) {
  {
    f32x16 b_reg0[13][1];
    b_reg0[0][0] = load_part_f32x16(&b[0], 11);
    b_reg0[1][0] = load_part_f32x16(&b[11], 11);
    b_reg0[2][0] = load_part_f32x16(&b[22], 11);
    b_reg0[3][0] = load_part_f32x16(&b[33], 11);
    b_reg0[4][0] = load_part_f32x16(&b[44], 11);
    b_reg0[5][0] = load_part_f32x16(&b[55], 11);
    b_reg0[6][0] = load_part_f32x16(&b[66], 11);
    b_reg0[7][0] = load_part_f32x16(&b[77], 11);
    b_reg0[8][0] = load_part_f32x16(&b[88], 11);
    b_reg0[9][0] = load_part_f32x16(&b[99], 11);
    b_reg0[10][0] = load_part_f32x16(&b[110], 11);
    b_reg0[11][0] = load_part_f32x16(&b[121], 11);
    b_reg0[12][0] = load_part_f32x16(&b[132], 11);
    for (long m0 = 0; m0 < 7; ++m0) {
      {
        f32x16 c_reg0[1][1];
        c_reg0[0][0] = (f32x16){0};
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
        store_part_f32x16(&c[11 * m0], c_reg0[0][0], 11);
      }
    }
  }
}

// f32[1,64] @ f32[64,96]
__attribute__((force_align_arg_pointer))
void kernel_3(const float *restrict a, const float *restrict b, float *restrict c) {
  {
    f32x16 c_reg0[1][6];
    c_reg0[0][0] = (f32x16){0};
    c_reg0[0][1] = (f32x16){0};
    c_reg0[0][2] = (f32x16){0};
    c_reg0[0][3] = (f32x16){0};
    c_reg0[0][4] = (f32x16){0};
    c_reg0[0][5] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 64; ++k0) {
      {
        f32x16 b_reg0[1][6];
        b_reg0[0][0] = load_f32x16(&b[96 * k0]);
        b_reg0[0][1] = load_f32x16(&b[96 * k0 + 16]);
        b_reg0[0][2] = load_f32x16(&b[96 * k0 + 32]);
        b_reg0[0][3] = load_f32x16(&b[96 * k0 + 48]);
        b_reg0[0][4] = load_f32x16(&b[96 * k0 + 64]);
        b_reg0[0][5] = load_f32x16(&b[96 * k0 + 80]);
        c_reg0[0][0] += a[k0] * b_reg0[0][0];
        c_reg0[0][1] += a[k0] * b_reg0[0][1];
        c_reg0[0][2] += a[k0] * b_reg0[0][2];
        c_reg0[0][3] += a[k0] * b_reg0[0][3];
        c_reg0[0][4] += a[k0] * b_reg0[0][4];
        c_reg0[0][5] += a[k0] * b_reg0[0][5];
        __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]), "+v"(c_reg0[0][2]), "+v"(c_reg0[0][3]), "+v"(c_reg0[0][4]), "+v"(c_reg0[0][5]));
      }
    }
    store_f32x16(&c[0], c_reg0[0][0]);
    store_f32x16(&c[16], c_reg0[0][1]);
    store_f32x16(&c[32], c_reg0[0][2]);
    store_f32x16(&c[48], c_reg0[0][3]);
    store_f32x16(&c[64], c_reg0[0][4]);
    store_f32x16(&c[80], c_reg0[0][5]);
  }
}

// f32[64,96] @ f32[96,1]
__attribute__((force_align_arg_pointer))
void kernel_4(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 64; ++m0) {
    {
      float c_reg0[1][1];
      c_reg0[0][0] = 0;
      c_reg0[0][0] += dot_f32_f32(&a[96 * m0], &b[0], 96);
      c[m0] = c_reg0[0][0];
    }
  }
}

// f32[3,8,16] @ f32[3,16,8]
__attribute__((force_align_arg_pointer))
void kernel_5(const float *restrict a, const float *restrict b, float *restrict c) {
  {
    f32x16 c_reg0[3][8][1];
    c_reg0[0][0][0] = (f32x16){0};
    c_reg0[0][1][0] = (f32x16){0};
    c_reg0[0][2][0] = (f32x16){0};
    c_reg0[0][3][0] = (f32x16){0};
    c_reg0[0][4][0] = (f32x16){0};
    c_reg0[0][5][0] = (f32x16){0};
    c_reg0[0][6][0] = (f32x16){0};
    c_reg0[0][7][0] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 16; ++k0) {
      {
        f32x16 b_reg0[1][1][1];
        b_reg0[0][0][0] = load_part_f32x16(&b[8 * k0], 8);
        c_reg0[0][0][0] += a[k0] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][0][0]));
        c_reg0[0][1][0] += a[k0 + 16] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][1][0]));
        c_reg0[0][2][0] += a[k0 + 32] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][2][0]));
        c_reg0[0][3][0] += a[k0 + 48] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][3][0]));
        c_reg0[0][4][0] += a[k0 + 64] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][4][0]));
        c_reg0[0][5][0] += a[k0 + 80] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][5][0]));
        c_reg0[0][6][0] += a[k0 + 96] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][6][0]));
        c_reg0[0][7][0] += a[k0 + 112] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[0][7][0]));
      }
    }
    c_reg0[1][0][0] = (f32x16){0};
    c_reg0[1][1][0] = (f32x16){0};
    c_reg0[1][2][0] = (f32x16){0};
    c_reg0[1][3][0] = (f32x16){0};
    c_reg0[1][4][0] = (f32x16){0};
    c_reg0[1][5][0] = (f32x16){0};
    c_reg0[1][6][0] = (f32x16){0};
    c_reg0[1][7][0] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 16; ++k0) {
      {
        f32x16 b_reg0[1][1][1];
        b_reg0[0][0][0] = load_part_f32x16(&b[8 * k0 + 128], 8);
        c_reg0[1][0][0] += a[k0 + 128] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][0][0]));
        c_reg0[1][1][0] += a[k0 + 144] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][1][0]));
        c_reg0[1][2][0] += a[k0 + 160] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][2][0]));
        c_reg0[1][3][0] += a[k0 + 176] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][3][0]));
        c_reg0[1][4][0] += a[k0 + 192] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][4][0]));
        c_reg0[1][5][0] += a[k0 + 208] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][5][0]));
        c_reg0[1][6][0] += a[k0 + 224] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][6][0]));
        c_reg0[1][7][0] += a[k0 + 240] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[1][7][0]));
      }
    }
    c_reg0[2][0][0] = (f32x16){0};
    c_reg0[2][1][0] = (f32x16){0};
    c_reg0[2][2][0] = (f32x16){0};
    c_reg0[2][3][0] = (f32x16){0};
    c_reg0[2][4][0] = (f32x16){0};
    c_reg0[2][5][0] = (f32x16){0};
    c_reg0[2][6][0] = (f32x16){0};
    c_reg0[2][7][0] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 16; ++k0) {
      {
        f32x16 b_reg0[1][1][1];
        b_reg0[0][0][0] = load_part_f32x16(&b[8 * k0 + 256], 8);
        c_reg0[2][0][0] += a[k0 + 256] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][0][0]));
        c_reg0[2][1][0] += a[k0 + 272] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][1][0]));
        c_reg0[2][2][0] += a[k0 + 288] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][2][0]));
        c_reg0[2][3][0] += a[k0 + 304] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][3][0]));
        c_reg0[2][4][0] += a[k0 + 320] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][4][0]));
        c_reg0[2][5][0] += a[k0 + 336] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][5][0]));
        c_reg0[2][6][0] += a[k0 + 352] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][6][0]));
        c_reg0[2][7][0] += a[k0 + 368] * b_reg0[0][0][0];
        __asm__ volatile("" : "+v"(c_reg0[2][7][0]));
      }
    }
    store_part_f32x16(&c[0], c_reg0[0][0][0], 8);
    store_part_f32x16(&c[8], c_reg0[0][1][0], 8);
    store_part_f32x16(&c[16], c_reg0[0][2][0], 8);
    store_part_f32x16(&c[24], c_reg0[0][3][0], 8);
    store_part_f32x16(&c[32], c_reg0[0][4][0], 8);
    store_part_f32x16(&c[40], c_reg0[0][5][0], 8);
    store_part_f32x16(&c[48], c_reg0[0][6][0], 8);
    store_part_f32x16(&c[56], c_reg0[0][7][0], 8);
    store_part_f32x16(&c[64], c_reg0[1][0][0], 8);
    store_part_f32x16(&c[72], c_reg0[1][1][0], 8);
    store_part_f32x16(&c[80], c_reg0[1][2][0], 8);
    store_part_f32x16(&c[88], c_reg0[1][3][0], 8);
    store_part_f32x16(&c[96], c_reg0[1][4][0], 8);
    store_part_f32x16(&c[104], c_reg0[1][5][0], 8);
    store_part_f32x16(&c[112], c_reg0[1][6][0], 8);
    store_part_f32x16(&c[120], c_reg0[1][7][0], 8);
    store_part_f32x16(&c[128], c_reg0[2][0][0], 8);
    store_part_f32x16(&c[136], c_reg0[2][1][0], 8);
    store_part_f32x16(&c[144], c_reg0[2][2][0], 8);
    store_part_f32x16(&c[152], c_reg0[2][3][0], 8);
    store_part_f32x16(&c[160], c_reg0[2][4][0], 8);
    store_part_f32x16(&c[168], c_reg0[2][5][0], 8);
    store_part_f32x16(&c[176], c_reg0[2][6][0], 8);
    store_part_f32x16(&c[184], c_reg0[2][7][0], 8);
  }
}

// f32[256,256] @ f32[256,256]
__attribute__((force_align_arg_pointer))
void kernel_6(const float *restrict a, const float *restrict b, float *restrict c) {
  static _Thread_local _Alignas(64) unsigned char workspace[262144];
  {
    float *const restrict b_L2_0 = (float *)(workspace + 0);  /* f32[256,256]{0,1:T(32,1)} */
    for (long i0 = 0; i0 < 256; i0 += 16) {
      for (long i1 = 0; i1 < 16; i1 += 2) {
        for (long j0 = 0; j0 < 256; j0 += 32) {
          for (long j1 = 0; j1 < 32; j1 += 16) {
            for (long i2 = 0; i2 < 2; ++i2) {
              store_f32x16(&b_L2_0[32 * i0 + 32 * i1 + 256 * j0 + j1 + 32 * i2], load_f32x16(&b[256 * i0 + 256 * i1 + j0 + j1 + 256 * i2]));
            }
          }
        }
      }
    }
    for (long m0 = 0; m0 < 256; m0 += 64) {
      for (long m1 = 0; m1 < 56; m1 += 14) {
        for (long n0 = 0; n0 < 256; n0 += 32) {
          {
            f32x16 c_reg0[14][2];
            c_reg0[0][0] = (f32x16){0};
            c_reg0[0][1] = (f32x16){0};
            c_reg0[1][0] = (f32x16){0};
            c_reg0[1][1] = (f32x16){0};
            c_reg0[2][0] = (f32x16){0};
            c_reg0[2][1] = (f32x16){0};
            c_reg0[3][0] = (f32x16){0};
            c_reg0[3][1] = (f32x16){0};
            c_reg0[4][0] = (f32x16){0};
            c_reg0[4][1] = (f32x16){0};
            c_reg0[5][0] = (f32x16){0};
            c_reg0[5][1] = (f32x16){0};
            c_reg0[6][0] = (f32x16){0};
            c_reg0[6][1] = (f32x16){0};
            c_reg0[7][0] = (f32x16){0};
            c_reg0[7][1] = (f32x16){0};
            c_reg0[8][0] = (f32x16){0};
            c_reg0[8][1] = (f32x16){0};
            c_reg0[9][0] = (f32x16){0};
            c_reg0[9][1] = (f32x16){0};
            c_reg0[10][0] = (f32x16){0};
            c_reg0[10][1] = (f32x16){0};
            c_reg0[11][0] = (f32x16){0};
            c_reg0[11][1] = (f32x16){0};
            c_reg0[12][0] = (f32x16){0};
            c_reg0[12][1] = (f32x16){0};
            c_reg0[13][0] = (f32x16){0};
            c_reg0[13][1] = (f32x16){0};
            #pragma GCC unroll 4
            for (long k0 = 0; k0 < 256; ++k0) {
              {
                f32x16 b_reg0[1][2];
                b_reg0[0][0] = load_f32x16(&b_L2_0[256 * n0 + 32 * k0]);
                b_reg0[0][1] = load_f32x16(&b_L2_0[256 * n0 + 32 * k0 + 16]);
                c_reg0[0][0] += a[256 * m0 + 256 * m1 + k0] * b_reg0[0][0];
                c_reg0[0][1] += a[256 * m0 + 256 * m1 + k0] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
                c_reg0[1][0] += a[256 * m0 + 256 * m1 + k0 + 256] * b_reg0[0][0];
                c_reg0[1][1] += a[256 * m0 + 256 * m1 + k0 + 256] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
                c_reg0[2][0] += a[256 * m0 + 256 * m1 + k0 + 512] * b_reg0[0][0];
                c_reg0[2][1] += a[256 * m0 + 256 * m1 + k0 + 512] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
                c_reg0[3][0] += a[256 * m0 + 256 * m1 + k0 + 768] * b_reg0[0][0];
                c_reg0[3][1] += a[256 * m0 + 256 * m1 + k0 + 768] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
                c_reg0[4][0] += a[256 * m0 + 256 * m1 + k0 + 1024] * b_reg0[0][0];
                c_reg0[4][1] += a[256 * m0 + 256 * m1 + k0 + 1024] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
                c_reg0[5][0] += a[256 * m0 + 256 * m1 + k0 + 1280] * b_reg0[0][0];
                c_reg0[5][1] += a[256 * m0 + 256 * m1 + k0 + 1280] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
                c_reg0[6][0] += a[256 * m0 + 256 * m1 + k0 + 1536] * b_reg0[0][0];
                c_reg0[6][1] += a[256 * m0 + 256 * m1 + k0 + 1536] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
                c_reg0[7][0] += a[256 * m0 + 256 * m1 + k0 + 1792] * b_reg0[0][0];
                c_reg0[7][1] += a[256 * m0 + 256 * m1 + k0 + 1792] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
                c_reg0[8][0] += a[256 * m0 + 256 * m1 + k0 + 2048] * b_reg0[0][0];
                c_reg0[8][1] += a[256 * m0 + 256 * m1 + k0 + 2048] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[8][0]), "+v"(c_reg0[8][1]));
                c_reg0[9][0] += a[256 * m0 + 256 * m1 + k0 + 2304] * b_reg0[0][0];
                c_reg0[9][1] += a[256 * m0 + 256 * m1 + k0 + 2304] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[9][0]), "+v"(c_reg0[9][1]));
                c_reg0[10][0] += a[256 * m0 + 256 * m1 + k0 + 2560] * b_reg0[0][0];
                c_reg0[10][1] += a[256 * m0 + 256 * m1 + k0 + 2560] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[10][0]), "+v"(c_reg0[10][1]));
                c_reg0[11][0] += a[256 * m0 + 256 * m1 + k0 + 2816] * b_reg0[0][0];
                c_reg0[11][1] += a[256 * m0 + 256 * m1 + k0 + 2816] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[11][0]), "+v"(c_reg0[11][1]));
                c_reg0[12][0] += a[256 * m0 + 256 * m1 + k0 + 3072] * b_reg0[0][0];
                c_reg0[12][1] += a[256 * m0 + 256 * m1 + k0 + 3072] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[12][0]), "+v"(c_reg0[12][1]));
                c_reg0[13][0] += a[256 * m0 + 256 * m1 + k0 + 3328] * b_reg0[0][0];
                c_reg0[13][1] += a[256 * m0 + 256 * m1 + k0 + 3328] * b_reg0[0][1];
                __asm__ volatile("" : "+v"(c_reg0[13][0]), "+v"(c_reg0[13][1]));
              }
            }
            store_f32x16(&c[256 * m0 + 256 * m1 + n0], c_reg0[0][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 16], c_reg0[0][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 256], c_reg0[1][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 272], c_reg0[1][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 512], c_reg0[2][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 528], c_reg0[2][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 768], c_reg0[3][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 784], c_reg0[3][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1024], c_reg0[4][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1040], c_reg0[4][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1280], c_reg0[5][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1296], c_reg0[5][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1536], c_reg0[6][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1552], c_reg0[6][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1792], c_reg0[7][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 1808], c_reg0[7][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2048], c_reg0[8][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2064], c_reg0[8][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2304], c_reg0[9][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2320], c_reg0[9][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2560], c_reg0[10][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2576], c_reg0[10][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2816], c_reg0[11][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 2832], c_reg0[11][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 3072], c_reg0[12][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 3088], c_reg0[12][1]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 3328], c_reg0[13][0]);
            store_f32x16(&c[256 * m0 + 256 * m1 + n0 + 3344], c_reg0[13][1]);
          }
        }
      }
      for (long n0 = 0; n0 < 256; n0 += 32) {
        {
          f32x16 c_reg0[8][2];
          c_reg0[0][0] = (f32x16){0};
          c_reg0[0][1] = (f32x16){0};
          c_reg0[1][0] = (f32x16){0};
          c_reg0[1][1] = (f32x16){0};
          c_reg0[2][0] = (f32x16){0};
          c_reg0[2][1] = (f32x16){0};
          c_reg0[3][0] = (f32x16){0};
          c_reg0[3][1] = (f32x16){0};
          c_reg0[4][0] = (f32x16){0};
          c_reg0[4][1] = (f32x16){0};
          c_reg0[5][0] = (f32x16){0};
          c_reg0[5][1] = (f32x16){0};
          c_reg0[6][0] = (f32x16){0};
          c_reg0[6][1] = (f32x16){0};
          c_reg0[7][0] = (f32x16){0};
          c_reg0[7][1] = (f32x16){0};
          #pragma GCC unroll 4
          for (long k0 = 0; k0 < 256; ++k0) {
            {
              f32x16 b_reg0[1][2];
              b_reg0[0][0] = load_f32x16(&b_L2_0[256 * n0 + 32 * k0]);
              b_reg0[0][1] = load_f32x16(&b_L2_0[256 * n0 + 32 * k0 + 16]);
              c_reg0[0][0] += a[256 * m0 + k0 + 14336] * b_reg0[0][0];
              c_reg0[0][1] += a[256 * m0 + k0 + 14336] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
              c_reg0[1][0] += a[256 * m0 + k0 + 14592] * b_reg0[0][0];
              c_reg0[1][1] += a[256 * m0 + k0 + 14592] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
              c_reg0[2][0] += a[256 * m0 + k0 + 14848] * b_reg0[0][0];
              c_reg0[2][1] += a[256 * m0 + k0 + 14848] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
              c_reg0[3][0] += a[256 * m0 + k0 + 15104] * b_reg0[0][0];
              c_reg0[3][1] += a[256 * m0 + k0 + 15104] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
              c_reg0[4][0] += a[256 * m0 + k0 + 15360] * b_reg0[0][0];
              c_reg0[4][1] += a[256 * m0 + k0 + 15360] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
              c_reg0[5][0] += a[256 * m0 + k0 + 15616] * b_reg0[0][0];
              c_reg0[5][1] += a[256 * m0 + k0 + 15616] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
              c_reg0[6][0] += a[256 * m0 + k0 + 15872] * b_reg0[0][0];
              c_reg0[6][1] += a[256 * m0 + k0 + 15872] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
              c_reg0[7][0] += a[256 * m0 + k0 + 16128] * b_reg0[0][0];
              c_reg0[7][1] += a[256 * m0 + k0 + 16128] * b_reg0[0][1];
              __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
            }
          }
          store_f32x16(&c[256 * m0 + n0 + 14336], c_reg0[0][0]);
          store_f32x16(&c[256 * m0 + n0 + 14352], c_reg0[0][1]);
          store_f32x16(&c[256 * m0 + n0 + 14592], c_reg0[1][0]);
          store_f32x16(&c[256 * m0 + n0 + 14608], c_reg0[1][1]);
          store_f32x16(&c[256 * m0 + n0 + 14848], c_reg0[2][0]);
          store_f32x16(&c[256 * m0 + n0 + 14864], c_reg0[2][1]);
          store_f32x16(&c[256 * m0 + n0 + 15104], c_reg0[3][0]);
          store_f32x16(&c[256 * m0 + n0 + 15120], c_reg0[3][1]);
          store_f32x16(&c[256 * m0 + n0 + 15360], c_reg0[4][0]);
          store_f32x16(&c[256 * m0 + n0 + 15376], c_reg0[4][1]);
          store_f32x16(&c[256 * m0 + n0 + 15616], c_reg0[5][0]);
          store_f32x16(&c[256 * m0 + n0 + 15632], c_reg0[5][1]);
          store_f32x16(&c[256 * m0 + n0 + 15872], c_reg0[6][0]);
          store_f32x16(&c[256 * m0 + n0 + 15888], c_reg0[6][1]);
          store_f32x16(&c[256 * m0 + n0 + 16128], c_reg0[7][0]);
          store_f32x16(&c[256 * m0 + n0 + 16144], c_reg0[7][1]);
        }
      }
    }
  }
}

// f32[32,64]{0,1} @ f32[64,32]
__attribute__((force_align_arg_pointer))
void kernel_7(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 32; m0 += 8) {
    {
      f32x16 c_reg0[8][2];
      c_reg0[0][0] = (f32x16){0};
      c_reg0[0][1] = (f32x16){0};
      c_reg0[1][0] = (f32x16){0};
      c_reg0[1][1] = (f32x16){0};
      c_reg0[2][0] = (f32x16){0};
      c_reg0[2][1] = (f32x16){0};
      c_reg0[3][0] = (f32x16){0};
      c_reg0[3][1] = (f32x16){0};
      c_reg0[4][0] = (f32x16){0};
      c_reg0[4][1] = (f32x16){0};
      c_reg0[5][0] = (f32x16){0};
      c_reg0[5][1] = (f32x16){0};
      c_reg0[6][0] = (f32x16){0};
      c_reg0[6][1] = (f32x16){0};
      c_reg0[7][0] = (f32x16){0};
      c_reg0[7][1] = (f32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 64; ++k0) {
        {
          f32x16 b_reg0[1][2];
          b_reg0[0][0] = load_f32x16(&b[32 * k0]);
          b_reg0[0][1] = load_f32x16(&b[32 * k0 + 16]);
          c_reg0[0][0] += a[m0 + 32 * k0] * b_reg0[0][0];
          c_reg0[0][1] += a[m0 + 32 * k0] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
          c_reg0[1][0] += a[m0 + 32 * k0 + 1] * b_reg0[0][0];
          c_reg0[1][1] += a[m0 + 32 * k0 + 1] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
          c_reg0[2][0] += a[m0 + 32 * k0 + 2] * b_reg0[0][0];
          c_reg0[2][1] += a[m0 + 32 * k0 + 2] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
          c_reg0[3][0] += a[m0 + 32 * k0 + 3] * b_reg0[0][0];
          c_reg0[3][1] += a[m0 + 32 * k0 + 3] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
          c_reg0[4][0] += a[m0 + 32 * k0 + 4] * b_reg0[0][0];
          c_reg0[4][1] += a[m0 + 32 * k0 + 4] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
          c_reg0[5][0] += a[m0 + 32 * k0 + 5] * b_reg0[0][0];
          c_reg0[5][1] += a[m0 + 32 * k0 + 5] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
          c_reg0[6][0] += a[m0 + 32 * k0 + 6] * b_reg0[0][0];
          c_reg0[6][1] += a[m0 + 32 * k0 + 6] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
          c_reg0[7][0] += a[m0 + 32 * k0 + 7] * b_reg0[0][0];
          c_reg0[7][1] += a[m0 + 32 * k0 + 7] * b_reg0[0][1];
          __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
        }
      }
      store_f32x16(&c[32 * m0], c_reg0[0][0]);
      store_f32x16(&c[32 * m0 + 16], c_reg0[0][1]);
      store_f32x16(&c[32 * m0 + 32], c_reg0[1][0]);
      store_f32x16(&c[32 * m0 + 48], c_reg0[1][1]);
      store_f32x16(&c[32 * m0 + 64], c_reg0[2][0]);
      store_f32x16(&c[32 * m0 + 80], c_reg0[2][1]);
      store_f32x16(&c[32 * m0 + 96], c_reg0[3][0]);
      store_f32x16(&c[32 * m0 + 112], c_reg0[3][1]);
      store_f32x16(&c[32 * m0 + 128], c_reg0[4][0]);
      store_f32x16(&c[32 * m0 + 144], c_reg0[4][1]);
      store_f32x16(&c[32 * m0 + 160], c_reg0[5][0]);
      store_f32x16(&c[32 * m0 + 176], c_reg0[5][1]);
      store_f32x16(&c[32 * m0 + 192], c_reg0[6][0]);
      store_f32x16(&c[32 * m0 + 208], c_reg0[6][1]);
      store_f32x16(&c[32 * m0 + 224], c_reg0[7][0]);
      store_f32x16(&c[32 * m0 + 240], c_reg0[7][1]);
    }
  }
}

// f32[32,64] @ f32[64,64]{0,1:T(16,1)}
__attribute__((force_align_arg_pointer))
void kernel_8(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 32; m0 += 8) {
    for (long n0 = 0; n0 < 64; n0 += 32) {
      {
        f32x16 c_reg0[8][2];
        c_reg0[0][0] = (f32x16){0};
        c_reg0[0][1] = (f32x16){0};
        c_reg0[1][0] = (f32x16){0};
        c_reg0[1][1] = (f32x16){0};
        c_reg0[2][0] = (f32x16){0};
        c_reg0[2][1] = (f32x16){0};
        c_reg0[3][0] = (f32x16){0};
        c_reg0[3][1] = (f32x16){0};
        c_reg0[4][0] = (f32x16){0};
        c_reg0[4][1] = (f32x16){0};
        c_reg0[5][0] = (f32x16){0};
        c_reg0[5][1] = (f32x16){0};
        c_reg0[6][0] = (f32x16){0};
        c_reg0[6][1] = (f32x16){0};
        c_reg0[7][0] = (f32x16){0};
        c_reg0[7][1] = (f32x16){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 64; ++k0) {
          {
            f32x16 b_reg0[1][2];
            b_reg0[0][0] = load_f32x16(&b[64 * n0 + 16 * k0]);
            b_reg0[0][1] = load_f32x16(&b[64 * n0 + 16 * k0 + 1024]);
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
            c_reg0[6][0] += a[64 * m0 + k0 + 384] * b_reg0[0][0];
            c_reg0[6][1] += a[64 * m0 + k0 + 384] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
            c_reg0[7][0] += a[64 * m0 + k0 + 448] * b_reg0[0][0];
            c_reg0[7][1] += a[64 * m0 + k0 + 448] * b_reg0[0][1];
            __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
          }
        }
        store_f32x16(&c[64 * m0 + n0], c_reg0[0][0]);
        store_f32x16(&c[64 * m0 + n0 + 16], c_reg0[0][1]);
        store_f32x16(&c[64 * m0 + n0 + 64], c_reg0[1][0]);
        store_f32x16(&c[64 * m0 + n0 + 80], c_reg0[1][1]);
        store_f32x16(&c[64 * m0 + n0 + 128], c_reg0[2][0]);
        store_f32x16(&c[64 * m0 + n0 + 144], c_reg0[2][1]);
        store_f32x16(&c[64 * m0 + n0 + 192], c_reg0[3][0]);
        store_f32x16(&c[64 * m0 + n0 + 208], c_reg0[3][1]);
        store_f32x16(&c[64 * m0 + n0 + 256], c_reg0[4][0]);
        store_f32x16(&c[64 * m0 + n0 + 272], c_reg0[4][1]);
        store_f32x16(&c[64 * m0 + n0 + 320], c_reg0[5][0]);
        store_f32x16(&c[64 * m0 + n0 + 336], c_reg0[5][1]);
        store_f32x16(&c[64 * m0 + n0 + 384], c_reg0[6][0]);
        store_f32x16(&c[64 * m0 + n0 + 400], c_reg0[6][1]);
        store_f32x16(&c[64 * m0 + n0 + 448], c_reg0[7][0]);
        store_f32x16(&c[64 * m0 + n0 + 464], c_reg0[7][1]);
      }
    }
  }
}

// bf16[16,64] @ bf16[64,32]
__attribute__((force_align_arg_pointer))
void kernel_9(const uint16_t *restrict a, const uint16_t *restrict b, float *restrict c) {
  _Alignas(64) unsigned char workspace[4096];
  {
    float *const restrict a_L1_0 = (float *)(workspace + 0);  /* f32[16,64]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 64; j0 += 16) {
        store_f32x16(&a_L1_0[64 * i0 + j0], load_f32x16_bf16(&a[64 * i0 + j0]));
      }
    }
    for (long n0 = 0; n0 < 32; n0 += 16) {
      {
        f32x16 c_reg0[16][1];
        c_reg0[0][0] = (f32x16){0};
        c_reg0[1][0] = (f32x16){0};
        c_reg0[2][0] = (f32x16){0};
        c_reg0[3][0] = (f32x16){0};
        c_reg0[4][0] = (f32x16){0};
        c_reg0[5][0] = (f32x16){0};
        c_reg0[6][0] = (f32x16){0};
        c_reg0[7][0] = (f32x16){0};
        c_reg0[8][0] = (f32x16){0};
        c_reg0[9][0] = (f32x16){0};
        c_reg0[10][0] = (f32x16){0};
        c_reg0[11][0] = (f32x16){0};
        c_reg0[12][0] = (f32x16){0};
        c_reg0[13][0] = (f32x16){0};
        c_reg0[14][0] = (f32x16){0};
        c_reg0[15][0] = (f32x16){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 64; ++k0) {
          {
            f32x16 b_reg0[1][1];
            b_reg0[0][0] = load_f32x16_bf16(&b[n0 + 32 * k0]);
            c_reg0[0][0] += a_L1_0[k0] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[0][0]));
            c_reg0[1][0] += a_L1_0[k0 + 64] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[1][0]));
            c_reg0[2][0] += a_L1_0[k0 + 128] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[2][0]));
            c_reg0[3][0] += a_L1_0[k0 + 192] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[3][0]));
            c_reg0[4][0] += a_L1_0[k0 + 256] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[4][0]));
            c_reg0[5][0] += a_L1_0[k0 + 320] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[5][0]));
            c_reg0[6][0] += a_L1_0[k0 + 384] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[6][0]));
            c_reg0[7][0] += a_L1_0[k0 + 448] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[7][0]));
            c_reg0[8][0] += a_L1_0[k0 + 512] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[8][0]));
            c_reg0[9][0] += a_L1_0[k0 + 576] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[9][0]));
            c_reg0[10][0] += a_L1_0[k0 + 640] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[10][0]));
            c_reg0[11][0] += a_L1_0[k0 + 704] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[11][0]));
            c_reg0[12][0] += a_L1_0[k0 + 768] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[12][0]));
            c_reg0[13][0] += a_L1_0[k0 + 832] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[13][0]));
            c_reg0[14][0] += a_L1_0[k0 + 896] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[14][0]));
            c_reg0[15][0] += a_L1_0[k0 + 960] * b_reg0[0][0];
            __asm__ volatile("" : "+v"(c_reg0[15][0]));
          }
        }
        store_f32x16(&c[n0], c_reg0[0][0]);
        store_f32x16(&c[n0 + 32], c_reg0[1][0]);
        store_f32x16(&c[n0 + 64], c_reg0[2][0]);
        store_f32x16(&c[n0 + 96], c_reg0[3][0]);
        store_f32x16(&c[n0 + 128], c_reg0[4][0]);
        store_f32x16(&c[n0 + 160], c_reg0[5][0]);
        store_f32x16(&c[n0 + 192], c_reg0[6][0]);
        store_f32x16(&c[n0 + 224], c_reg0[7][0]);
        store_f32x16(&c[n0 + 256], c_reg0[8][0]);
        store_f32x16(&c[n0 + 288], c_reg0[9][0]);
        store_f32x16(&c[n0 + 320], c_reg0[10][0]);
        store_f32x16(&c[n0 + 352], c_reg0[11][0]);
        store_f32x16(&c[n0 + 384], c_reg0[12][0]);
        store_f32x16(&c[n0 + 416], c_reg0[13][0]);
        store_f32x16(&c[n0 + 448], c_reg0[14][0]);
        store_f32x16(&c[n0 + 480], c_reg0[15][0]);
      }
    }
  }
}

// bf16[1,64] @ bf16[64,64]
__attribute__((force_align_arg_pointer))
void kernel_10(const uint16_t *restrict a, const uint16_t *restrict b, float *restrict c) {
  for (long j0 = 0; j0 < 64; j0 += 16) {
    store_f32x16(&c[j0], (f32x16){0});
  }
  for (long k0 = 0; k0 < 64; k0 += 8) {
    sum_rows_l2_bf16_bf16(&a[k0], &b[64 * k0], 64, &c[0], 64);
  }
}

// f16[8,32] @ f16[32,16]
__attribute__((force_align_arg_pointer))
void kernel_11(const _Float16 *restrict a, const _Float16 *restrict b, float *restrict c) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict a_L1_0 = (float *)(workspace + 0);  /* f32[8,32]{1,0} */
    for (long i0 = 0; i0 < 8; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 16) {
        store_f32x16(&a_L1_0[32 * i0 + j0], load_f32x16_f16(&a[32 * i0 + j0]));
      }
    }
    {
      f32x16 c_reg0[8][1];
      c_reg0[0][0] = (f32x16){0};
      c_reg0[1][0] = (f32x16){0};
      c_reg0[2][0] = (f32x16){0};
      c_reg0[3][0] = (f32x16){0};
      c_reg0[4][0] = (f32x16){0};
      c_reg0[5][0] = (f32x16){0};
      c_reg0[6][0] = (f32x16){0};
      c_reg0[7][0] = (f32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 32; ++k0) {
        {
          f32x16 b_reg0[1][1];
          b_reg0[0][0] = load_f32x16_f16(&b[16 * k0]);
          c_reg0[0][0] += a_L1_0[k0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[1][0] += a_L1_0[k0 + 32] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[1][0]));
          c_reg0[2][0] += a_L1_0[k0 + 64] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[2][0]));
          c_reg0[3][0] += a_L1_0[k0 + 96] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[3][0]));
          c_reg0[4][0] += a_L1_0[k0 + 128] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[4][0]));
          c_reg0[5][0] += a_L1_0[k0 + 160] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[5][0]));
          c_reg0[6][0] += a_L1_0[k0 + 192] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[6][0]));
          c_reg0[7][0] += a_L1_0[k0 + 224] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[7][0]));
        }
      }
      store_f32x16(&c[0], c_reg0[0][0]);
      store_f32x16(&c[16], c_reg0[1][0]);
      store_f32x16(&c[32], c_reg0[2][0]);
      store_f32x16(&c[48], c_reg0[3][0]);
      store_f32x16(&c[64], c_reg0[4][0]);
      store_f32x16(&c[80], c_reg0[5][0]);
      store_f32x16(&c[96], c_reg0[6][0]);
      store_f32x16(&c[112], c_reg0[7][0]);
    }
  }
}

// u8[16,32] @ i8[32,16] -> i32[16,16]
__attribute__((force_align_arg_pointer))
void kernel_12(const uint8_t *restrict a, const int8_t *restrict b, int32_t *restrict c) {
  _Alignas(64) unsigned char workspace[2048];
  {
    int32_t *const restrict a_L1_0 = (int32_t *)(workspace + 0);  /* i32[16,32]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 16) {
        store_i32x16(&a_L1_0[32 * i0 + j0], load_i32x16_u8(&a[32 * i0 + j0]));
      }
    }
    {
      i32x16 c_reg0[16][1];
      c_reg0[0][0] = (i32x16){0};
      c_reg0[1][0] = (i32x16){0};
      c_reg0[2][0] = (i32x16){0};
      c_reg0[3][0] = (i32x16){0};
      c_reg0[4][0] = (i32x16){0};
      c_reg0[5][0] = (i32x16){0};
      c_reg0[6][0] = (i32x16){0};
      c_reg0[7][0] = (i32x16){0};
      c_reg0[8][0] = (i32x16){0};
      c_reg0[9][0] = (i32x16){0};
      c_reg0[10][0] = (i32x16){0};
      c_reg0[11][0] = (i32x16){0};
      c_reg0[12][0] = (i32x16){0};
      c_reg0[13][0] = (i32x16){0};
      c_reg0[14][0] = (i32x16){0};
      c_reg0[15][0] = (i32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 32; ++k0) {
        {
          i32x16 b_reg0[1][1];
          b_reg0[0][0] = load_i32x16_i8(&b[16 * k0]);
          c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a_L1_0[k0], b_reg0[0][0]);
          c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a_L1_0[k0 + 32], b_reg0[0][0]);
          c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a_L1_0[k0 + 64], b_reg0[0][0]);
          c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a_L1_0[k0 + 96], b_reg0[0][0]);
          c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a_L1_0[k0 + 128], b_reg0[0][0]);
          c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a_L1_0[k0 + 160], b_reg0[0][0]);
          c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a_L1_0[k0 + 192], b_reg0[0][0]);
          c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a_L1_0[k0 + 224], b_reg0[0][0]);
          c_reg0[8][0] = multiply_add_i32x16(c_reg0[8][0], a_L1_0[k0 + 256], b_reg0[0][0]);
          c_reg0[9][0] = multiply_add_i32x16(c_reg0[9][0], a_L1_0[k0 + 288], b_reg0[0][0]);
          c_reg0[10][0] = multiply_add_i32x16(c_reg0[10][0], a_L1_0[k0 + 320], b_reg0[0][0]);
          c_reg0[11][0] = multiply_add_i32x16(c_reg0[11][0], a_L1_0[k0 + 352], b_reg0[0][0]);
          c_reg0[12][0] = multiply_add_i32x16(c_reg0[12][0], a_L1_0[k0 + 384], b_reg0[0][0]);
          c_reg0[13][0] = multiply_add_i32x16(c_reg0[13][0], a_L1_0[k0 + 416], b_reg0[0][0]);
          c_reg0[14][0] = multiply_add_i32x16(c_reg0[14][0], a_L1_0[k0 + 448], b_reg0[0][0]);
          c_reg0[15][0] = multiply_add_i32x16(c_reg0[15][0], a_L1_0[k0 + 480], b_reg0[0][0]);
        }
      }
      store_i32x16(&c[0], c_reg0[0][0]);
      store_i32x16(&c[16], c_reg0[1][0]);
      store_i32x16(&c[32], c_reg0[2][0]);
      store_i32x16(&c[48], c_reg0[3][0]);
      store_i32x16(&c[64], c_reg0[4][0]);
      store_i32x16(&c[80], c_reg0[5][0]);
      store_i32x16(&c[96], c_reg0[6][0]);
      store_i32x16(&c[112], c_reg0[7][0]);
      store_i32x16(&c[128], c_reg0[8][0]);
      store_i32x16(&c[144], c_reg0[9][0]);
      store_i32x16(&c[160], c_reg0[10][0]);
      store_i32x16(&c[176], c_reg0[11][0]);
      store_i32x16(&c[192], c_reg0[12][0]);
      store_i32x16(&c[208], c_reg0[13][0]);
      store_i32x16(&c[224], c_reg0[14][0]);
      store_i32x16(&c[240], c_reg0[15][0]);
    }
  }
}

// i32[8,8] @ i32[8,8]
__attribute__((force_align_arg_pointer))
void kernel_13(const int32_t *restrict a, const int32_t *restrict b, int32_t *restrict c) {
  {
    i32x16 b_reg0[8][1];
    b_reg0[0][0] = load_part_i32x16(&b[0], 8);
    b_reg0[1][0] = load_part_i32x16(&b[8], 8);
    b_reg0[2][0] = load_part_i32x16(&b[16], 8);
    b_reg0[3][0] = load_part_i32x16(&b[24], 8);
    b_reg0[4][0] = load_part_i32x16(&b[32], 8);
    b_reg0[5][0] = load_part_i32x16(&b[40], 8);
    b_reg0[6][0] = load_part_i32x16(&b[48], 8);
    b_reg0[7][0] = load_part_i32x16(&b[56], 8);
    {
      i32x16 c_reg0[8][1];
      c_reg0[0][0] = (i32x16){0};
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[0], b_reg0[0][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[1], b_reg0[1][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[2], b_reg0[2][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[3], b_reg0[3][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[4], b_reg0[4][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[5], b_reg0[5][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[6], b_reg0[6][0]);
      c_reg0[0][0] = multiply_add_i32x16(c_reg0[0][0], a[7], b_reg0[7][0]);
      c_reg0[1][0] = (i32x16){0};
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[8], b_reg0[0][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[9], b_reg0[1][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[10], b_reg0[2][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[11], b_reg0[3][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[12], b_reg0[4][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[13], b_reg0[5][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[14], b_reg0[6][0]);
      c_reg0[1][0] = multiply_add_i32x16(c_reg0[1][0], a[15], b_reg0[7][0]);
      c_reg0[2][0] = (i32x16){0};
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[16], b_reg0[0][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[17], b_reg0[1][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[18], b_reg0[2][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[19], b_reg0[3][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[20], b_reg0[4][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[21], b_reg0[5][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[22], b_reg0[6][0]);
      c_reg0[2][0] = multiply_add_i32x16(c_reg0[2][0], a[23], b_reg0[7][0]);
      c_reg0[3][0] = (i32x16){0};
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[24], b_reg0[0][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[25], b_reg0[1][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[26], b_reg0[2][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[27], b_reg0[3][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[28], b_reg0[4][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[29], b_reg0[5][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[30], b_reg0[6][0]);
      c_reg0[3][0] = multiply_add_i32x16(c_reg0[3][0], a[31], b_reg0[7][0]);
      c_reg0[4][0] = (i32x16){0};
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[32], b_reg0[0][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[33], b_reg0[1][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[34], b_reg0[2][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[35], b_reg0[3][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[36], b_reg0[4][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[37], b_reg0[5][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[38], b_reg0[6][0]);
      c_reg0[4][0] = multiply_add_i32x16(c_reg0[4][0], a[39], b_reg0[7][0]);
      c_reg0[5][0] = (i32x16){0};
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[40], b_reg0[0][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[41], b_reg0[1][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[42], b_reg0[2][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[43], b_reg0[3][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[44], b_reg0[4][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[45], b_reg0[5][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[46], b_reg0[6][0]);
      c_reg0[5][0] = multiply_add_i32x16(c_reg0[5][0], a[47], b_reg0[7][0]);
      c_reg0[6][0] = (i32x16){0};
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[48], b_reg0[0][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[49], b_reg0[1][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[50], b_reg0[2][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[51], b_reg0[3][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[52], b_reg0[4][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[53], b_reg0[5][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[54], b_reg0[6][0]);
      c_reg0[6][0] = multiply_add_i32x16(c_reg0[6][0], a[55], b_reg0[7][0]);
      c_reg0[7][0] = (i32x16){0};
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[56], b_reg0[0][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[57], b_reg0[1][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[58], b_reg0[2][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[59], b_reg0[3][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[60], b_reg0[4][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[61], b_reg0[5][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[62], b_reg0[6][0]);
      c_reg0[7][0] = multiply_add_i32x16(c_reg0[7][0], a[63], b_reg0[7][0]);
      store_part_i32x16(&c[0], c_reg0[0][0], 8);
      store_part_i32x16(&c[8], c_reg0[1][0], 8);
      store_part_i32x16(&c[16], c_reg0[2][0], 8);
      store_part_i32x16(&c[24], c_reg0[3][0], 8);
      store_part_i32x16(&c[32], c_reg0[4][0], 8);
      store_part_i32x16(&c[40], c_reg0[5][0], 8);
      store_part_i32x16(&c[48], c_reg0[6][0], 8);
      store_part_i32x16(&c[56], c_reg0[7][0], 8);
    }
  }
}

// f32[8,16] @ bf16[16,32]
__attribute__((force_align_arg_pointer))
void kernel_14(const float *restrict a, const uint16_t *restrict b, float *restrict c) {
  {
    f32x16 c_reg0[8][2];
    c_reg0[0][0] = (f32x16){0};
    c_reg0[0][1] = (f32x16){0};
    c_reg0[1][0] = (f32x16){0};
    c_reg0[1][1] = (f32x16){0};
    c_reg0[2][0] = (f32x16){0};
    c_reg0[2][1] = (f32x16){0};
    c_reg0[3][0] = (f32x16){0};
    c_reg0[3][1] = (f32x16){0};
    c_reg0[4][0] = (f32x16){0};
    c_reg0[4][1] = (f32x16){0};
    c_reg0[5][0] = (f32x16){0};
    c_reg0[5][1] = (f32x16){0};
    c_reg0[6][0] = (f32x16){0};
    c_reg0[6][1] = (f32x16){0};
    c_reg0[7][0] = (f32x16){0};
    c_reg0[7][1] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 16; ++k0) {
      {
        f32x16 b_reg0[1][2];
        b_reg0[0][0] = load_f32x16_bf16(&b[32 * k0]);
        b_reg0[0][1] = load_f32x16_bf16(&b[32 * k0 + 16]);
        c_reg0[0][0] += a[k0] * b_reg0[0][0];
        c_reg0[0][1] += a[k0] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
        c_reg0[1][0] += a[k0 + 16] * b_reg0[0][0];
        c_reg0[1][1] += a[k0 + 16] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
        c_reg0[2][0] += a[k0 + 32] * b_reg0[0][0];
        c_reg0[2][1] += a[k0 + 32] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
        c_reg0[3][0] += a[k0 + 48] * b_reg0[0][0];
        c_reg0[3][1] += a[k0 + 48] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
        c_reg0[4][0] += a[k0 + 64] * b_reg0[0][0];
        c_reg0[4][1] += a[k0 + 64] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
        c_reg0[5][0] += a[k0 + 80] * b_reg0[0][0];
        c_reg0[5][1] += a[k0 + 80] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
        c_reg0[6][0] += a[k0 + 96] * b_reg0[0][0];
        c_reg0[6][1] += a[k0 + 96] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
        c_reg0[7][0] += a[k0 + 112] * b_reg0[0][0];
        c_reg0[7][1] += a[k0 + 112] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
      }
    }
    store_f32x16(&c[0], c_reg0[0][0]);
    store_f32x16(&c[16], c_reg0[0][1]);
    store_f32x16(&c[32], c_reg0[1][0]);
    store_f32x16(&c[48], c_reg0[1][1]);
    store_f32x16(&c[64], c_reg0[2][0]);
    store_f32x16(&c[80], c_reg0[2][1]);
    store_f32x16(&c[96], c_reg0[3][0]);
    store_f32x16(&c[112], c_reg0[3][1]);
    store_f32x16(&c[128], c_reg0[4][0]);
    store_f32x16(&c[144], c_reg0[4][1]);
    store_f32x16(&c[160], c_reg0[5][0]);
    store_f32x16(&c[176], c_reg0[5][1]);
    store_f32x16(&c[192], c_reg0[6][0]);
    store_f32x16(&c[208], c_reg0[6][1]);
    store_f32x16(&c[224], c_reg0[7][0]);
    store_f32x16(&c[240], c_reg0[7][1]);
  }
}

// relu(f32[16,32] @ f32[32,48] + f32[48])
__attribute__((force_align_arg_pointer))
void kernel_15(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[3072];
  {
    float *const restrict c_L1_0 = (float *)(workspace + 0);  /* f32[16,48]{1,0} */
    for (long m0 = 0; m0 < 16; m0 += 8) {
      {
        f32x16 c_reg0[8][3];
        c_reg0[0][0] = (f32x16){0};
        c_reg0[0][1] = (f32x16){0};
        c_reg0[0][2] = (f32x16){0};
        c_reg0[1][0] = (f32x16){0};
        c_reg0[1][1] = (f32x16){0};
        c_reg0[1][2] = (f32x16){0};
        c_reg0[2][0] = (f32x16){0};
        c_reg0[2][1] = (f32x16){0};
        c_reg0[2][2] = (f32x16){0};
        c_reg0[3][0] = (f32x16){0};
        c_reg0[3][1] = (f32x16){0};
        c_reg0[3][2] = (f32x16){0};
        c_reg0[4][0] = (f32x16){0};
        c_reg0[4][1] = (f32x16){0};
        c_reg0[4][2] = (f32x16){0};
        c_reg0[5][0] = (f32x16){0};
        c_reg0[5][1] = (f32x16){0};
        c_reg0[5][2] = (f32x16){0};
        c_reg0[6][0] = (f32x16){0};
        c_reg0[6][1] = (f32x16){0};
        c_reg0[6][2] = (f32x16){0};
        c_reg0[7][0] = (f32x16){0};
        c_reg0[7][1] = (f32x16){0};
        c_reg0[7][2] = (f32x16){0};
        #pragma GCC unroll 4
        for (long k0 = 0; k0 < 32; ++k0) {
          {
            f32x16 b_reg0[1][3];
            b_reg0[0][0] = load_f32x16(&b[48 * k0]);
            b_reg0[0][1] = load_f32x16(&b[48 * k0 + 16]);
            b_reg0[0][2] = load_f32x16(&b[48 * k0 + 32]);
            c_reg0[0][0] += a[32 * m0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += a[32 * m0 + k0] * b_reg0[0][1];
            c_reg0[0][2] += a[32 * m0 + k0] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]), "+v"(c_reg0[0][2]));
            c_reg0[1][0] += a[32 * m0 + k0 + 32] * b_reg0[0][0];
            c_reg0[1][1] += a[32 * m0 + k0 + 32] * b_reg0[0][1];
            c_reg0[1][2] += a[32 * m0 + k0 + 32] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]), "+v"(c_reg0[1][2]));
            c_reg0[2][0] += a[32 * m0 + k0 + 64] * b_reg0[0][0];
            c_reg0[2][1] += a[32 * m0 + k0 + 64] * b_reg0[0][1];
            c_reg0[2][2] += a[32 * m0 + k0 + 64] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]), "+v"(c_reg0[2][2]));
            c_reg0[3][0] += a[32 * m0 + k0 + 96] * b_reg0[0][0];
            c_reg0[3][1] += a[32 * m0 + k0 + 96] * b_reg0[0][1];
            c_reg0[3][2] += a[32 * m0 + k0 + 96] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]), "+v"(c_reg0[3][2]));
            c_reg0[4][0] += a[32 * m0 + k0 + 128] * b_reg0[0][0];
            c_reg0[4][1] += a[32 * m0 + k0 + 128] * b_reg0[0][1];
            c_reg0[4][2] += a[32 * m0 + k0 + 128] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]), "+v"(c_reg0[4][2]));
            c_reg0[5][0] += a[32 * m0 + k0 + 160] * b_reg0[0][0];
            c_reg0[5][1] += a[32 * m0 + k0 + 160] * b_reg0[0][1];
            c_reg0[5][2] += a[32 * m0 + k0 + 160] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]), "+v"(c_reg0[5][2]));
            c_reg0[6][0] += a[32 * m0 + k0 + 192] * b_reg0[0][0];
            c_reg0[6][1] += a[32 * m0 + k0 + 192] * b_reg0[0][1];
            c_reg0[6][2] += a[32 * m0 + k0 + 192] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]), "+v"(c_reg0[6][2]));
            c_reg0[7][0] += a[32 * m0 + k0 + 224] * b_reg0[0][0];
            c_reg0[7][1] += a[32 * m0 + k0 + 224] * b_reg0[0][1];
            c_reg0[7][2] += a[32 * m0 + k0 + 224] * b_reg0[0][2];
            __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]), "+v"(c_reg0[7][2]));
          }
        }
        store_f32x16(&c_L1_0[48 * m0], c_reg0[0][0]);
        store_f32x16(&c_L1_0[48 * m0 + 16], c_reg0[0][1]);
        store_f32x16(&c_L1_0[48 * m0 + 32], c_reg0[0][2]);
        store_f32x16(&c_L1_0[48 * m0 + 48], c_reg0[1][0]);
        store_f32x16(&c_L1_0[48 * m0 + 64], c_reg0[1][1]);
        store_f32x16(&c_L1_0[48 * m0 + 80], c_reg0[1][2]);
        store_f32x16(&c_L1_0[48 * m0 + 96], c_reg0[2][0]);
        store_f32x16(&c_L1_0[48 * m0 + 112], c_reg0[2][1]);
        store_f32x16(&c_L1_0[48 * m0 + 128], c_reg0[2][2]);
        store_f32x16(&c_L1_0[48 * m0 + 144], c_reg0[3][0]);
        store_f32x16(&c_L1_0[48 * m0 + 160], c_reg0[3][1]);
        store_f32x16(&c_L1_0[48 * m0 + 176], c_reg0[3][2]);
        store_f32x16(&c_L1_0[48 * m0 + 192], c_reg0[4][0]);
        store_f32x16(&c_L1_0[48 * m0 + 208], c_reg0[4][1]);
        store_f32x16(&c_L1_0[48 * m0 + 224], c_reg0[4][2]);
        store_f32x16(&c_L1_0[48 * m0 + 240], c_reg0[5][0]);
        store_f32x16(&c_L1_0[48 * m0 + 256], c_reg0[5][1]);
        store_f32x16(&c_L1_0[48 * m0 + 272], c_reg0[5][2]);
        store_f32x16(&c_L1_0[48 * m0 + 288], c_reg0[6][0]);
        store_f32x16(&c_L1_0[48 * m0 + 304], c_reg0[6][1]);
        store_f32x16(&c_L1_0[48 * m0 + 320], c_reg0[6][2]);
        store_f32x16(&c_L1_0[48 * m0 + 336], c_reg0[7][0]);
        store_f32x16(&c_L1_0[48 * m0 + 352], c_reg0[7][1]);
        store_f32x16(&c_L1_0[48 * m0 + 368], c_reg0[7][2]);
      }
    }
    for (long j0 = 0; j0 < 48; j0 += 16) {
      {
        f32x16 out_reg0[16][1];
        {
          f32x16 b_reg0[1];
          b_reg0[0] = load_f32x16(&c[j0]);
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0]);
            out_reg0[0][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 48]);
            out_reg0[1][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 96]);
            out_reg0[2][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 144]);
            out_reg0[3][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 192]);
            out_reg0[4][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 240]);
            out_reg0[5][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 288]);
            out_reg0[6][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 336]);
            out_reg0[7][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 384]);
            out_reg0[8][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 432]);
            out_reg0[9][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 480]);
            out_reg0[10][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 528]);
            out_reg0[11][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 576]);
            out_reg0[12][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 624]);
            out_reg0[13][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 672]);
            out_reg0[14][0] = a_reg0[0][0] + b_reg0[0];
          }
          {
            f32x16 a_reg0[1][1];
            a_reg0[0][0] = load_f32x16(&c_L1_0[j0 + 720]);
            out_reg0[15][0] = a_reg0[0][0] + b_reg0[0];
          }
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[0][0]);
          store_f32x16(&out[j0], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[1][0]);
          store_f32x16(&out[j0 + 48], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[2][0]);
          store_f32x16(&out[j0 + 96], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[3][0]);
          store_f32x16(&out[j0 + 144], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[4][0]);
          store_f32x16(&out[j0 + 192], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[5][0]);
          store_f32x16(&out[j0 + 240], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[6][0]);
          store_f32x16(&out[j0 + 288], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[7][0]);
          store_f32x16(&out[j0 + 336], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[8][0]);
          store_f32x16(&out[j0 + 384], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[9][0]);
          store_f32x16(&out[j0 + 432], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[10][0]);
          store_f32x16(&out[j0 + 480], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[11][0]);
          store_f32x16(&out[j0 + 528], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[12][0]);
          store_f32x16(&out[j0 + 576], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[13][0]);
          store_f32x16(&out[j0 + 624], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[14][0]);
          store_f32x16(&out[j0 + 672], out_reg1[0][0]);
        }
        {
          f32x16 out_reg1[1][1];
          out_reg1[0][0] = relu_f32x16(out_reg0[15][0]);
          store_f32x16(&out[j0 + 720], out_reg1[0][0]);
        }
      }
    }
  }
}

// gelu(f32[8,16] @ f32[16,32])
__attribute__((force_align_arg_pointer))
void kernel_16(const float *restrict a, const float *restrict b, float *restrict out) {
  {
    __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
    f32x16 c_reg0[8][2];
    c_reg0[0][0] = (f32x16){0};
    c_reg0[0][1] = (f32x16){0};
    c_reg0[1][0] = (f32x16){0};
    c_reg0[1][1] = (f32x16){0};
    c_reg0[2][0] = (f32x16){0};
    c_reg0[2][1] = (f32x16){0};
    c_reg0[3][0] = (f32x16){0};
    c_reg0[3][1] = (f32x16){0};
    c_reg0[4][0] = (f32x16){0};
    c_reg0[4][1] = (f32x16){0};
    c_reg0[5][0] = (f32x16){0};
    c_reg0[5][1] = (f32x16){0};
    c_reg0[6][0] = (f32x16){0};
    c_reg0[6][1] = (f32x16){0};
    c_reg0[7][0] = (f32x16){0};
    c_reg0[7][1] = (f32x16){0};
    #pragma GCC unroll 4
    for (long k0 = 0; k0 < 16; ++k0) {
      {
        f32x16 b_reg0[1][2];
        b_reg0[0][0] = load_f32x16(&b[32 * k0]);
        b_reg0[0][1] = load_f32x16(&b[32 * k0 + 16]);
        c_reg0[0][0] += a[k0] * b_reg0[0][0];
        c_reg0[0][1] += a[k0] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]));
        c_reg0[1][0] += a[k0 + 16] * b_reg0[0][0];
        c_reg0[1][1] += a[k0 + 16] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]));
        c_reg0[2][0] += a[k0 + 32] * b_reg0[0][0];
        c_reg0[2][1] += a[k0 + 32] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]));
        c_reg0[3][0] += a[k0 + 48] * b_reg0[0][0];
        c_reg0[3][1] += a[k0 + 48] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]));
        c_reg0[4][0] += a[k0 + 64] * b_reg0[0][0];
        c_reg0[4][1] += a[k0 + 64] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]));
        c_reg0[5][0] += a[k0 + 80] * b_reg0[0][0];
        c_reg0[5][1] += a[k0 + 80] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]));
        c_reg0[6][0] += a[k0 + 96] * b_reg0[0][0];
        c_reg0[6][1] += a[k0 + 96] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]));
        c_reg0[7][0] += a[k0 + 112] * b_reg0[0][0];
        c_reg0[7][1] += a[k0 + 112] * b_reg0[0][1];
        __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]));
      }
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[0][0]);
      store_f32x16(&out[0], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[0][1]);
      store_f32x16(&out[16], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[1][0]);
      store_f32x16(&out[32], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[1][1]);
      store_f32x16(&out[48], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[2][0]);
      store_f32x16(&out[64], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[2][1]);
      store_f32x16(&out[80], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[3][0]);
      store_f32x16(&out[96], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[3][1]);
      store_f32x16(&out[112], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[4][0]);
      store_f32x16(&out[128], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[4][1]);
      store_f32x16(&out[144], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[5][0]);
      store_f32x16(&out[160], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[5][1]);
      store_f32x16(&out[176], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[6][0]);
      store_f32x16(&out[192], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[6][1]);
      store_f32x16(&out[208], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[7][0]);
      store_f32x16(&out[224], out_reg0[0][0]);
    }
    {
      f32x16 out_reg0[1][1];
      out_reg0[0][0] = gelu_f32x16(c_reg0[7][1]);
      store_f32x16(&out[240], out_reg0[0][0]);
    }
  }
}

// (f32[16,16] @ f32[16,16]) @ f32[16,16]
__attribute__((force_align_arg_pointer))
void kernel_17(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict c_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    {
      f32x16 b_reg0[16][1];
      b_reg0[0][0] = load_f32x16(&b[0]);
      b_reg0[1][0] = load_f32x16(&b[16]);
      b_reg0[2][0] = load_f32x16(&b[32]);
      b_reg0[3][0] = load_f32x16(&b[48]);
      b_reg0[4][0] = load_f32x16(&b[64]);
      b_reg0[5][0] = load_f32x16(&b[80]);
      b_reg0[6][0] = load_f32x16(&b[96]);
      b_reg0[7][0] = load_f32x16(&b[112]);
      b_reg0[8][0] = load_f32x16(&b[128]);
      b_reg0[9][0] = load_f32x16(&b[144]);
      b_reg0[10][0] = load_f32x16(&b[160]);
      b_reg0[11][0] = load_f32x16(&b[176]);
      b_reg0[12][0] = load_f32x16(&b[192]);
      b_reg0[13][0] = load_f32x16(&b[208]);
      b_reg0[14][0] = load_f32x16(&b[224]);
      b_reg0[15][0] = load_f32x16(&b[240]);
      for (long m0 = 0; m0 < 16; ++m0) {
        {
          f32x16 c_reg0[1][1];
          c_reg0[0][0] = (f32x16){0};
          c_reg0[0][0] += a[16 * m0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 1] * b_reg0[1][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 2] * b_reg0[2][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 3] * b_reg0[3][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 4] * b_reg0[4][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 5] * b_reg0[5][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 6] * b_reg0[6][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 7] * b_reg0[7][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 8] * b_reg0[8][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 9] * b_reg0[9][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 10] * b_reg0[10][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 11] * b_reg0[11][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 12] * b_reg0[12][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 13] * b_reg0[13][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 14] * b_reg0[14][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += a[16 * m0 + 15] * b_reg0[15][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          store_f32x16(&c_L1_0[16 * m0], c_reg0[0][0]);
        }
      }
    }
    {
      f32x16 b_reg0[16][1];
      b_reg0[0][0] = load_f32x16(&c[0]);
      b_reg0[1][0] = load_f32x16(&c[16]);
      b_reg0[2][0] = load_f32x16(&c[32]);
      b_reg0[3][0] = load_f32x16(&c[48]);
      b_reg0[4][0] = load_f32x16(&c[64]);
      b_reg0[5][0] = load_f32x16(&c[80]);
      b_reg0[6][0] = load_f32x16(&c[96]);
      b_reg0[7][0] = load_f32x16(&c[112]);
      b_reg0[8][0] = load_f32x16(&c[128]);
      b_reg0[9][0] = load_f32x16(&c[144]);
      b_reg0[10][0] = load_f32x16(&c[160]);
      b_reg0[11][0] = load_f32x16(&c[176]);
      b_reg0[12][0] = load_f32x16(&c[192]);
      b_reg0[13][0] = load_f32x16(&c[208]);
      b_reg0[14][0] = load_f32x16(&c[224]);
      b_reg0[15][0] = load_f32x16(&c[240]);
      for (long m0 = 0; m0 < 16; ++m0) {
        {
          f32x16 c_reg0[1][1];
          c_reg0[0][0] = (f32x16){0};
          c_reg0[0][0] += c_L1_0[16 * m0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 1] * b_reg0[1][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 2] * b_reg0[2][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 3] * b_reg0[3][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 4] * b_reg0[4][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 5] * b_reg0[5][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 6] * b_reg0[6][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 7] * b_reg0[7][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 8] * b_reg0[8][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 9] * b_reg0[9][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 10] * b_reg0[10][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 11] * b_reg0[11][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 12] * b_reg0[12][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 13] * b_reg0[13][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 14] * b_reg0[14][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += c_L1_0[16 * m0 + 15] * b_reg0[15][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          store_f32x16(&out[16 * m0], c_reg0[0][0]);
        }
      }
    }
  }
}

// softmax(f32[8,64])
__attribute__((force_align_arg_pointer))
void kernel_18(const float *restrict x, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    float *const restrict denominator_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    {
      float *const restrict out_L1_0 = (float *)(workspace + 64);  /* f32[8]{0} */
      store_part_f32x16(&out_L1_0[0], splat_f32x16(-__builtin_inff()), 8);
      for (long i0 = 0; i0 < 8; ++i0) {
        out_L1_0[i0] = max_run_f32x16(&x[64 * i0], 64, out_L1_0[i0]);
      }
      store_part_f32x16(&denominator_L1_0[0], (f32x16){0}, 8);
      for (long i0 = 0; i0 < 8; ++i0) {
        denominator_L1_0[i0] += exp_store_run_f32x16(&x[64 * i0], out_L1_0[i0], &out[64 * i0], 64);
      }
    }
    for (long i0 = 0; i0 < 8; ++i0) {
      {
        f32x16 out_reg0[1][4];
        out_reg0[0][0] = load_f32x16(&out[64 * i0]);
        out_reg0[0][1] = load_f32x16(&out[64 * i0 + 16]);
        out_reg0[0][2] = load_f32x16(&out[64 * i0 + 32]);
        out_reg0[0][3] = load_f32x16(&out[64 * i0 + 48]);
        out_reg0[0][0] *= splat_f32x16(1.0f / denominator_L1_0[i0]);
        out_reg0[0][1] *= splat_f32x16(1.0f / denominator_L1_0[i0]);
        out_reg0[0][2] *= splat_f32x16(1.0f / denominator_L1_0[i0]);
        out_reg0[0][3] *= splat_f32x16(1.0f / denominator_L1_0[i0]);
        store_f32x16(&out[64 * i0], out_reg0[0][0]);
        store_f32x16(&out[64 * i0 + 16], out_reg0[0][1]);
        store_f32x16(&out[64 * i0 + 32], out_reg0[0][2]);
        store_f32x16(&out[64 * i0 + 48], out_reg0[0][3]);
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
      store_part_f32x16(&out_L1_0[0], splat_f32x16(-__builtin_inff()), 8);
      for (long i0 = 0; i0 < 8; ++i0) {
        out_L1_0[i0] = max_run_f32x16(&x[100 * i0], 100, out_L1_0[i0]);
      }
      store_part_f32x16(&denominator_L1_0[0], (f32x16){0}, 8);
      for (long i0 = 0; i0 < 8; ++i0) {
        denominator_L1_0[i0] += exp_store_run_f32x16(&x[100 * i0], out_L1_0[i0], &out[100 * i0], 100);
      }
    }
    for (long i0 = 0; i0 < 8; ++i0) {
      scale_run_f32x16(&out[100 * i0], 1.0f / denominator_L1_0[i0], 100);
    }
  }
}

// softmax(f32[16,32] @ f32[32,16])
__attribute__((force_align_arg_pointer))
void kernel_20(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[1152];
  {
    float *const restrict c_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    {
      __asm__ volatile("" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
      f32x16 c_reg0[16][1];
      c_reg0[0][0] = (f32x16){0};
      c_reg0[1][0] = (f32x16){0};
      c_reg0[2][0] = (f32x16){0};
      c_reg0[3][0] = (f32x16){0};
      c_reg0[4][0] = (f32x16){0};
      c_reg0[5][0] = (f32x16){0};
      c_reg0[6][0] = (f32x16){0};
      c_reg0[7][0] = (f32x16){0};
      c_reg0[8][0] = (f32x16){0};
      c_reg0[9][0] = (f32x16){0};
      c_reg0[10][0] = (f32x16){0};
      c_reg0[11][0] = (f32x16){0};
      c_reg0[12][0] = (f32x16){0};
      c_reg0[13][0] = (f32x16){0};
      c_reg0[14][0] = (f32x16){0};
      c_reg0[15][0] = (f32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 32; ++k0) {
        {
          f32x16 b_reg0[1][1];
          b_reg0[0][0] = load_f32x16(&b[16 * k0]);
          c_reg0[0][0] += a[k0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[1][0] += a[k0 + 32] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[1][0]));
          c_reg0[2][0] += a[k0 + 64] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[2][0]));
          c_reg0[3][0] += a[k0 + 96] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[3][0]));
          c_reg0[4][0] += a[k0 + 128] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[4][0]));
          c_reg0[5][0] += a[k0 + 160] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[5][0]));
          c_reg0[6][0] += a[k0 + 192] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[6][0]));
          c_reg0[7][0] += a[k0 + 224] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[7][0]));
          c_reg0[8][0] += a[k0 + 256] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[8][0]));
          c_reg0[9][0] += a[k0 + 288] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[9][0]));
          c_reg0[10][0] += a[k0 + 320] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[10][0]));
          c_reg0[11][0] += a[k0 + 352] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[11][0]));
          c_reg0[12][0] += a[k0 + 384] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[12][0]));
          c_reg0[13][0] += a[k0 + 416] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[13][0]));
          c_reg0[14][0] += a[k0 + 448] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[14][0]));
          c_reg0[15][0] += a[k0 + 480] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[15][0]));
        }
      }
      store_f32x16(&c_L1_0[0], c_reg0[0][0]);
      store_f32x16(&c_L1_0[16], c_reg0[1][0]);
      store_f32x16(&c_L1_0[32], c_reg0[2][0]);
      store_f32x16(&c_L1_0[48], c_reg0[3][0]);
      store_f32x16(&c_L1_0[64], c_reg0[4][0]);
      store_f32x16(&c_L1_0[80], c_reg0[5][0]);
      store_f32x16(&c_L1_0[96], c_reg0[6][0]);
      store_f32x16(&c_L1_0[112], c_reg0[7][0]);
      store_f32x16(&c_L1_0[128], c_reg0[8][0]);
      store_f32x16(&c_L1_0[144], c_reg0[9][0]);
      store_f32x16(&c_L1_0[160], c_reg0[10][0]);
      store_f32x16(&c_L1_0[176], c_reg0[11][0]);
      store_f32x16(&c_L1_0[192], c_reg0[12][0]);
      store_f32x16(&c_L1_0[208], c_reg0[13][0]);
      store_f32x16(&c_L1_0[224], c_reg0[14][0]);
      store_f32x16(&c_L1_0[240], c_reg0[15][0]);
    }
    {
      float *const restrict max_L1_0 = (float *)(workspace + 1024);  /* f32[16]{0} */
      float *const restrict denominator_L1_0 = (float *)(workspace + 1088);  /* f32[16]{0} */
      store_f32x16(&max_L1_0[0], splat_f32x16(-__builtin_inff()));
      store_f32x16(&denominator_L1_0[0], (f32x16){0});
      for (long i0 = 0; i0 < 16; ++i0) {
        online_run_f32x16(&c_L1_0[16 * i0], 16, &max_L1_0[i0], &denominator_L1_0[i0]);
      }
      for (long i0 = 0; i0 < 16; ++i0) {
        softmax_complete_run_f32x16(&c_L1_0[16 * i0], max_L1_0[i0], denominator_L1_0[i0], &out[16 * i0], 16);
      }
    }
  }
}

// attention(f32[16,16], f32[16,16], f32[16,16])
__attribute__((force_align_arg_pointer))
void kernel_21(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[3200];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    {
      float *const restrict c_L1_0 = (float *)(workspace + 1024);  /* f32[16,16]{1,0} */
      for (long i0 = 0; i0 < 16; ++i0) {
        store_f32x16(&c_L1_0[16 * i0], (f32x16){0});
      }
      few_columns(&a[0], 16, &b[0], 1, 16, &c_L1_0[0], 16, 1, 16, 16, 16);
      {
        float *const restrict out_L1_1 = (float *)(workspace + 2048);  /* f32[16,16]{1,0} */
        for (long i0 = 0; i0 < 16; ++i0) {
          {
            f32x16 x_reg0[1][1];
            x_reg0[0][0] = load_f32x16(&c_L1_0[16 * i0]);
            {
              f32x16 out_reg0[1][1];
              out_reg0[0][0] = x_reg0[0][0] * splat_f32x16((0.25f));
              store_f32x16(&out_L1_1[16 * i0], out_reg0[0][0]);
            }
          }
        }
        {
          float *const restrict max_L1_0 = (float *)(workspace + 3072);  /* f32[16]{0} */
          float *const restrict denominator_L1_0 = (float *)(workspace + 3136);  /* f32[16]{0} */
          store_f32x16(&max_L1_0[0], splat_f32x16(-__builtin_inff()));
          store_f32x16(&denominator_L1_0[0], (f32x16){0});
          for (long i0 = 0; i0 < 16; ++i0) {
            online_run_f32x16(&out_L1_1[16 * i0], 16, &max_L1_0[i0], &denominator_L1_0[i0]);
          }
          for (long i0 = 0; i0 < 16; ++i0) {
            softmax_complete_run_f32x16(&out_L1_1[16 * i0], max_L1_0[i0], denominator_L1_0[i0], &out_L1_0[16 * i0], 16);
          }
        }
      }
    }
    {
      f32x16 b_reg0[16][1];
      b_reg0[0][0] = load_f32x16(&c[0]);
      b_reg0[1][0] = load_f32x16(&c[16]);
      b_reg0[2][0] = load_f32x16(&c[32]);
      b_reg0[3][0] = load_f32x16(&c[48]);
      b_reg0[4][0] = load_f32x16(&c[64]);
      b_reg0[5][0] = load_f32x16(&c[80]);
      b_reg0[6][0] = load_f32x16(&c[96]);
      b_reg0[7][0] = load_f32x16(&c[112]);
      b_reg0[8][0] = load_f32x16(&c[128]);
      b_reg0[9][0] = load_f32x16(&c[144]);
      b_reg0[10][0] = load_f32x16(&c[160]);
      b_reg0[11][0] = load_f32x16(&c[176]);
      b_reg0[12][0] = load_f32x16(&c[192]);
      b_reg0[13][0] = load_f32x16(&c[208]);
      b_reg0[14][0] = load_f32x16(&c[224]);
      b_reg0[15][0] = load_f32x16(&c[240]);
      for (long m0 = 0; m0 < 16; ++m0) {
        {
          f32x16 c_reg0[1][1];
          c_reg0[0][0] = (f32x16){0};
          c_reg0[0][0] += out_L1_0[16 * m0] * b_reg0[0][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 1] * b_reg0[1][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 2] * b_reg0[2][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 3] * b_reg0[3][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 4] * b_reg0[4][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 5] * b_reg0[5][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 6] * b_reg0[6][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 7] * b_reg0[7][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 8] * b_reg0[8][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 9] * b_reg0[9][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 10] * b_reg0[10][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 11] * b_reg0[11][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 12] * b_reg0[12][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 13] * b_reg0[13][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 14] * b_reg0[14][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          c_reg0[0][0] += out_L1_0[16 * m0 + 15] * b_reg0[15][0];
          __asm__ volatile("" : "+v"(c_reg0[0][0]));
          store_f32x16(&out[16 * m0], c_reg0[0][0]);
        }
      }
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
      store_part_f32x16(&out_L1_1[0], (f32x16){0}, 8);
      for (long i0 = 0; i0 < 8; ++i0) {
        out_L1_1[i0] += sum_run_f32x16(&a[64 * i0], 64);
      }
      {
        f32x16 x_reg0[1];
        x_reg0[0] = load_part_f32x16(&out_L1_1[0], 8);
        {
          f32x16 out_reg0[1];
          out_reg0[0] = x_reg0[0] * splat_f32x16((0.015625f));
          store_part_f32x16(&out_L1_0[0], out_reg0[0], 8);
        }
      }
    }
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[8]{0} */
      {
        f32x16 out_reg0[1];
        {
          f32x16 out_reg1[1];
          {
            float *const restrict out_L1_2 = (float *)(workspace + 128);  /* f32[8]{0} */
            store_part_f32x16(&out_L1_2[0], (f32x16){0}, 8);
            for (long i0 = 0; i0 < 8; ++i0) {
              out_L1_2[i0] += deviations_run_f32x16(&a[64 * i0], out_L1_0[i0], 64);
            }
            {
              f32x16 x_reg0[1];
              x_reg0[0] = load_part_f32x16(&out_L1_2[0], 8);
              out_reg1[0] = x_reg0[0] * splat_f32x16((0.015625f));
            }
          }
          out_reg0[0] = out_reg1[0] + splat_f32x16((1e-05f));
        }
        {
          f32x16 out_reg1[1];
          out_reg1[0] = rsqrt_f32x16(out_reg0[0]);
          store_part_f32x16(&out_L1_1[0], out_reg1[0], 8);
        }
      }
      for (long j0 = 0; j0 < 64; j0 += 16) {
        {
          f32x16 out_reg0[8][1];
          {
            f32x16 out_reg1[8][1];
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[0]);
              }
              out_reg1[0][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[0]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 64]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[1]);
              }
              out_reg1[1][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[1]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 128]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[2]);
              }
              out_reg1[2][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[2]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 192]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[3]);
              }
              out_reg1[3][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[3]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 256]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[4]);
              }
              out_reg1[4][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[4]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 320]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[5]);
              }
              out_reg1[5][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[5]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 384]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[6]);
              }
              out_reg1[6][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[6]);
            }
            {
              f32x16 out_reg2[1][1];
              {
                f32x16 a_reg0[1][1];
                a_reg0[0][0] = load_f32x16(&a[j0 + 448]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[7]);
              }
              out_reg1[7][0] = out_reg2[0][0] * splat_f32x16(out_L1_1[7]);
            }
            {
              f32x16 b_reg0[1];
              b_reg0[0] = load_f32x16(&b[j0]);
              out_reg0[0][0] = out_reg1[0][0] * b_reg0[0];
              out_reg0[1][0] = out_reg1[1][0] * b_reg0[0];
              out_reg0[2][0] = out_reg1[2][0] * b_reg0[0];
              out_reg0[3][0] = out_reg1[3][0] * b_reg0[0];
              out_reg0[4][0] = out_reg1[4][0] * b_reg0[0];
              out_reg0[5][0] = out_reg1[5][0] * b_reg0[0];
              out_reg0[6][0] = out_reg1[6][0] * b_reg0[0];
              out_reg0[7][0] = out_reg1[7][0] * b_reg0[0];
            }
          }
          {
            f32x16 b_reg0[1];
            b_reg0[0] = load_f32x16(&c[j0]);
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[0][0] + b_reg0[0];
              store_f32x16(&out[j0], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[1][0] + b_reg0[0];
              store_f32x16(&out[j0 + 64], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[2][0] + b_reg0[0];
              store_f32x16(&out[j0 + 128], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[3][0] + b_reg0[0];
              store_f32x16(&out[j0 + 192], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[4][0] + b_reg0[0];
              store_f32x16(&out[j0 + 256], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[5][0] + b_reg0[0];
              store_f32x16(&out[j0 + 320], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[6][0] + b_reg0[0];
              store_f32x16(&out[j0 + 384], out_reg1[0][0]);
            }
            {
              f32x16 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[7][0] + b_reg0[0];
              store_f32x16(&out[j0 + 448], out_reg1[0][0]);
            }
          }
        }
      }
    }
  }
}

// rms_norm(f32[1,256], f32[256])
__attribute__((force_align_arg_pointer))
void kernel_23(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    f32x16 out_reg0[1][16];
    {
      float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[1]{0} */
      {
        float out_reg1[1];
        {
          float out_reg2[1];
          {
            float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[1]{0} */
            out_L1_1[0] = 0;
            out_L1_1[0] += sum_squares_run_f32x16(&a[0], 256);
            {
              float x_reg0[1];
              x_reg0[0] = out_L1_1[0];
              out_reg2[0] = x_reg0[0] * (0.00390625f);
            }
          }
          out_reg1[0] = out_reg2[0] + (1e-05f);
        }
        {
          float out_reg2[1];
          out_reg2[0] = rsqrt_f32(out_reg1[0]);
          out_L1_0[0] = out_reg2[0];
        }
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[0]);
        out_reg0[0][0] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[16]);
        out_reg0[0][1] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[32]);
        out_reg0[0][2] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[48]);
        out_reg0[0][3] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[64]);
        out_reg0[0][4] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[80]);
        out_reg0[0][5] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[96]);
        out_reg0[0][6] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[112]);
        out_reg0[0][7] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[128]);
        out_reg0[0][8] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[144]);
        out_reg0[0][9] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[160]);
        out_reg0[0][10] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[176]);
        out_reg0[0][11] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[192]);
        out_reg0[0][12] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[208]);
        out_reg0[0][13] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[224]);
        out_reg0[0][14] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[240]);
        out_reg0[0][15] = a_reg0[0][0] * splat_f32x16(out_L1_0[0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[0]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][0] * b_reg0[0];
        store_f32x16(&out[0], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[16]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][1] * b_reg0[0];
        store_f32x16(&out[16], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[32]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][2] * b_reg0[0];
        store_f32x16(&out[32], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[48]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][3] * b_reg0[0];
        store_f32x16(&out[48], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[64]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][4] * b_reg0[0];
        store_f32x16(&out[64], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[80]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][5] * b_reg0[0];
        store_f32x16(&out[80], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[96]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][6] * b_reg0[0];
        store_f32x16(&out[96], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[112]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][7] * b_reg0[0];
        store_f32x16(&out[112], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[128]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][8] * b_reg0[0];
        store_f32x16(&out[128], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[144]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][9] * b_reg0[0];
        store_f32x16(&out[144], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[160]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][10] * b_reg0[0];
        store_f32x16(&out[160], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[176]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][11] * b_reg0[0];
        store_f32x16(&out[176], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[192]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][12] * b_reg0[0];
        store_f32x16(&out[192], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[208]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][13] * b_reg0[0];
        store_f32x16(&out[208], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[224]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][14] * b_reg0[0];
        store_f32x16(&out[224], out_reg1[0][0]);
      }
    }
    {
      f32x16 b_reg0[1];
      b_reg0[0] = load_f32x16(&b[240]);
      {
        f32x16 out_reg1[1][1];
        out_reg1[0][0] = out_reg0[0][15] * b_reg0[0];
        store_f32x16(&out[240], out_reg1[0][0]);
      }
    }
  }
}

// sum(f32[32,48], axis=0)
__attribute__((force_align_arg_pointer))
void kernel_24(const float *restrict x, float *restrict out) {
  {
    f32x16 out_reg0[3];
    out_reg0[0] = (f32x16){0};
    out_reg0[1] = (f32x16){0};
    out_reg0[2] = (f32x16){0};
    for (long i0 = 0; i0 < 32; ++i0) {
      {
        f32x16 x_reg0[1][3];
        x_reg0[0][0] = load_f32x16(&x[48 * i0]);
        x_reg0[0][1] = load_f32x16(&x[48 * i0 + 16]);
        x_reg0[0][2] = load_f32x16(&x[48 * i0 + 32]);
        out_reg0[0] += x_reg0[0][0];
        out_reg0[1] += x_reg0[0][1];
        out_reg0[2] += x_reg0[0][2];
      }
    }
    store_f32x16(&out[0], out_reg0[0]);
    store_f32x16(&out[16], out_reg0[1]);
    store_f32x16(&out[32], out_reg0[2]);
  }
}

// sum(f32[32,48], axis=1)
__attribute__((force_align_arg_pointer))
void kernel_25(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 32; i0 += 16) {
    store_f32x16(&out[i0], (f32x16){0});
    for (long i1 = 0; i1 < 16; ++i1) {
      out[i0 + i1] += sum_run_f32x16(&x[48 * i0 + 48 * i1], 48);
    }
  }
}

// max(f32[16,100])
__attribute__((force_align_arg_pointer))
void kernel_26(const float *restrict x, float *restrict out) {
  store_f32x16(&out[0], splat_f32x16(-__builtin_inff()));
  for (long i0 = 0; i0 < 16; ++i0) {
    out[i0] = max_run_f32x16(&x[100 * i0], 100, out[i0]);
  }
}

// mean(f32[8,8,8], axis=[0,2])
__attribute__((force_align_arg_pointer))
void kernel_27(const float *restrict a, float *restrict out) {
  _Alignas(64) unsigned char workspace[64];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    for (long i0 = 0; i0 < 8; ++i0) {
      {
        float out_reg0[8][1];
        out_reg0[0][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0];
            out_reg0[0][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[1][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 64];
            out_reg0[1][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[2][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 128];
            out_reg0[2][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[3][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 192];
            out_reg0[3][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[4][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 256];
            out_reg0[4][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[5][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 320];
            out_reg0[5][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[6][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 384];
            out_reg0[6][0] += x_reg0[0][0][0];
          }
        }
        out_reg0[7][0] = 0;
        for (long k0 = 0; k0 < 8; ++k0) {
          {
            float x_reg0[1][1][1];
            x_reg0[0][0][0] = a[8 * i0 + k0 + 448];
            out_reg0[7][0] += x_reg0[0][0][0];
          }
        }
        {
          float out_reg1[1];
          out_reg1[0] = 0;
          out_reg1[0] += out_reg0[0][0];
          out_reg1[0] += out_reg0[1][0];
          out_reg1[0] += out_reg0[2][0];
          out_reg1[0] += out_reg0[3][0];
          out_reg1[0] += out_reg0[4][0];
          out_reg1[0] += out_reg0[5][0];
          out_reg1[0] += out_reg0[6][0];
          out_reg1[0] += out_reg0[7][0];
          out_L1_0[i0] = out_reg1[0];
        }
      }
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_part_f32x16(&out_L1_0[0], 8);
      {
        f32x16 out_reg0[1];
        out_reg0[0] = x_reg0[0] * splat_f32x16((0.015625f));
        store_part_f32x16(&out[0], out_reg0[0], 8);
      }
    }
  }
}

// transpose(f32[32,48])
__attribute__((force_align_arg_pointer))
void kernel_28(const float *restrict src, float *restrict dst) {
  for (long i0 = 0; i0 < 48; i0 += 16) {
    for (long j0 = 0; j0 < 32; j0 += 16) {
      transpose_4_16(&src[i0 + 48 * j0], 48, &dst[32 * i0 + j0], 32);
    }
  }
}

// transpose(f32[16,16] + f32[16,16])
__attribute__((force_align_arg_pointer))
void kernel_29(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    {
      f32x16 a_reg0[16][1];
      a_reg0[0][0] = load_f32x16(&a[0]);
      a_reg0[1][0] = load_f32x16(&a[16]);
      a_reg0[2][0] = load_f32x16(&a[32]);
      a_reg0[3][0] = load_f32x16(&a[48]);
      a_reg0[4][0] = load_f32x16(&a[64]);
      a_reg0[5][0] = load_f32x16(&a[80]);
      a_reg0[6][0] = load_f32x16(&a[96]);
      a_reg0[7][0] = load_f32x16(&a[112]);
      a_reg0[8][0] = load_f32x16(&a[128]);
      a_reg0[9][0] = load_f32x16(&a[144]);
      a_reg0[10][0] = load_f32x16(&a[160]);
      a_reg0[11][0] = load_f32x16(&a[176]);
      a_reg0[12][0] = load_f32x16(&a[192]);
      a_reg0[13][0] = load_f32x16(&a[208]);
      a_reg0[14][0] = load_f32x16(&a[224]);
      a_reg0[15][0] = load_f32x16(&a[240]);
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[0]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[0], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[16]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[1][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[16], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[32]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[2][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[32], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[48]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[3][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[48], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[64]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[4][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[64], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[80]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[5][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[80], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[96]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[6][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[96], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[112]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[7][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[112], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[128]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[8][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[128], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[144]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[9][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[144], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[160]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[10][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[160], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[176]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[11][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[176], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[192]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[12][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[192], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[208]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[13][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[208], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[224]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[14][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[224], out_reg0[0][0]);
        }
      }
      {
        f32x16 b_reg0[1][1];
        b_reg0[0][0] = load_f32x16(&b[240]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[15][0] + b_reg0[0][0];
          store_f32x16(&out_L1_0[240], out_reg0[0][0]);
        }
      }
    }
    transpose_4_16(&out_L1_0[0], 16, &out[0], 16);
  }
}

// exp(f32[100])
__attribute__((force_align_arg_pointer))
void kernel_30(const float *restrict x, float *restrict out) {
  {
    f32x16 out_reg0[7];
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[0]);
      out_reg0[0] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[16]);
      out_reg0[1] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[32]);
      out_reg0[2] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[48]);
      out_reg0[3] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[64]);
      out_reg0[4] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&x[80]);
      out_reg0[5] = exp_f32x16(x_reg0[0]);
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_part_f32x16(&x[96], 4);
      out_reg0[6] = exp_f32x16(x_reg0[0]);
    }
    store_f32x16(&out[0], out_reg0[0]);
    store_f32x16(&out[16], out_reg0[1]);
    store_f32x16(&out[32], out_reg0[2]);
    store_f32x16(&out[48], out_reg0[3]);
    store_f32x16(&out[64], out_reg0[4]);
    store_f32x16(&out[80], out_reg0[5]);
    store_part_f32x16(&out[96], out_reg0[6], 4);
  }
}

// f32[64] + f32[64] * 2.0
__attribute__((force_align_arg_pointer))
void kernel_31(const float *restrict a, const float *restrict b, float *restrict out) {
  {
    f32x16 out_reg0[4];
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&b[0]);
      out_reg0[0] = x_reg0[0] * splat_f32x16((2.0f));
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&b[16]);
      out_reg0[1] = x_reg0[0] * splat_f32x16((2.0f));
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&b[32]);
      out_reg0[2] = x_reg0[0] * splat_f32x16((2.0f));
    }
    {
      f32x16 x_reg0[1];
      x_reg0[0] = load_f32x16(&b[48]);
      out_reg0[3] = x_reg0[0] * splat_f32x16((2.0f));
    }
    {
      f32x16 a_reg0[1];
      a_reg0[0] = load_f32x16(&a[0]);
      {
        f32x16 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[0];
        store_f32x16(&out[0], out_reg1[0]);
      }
    }
    {
      f32x16 a_reg0[1];
      a_reg0[0] = load_f32x16(&a[16]);
      {
        f32x16 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[1];
        store_f32x16(&out[16], out_reg1[0]);
      }
    }
    {
      f32x16 a_reg0[1];
      a_reg0[0] = load_f32x16(&a[32]);
      {
        f32x16 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[2];
        store_f32x16(&out[32], out_reg1[0]);
      }
    }
    {
      f32x16 a_reg0[1];
      a_reg0[0] = load_f32x16(&a[48]);
      {
        f32x16 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[3];
        store_f32x16(&out[48], out_reg1[0]);
      }
    }
  }
}

// tanh(f32[8,24])
__attribute__((force_align_arg_pointer))
void kernel_32(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 192; i0 += 48) {
    {
      f32x16 x_reg0[3];
      x_reg0[0] = load_f32x16(&x[i0]);
      x_reg0[1] = load_f32x16(&x[i0 + 16]);
      x_reg0[2] = load_f32x16(&x[i0 + 32]);
      {
        f32x16 out_reg0[1];
        out_reg0[0] = tanh_f32x16(x_reg0[0]);
        store_f32x16(&out[i0], out_reg0[0]);
      }
      {
        f32x16 out_reg0[1];
        out_reg0[0] = tanh_f32x16(x_reg0[1]);
        store_f32x16(&out[i0 + 16], out_reg0[0]);
      }
      {
        f32x16 out_reg0[1];
        out_reg0[0] = tanh_f32x16(x_reg0[2]);
        store_f32x16(&out[i0 + 32], out_reg0[0]);
      }
    }
  }
}

// f32[16,16] - expand_dims(mean(f32[16,16]), axis=1)
__attribute__((force_align_arg_pointer))
void kernel_33(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16]{0} */
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[16]{0} */
      store_f32x16(&out_L1_1[0], (f32x16){0});
      for (long i0 = 0; i0 < 16; ++i0) {
        out_L1_1[i0] += sum_run_f32x16(&b[16 * i0], 16);
      }
      {
        f32x16 x_reg0[1];
        x_reg0[0] = load_f32x16(&out_L1_1[0]);
        {
          f32x16 out_reg0[1];
          out_reg0[0] = x_reg0[0] * splat_f32x16((0.0625f));
          store_f32x16(&out_L1_0[0], out_reg0[0]);
        }
      }
    }
    for (long i0 = 0; i0 < 16; ++i0) {
      {
        f32x16 a_reg0[1][1];
        a_reg0[0][0] = load_f32x16(&a[16 * i0]);
        {
          f32x16 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][0] - splat_f32x16(out_L1_0[i0]);
          store_f32x16(&out[16 * i0], out_reg0[0][0]);
        }
      }
    }
  }
}

// conv(f32[1,4,8,8], f32[8,4,3,3])
__attribute__((force_align_arg_pointer))
void kernel_34(const float *restrict image, const float *restrict filter, float *restrict out) {
  for (long y0 = 0; y0 < 6; y0 += 3) {
    {
      f32x16 out_reg0[1][8][3][1];
      out_reg0[0][0][0][0] = (f32x16){0};
      out_reg0[0][0][1][0] = (f32x16){0};
      out_reg0[0][0][2][0] = (f32x16){0};
      out_reg0[0][1][0][0] = (f32x16){0};
      out_reg0[0][1][1][0] = (f32x16){0};
      out_reg0[0][1][2][0] = (f32x16){0};
      out_reg0[0][2][0][0] = (f32x16){0};
      out_reg0[0][2][1][0] = (f32x16){0};
      out_reg0[0][2][2][0] = (f32x16){0};
      out_reg0[0][3][0][0] = (f32x16){0};
      out_reg0[0][3][1][0] = (f32x16){0};
      out_reg0[0][3][2][0] = (f32x16){0};
      out_reg0[0][4][0][0] = (f32x16){0};
      out_reg0[0][4][1][0] = (f32x16){0};
      out_reg0[0][4][2][0] = (f32x16){0};
      out_reg0[0][5][0][0] = (f32x16){0};
      out_reg0[0][5][1][0] = (f32x16){0};
      out_reg0[0][5][2][0] = (f32x16){0};
      out_reg0[0][6][0][0] = (f32x16){0};
      out_reg0[0][6][1][0] = (f32x16){0};
      out_reg0[0][6][2][0] = (f32x16){0};
      out_reg0[0][7][0][0] = (f32x16){0};
      out_reg0[0][7][1][0] = (f32x16){0};
      out_reg0[0][7][2][0] = (f32x16){0};
      for (long c0 = 0; c0 < 4; ++c0) {
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 a_reg0[1][1];
              a_reg0[0][0] = load_part_f32x16(&image[8 * y0 + 64 * c0 + 8 * p0 + q0], 6);
              out_reg0[0][0][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][0][0]));
              out_reg0[0][1][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 36];
              __asm__ volatile("" : "+v"(out_reg0[0][1][0][0]));
              out_reg0[0][2][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 72];
              __asm__ volatile("" : "+v"(out_reg0[0][2][0][0]));
              out_reg0[0][3][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 108];
              __asm__ volatile("" : "+v"(out_reg0[0][3][0][0]));
              out_reg0[0][4][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 144];
              __asm__ volatile("" : "+v"(out_reg0[0][4][0][0]));
              out_reg0[0][5][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 180];
              __asm__ volatile("" : "+v"(out_reg0[0][5][0][0]));
              out_reg0[0][6][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 216];
              __asm__ volatile("" : "+v"(out_reg0[0][6][0][0]));
              out_reg0[0][7][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 252];
              __asm__ volatile("" : "+v"(out_reg0[0][7][0][0]));
            }
          }
        }
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 a_reg0[1][1];
              a_reg0[0][0] = load_part_f32x16(&image[8 * y0 + 64 * c0 + 8 * p0 + q0 + 8], 6);
              out_reg0[0][0][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][1][0]));
              out_reg0[0][1][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 36];
              __asm__ volatile("" : "+v"(out_reg0[0][1][1][0]));
              out_reg0[0][2][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 72];
              __asm__ volatile("" : "+v"(out_reg0[0][2][1][0]));
              out_reg0[0][3][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 108];
              __asm__ volatile("" : "+v"(out_reg0[0][3][1][0]));
              out_reg0[0][4][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 144];
              __asm__ volatile("" : "+v"(out_reg0[0][4][1][0]));
              out_reg0[0][5][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 180];
              __asm__ volatile("" : "+v"(out_reg0[0][5][1][0]));
              out_reg0[0][6][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 216];
              __asm__ volatile("" : "+v"(out_reg0[0][6][1][0]));
              out_reg0[0][7][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 252];
              __asm__ volatile("" : "+v"(out_reg0[0][7][1][0]));
            }
          }
        }
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 a_reg0[1][1];
              a_reg0[0][0] = load_part_f32x16(&image[8 * y0 + 64 * c0 + 8 * p0 + q0 + 16], 6);
              out_reg0[0][0][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][2][0]));
              out_reg0[0][1][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 36];
              __asm__ volatile("" : "+v"(out_reg0[0][1][2][0]));
              out_reg0[0][2][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 72];
              __asm__ volatile("" : "+v"(out_reg0[0][2][2][0]));
              out_reg0[0][3][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 108];
              __asm__ volatile("" : "+v"(out_reg0[0][3][2][0]));
              out_reg0[0][4][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 144];
              __asm__ volatile("" : "+v"(out_reg0[0][4][2][0]));
              out_reg0[0][5][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 180];
              __asm__ volatile("" : "+v"(out_reg0[0][5][2][0]));
              out_reg0[0][6][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 216];
              __asm__ volatile("" : "+v"(out_reg0[0][6][2][0]));
              out_reg0[0][7][2][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 252];
              __asm__ volatile("" : "+v"(out_reg0[0][7][2][0]));
            }
          }
        }
      }
      store_part_f32x16(&out[6 * y0], out_reg0[0][0][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 6], out_reg0[0][0][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 12], out_reg0[0][0][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 36], out_reg0[0][1][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 42], out_reg0[0][1][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 48], out_reg0[0][1][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 72], out_reg0[0][2][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 78], out_reg0[0][2][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 84], out_reg0[0][2][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 108], out_reg0[0][3][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 114], out_reg0[0][3][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 120], out_reg0[0][3][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 144], out_reg0[0][4][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 150], out_reg0[0][4][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 156], out_reg0[0][4][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 180], out_reg0[0][5][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 186], out_reg0[0][5][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 192], out_reg0[0][5][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 216], out_reg0[0][6][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 222], out_reg0[0][6][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 228], out_reg0[0][6][2][0], 6);
      store_part_f32x16(&out[6 * y0 + 252], out_reg0[0][7][0][0], 6);
      store_part_f32x16(&out[6 * y0 + 258], out_reg0[0][7][1][0], 6);
      store_part_f32x16(&out[6 * y0 + 264], out_reg0[0][7][2][0], 6);
    }
  }
}

// conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)
__attribute__((force_align_arg_pointer))
void kernel_35(const float *restrict image, const float *restrict filter, float *restrict out) {
  _Alignas(64) unsigned char workspace[2688];
  {
    float *const restrict dst_L2_0 = (float *)(workspace + 0);  /* f32[1,8,9,9]{3,2,1,0} */
    for (long j0 = 0; j0 < 8; ++j0) {
      for (long k0 = 0; k0 < 9; ++k0) {
        store_part_f32x16(&dst_L2_0[81 * j0 + 9 * k0], (f32x16){0}, 9);
      }
    }
    for (long j0 = 0; j0 < 8; ++j0) {
      for (long k0 = 0; k0 < 7; ++k0) {
        store_part_f32x16(&dst_L2_0[81 * j0 + 9 * k0 + 10], load_part_f32x16(&image[49 * j0 + 7 * k0], 7), 7);
      }
    }
    for (long y0 = 0; y0 < 4; y0 += 2) {
      {
        f32x16 out_reg0[1][8][2][1];
        out_reg0[0][0][0][0] = (f32x16){0};
        out_reg0[0][1][0][0] = (f32x16){0};
        out_reg0[0][2][0][0] = (f32x16){0};
        out_reg0[0][3][0][0] = (f32x16){0};
        out_reg0[0][4][0][0] = (f32x16){0};
        out_reg0[0][5][0][0] = (f32x16){0};
        out_reg0[0][6][0][0] = (f32x16){0};
        out_reg0[0][7][0][0] = (f32x16){0};
        for (long c0 = 0; c0 < 8; ++c0) {
          for (long p0 = 0; p0 < 3; ++p0) {
            for (long q0 = 0; q0 < 3; ++q0) {
              {
                float *const restrict a_L1_0 = (float *)(workspace + 2624);  /* f32[1,4]{1,0} */
                for (long j0 = 0; j0 < 4; ++j0) {
                  a_L1_0[j0] = dst_L2_0[18 * y0 + 81 * c0 + 9 * p0 + q0 + 2 * j0];
                }
                {
                  f32x16 a_reg0[1][1];
                  a_reg0[0][0] = load_part_f32x16(&a_L1_0[0], 4);
                  out_reg0[0][0][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0];
                  __asm__ volatile("" : "+v"(out_reg0[0][0][0][0]));
                  out_reg0[0][1][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 72];
                  __asm__ volatile("" : "+v"(out_reg0[0][1][0][0]));
                  out_reg0[0][2][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 144];
                  __asm__ volatile("" : "+v"(out_reg0[0][2][0][0]));
                  out_reg0[0][3][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 216];
                  __asm__ volatile("" : "+v"(out_reg0[0][3][0][0]));
                  out_reg0[0][4][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 288];
                  __asm__ volatile("" : "+v"(out_reg0[0][4][0][0]));
                  out_reg0[0][5][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 360];
                  __asm__ volatile("" : "+v"(out_reg0[0][5][0][0]));
                  out_reg0[0][6][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 432];
                  __asm__ volatile("" : "+v"(out_reg0[0][6][0][0]));
                  out_reg0[0][7][0][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 504];
                  __asm__ volatile("" : "+v"(out_reg0[0][7][0][0]));
                }
              }
            }
          }
        }
        out_reg0[0][0][1][0] = (f32x16){0};
        out_reg0[0][1][1][0] = (f32x16){0};
        out_reg0[0][2][1][0] = (f32x16){0};
        out_reg0[0][3][1][0] = (f32x16){0};
        out_reg0[0][4][1][0] = (f32x16){0};
        out_reg0[0][5][1][0] = (f32x16){0};
        out_reg0[0][6][1][0] = (f32x16){0};
        out_reg0[0][7][1][0] = (f32x16){0};
        for (long c0 = 0; c0 < 8; ++c0) {
          for (long p0 = 0; p0 < 3; ++p0) {
            for (long q0 = 0; q0 < 3; ++q0) {
              {
                float *const restrict a_L1_0 = (float *)(workspace + 2624);  /* f32[1,4]{1,0} */
                for (long j0 = 0; j0 < 4; ++j0) {
                  a_L1_0[j0] = dst_L2_0[18 * y0 + 81 * c0 + 9 * p0 + q0 + 2 * j0 + 18];
                }
                {
                  f32x16 a_reg0[1][1];
                  a_reg0[0][0] = load_part_f32x16(&a_L1_0[0], 4);
                  out_reg0[0][0][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0];
                  __asm__ volatile("" : "+v"(out_reg0[0][0][1][0]));
                  out_reg0[0][1][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 72];
                  __asm__ volatile("" : "+v"(out_reg0[0][1][1][0]));
                  out_reg0[0][2][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 144];
                  __asm__ volatile("" : "+v"(out_reg0[0][2][1][0]));
                  out_reg0[0][3][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 216];
                  __asm__ volatile("" : "+v"(out_reg0[0][3][1][0]));
                  out_reg0[0][4][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 288];
                  __asm__ volatile("" : "+v"(out_reg0[0][4][1][0]));
                  out_reg0[0][5][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 360];
                  __asm__ volatile("" : "+v"(out_reg0[0][5][1][0]));
                  out_reg0[0][6][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 432];
                  __asm__ volatile("" : "+v"(out_reg0[0][6][1][0]));
                  out_reg0[0][7][1][0] += a_reg0[0][0] * filter[9 * c0 + 3 * p0 + q0 + 504];
                  __asm__ volatile("" : "+v"(out_reg0[0][7][1][0]));
                }
              }
            }
          }
        }
        store_part_f32x16(&out[4 * y0], out_reg0[0][0][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 4], out_reg0[0][0][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 16], out_reg0[0][1][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 20], out_reg0[0][1][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 32], out_reg0[0][2][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 36], out_reg0[0][2][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 48], out_reg0[0][3][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 52], out_reg0[0][3][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 64], out_reg0[0][4][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 68], out_reg0[0][4][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 80], out_reg0[0][5][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 84], out_reg0[0][5][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 96], out_reg0[0][6][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 100], out_reg0[0][6][1][0], 4);
        store_part_f32x16(&out[4 * y0 + 112], out_reg0[0][7][0][0], 4);
        store_part_f32x16(&out[4 * y0 + 116], out_reg0[0][7][1][0], 4);
      }
    }
  }
}

// relu(conv(f32[1,8,6,6], f32[16,8,1,1]))
__attribute__((force_align_arg_pointer))
void kernel_36(const float *restrict a, const float *restrict b, float *restrict out) {
  for (long j0 = 0; j0 < 16; j0 += 8) {
    {
      f32x16 c_reg0[8][3];
      c_reg0[0][0] = (f32x16){0};
      c_reg0[0][1] = (f32x16){0};
      c_reg0[0][2] = (f32x16){0};
      c_reg0[1][0] = (f32x16){0};
      c_reg0[1][1] = (f32x16){0};
      c_reg0[1][2] = (f32x16){0};
      c_reg0[2][0] = (f32x16){0};
      c_reg0[2][1] = (f32x16){0};
      c_reg0[2][2] = (f32x16){0};
      c_reg0[3][0] = (f32x16){0};
      c_reg0[3][1] = (f32x16){0};
      c_reg0[3][2] = (f32x16){0};
      c_reg0[4][0] = (f32x16){0};
      c_reg0[4][1] = (f32x16){0};
      c_reg0[4][2] = (f32x16){0};
      c_reg0[5][0] = (f32x16){0};
      c_reg0[5][1] = (f32x16){0};
      c_reg0[5][2] = (f32x16){0};
      c_reg0[6][0] = (f32x16){0};
      c_reg0[6][1] = (f32x16){0};
      c_reg0[6][2] = (f32x16){0};
      c_reg0[7][0] = (f32x16){0};
      c_reg0[7][1] = (f32x16){0};
      c_reg0[7][2] = (f32x16){0};
      #pragma GCC unroll 4
      for (long k0 = 0; k0 < 8; ++k0) {
        {
          f32x16 b_reg0[1][3];
          b_reg0[0][0] = load_f32x16(&a[36 * k0]);
          b_reg0[0][1] = load_f32x16(&a[36 * k0 + 16]);
          b_reg0[0][2] = load_part_f32x16(&a[36 * k0 + 32], 4);
          c_reg0[0][0] += b[8 * j0 + k0] * b_reg0[0][0];
          c_reg0[0][1] += b[8 * j0 + k0] * b_reg0[0][1];
          c_reg0[0][2] += b[8 * j0 + k0] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[0][0]), "+v"(c_reg0[0][1]), "+v"(c_reg0[0][2]));
          c_reg0[1][0] += b[8 * j0 + k0 + 8] * b_reg0[0][0];
          c_reg0[1][1] += b[8 * j0 + k0 + 8] * b_reg0[0][1];
          c_reg0[1][2] += b[8 * j0 + k0 + 8] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[1][0]), "+v"(c_reg0[1][1]), "+v"(c_reg0[1][2]));
          c_reg0[2][0] += b[8 * j0 + k0 + 16] * b_reg0[0][0];
          c_reg0[2][1] += b[8 * j0 + k0 + 16] * b_reg0[0][1];
          c_reg0[2][2] += b[8 * j0 + k0 + 16] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[2][0]), "+v"(c_reg0[2][1]), "+v"(c_reg0[2][2]));
          c_reg0[3][0] += b[8 * j0 + k0 + 24] * b_reg0[0][0];
          c_reg0[3][1] += b[8 * j0 + k0 + 24] * b_reg0[0][1];
          c_reg0[3][2] += b[8 * j0 + k0 + 24] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[3][0]), "+v"(c_reg0[3][1]), "+v"(c_reg0[3][2]));
          c_reg0[4][0] += b[8 * j0 + k0 + 32] * b_reg0[0][0];
          c_reg0[4][1] += b[8 * j0 + k0 + 32] * b_reg0[0][1];
          c_reg0[4][2] += b[8 * j0 + k0 + 32] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[4][0]), "+v"(c_reg0[4][1]), "+v"(c_reg0[4][2]));
          c_reg0[5][0] += b[8 * j0 + k0 + 40] * b_reg0[0][0];
          c_reg0[5][1] += b[8 * j0 + k0 + 40] * b_reg0[0][1];
          c_reg0[5][2] += b[8 * j0 + k0 + 40] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[5][0]), "+v"(c_reg0[5][1]), "+v"(c_reg0[5][2]));
          c_reg0[6][0] += b[8 * j0 + k0 + 48] * b_reg0[0][0];
          c_reg0[6][1] += b[8 * j0 + k0 + 48] * b_reg0[0][1];
          c_reg0[6][2] += b[8 * j0 + k0 + 48] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[6][0]), "+v"(c_reg0[6][1]), "+v"(c_reg0[6][2]));
          c_reg0[7][0] += b[8 * j0 + k0 + 56] * b_reg0[0][0];
          c_reg0[7][1] += b[8 * j0 + k0 + 56] * b_reg0[0][1];
          c_reg0[7][2] += b[8 * j0 + k0 + 56] * b_reg0[0][2];
          __asm__ volatile("" : "+v"(c_reg0[7][0]), "+v"(c_reg0[7][1]), "+v"(c_reg0[7][2]));
        }
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[0][0]);
        store_f32x16(&out[36 * j0], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[0][1]);
        store_f32x16(&out[36 * j0 + 16], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[0][2]);
        store_part_f32x16(&out[36 * j0 + 32], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[1][0]);
        store_f32x16(&out[36 * j0 + 36], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[1][1]);
        store_f32x16(&out[36 * j0 + 52], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[1][2]);
        store_part_f32x16(&out[36 * j0 + 68], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[2][0]);
        store_f32x16(&out[36 * j0 + 72], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[2][1]);
        store_f32x16(&out[36 * j0 + 88], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[2][2]);
        store_part_f32x16(&out[36 * j0 + 104], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[3][0]);
        store_f32x16(&out[36 * j0 + 108], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[3][1]);
        store_f32x16(&out[36 * j0 + 124], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[3][2]);
        store_part_f32x16(&out[36 * j0 + 140], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[4][0]);
        store_f32x16(&out[36 * j0 + 144], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[4][1]);
        store_f32x16(&out[36 * j0 + 160], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[4][2]);
        store_part_f32x16(&out[36 * j0 + 176], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[5][0]);
        store_f32x16(&out[36 * j0 + 180], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[5][1]);
        store_f32x16(&out[36 * j0 + 196], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[5][2]);
        store_part_f32x16(&out[36 * j0 + 212], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[6][0]);
        store_f32x16(&out[36 * j0 + 216], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[6][1]);
        store_f32x16(&out[36 * j0 + 232], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[6][2]);
        store_part_f32x16(&out[36 * j0 + 248], out_reg0[0][0], 4);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[7][0]);
        store_f32x16(&out[36 * j0 + 252], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[7][1]);
        store_f32x16(&out[36 * j0 + 268], out_reg0[0][0]);
      }
      {
        f32x16 out_reg0[1][1];
        out_reg0[0][0] = relu_f32x16(c_reg0[7][2]);
        store_part_f32x16(&out[36 * j0 + 284], out_reg0[0][0], 4);
      }
    }
  }
}

// conv(f32[1,8,8,4], f32[3,3,4,8], layout=NHWC)
__attribute__((force_align_arg_pointer))
void kernel_37(const float *restrict image, const float *restrict filter, float *restrict out) {
  for (long y0 = 0; y0 < 6; y0 += 3) {
    {
      f32x16 out_reg0[1][3][6][1];
      out_reg0[0][0][0][0] = (f32x16){0};
      out_reg0[0][0][1][0] = (f32x16){0};
      out_reg0[0][0][2][0] = (f32x16){0};
      out_reg0[0][0][3][0] = (f32x16){0};
      out_reg0[0][0][4][0] = (f32x16){0};
      out_reg0[0][0][5][0] = (f32x16){0};
      for (long c0 = 0; c0 < 4; ++c0) {
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 b_reg0[1][1];
              b_reg0[0][0] = load_part_f32x16(&filter[8 * c0 + 96 * p0 + 32 * q0], 8);
              out_reg0[0][0][0][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][0][0]));
              out_reg0[0][0][1][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 4] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][1][0]));
              out_reg0[0][0][2][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 8] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][2][0]));
              out_reg0[0][0][3][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 12] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][3][0]));
              out_reg0[0][0][4][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 16] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][4][0]));
              out_reg0[0][0][5][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 20] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][0][5][0]));
            }
          }
        }
      }
      out_reg0[0][1][0][0] = (f32x16){0};
      out_reg0[0][1][1][0] = (f32x16){0};
      out_reg0[0][1][2][0] = (f32x16){0};
      out_reg0[0][1][3][0] = (f32x16){0};
      out_reg0[0][1][4][0] = (f32x16){0};
      out_reg0[0][1][5][0] = (f32x16){0};
      for (long c0 = 0; c0 < 4; ++c0) {
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 b_reg0[1][1];
              b_reg0[0][0] = load_part_f32x16(&filter[8 * c0 + 96 * p0 + 32 * q0], 8);
              out_reg0[0][1][0][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 32] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][0][0]));
              out_reg0[0][1][1][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 36] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][1][0]));
              out_reg0[0][1][2][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 40] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][2][0]));
              out_reg0[0][1][3][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 44] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][3][0]));
              out_reg0[0][1][4][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 48] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][4][0]));
              out_reg0[0][1][5][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 52] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][1][5][0]));
            }
          }
        }
      }
      out_reg0[0][2][0][0] = (f32x16){0};
      out_reg0[0][2][1][0] = (f32x16){0};
      out_reg0[0][2][2][0] = (f32x16){0};
      out_reg0[0][2][3][0] = (f32x16){0};
      out_reg0[0][2][4][0] = (f32x16){0};
      out_reg0[0][2][5][0] = (f32x16){0};
      for (long c0 = 0; c0 < 4; ++c0) {
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x16 b_reg0[1][1];
              b_reg0[0][0] = load_part_f32x16(&filter[8 * c0 + 96 * p0 + 32 * q0], 8);
              out_reg0[0][2][0][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 64] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][0][0]));
              out_reg0[0][2][1][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 68] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][1][0]));
              out_reg0[0][2][2][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 72] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][2][0]));
              out_reg0[0][2][3][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 76] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][3][0]));
              out_reg0[0][2][4][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 80] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][4][0]));
              out_reg0[0][2][5][0] += image[32 * y0 + c0 + 32 * p0 + 4 * q0 + 84] * b_reg0[0][0];
              __asm__ volatile("" : "+v"(out_reg0[0][2][5][0]));
            }
          }
        }
      }
      store_part_f32x16(&out[48 * y0], out_reg0[0][0][0][0], 8);
      store_part_f32x16(&out[48 * y0 + 8], out_reg0[0][0][1][0], 8);
      store_part_f32x16(&out[48 * y0 + 16], out_reg0[0][0][2][0], 8);
      store_part_f32x16(&out[48 * y0 + 24], out_reg0[0][0][3][0], 8);
      store_part_f32x16(&out[48 * y0 + 32], out_reg0[0][0][4][0], 8);
      store_part_f32x16(&out[48 * y0 + 40], out_reg0[0][0][5][0], 8);
      store_part_f32x16(&out[48 * y0 + 48], out_reg0[0][1][0][0], 8);
      store_part_f32x16(&out[48 * y0 + 56], out_reg0[0][1][1][0], 8);
      store_part_f32x16(&out[48 * y0 + 64], out_reg0[0][1][2][0], 8);
      store_part_f32x16(&out[48 * y0 + 72], out_reg0[0][1][3][0], 8);
      store_part_f32x16(&out[48 * y0 + 80], out_reg0[0][1][4][0], 8);
      store_part_f32x16(&out[48 * y0 + 88], out_reg0[0][1][5][0], 8);
      store_part_f32x16(&out[48 * y0 + 96], out_reg0[0][2][0][0], 8);
      store_part_f32x16(&out[48 * y0 + 104], out_reg0[0][2][1][0], 8);
      store_part_f32x16(&out[48 * y0 + 112], out_reg0[0][2][2][0], 8);
      store_part_f32x16(&out[48 * y0 + 120], out_reg0[0][2][3][0], 8);
      store_part_f32x16(&out[48 * y0 + 128], out_reg0[0][2][4][0], 8);
      store_part_f32x16(&out[48 * y0 + 136], out_reg0[0][2][5][0], 8);
    }
  }
}

// move(f32[16,16]{0,1})
__attribute__((force_align_arg_pointer))
void kernel_38(const float *restrict src, float *restrict dst) {
  transpose_4_16(&src[0], 16, &dst[0], 16);
}

// fill_zero(f32[100])
__attribute__((force_align_arg_pointer))
void kernel_39(float *restrict dst) {
  for (long i0 = 0; i0 < 96; i0 += 16) {
    store_f32x16(&dst[i0], (f32x16){0});
  }
  store_part_f32x16(&dst[96], (f32x16){0}, 4);
}

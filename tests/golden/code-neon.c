// f32[16,16] @ f32[16,16]
void kernel_0(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 16; m0 += 8) {
    for (long n0 = 0; n0 < 16; n0 += 8) {
      {
        f32x4 c_reg0[8][2];
        c_reg0[0][0] = (f32x4){0};
        c_reg0[0][1] = (f32x4){0};
        c_reg0[1][0] = (f32x4){0};
        c_reg0[1][1] = (f32x4){0};
        c_reg0[2][0] = (f32x4){0};
        c_reg0[2][1] = (f32x4){0};
        c_reg0[3][0] = (f32x4){0};
        c_reg0[3][1] = (f32x4){0};
        c_reg0[4][0] = (f32x4){0};
        c_reg0[4][1] = (f32x4){0};
        c_reg0[5][0] = (f32x4){0};
        c_reg0[5][1] = (f32x4){0};
        c_reg0[6][0] = (f32x4){0};
        c_reg0[6][1] = (f32x4){0};
        c_reg0[7][0] = (f32x4){0};
        c_reg0[7][1] = (f32x4){0};
        for (long k0 = 0; k0 < 16; ++k0) {
          {
            f32x4 b_reg0[1][2];
            b_reg0[0][0] = load_f32x4(&b[n0 + 16 * k0]);
            b_reg0[0][1] = load_f32x4(&b[n0 + 16 * k0 + 4]);
            c_reg0[0][0] += a[16 * m0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += a[16 * m0 + k0] * b_reg0[0][1];
            c_reg0[1][0] += a[16 * m0 + k0 + 16] * b_reg0[0][0];
            c_reg0[1][1] += a[16 * m0 + k0 + 16] * b_reg0[0][1];
            c_reg0[2][0] += a[16 * m0 + k0 + 32] * b_reg0[0][0];
            c_reg0[2][1] += a[16 * m0 + k0 + 32] * b_reg0[0][1];
            c_reg0[3][0] += a[16 * m0 + k0 + 48] * b_reg0[0][0];
            c_reg0[3][1] += a[16 * m0 + k0 + 48] * b_reg0[0][1];
            c_reg0[4][0] += a[16 * m0 + k0 + 64] * b_reg0[0][0];
            c_reg0[4][1] += a[16 * m0 + k0 + 64] * b_reg0[0][1];
            c_reg0[5][0] += a[16 * m0 + k0 + 80] * b_reg0[0][0];
            c_reg0[5][1] += a[16 * m0 + k0 + 80] * b_reg0[0][1];
            c_reg0[6][0] += a[16 * m0 + k0 + 96] * b_reg0[0][0];
            c_reg0[6][1] += a[16 * m0 + k0 + 96] * b_reg0[0][1];
            c_reg0[7][0] += a[16 * m0 + k0 + 112] * b_reg0[0][0];
            c_reg0[7][1] += a[16 * m0 + k0 + 112] * b_reg0[0][1];
          }
        }
        store_f32x4(&c[16 * m0 + n0], c_reg0[0][0]);
        store_f32x4(&c[16 * m0 + n0 + 4], c_reg0[0][1]);
        store_f32x4(&c[16 * m0 + n0 + 16], c_reg0[1][0]);
        store_f32x4(&c[16 * m0 + n0 + 20], c_reg0[1][1]);
        store_f32x4(&c[16 * m0 + n0 + 32], c_reg0[2][0]);
        store_f32x4(&c[16 * m0 + n0 + 36], c_reg0[2][1]);
        store_f32x4(&c[16 * m0 + n0 + 48], c_reg0[3][0]);
        store_f32x4(&c[16 * m0 + n0 + 52], c_reg0[3][1]);
        store_f32x4(&c[16 * m0 + n0 + 64], c_reg0[4][0]);
        store_f32x4(&c[16 * m0 + n0 + 68], c_reg0[4][1]);
        store_f32x4(&c[16 * m0 + n0 + 80], c_reg0[5][0]);
        store_f32x4(&c[16 * m0 + n0 + 84], c_reg0[5][1]);
        store_f32x4(&c[16 * m0 + n0 + 96], c_reg0[6][0]);
        store_f32x4(&c[16 * m0 + n0 + 100], c_reg0[6][1]);
        store_f32x4(&c[16 * m0 + n0 + 112], c_reg0[7][0]);
        store_f32x4(&c[16 * m0 + n0 + 116], c_reg0[7][1]);
      }
    }
  }
}

// f32[64,64] @ f32[64,64]
void kernel_1(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 64; m0 += 8) {
    for (long n0 = 0; n0 < 64; n0 += 16) {
      for (long n1 = 0; n1 < 16; n1 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 64; k0 += 16) {
            {
              const long line = k0 / 16 + n1 / 8 * 4;
              __builtin_prefetch(&c[64 * m0 + n0 + line % 1 * 16 + line / 1 % 8 * 64], 1, 3);
            }
            for (long k1 = k0; k1 < k0 + 16; ++k1) {
              {
                f32x4 b_reg0[1][2];
                b_reg0[0][0] = load_f32x4(&b[n0 + n1 + 64 * k1]);
                b_reg0[0][1] = load_f32x4(&b[n0 + n1 + 64 * k1 + 4]);
                c_reg0[0][0] += a[64 * m0 + k1] * b_reg0[0][0];
                c_reg0[0][1] += a[64 * m0 + k1] * b_reg0[0][1];
                c_reg0[1][0] += a[64 * m0 + k1 + 64] * b_reg0[0][0];
                c_reg0[1][1] += a[64 * m0 + k1 + 64] * b_reg0[0][1];
                c_reg0[2][0] += a[64 * m0 + k1 + 128] * b_reg0[0][0];
                c_reg0[2][1] += a[64 * m0 + k1 + 128] * b_reg0[0][1];
                c_reg0[3][0] += a[64 * m0 + k1 + 192] * b_reg0[0][0];
                c_reg0[3][1] += a[64 * m0 + k1 + 192] * b_reg0[0][1];
                c_reg0[4][0] += a[64 * m0 + k1 + 256] * b_reg0[0][0];
                c_reg0[4][1] += a[64 * m0 + k1 + 256] * b_reg0[0][1];
                c_reg0[5][0] += a[64 * m0 + k1 + 320] * b_reg0[0][0];
                c_reg0[5][1] += a[64 * m0 + k1 + 320] * b_reg0[0][1];
                c_reg0[6][0] += a[64 * m0 + k1 + 384] * b_reg0[0][0];
                c_reg0[6][1] += a[64 * m0 + k1 + 384] * b_reg0[0][1];
                c_reg0[7][0] += a[64 * m0 + k1 + 448] * b_reg0[0][0];
                c_reg0[7][1] += a[64 * m0 + k1 + 448] * b_reg0[0][1];
              }
            }
          }
          store_f32x4(&c[64 * m0 + n0 + n1], c_reg0[0][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 4], c_reg0[0][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 64], c_reg0[1][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 68], c_reg0[1][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 128], c_reg0[2][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 132], c_reg0[2][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 192], c_reg0[3][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 196], c_reg0[3][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 256], c_reg0[4][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 260], c_reg0[4][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 320], c_reg0[5][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 324], c_reg0[5][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 384], c_reg0[6][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 388], c_reg0[6][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 448], c_reg0[7][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 452], c_reg0[7][1]);
        }
      }
    }
  }
}

// f32[7,13] @ f32[13,11]
void kernel_2(const float *restrict a, const float *restrict b, float *restrict c) {
  {
    f32x4 b_reg0[13][2];
    b_reg0[0][0] = load_f32x4(&b[0]);
    b_reg0[0][1] = load_f32x4(&b[4]);
    b_reg0[1][0] = load_f32x4(&b[11]);
    b_reg0[1][1] = load_f32x4(&b[15]);
    b_reg0[2][0] = load_f32x4(&b[22]);
    b_reg0[2][1] = load_f32x4(&b[26]);
    b_reg0[3][0] = load_f32x4(&b[33]);
    b_reg0[3][1] = load_f32x4(&b[37]);
    b_reg0[4][0] = load_f32x4(&b[44]);
    b_reg0[4][1] = load_f32x4(&b[48]);
    b_reg0[5][0] = load_f32x4(&b[55]);
    b_reg0[5][1] = load_f32x4(&b[59]);
    b_reg0[6][0] = load_f32x4(&b[66]);
    b_reg0[6][1] = load_f32x4(&b[70]);
    b_reg0[7][0] = load_f32x4(&b[77]);
    b_reg0[7][1] = load_f32x4(&b[81]);
    b_reg0[8][0] = load_f32x4(&b[88]);
    b_reg0[8][1] = load_f32x4(&b[92]);
    b_reg0[9][0] = load_f32x4(&b[99]);
    b_reg0[9][1] = load_f32x4(&b[103]);
    b_reg0[10][0] = load_f32x4(&b[110]);
    b_reg0[10][1] = load_f32x4(&b[114]);
    b_reg0[11][0] = load_f32x4(&b[121]);
    b_reg0[11][1] = load_f32x4(&b[125]);
    b_reg0[12][0] = load_f32x4(&b[132]);
    b_reg0[12][1] = load_f32x4(&b[136]);
    for (long m0 = 0; m0 < 7; ++m0) {
      {
        f32x4 c_reg0[1][2];
        c_reg0[0][0] = (f32x4){0};
        c_reg0[0][1] = (f32x4){0};
        c_reg0[0][0] += a[13 * m0] * b_reg0[0][0];
        c_reg0[0][1] += a[13 * m0] * b_reg0[0][1];
        c_reg0[0][0] += a[13 * m0 + 1] * b_reg0[1][0];
        c_reg0[0][1] += a[13 * m0 + 1] * b_reg0[1][1];
        c_reg0[0][0] += a[13 * m0 + 2] * b_reg0[2][0];
        c_reg0[0][1] += a[13 * m0 + 2] * b_reg0[2][1];
        c_reg0[0][0] += a[13 * m0 + 3] * b_reg0[3][0];
        c_reg0[0][1] += a[13 * m0 + 3] * b_reg0[3][1];
        c_reg0[0][0] += a[13 * m0 + 4] * b_reg0[4][0];
        c_reg0[0][1] += a[13 * m0 + 4] * b_reg0[4][1];
        c_reg0[0][0] += a[13 * m0 + 5] * b_reg0[5][0];
        c_reg0[0][1] += a[13 * m0 + 5] * b_reg0[5][1];
        c_reg0[0][0] += a[13 * m0 + 6] * b_reg0[6][0];
        c_reg0[0][1] += a[13 * m0 + 6] * b_reg0[6][1];
        c_reg0[0][0] += a[13 * m0 + 7] * b_reg0[7][0];
        c_reg0[0][1] += a[13 * m0 + 7] * b_reg0[7][1];
        c_reg0[0][0] += a[13 * m0 + 8] * b_reg0[8][0];
        c_reg0[0][1] += a[13 * m0 + 8] * b_reg0[8][1];
        c_reg0[0][0] += a[13 * m0 + 9] * b_reg0[9][0];
        c_reg0[0][1] += a[13 * m0 + 9] * b_reg0[9][1];
        c_reg0[0][0] += a[13 * m0 + 10] * b_reg0[10][0];
        c_reg0[0][1] += a[13 * m0 + 10] * b_reg0[10][1];
        c_reg0[0][0] += a[13 * m0 + 11] * b_reg0[11][0];
        c_reg0[0][1] += a[13 * m0 + 11] * b_reg0[11][1];
        c_reg0[0][0] += a[13 * m0 + 12] * b_reg0[12][0];
        c_reg0[0][1] += a[13 * m0 + 12] * b_reg0[12][1];
        store_f32x4(&c[11 * m0], c_reg0[0][0]);
        store_f32x4(&c[11 * m0 + 4], c_reg0[0][1]);
      }
    }
  }
  {
    float c_reg0[7][3];
    c_reg0[0][0] = 0;
    c_reg0[1][0] = 0;
    c_reg0[2][0] = 0;
    c_reg0[3][0] = 0;
    c_reg0[4][0] = 0;
    c_reg0[5][0] = 0;
    c_reg0[6][0] = 0;
    c_reg0[0][1] = 0;
    c_reg0[1][1] = 0;
    c_reg0[2][1] = 0;
    c_reg0[3][1] = 0;
    c_reg0[4][1] = 0;
    c_reg0[5][1] = 0;
    c_reg0[6][1] = 0;
    c_reg0[0][2] = 0;
    c_reg0[1][2] = 0;
    c_reg0[2][2] = 0;
    c_reg0[3][2] = 0;
    c_reg0[4][2] = 0;
    c_reg0[5][2] = 0;
    c_reg0[6][2] = 0;
    for (long k0 = 0; k0 < 13; ++k0) {
      {
        float b_reg0[1][3];
        b_reg0[0][0] = b[11 * k0 + 8];
        b_reg0[0][1] = b[11 * k0 + 9];
        b_reg0[0][2] = b[11 * k0 + 10];
        c_reg0[0][0] += a[k0] * b_reg0[0][0];
        c_reg0[0][1] += a[k0] * b_reg0[0][1];
        c_reg0[0][2] += a[k0] * b_reg0[0][2];
        c_reg0[1][0] += a[k0 + 13] * b_reg0[0][0];
        c_reg0[1][1] += a[k0 + 13] * b_reg0[0][1];
        c_reg0[1][2] += a[k0 + 13] * b_reg0[0][2];
        c_reg0[2][0] += a[k0 + 26] * b_reg0[0][0];
        c_reg0[2][1] += a[k0 + 26] * b_reg0[0][1];
        c_reg0[2][2] += a[k0 + 26] * b_reg0[0][2];
        c_reg0[3][0] += a[k0 + 39] * b_reg0[0][0];
        c_reg0[3][1] += a[k0 + 39] * b_reg0[0][1];
        c_reg0[3][2] += a[k0 + 39] * b_reg0[0][2];
        c_reg0[4][0] += a[k0 + 52] * b_reg0[0][0];
        c_reg0[4][1] += a[k0 + 52] * b_reg0[0][1];
        c_reg0[4][2] += a[k0 + 52] * b_reg0[0][2];
        c_reg0[5][0] += a[k0 + 65] * b_reg0[0][0];
        c_reg0[5][1] += a[k0 + 65] * b_reg0[0][1];
        c_reg0[5][2] += a[k0 + 65] * b_reg0[0][2];
        c_reg0[6][0] += a[k0 + 78] * b_reg0[0][0];
        c_reg0[6][1] += a[k0 + 78] * b_reg0[0][1];
        c_reg0[6][2] += a[k0 + 78] * b_reg0[0][2];
      }
    }
    c[8] = c_reg0[0][0];
    c[9] = c_reg0[0][1];
    c[10] = c_reg0[0][2];
    c[19] = c_reg0[1][0];
    c[20] = c_reg0[1][1];
    c[21] = c_reg0[1][2];
    c[30] = c_reg0[2][0];
    c[31] = c_reg0[2][1];
    c[32] = c_reg0[2][2];
    c[41] = c_reg0[3][0];
    c[42] = c_reg0[3][1];
    c[43] = c_reg0[3][2];
    c[52] = c_reg0[4][0];
    c[53] = c_reg0[4][1];
    c[54] = c_reg0[4][2];
    c[63] = c_reg0[5][0];
    c[64] = c_reg0[5][1];
    c[65] = c_reg0[5][2];
    c[74] = c_reg0[6][0];
    c[75] = c_reg0[6][1];
    c[76] = c_reg0[6][2];
  }
}

// f32[1,64] @ f32[64,96]
void kernel_3(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long j0 = 0; j0 < 96; j0 += 48) {
    for (long j1 = 0; j1 < 48; j1 += 4) {
      store_f32x4(&c[j0 + j1], (f32x4){0});
    }
  }
  for (long k0 = 0; k0 < 64; k0 += 8) {
    sum_rows_f32_f32(&a[k0], &b[96 * k0], 96, &c[0], 96);
  }
}

// f32[64,96] @ f32[96,1]
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
void kernel_5(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long b0 = 0; b0 < 3; ++b0) {
    {
      f32x4 c_reg0[1][8][2];
      c_reg0[0][0][0] = (f32x4){0};
      c_reg0[0][0][1] = (f32x4){0};
      c_reg0[0][1][0] = (f32x4){0};
      c_reg0[0][1][1] = (f32x4){0};
      c_reg0[0][2][0] = (f32x4){0};
      c_reg0[0][2][1] = (f32x4){0};
      c_reg0[0][3][0] = (f32x4){0};
      c_reg0[0][3][1] = (f32x4){0};
      c_reg0[0][4][0] = (f32x4){0};
      c_reg0[0][4][1] = (f32x4){0};
      c_reg0[0][5][0] = (f32x4){0};
      c_reg0[0][5][1] = (f32x4){0};
      c_reg0[0][6][0] = (f32x4){0};
      c_reg0[0][6][1] = (f32x4){0};
      c_reg0[0][7][0] = (f32x4){0};
      c_reg0[0][7][1] = (f32x4){0};
      for (long k0 = 0; k0 < 16; ++k0) {
        {
          f32x4 b_reg0[1][1][2];
          b_reg0[0][0][0] = load_f32x4(&b[128 * b0 + 8 * k0]);
          b_reg0[0][0][1] = load_f32x4(&b[128 * b0 + 8 * k0 + 4]);
          c_reg0[0][0][0] += a[128 * b0 + k0] * b_reg0[0][0][0];
          c_reg0[0][0][1] += a[128 * b0 + k0] * b_reg0[0][0][1];
          c_reg0[0][1][0] += a[128 * b0 + k0 + 16] * b_reg0[0][0][0];
          c_reg0[0][1][1] += a[128 * b0 + k0 + 16] * b_reg0[0][0][1];
          c_reg0[0][2][0] += a[128 * b0 + k0 + 32] * b_reg0[0][0][0];
          c_reg0[0][2][1] += a[128 * b0 + k0 + 32] * b_reg0[0][0][1];
          c_reg0[0][3][0] += a[128 * b0 + k0 + 48] * b_reg0[0][0][0];
          c_reg0[0][3][1] += a[128 * b0 + k0 + 48] * b_reg0[0][0][1];
          c_reg0[0][4][0] += a[128 * b0 + k0 + 64] * b_reg0[0][0][0];
          c_reg0[0][4][1] += a[128 * b0 + k0 + 64] * b_reg0[0][0][1];
          c_reg0[0][5][0] += a[128 * b0 + k0 + 80] * b_reg0[0][0][0];
          c_reg0[0][5][1] += a[128 * b0 + k0 + 80] * b_reg0[0][0][1];
          c_reg0[0][6][0] += a[128 * b0 + k0 + 96] * b_reg0[0][0][0];
          c_reg0[0][6][1] += a[128 * b0 + k0 + 96] * b_reg0[0][0][1];
          c_reg0[0][7][0] += a[128 * b0 + k0 + 112] * b_reg0[0][0][0];
          c_reg0[0][7][1] += a[128 * b0 + k0 + 112] * b_reg0[0][0][1];
        }
      }
      store_f32x4(&c[64 * b0], c_reg0[0][0][0]);
      store_f32x4(&c[64 * b0 + 4], c_reg0[0][0][1]);
      store_f32x4(&c[64 * b0 + 8], c_reg0[0][1][0]);
      store_f32x4(&c[64 * b0 + 12], c_reg0[0][1][1]);
      store_f32x4(&c[64 * b0 + 16], c_reg0[0][2][0]);
      store_f32x4(&c[64 * b0 + 20], c_reg0[0][2][1]);
      store_f32x4(&c[64 * b0 + 24], c_reg0[0][3][0]);
      store_f32x4(&c[64 * b0 + 28], c_reg0[0][3][1]);
      store_f32x4(&c[64 * b0 + 32], c_reg0[0][4][0]);
      store_f32x4(&c[64 * b0 + 36], c_reg0[0][4][1]);
      store_f32x4(&c[64 * b0 + 40], c_reg0[0][5][0]);
      store_f32x4(&c[64 * b0 + 44], c_reg0[0][5][1]);
      store_f32x4(&c[64 * b0 + 48], c_reg0[0][6][0]);
      store_f32x4(&c[64 * b0 + 52], c_reg0[0][6][1]);
      store_f32x4(&c[64 * b0 + 56], c_reg0[0][7][0]);
      store_f32x4(&c[64 * b0 + 60], c_reg0[0][7][1]);
    }
  }
}

// f32[256,256] @ f32[256,256]
void kernel_6(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long n0 = 0; n0 < 256; n0 += 32) {
    for (long m0 = 0; m0 < 256; m0 += 16) {
      for (long m1 = 0; m1 < 16; m1 += 8) {
        for (long n1 = 0; n1 < 32; n1 += 16) {
          for (long n2 = 0; n2 < 16; n2 += 8) {
            {
              f32x4 c_reg0[8][2];
              c_reg0[0][0] = (f32x4){0};
              c_reg0[0][1] = (f32x4){0};
              c_reg0[1][0] = (f32x4){0};
              c_reg0[1][1] = (f32x4){0};
              c_reg0[2][0] = (f32x4){0};
              c_reg0[2][1] = (f32x4){0};
              c_reg0[3][0] = (f32x4){0};
              c_reg0[3][1] = (f32x4){0};
              c_reg0[4][0] = (f32x4){0};
              c_reg0[4][1] = (f32x4){0};
              c_reg0[5][0] = (f32x4){0};
              c_reg0[5][1] = (f32x4){0};
              c_reg0[6][0] = (f32x4){0};
              c_reg0[6][1] = (f32x4){0};
              c_reg0[7][0] = (f32x4){0};
              c_reg0[7][1] = (f32x4){0};
              for (long k0 = 0; k0 < 256; k0 += 64) {
                {
                  const long line = k0 / 64 + n2 / 8 * 4;
                  __builtin_prefetch(&c[n0 + 256 * m0 + 256 * m1 + n1 + line % 1 * 16 + line / 1 % 8 * 256], 1, 3);
                }
                for (long k1 = k0; k1 < k0 + 64; ++k1) {
                  {
                    f32x4 b_reg0[1][2];
                    b_reg0[0][0] = load_f32x4(&b[n0 + n1 + n2 + 256 * k1]);
                    b_reg0[0][1] = load_f32x4(&b[n0 + n1 + n2 + 256 * k1 + 4]);
                    c_reg0[0][0] += a[256 * m0 + 256 * m1 + k1] * b_reg0[0][0];
                    c_reg0[0][1] += a[256 * m0 + 256 * m1 + k1] * b_reg0[0][1];
                    c_reg0[1][0] += a[256 * m0 + 256 * m1 + k1 + 256] * b_reg0[0][0];
                    c_reg0[1][1] += a[256 * m0 + 256 * m1 + k1 + 256] * b_reg0[0][1];
                    c_reg0[2][0] += a[256 * m0 + 256 * m1 + k1 + 512] * b_reg0[0][0];
                    c_reg0[2][1] += a[256 * m0 + 256 * m1 + k1 + 512] * b_reg0[0][1];
                    c_reg0[3][0] += a[256 * m0 + 256 * m1 + k1 + 768] * b_reg0[0][0];
                    c_reg0[3][1] += a[256 * m0 + 256 * m1 + k1 + 768] * b_reg0[0][1];
                    c_reg0[4][0] += a[256 * m0 + 256 * m1 + k1 + 1024] * b_reg0[0][0];
                    c_reg0[4][1] += a[256 * m0 + 256 * m1 + k1 + 1024] * b_reg0[0][1];
                    c_reg0[5][0] += a[256 * m0 + 256 * m1 + k1 + 1280] * b_reg0[0][0];
                    c_reg0[5][1] += a[256 * m0 + 256 * m1 + k1 + 1280] * b_reg0[0][1];
                    c_reg0[6][0] += a[256 * m0 + 256 * m1 + k1 + 1536] * b_reg0[0][0];
                    c_reg0[6][1] += a[256 * m0 + 256 * m1 + k1 + 1536] * b_reg0[0][1];
                    c_reg0[7][0] += a[256 * m0 + 256 * m1 + k1 + 1792] * b_reg0[0][0];
                    c_reg0[7][1] += a[256 * m0 + 256 * m1 + k1 + 1792] * b_reg0[0][1];
                  }
                }
              }
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2], c_reg0[0][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 4], c_reg0[0][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 256], c_reg0[1][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 260], c_reg0[1][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 512], c_reg0[2][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 516], c_reg0[2][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 768], c_reg0[3][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 772], c_reg0[3][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1024], c_reg0[4][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1028], c_reg0[4][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1280], c_reg0[5][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1284], c_reg0[5][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1536], c_reg0[6][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1540], c_reg0[6][1]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1792], c_reg0[7][0]);
              store_f32x4(&c[n0 + 256 * m0 + 256 * m1 + n1 + n2 + 1796], c_reg0[7][1]);
            }
          }
        }
      }
    }
  }
}

// f32[32,64]{0,1} @ f32[64,32]
void kernel_7(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 32; m0 += 8) {
    for (long n0 = 0; n0 < 32; n0 += 16) {
      for (long n1 = 0; n1 < 16; n1 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 64; k0 += 16) {
            {
              const long line = k0 / 16 + n1 / 8 * 4;
              __builtin_prefetch(&c[32 * m0 + n0 + line % 1 * 16 + line / 1 % 8 * 32], 1, 3);
            }
            for (long k1 = k0; k1 < k0 + 16; ++k1) {
              {
                f32x4 b_reg0[1][2];
                b_reg0[0][0] = load_f32x4(&b[n0 + n1 + 32 * k1]);
                b_reg0[0][1] = load_f32x4(&b[n0 + n1 + 32 * k1 + 4]);
                c_reg0[0][0] += a[m0 + 32 * k1] * b_reg0[0][0];
                c_reg0[0][1] += a[m0 + 32 * k1] * b_reg0[0][1];
                c_reg0[1][0] += a[m0 + 32 * k1 + 1] * b_reg0[0][0];
                c_reg0[1][1] += a[m0 + 32 * k1 + 1] * b_reg0[0][1];
                c_reg0[2][0] += a[m0 + 32 * k1 + 2] * b_reg0[0][0];
                c_reg0[2][1] += a[m0 + 32 * k1 + 2] * b_reg0[0][1];
                c_reg0[3][0] += a[m0 + 32 * k1 + 3] * b_reg0[0][0];
                c_reg0[3][1] += a[m0 + 32 * k1 + 3] * b_reg0[0][1];
                c_reg0[4][0] += a[m0 + 32 * k1 + 4] * b_reg0[0][0];
                c_reg0[4][1] += a[m0 + 32 * k1 + 4] * b_reg0[0][1];
                c_reg0[5][0] += a[m0 + 32 * k1 + 5] * b_reg0[0][0];
                c_reg0[5][1] += a[m0 + 32 * k1 + 5] * b_reg0[0][1];
                c_reg0[6][0] += a[m0 + 32 * k1 + 6] * b_reg0[0][0];
                c_reg0[6][1] += a[m0 + 32 * k1 + 6] * b_reg0[0][1];
                c_reg0[7][0] += a[m0 + 32 * k1 + 7] * b_reg0[0][0];
                c_reg0[7][1] += a[m0 + 32 * k1 + 7] * b_reg0[0][1];
              }
            }
          }
          store_f32x4(&c[32 * m0 + n0 + n1], c_reg0[0][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 4], c_reg0[0][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 32], c_reg0[1][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 36], c_reg0[1][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 64], c_reg0[2][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 68], c_reg0[2][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 96], c_reg0[3][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 100], c_reg0[3][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 128], c_reg0[4][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 132], c_reg0[4][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 160], c_reg0[5][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 164], c_reg0[5][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 192], c_reg0[6][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 196], c_reg0[6][1]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 224], c_reg0[7][0]);
          store_f32x4(&c[32 * m0 + n0 + n1 + 228], c_reg0[7][1]);
        }
      }
    }
  }
}

// f32[32,64] @ f32[64,64]{0,1:T(16,1)}
void kernel_8(const float *restrict a, const float *restrict b, float *restrict c) {
  for (long m0 = 0; m0 < 32; m0 += 8) {
    for (long n0 = 0; n0 < 64; n0 += 16) {
      for (long n1 = 0; n1 < 16; n1 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 64; k0 += 16) {
            {
              const long line = k0 / 16 + n1 / 8 * 4;
              __builtin_prefetch(&c[64 * m0 + n0 + line % 1 * 16 + line / 1 % 8 * 64], 1, 3);
            }
            for (long k1 = k0; k1 < k0 + 16; ++k1) {
              {
                f32x4 b_reg0[1][2];
                b_reg0[0][0] = load_f32x4(&b[64 * n0 + n1 + 16 * k1]);
                b_reg0[0][1] = load_f32x4(&b[64 * n0 + n1 + 16 * k1 + 4]);
                c_reg0[0][0] += a[64 * m0 + k1] * b_reg0[0][0];
                c_reg0[0][1] += a[64 * m0 + k1] * b_reg0[0][1];
                c_reg0[1][0] += a[64 * m0 + k1 + 64] * b_reg0[0][0];
                c_reg0[1][1] += a[64 * m0 + k1 + 64] * b_reg0[0][1];
                c_reg0[2][0] += a[64 * m0 + k1 + 128] * b_reg0[0][0];
                c_reg0[2][1] += a[64 * m0 + k1 + 128] * b_reg0[0][1];
                c_reg0[3][0] += a[64 * m0 + k1 + 192] * b_reg0[0][0];
                c_reg0[3][1] += a[64 * m0 + k1 + 192] * b_reg0[0][1];
                c_reg0[4][0] += a[64 * m0 + k1 + 256] * b_reg0[0][0];
                c_reg0[4][1] += a[64 * m0 + k1 + 256] * b_reg0[0][1];
                c_reg0[5][0] += a[64 * m0 + k1 + 320] * b_reg0[0][0];
                c_reg0[5][1] += a[64 * m0 + k1 + 320] * b_reg0[0][1];
                c_reg0[6][0] += a[64 * m0 + k1 + 384] * b_reg0[0][0];
                c_reg0[6][1] += a[64 * m0 + k1 + 384] * b_reg0[0][1];
                c_reg0[7][0] += a[64 * m0 + k1 + 448] * b_reg0[0][0];
                c_reg0[7][1] += a[64 * m0 + k1 + 448] * b_reg0[0][1];
              }
            }
          }
          store_f32x4(&c[64 * m0 + n0 + n1], c_reg0[0][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 4], c_reg0[0][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 64], c_reg0[1][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 68], c_reg0[1][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 128], c_reg0[2][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 132], c_reg0[2][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 192], c_reg0[3][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 196], c_reg0[3][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 256], c_reg0[4][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 260], c_reg0[4][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 320], c_reg0[5][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 324], c_reg0[5][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 384], c_reg0[6][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 388], c_reg0[6][1]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 448], c_reg0[7][0]);
          store_f32x4(&c[64 * m0 + n0 + n1 + 452], c_reg0[7][1]);
        }
      }
    }
  }
}

// bf16[16,64] @ bf16[64,32]
void kernel_9(const uint16_t *restrict a, const uint16_t *restrict b, float *restrict c) {
  _Alignas(64) unsigned char workspace[4096];
  {
    float *const restrict a_L1_0 = (float *)(workspace + 0);  /* f32[16,64]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 64; j0 += 4) {
        store_f32x4(&a_L1_0[64 * i0 + j0], load_f32x4_bf16(&a[64 * i0 + j0]));
      }
    }
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 16) {
        for (long j1 = 0; j1 < 16; j1 += 4) {
          store_f32x4(&c[32 * i0 + j0 + j1], (f32x4){0});
        }
      }
    }
    for (long k0 = 0; k0 < 64; k0 += 8) {
      sum_block_ahead_f32_bf16(&a_L1_0[k0], 64, &b[32 * k0], 32, &c[0], 32, 1, 16, 32);
    }
  }
}

// bf16[1,64] @ bf16[64,64]
void kernel_10(const uint16_t *restrict a, const uint16_t *restrict b, float *restrict c) {
  for (long j0 = 0; j0 < 64; j0 += 16) {
    for (long j1 = 0; j1 < 16; j1 += 4) {
      store_f32x4(&c[j0 + j1], (f32x4){0});
    }
  }
  for (long k0 = 0; k0 < 64; k0 += 4) {
    sum_rows_ahead_bf16_bf16(&a[k0], &b[64 * k0], 64, &c[0], 64);
  }
}

// f16[8,32] @ f16[32,16]
void kernel_11(const _Float16 *restrict a, const _Float16 *restrict b, float *restrict c) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict a_L1_0 = (float *)(workspace + 0);  /* f32[8,32]{1,0} */
    for (long i0 = 0; i0 < 8; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 4) {
        store_f32x4(&a_L1_0[32 * i0 + j0], load_f32x4_f16(&a[32 * i0 + j0]));
      }
    }
    for (long n0 = 0; n0 < 16; n0 += 8) {
      {
        f32x4 c_reg0[8][2];
        c_reg0[0][0] = (f32x4){0};
        c_reg0[0][1] = (f32x4){0};
        c_reg0[1][0] = (f32x4){0};
        c_reg0[1][1] = (f32x4){0};
        c_reg0[2][0] = (f32x4){0};
        c_reg0[2][1] = (f32x4){0};
        c_reg0[3][0] = (f32x4){0};
        c_reg0[3][1] = (f32x4){0};
        c_reg0[4][0] = (f32x4){0};
        c_reg0[4][1] = (f32x4){0};
        c_reg0[5][0] = (f32x4){0};
        c_reg0[5][1] = (f32x4){0};
        c_reg0[6][0] = (f32x4){0};
        c_reg0[6][1] = (f32x4){0};
        c_reg0[7][0] = (f32x4){0};
        c_reg0[7][1] = (f32x4){0};
        for (long k0 = 0; k0 < 32; ++k0) {
          {
            f32x4 b_reg0[1][2];
            b_reg0[0][0] = load_f32x4_f16(&b[n0 + 16 * k0]);
            b_reg0[0][1] = load_f32x4_f16(&b[n0 + 16 * k0 + 4]);
            c_reg0[0][0] += a_L1_0[k0] * b_reg0[0][0];
            c_reg0[0][1] += a_L1_0[k0] * b_reg0[0][1];
            c_reg0[1][0] += a_L1_0[k0 + 32] * b_reg0[0][0];
            c_reg0[1][1] += a_L1_0[k0 + 32] * b_reg0[0][1];
            c_reg0[2][0] += a_L1_0[k0 + 64] * b_reg0[0][0];
            c_reg0[2][1] += a_L1_0[k0 + 64] * b_reg0[0][1];
            c_reg0[3][0] += a_L1_0[k0 + 96] * b_reg0[0][0];
            c_reg0[3][1] += a_L1_0[k0 + 96] * b_reg0[0][1];
            c_reg0[4][0] += a_L1_0[k0 + 128] * b_reg0[0][0];
            c_reg0[4][1] += a_L1_0[k0 + 128] * b_reg0[0][1];
            c_reg0[5][0] += a_L1_0[k0 + 160] * b_reg0[0][0];
            c_reg0[5][1] += a_L1_0[k0 + 160] * b_reg0[0][1];
            c_reg0[6][0] += a_L1_0[k0 + 192] * b_reg0[0][0];
            c_reg0[6][1] += a_L1_0[k0 + 192] * b_reg0[0][1];
            c_reg0[7][0] += a_L1_0[k0 + 224] * b_reg0[0][0];
            c_reg0[7][1] += a_L1_0[k0 + 224] * b_reg0[0][1];
          }
        }
        store_f32x4(&c[n0], c_reg0[0][0]);
        store_f32x4(&c[n0 + 4], c_reg0[0][1]);
        store_f32x4(&c[n0 + 16], c_reg0[1][0]);
        store_f32x4(&c[n0 + 20], c_reg0[1][1]);
        store_f32x4(&c[n0 + 32], c_reg0[2][0]);
        store_f32x4(&c[n0 + 36], c_reg0[2][1]);
        store_f32x4(&c[n0 + 48], c_reg0[3][0]);
        store_f32x4(&c[n0 + 52], c_reg0[3][1]);
        store_f32x4(&c[n0 + 64], c_reg0[4][0]);
        store_f32x4(&c[n0 + 68], c_reg0[4][1]);
        store_f32x4(&c[n0 + 80], c_reg0[5][0]);
        store_f32x4(&c[n0 + 84], c_reg0[5][1]);
        store_f32x4(&c[n0 + 96], c_reg0[6][0]);
        store_f32x4(&c[n0 + 100], c_reg0[6][1]);
        store_f32x4(&c[n0 + 112], c_reg0[7][0]);
        store_f32x4(&c[n0 + 116], c_reg0[7][1]);
      }
    }
  }
}

// u8[16,32] @ i8[32,16] -> i32[16,16]
void kernel_12(const uint8_t *restrict a, const int8_t *restrict b, int32_t *restrict c) {
  _Alignas(64) unsigned char workspace[2048];
  {
    int32_t *const restrict a_L1_0 = (int32_t *)(workspace + 0);  /* i32[16,32]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 32; j0 += 4) {
        store_i32x4(&a_L1_0[32 * i0 + j0], load_i32x4_u8(&a[32 * i0 + j0]));
      }
    }
    for (long n0 = 0; n0 < 16; n0 += 4) {
      {
        i32x4 c_reg0[16][1];
        c_reg0[0][0] = (i32x4){0};
        c_reg0[1][0] = (i32x4){0};
        c_reg0[2][0] = (i32x4){0};
        c_reg0[3][0] = (i32x4){0};
        c_reg0[4][0] = (i32x4){0};
        c_reg0[5][0] = (i32x4){0};
        c_reg0[6][0] = (i32x4){0};
        c_reg0[7][0] = (i32x4){0};
        c_reg0[8][0] = (i32x4){0};
        c_reg0[9][0] = (i32x4){0};
        c_reg0[10][0] = (i32x4){0};
        c_reg0[11][0] = (i32x4){0};
        c_reg0[12][0] = (i32x4){0};
        c_reg0[13][0] = (i32x4){0};
        c_reg0[14][0] = (i32x4){0};
        c_reg0[15][0] = (i32x4){0};
        for (long k0 = 0; k0 < 32; ++k0) {
          {
            i32x4 b_reg0[1][1];
            b_reg0[0][0] = load_i32x4_i8(&b[n0 + 16 * k0]);
            c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a_L1_0[k0], b_reg0[0][0]);
            c_reg0[1][0] = multiply_add_i32x4(c_reg0[1][0], a_L1_0[k0 + 32], b_reg0[0][0]);
            c_reg0[2][0] = multiply_add_i32x4(c_reg0[2][0], a_L1_0[k0 + 64], b_reg0[0][0]);
            c_reg0[3][0] = multiply_add_i32x4(c_reg0[3][0], a_L1_0[k0 + 96], b_reg0[0][0]);
            c_reg0[4][0] = multiply_add_i32x4(c_reg0[4][0], a_L1_0[k0 + 128], b_reg0[0][0]);
            c_reg0[5][0] = multiply_add_i32x4(c_reg0[5][0], a_L1_0[k0 + 160], b_reg0[0][0]);
            c_reg0[6][0] = multiply_add_i32x4(c_reg0[6][0], a_L1_0[k0 + 192], b_reg0[0][0]);
            c_reg0[7][0] = multiply_add_i32x4(c_reg0[7][0], a_L1_0[k0 + 224], b_reg0[0][0]);
            c_reg0[8][0] = multiply_add_i32x4(c_reg0[8][0], a_L1_0[k0 + 256], b_reg0[0][0]);
            c_reg0[9][0] = multiply_add_i32x4(c_reg0[9][0], a_L1_0[k0 + 288], b_reg0[0][0]);
            c_reg0[10][0] = multiply_add_i32x4(c_reg0[10][0], a_L1_0[k0 + 320], b_reg0[0][0]);
            c_reg0[11][0] = multiply_add_i32x4(c_reg0[11][0], a_L1_0[k0 + 352], b_reg0[0][0]);
            c_reg0[12][0] = multiply_add_i32x4(c_reg0[12][0], a_L1_0[k0 + 384], b_reg0[0][0]);
            c_reg0[13][0] = multiply_add_i32x4(c_reg0[13][0], a_L1_0[k0 + 416], b_reg0[0][0]);
            c_reg0[14][0] = multiply_add_i32x4(c_reg0[14][0], a_L1_0[k0 + 448], b_reg0[0][0]);
            c_reg0[15][0] = multiply_add_i32x4(c_reg0[15][0], a_L1_0[k0 + 480], b_reg0[0][0]);
          }
        }
        store_i32x4(&c[n0], c_reg0[0][0]);
        store_i32x4(&c[n0 + 16], c_reg0[1][0]);
        store_i32x4(&c[n0 + 32], c_reg0[2][0]);
        store_i32x4(&c[n0 + 48], c_reg0[3][0]);
        store_i32x4(&c[n0 + 64], c_reg0[4][0]);
        store_i32x4(&c[n0 + 80], c_reg0[5][0]);
        store_i32x4(&c[n0 + 96], c_reg0[6][0]);
        store_i32x4(&c[n0 + 112], c_reg0[7][0]);
        store_i32x4(&c[n0 + 128], c_reg0[8][0]);
        store_i32x4(&c[n0 + 144], c_reg0[9][0]);
        store_i32x4(&c[n0 + 160], c_reg0[10][0]);
        store_i32x4(&c[n0 + 176], c_reg0[11][0]);
        store_i32x4(&c[n0 + 192], c_reg0[12][0]);
        store_i32x4(&c[n0 + 208], c_reg0[13][0]);
        store_i32x4(&c[n0 + 224], c_reg0[14][0]);
        store_i32x4(&c[n0 + 240], c_reg0[15][0]);
      }
    }
  }
}

// i32[8,8] @ i32[8,8]
void kernel_13(const int32_t *restrict a, const int32_t *restrict b, int32_t *restrict c) {
  {
    i32x4 b_reg0[8][2];
    b_reg0[0][0] = load_i32x4(&b[0]);
    b_reg0[0][1] = load_i32x4(&b[4]);
    b_reg0[1][0] = load_i32x4(&b[8]);
    b_reg0[1][1] = load_i32x4(&b[12]);
    b_reg0[2][0] = load_i32x4(&b[16]);
    b_reg0[2][1] = load_i32x4(&b[20]);
    b_reg0[3][0] = load_i32x4(&b[24]);
    b_reg0[3][1] = load_i32x4(&b[28]);
    b_reg0[4][0] = load_i32x4(&b[32]);
    b_reg0[4][1] = load_i32x4(&b[36]);
    b_reg0[5][0] = load_i32x4(&b[40]);
    b_reg0[5][1] = load_i32x4(&b[44]);
    b_reg0[6][0] = load_i32x4(&b[48]);
    b_reg0[6][1] = load_i32x4(&b[52]);
    b_reg0[7][0] = load_i32x4(&b[56]);
    b_reg0[7][1] = load_i32x4(&b[60]);
    for (long m0 = 0; m0 < 8; m0 += 2) {
      for (long m1 = 0; m1 < 2; ++m1) {
        {
          i32x4 c_reg0[1][2];
          c_reg0[0][0] = (i32x4){0};
          c_reg0[0][1] = (i32x4){0};
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1], b_reg0[0][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1], b_reg0[0][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 1], b_reg0[1][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 1], b_reg0[1][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 2], b_reg0[2][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 2], b_reg0[2][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 3], b_reg0[3][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 3], b_reg0[3][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 4], b_reg0[4][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 4], b_reg0[4][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 5], b_reg0[5][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 5], b_reg0[5][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 6], b_reg0[6][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 6], b_reg0[6][1]);
          c_reg0[0][0] = multiply_add_i32x4(c_reg0[0][0], a[8 * m0 + 8 * m1 + 7], b_reg0[7][0]);
          c_reg0[0][1] = multiply_add_i32x4(c_reg0[0][1], a[8 * m0 + 8 * m1 + 7], b_reg0[7][1]);
          store_i32x4(&c[8 * m0 + 8 * m1], c_reg0[0][0]);
          store_i32x4(&c[8 * m0 + 8 * m1 + 4], c_reg0[0][1]);
        }
      }
    }
  }
}

// f32[8,16] @ bf16[16,32]
void kernel_14(const float *restrict a, const uint16_t *restrict b, float *restrict c) {
  for (long i0 = 0; i0 < 8; ++i0) {
    for (long j0 = 0; j0 < 32; j0 += 16) {
      for (long j1 = 0; j1 < 16; j1 += 4) {
        store_f32x4(&c[32 * i0 + j0 + j1], (f32x4){0});
      }
    }
  }
  for (long k0 = 0; k0 < 16; k0 += 8) {
    sum_block_ahead_f32_bf16(&a[k0], 16, &b[32 * k0], 32, &c[0], 32, 1, 8, 32);
  }
}

// relu(f32[16,32] @ f32[32,48] + f32[48])
void kernel_15(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  for (long i0 = 0; i0 < 16; i0 += 8) {
    for (long j0 = 0; j0 < 48; j0 += 12) {
      {
        f32x4 c_reg0[8][3];
        c_reg0[0][0] = (f32x4){0};
        c_reg0[0][1] = (f32x4){0};
        c_reg0[0][2] = (f32x4){0};
        c_reg0[1][0] = (f32x4){0};
        c_reg0[1][1] = (f32x4){0};
        c_reg0[1][2] = (f32x4){0};
        c_reg0[2][0] = (f32x4){0};
        c_reg0[2][1] = (f32x4){0};
        c_reg0[2][2] = (f32x4){0};
        c_reg0[3][0] = (f32x4){0};
        c_reg0[3][1] = (f32x4){0};
        c_reg0[3][2] = (f32x4){0};
        c_reg0[4][0] = (f32x4){0};
        c_reg0[4][1] = (f32x4){0};
        c_reg0[4][2] = (f32x4){0};
        c_reg0[5][0] = (f32x4){0};
        c_reg0[5][1] = (f32x4){0};
        c_reg0[5][2] = (f32x4){0};
        c_reg0[6][0] = (f32x4){0};
        c_reg0[6][1] = (f32x4){0};
        c_reg0[6][2] = (f32x4){0};
        c_reg0[7][0] = (f32x4){0};
        c_reg0[7][1] = (f32x4){0};
        c_reg0[7][2] = (f32x4){0};
        for (long k0 = 0; k0 < 32; ++k0) {
          {
            f32x4 b_reg0[1][3];
            b_reg0[0][0] = load_f32x4(&b[j0 + 48 * k0]);
            b_reg0[0][1] = load_f32x4(&b[j0 + 48 * k0 + 4]);
            b_reg0[0][2] = load_f32x4(&b[j0 + 48 * k0 + 8]);
            c_reg0[0][0] += a[32 * i0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += a[32 * i0 + k0] * b_reg0[0][1];
            c_reg0[0][2] += a[32 * i0 + k0] * b_reg0[0][2];
            c_reg0[1][0] += a[32 * i0 + k0 + 32] * b_reg0[0][0];
            c_reg0[1][1] += a[32 * i0 + k0 + 32] * b_reg0[0][1];
            c_reg0[1][2] += a[32 * i0 + k0 + 32] * b_reg0[0][2];
            c_reg0[2][0] += a[32 * i0 + k0 + 64] * b_reg0[0][0];
            c_reg0[2][1] += a[32 * i0 + k0 + 64] * b_reg0[0][1];
            c_reg0[2][2] += a[32 * i0 + k0 + 64] * b_reg0[0][2];
            c_reg0[3][0] += a[32 * i0 + k0 + 96] * b_reg0[0][0];
            c_reg0[3][1] += a[32 * i0 + k0 + 96] * b_reg0[0][1];
            c_reg0[3][2] += a[32 * i0 + k0 + 96] * b_reg0[0][2];
            c_reg0[4][0] += a[32 * i0 + k0 + 128] * b_reg0[0][0];
            c_reg0[4][1] += a[32 * i0 + k0 + 128] * b_reg0[0][1];
            c_reg0[4][2] += a[32 * i0 + k0 + 128] * b_reg0[0][2];
            c_reg0[5][0] += a[32 * i0 + k0 + 160] * b_reg0[0][0];
            c_reg0[5][1] += a[32 * i0 + k0 + 160] * b_reg0[0][1];
            c_reg0[5][2] += a[32 * i0 + k0 + 160] * b_reg0[0][2];
            c_reg0[6][0] += a[32 * i0 + k0 + 192] * b_reg0[0][0];
            c_reg0[6][1] += a[32 * i0 + k0 + 192] * b_reg0[0][1];
            c_reg0[6][2] += a[32 * i0 + k0 + 192] * b_reg0[0][2];
            c_reg0[7][0] += a[32 * i0 + k0 + 224] * b_reg0[0][0];
            c_reg0[7][1] += a[32 * i0 + k0 + 224] * b_reg0[0][1];
            c_reg0[7][2] += a[32 * i0 + k0 + 224] * b_reg0[0][2];
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0]);
            out_reg0[0][0] = c_reg0[0][0] + b_reg0[0];
            out_reg0[1][0] = c_reg0[1][0] + b_reg0[0];
            out_reg0[2][0] = c_reg0[2][0] + b_reg0[0];
            out_reg0[3][0] = c_reg0[3][0] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 48], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 96], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 144], out_reg1[0][0]);
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0]);
            out_reg0[0][0] = c_reg0[4][0] + b_reg0[0];
            out_reg0[1][0] = c_reg0[5][0] + b_reg0[0];
            out_reg0[2][0] = c_reg0[6][0] + b_reg0[0];
            out_reg0[3][0] = c_reg0[7][0] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0 + 192], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 240], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 288], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 336], out_reg1[0][0]);
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0 + 4]);
            out_reg0[0][0] = c_reg0[0][1] + b_reg0[0];
            out_reg0[1][0] = c_reg0[1][1] + b_reg0[0];
            out_reg0[2][0] = c_reg0[2][1] + b_reg0[0];
            out_reg0[3][0] = c_reg0[3][1] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0 + 4], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 52], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 100], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 148], out_reg1[0][0]);
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0 + 4]);
            out_reg0[0][0] = c_reg0[4][1] + b_reg0[0];
            out_reg0[1][0] = c_reg0[5][1] + b_reg0[0];
            out_reg0[2][0] = c_reg0[6][1] + b_reg0[0];
            out_reg0[3][0] = c_reg0[7][1] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0 + 196], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 244], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 292], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 340], out_reg1[0][0]);
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0 + 8]);
            out_reg0[0][0] = c_reg0[0][2] + b_reg0[0];
            out_reg0[1][0] = c_reg0[1][2] + b_reg0[0];
            out_reg0[2][0] = c_reg0[2][2] + b_reg0[0];
            out_reg0[3][0] = c_reg0[3][2] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0 + 8], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 56], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 104], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 152], out_reg1[0][0]);
          }
        }
        {
          f32x4 out_reg0[4][1];
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0 + 8]);
            out_reg0[0][0] = c_reg0[4][2] + b_reg0[0];
            out_reg0[1][0] = c_reg0[5][2] + b_reg0[0];
            out_reg0[2][0] = c_reg0[6][2] + b_reg0[0];
            out_reg0[3][0] = c_reg0[7][2] + b_reg0[0];
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[0][0]);
            store_f32x4(&out[48 * i0 + j0 + 200], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[1][0]);
            store_f32x4(&out[48 * i0 + j0 + 248], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[2][0]);
            store_f32x4(&out[48 * i0 + j0 + 296], out_reg1[0][0]);
          }
          {
            f32x4 out_reg1[1][1];
            out_reg1[0][0] = relu_f32x4(out_reg0[3][0]);
            store_f32x4(&out[48 * i0 + j0 + 344], out_reg1[0][0]);
          }
        }
      }
    }
  }
}

// gelu(f32[8,16] @ f32[16,32])
void kernel_16(const float *restrict a, const float *restrict b, float *restrict out) {
  for (long j0 = 0; j0 < 32; j0 += 16) {
    for (long i0 = 0; i0 < 8; i0 += 4) {
      {
        f32x4 c_reg0[4][4];
        c_reg0[0][0] = (f32x4){0};
        c_reg0[0][1] = (f32x4){0};
        c_reg0[0][2] = (f32x4){0};
        c_reg0[0][3] = (f32x4){0};
        c_reg0[1][0] = (f32x4){0};
        c_reg0[1][1] = (f32x4){0};
        c_reg0[1][2] = (f32x4){0};
        c_reg0[1][3] = (f32x4){0};
        c_reg0[2][0] = (f32x4){0};
        c_reg0[2][1] = (f32x4){0};
        c_reg0[2][2] = (f32x4){0};
        c_reg0[2][3] = (f32x4){0};
        c_reg0[3][0] = (f32x4){0};
        c_reg0[3][1] = (f32x4){0};
        c_reg0[3][2] = (f32x4){0};
        c_reg0[3][3] = (f32x4){0};
        for (long k0 = 0; k0 < 16; ++k0) {
          {
            f32x4 b_reg0[1][4];
            b_reg0[0][0] = load_f32x4(&b[j0 + 32 * k0]);
            b_reg0[0][1] = load_f32x4(&b[j0 + 32 * k0 + 4]);
            b_reg0[0][2] = load_f32x4(&b[j0 + 32 * k0 + 8]);
            b_reg0[0][3] = load_f32x4(&b[j0 + 32 * k0 + 12]);
            c_reg0[0][0] += a[16 * i0 + k0] * b_reg0[0][0];
            c_reg0[0][1] += a[16 * i0 + k0] * b_reg0[0][1];
            c_reg0[0][2] += a[16 * i0 + k0] * b_reg0[0][2];
            c_reg0[0][3] += a[16 * i0 + k0] * b_reg0[0][3];
            c_reg0[1][0] += a[16 * i0 + k0 + 16] * b_reg0[0][0];
            c_reg0[1][1] += a[16 * i0 + k0 + 16] * b_reg0[0][1];
            c_reg0[1][2] += a[16 * i0 + k0 + 16] * b_reg0[0][2];
            c_reg0[1][3] += a[16 * i0 + k0 + 16] * b_reg0[0][3];
            c_reg0[2][0] += a[16 * i0 + k0 + 32] * b_reg0[0][0];
            c_reg0[2][1] += a[16 * i0 + k0 + 32] * b_reg0[0][1];
            c_reg0[2][2] += a[16 * i0 + k0 + 32] * b_reg0[0][2];
            c_reg0[2][3] += a[16 * i0 + k0 + 32] * b_reg0[0][3];
            c_reg0[3][0] += a[16 * i0 + k0 + 48] * b_reg0[0][0];
            c_reg0[3][1] += a[16 * i0 + k0 + 48] * b_reg0[0][1];
            c_reg0[3][2] += a[16 * i0 + k0 + 48] * b_reg0[0][2];
            c_reg0[3][3] += a[16 * i0 + k0 + 48] * b_reg0[0][3];
          }
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[0][0]);
          store_f32x4(&out[j0 + 32 * i0], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[0][1]);
          store_f32x4(&out[j0 + 32 * i0 + 4], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[0][2]);
          store_f32x4(&out[j0 + 32 * i0 + 8], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[0][3]);
          store_f32x4(&out[j0 + 32 * i0 + 12], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[1][0]);
          store_f32x4(&out[j0 + 32 * i0 + 32], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[1][1]);
          store_f32x4(&out[j0 + 32 * i0 + 36], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[1][2]);
          store_f32x4(&out[j0 + 32 * i0 + 40], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[1][3]);
          store_f32x4(&out[j0 + 32 * i0 + 44], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[2][0]);
          store_f32x4(&out[j0 + 32 * i0 + 64], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[2][1]);
          store_f32x4(&out[j0 + 32 * i0 + 68], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[2][2]);
          store_f32x4(&out[j0 + 32 * i0 + 72], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[2][3]);
          store_f32x4(&out[j0 + 32 * i0 + 76], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[3][0]);
          store_f32x4(&out[j0 + 32 * i0 + 96], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[3][1]);
          store_f32x4(&out[j0 + 32 * i0 + 100], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[3][2]);
          store_f32x4(&out[j0 + 32 * i0 + 104], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = gelu_f32x4(c_reg0[3][3]);
          store_f32x4(&out[j0 + 32 * i0 + 108], out_reg0[0][0]);
        }
      }
    }
  }
}

// (f32[16,16] @ f32[16,16]) @ f32[16,16]
void kernel_17(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict c_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    for (long m0 = 0; m0 < 16; m0 += 8) {
      for (long n0 = 0; n0 < 16; n0 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 16; ++k0) {
            {
              f32x4 b_reg0[1][2];
              b_reg0[0][0] = load_f32x4(&b[n0 + 16 * k0]);
              b_reg0[0][1] = load_f32x4(&b[n0 + 16 * k0 + 4]);
              c_reg0[0][0] += a[16 * m0 + k0] * b_reg0[0][0];
              c_reg0[0][1] += a[16 * m0 + k0] * b_reg0[0][1];
              c_reg0[1][0] += a[16 * m0 + k0 + 16] * b_reg0[0][0];
              c_reg0[1][1] += a[16 * m0 + k0 + 16] * b_reg0[0][1];
              c_reg0[2][0] += a[16 * m0 + k0 + 32] * b_reg0[0][0];
              c_reg0[2][1] += a[16 * m0 + k0 + 32] * b_reg0[0][1];
              c_reg0[3][0] += a[16 * m0 + k0 + 48] * b_reg0[0][0];
              c_reg0[3][1] += a[16 * m0 + k0 + 48] * b_reg0[0][1];
              c_reg0[4][0] += a[16 * m0 + k0 + 64] * b_reg0[0][0];
              c_reg0[4][1] += a[16 * m0 + k0 + 64] * b_reg0[0][1];
              c_reg0[5][0] += a[16 * m0 + k0 + 80] * b_reg0[0][0];
              c_reg0[5][1] += a[16 * m0 + k0 + 80] * b_reg0[0][1];
              c_reg0[6][0] += a[16 * m0 + k0 + 96] * b_reg0[0][0];
              c_reg0[6][1] += a[16 * m0 + k0 + 96] * b_reg0[0][1];
              c_reg0[7][0] += a[16 * m0 + k0 + 112] * b_reg0[0][0];
              c_reg0[7][1] += a[16 * m0 + k0 + 112] * b_reg0[0][1];
            }
          }
          store_f32x4(&c_L1_0[16 * m0 + n0], c_reg0[0][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 4], c_reg0[0][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 16], c_reg0[1][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 20], c_reg0[1][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 32], c_reg0[2][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 36], c_reg0[2][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 48], c_reg0[3][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 52], c_reg0[3][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 64], c_reg0[4][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 68], c_reg0[4][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 80], c_reg0[5][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 84], c_reg0[5][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 96], c_reg0[6][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 100], c_reg0[6][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 112], c_reg0[7][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 116], c_reg0[7][1]);
        }
      }
    }
    for (long m0 = 0; m0 < 16; m0 += 8) {
      for (long n0 = 0; n0 < 16; n0 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 16; ++k0) {
            {
              f32x4 b_reg0[1][2];
              b_reg0[0][0] = load_f32x4(&c[n0 + 16 * k0]);
              b_reg0[0][1] = load_f32x4(&c[n0 + 16 * k0 + 4]);
              c_reg0[0][0] += c_L1_0[16 * m0 + k0] * b_reg0[0][0];
              c_reg0[0][1] += c_L1_0[16 * m0 + k0] * b_reg0[0][1];
              c_reg0[1][0] += c_L1_0[16 * m0 + k0 + 16] * b_reg0[0][0];
              c_reg0[1][1] += c_L1_0[16 * m0 + k0 + 16] * b_reg0[0][1];
              c_reg0[2][0] += c_L1_0[16 * m0 + k0 + 32] * b_reg0[0][0];
              c_reg0[2][1] += c_L1_0[16 * m0 + k0 + 32] * b_reg0[0][1];
              c_reg0[3][0] += c_L1_0[16 * m0 + k0 + 48] * b_reg0[0][0];
              c_reg0[3][1] += c_L1_0[16 * m0 + k0 + 48] * b_reg0[0][1];
              c_reg0[4][0] += c_L1_0[16 * m0 + k0 + 64] * b_reg0[0][0];
              c_reg0[4][1] += c_L1_0[16 * m0 + k0 + 64] * b_reg0[0][1];
              c_reg0[5][0] += c_L1_0[16 * m0 + k0 + 80] * b_reg0[0][0];
              c_reg0[5][1] += c_L1_0[16 * m0 + k0 + 80] * b_reg0[0][1];
              c_reg0[6][0] += c_L1_0[16 * m0 + k0 + 96] * b_reg0[0][0];
              c_reg0[6][1] += c_L1_0[16 * m0 + k0 + 96] * b_reg0[0][1];
              c_reg0[7][0] += c_L1_0[16 * m0 + k0 + 112] * b_reg0[0][0];
              c_reg0[7][1] += c_L1_0[16 * m0 + k0 + 112] * b_reg0[0][1];
            }
          }
          store_f32x4(&out[16 * m0 + n0], c_reg0[0][0]);
          store_f32x4(&out[16 * m0 + n0 + 4], c_reg0[0][1]);
          store_f32x4(&out[16 * m0 + n0 + 16], c_reg0[1][0]);
          store_f32x4(&out[16 * m0 + n0 + 20], c_reg0[1][1]);
          store_f32x4(&out[16 * m0 + n0 + 32], c_reg0[2][0]);
          store_f32x4(&out[16 * m0 + n0 + 36], c_reg0[2][1]);
          store_f32x4(&out[16 * m0 + n0 + 48], c_reg0[3][0]);
          store_f32x4(&out[16 * m0 + n0 + 52], c_reg0[3][1]);
          store_f32x4(&out[16 * m0 + n0 + 64], c_reg0[4][0]);
          store_f32x4(&out[16 * m0 + n0 + 68], c_reg0[4][1]);
          store_f32x4(&out[16 * m0 + n0 + 80], c_reg0[5][0]);
          store_f32x4(&out[16 * m0 + n0 + 84], c_reg0[5][1]);
          store_f32x4(&out[16 * m0 + n0 + 96], c_reg0[6][0]);
          store_f32x4(&out[16 * m0 + n0 + 100], c_reg0[6][1]);
          store_f32x4(&out[16 * m0 + n0 + 112], c_reg0[7][0]);
          store_f32x4(&out[16 * m0 + n0 + 116], c_reg0[7][1]);
        }
      }
    }
  }
}

// softmax(f32[8,64])
void kernel_18(const float *restrict x, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    float *const restrict denominator_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    for (long i0 = 0; i0 < 8; i0 += 4) {
      {
        float *const restrict out_L1_0 = (float *)(workspace + 64);  /* f32[4]{0} */
        store_f32x4(&out_L1_0[0], splat_f32x4(-__builtin_inff()));
        for (long i1 = 0; i1 < 4; ++i1) {
          out_L1_0[i1] = max_run_f32x4(&x[64 * i0 + 64 * i1], 64, out_L1_0[i1]);
        }
        store_f32x4(&denominator_L1_0[i0], (f32x4){0});
        for (long i1 = 0; i1 < 4; ++i1) {
          denominator_L1_0[i0 + i1] += exp_store_run_f32x4(&x[64 * i0 + 64 * i1], out_L1_0[i1], &out[64 * i0 + 64 * i1], 64);
        }
      }
    }
    for (long i0 = 0; i0 < 8; ++i0) {
      scale_run_f32x4(&out[64 * i0], 1.0f / denominator_L1_0[i0], 64);
    }
  }
}

// softmax(f32[8,100])
void kernel_19(const float *restrict x, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  for (long i0 = 0; i0 < 8; i0 += 4) {
    {
      float *const restrict denominator_L1_0 = (float *)(workspace + 0);  /* f32[4]{0} */
      {
        float *const restrict out_L1_0 = (float *)(workspace + 64);  /* f32[4]{0} */
        store_f32x4(&out_L1_0[0], splat_f32x4(-__builtin_inff()));
        for (long i1 = 0; i1 < 4; ++i1) {
          out_L1_0[i1] = max_run_f32x4(&x[100 * i0 + 100 * i1], 100, out_L1_0[i1]);
        }
        store_f32x4(&denominator_L1_0[0], (f32x4){0});
        for (long i1 = 0; i1 < 4; ++i1) {
          denominator_L1_0[i1] += exp_store_run_f32x4(&x[100 * i0 + 100 * i1], out_L1_0[i1], &out[100 * i0 + 100 * i1], 100);
        }
      }
      for (long i1 = 0; i1 < 4; ++i1) {
        scale_run_f32x4(&out[100 * i0 + 100 * i1], 1.0f / denominator_L1_0[i1], 100);
      }
    }
  }
}

// softmax(f32[16,32] @ f32[32,16])
void kernel_20(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[1152];
  {
    float *const restrict c_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    for (long m0 = 0; m0 < 16; m0 += 8) {
      for (long n0 = 0; n0 < 16; n0 += 8) {
        {
          f32x4 c_reg0[8][2];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[0][1] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[1][1] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[2][1] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[3][1] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[4][1] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[5][1] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[6][1] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[7][1] = (f32x4){0};
          for (long k0 = 0; k0 < 32; ++k0) {
            {
              f32x4 b_reg0[1][2];
              b_reg0[0][0] = load_f32x4(&b[n0 + 16 * k0]);
              b_reg0[0][1] = load_f32x4(&b[n0 + 16 * k0 + 4]);
              c_reg0[0][0] += a[32 * m0 + k0] * b_reg0[0][0];
              c_reg0[0][1] += a[32 * m0 + k0] * b_reg0[0][1];
              c_reg0[1][0] += a[32 * m0 + k0 + 32] * b_reg0[0][0];
              c_reg0[1][1] += a[32 * m0 + k0 + 32] * b_reg0[0][1];
              c_reg0[2][0] += a[32 * m0 + k0 + 64] * b_reg0[0][0];
              c_reg0[2][1] += a[32 * m0 + k0 + 64] * b_reg0[0][1];
              c_reg0[3][0] += a[32 * m0 + k0 + 96] * b_reg0[0][0];
              c_reg0[3][1] += a[32 * m0 + k0 + 96] * b_reg0[0][1];
              c_reg0[4][0] += a[32 * m0 + k0 + 128] * b_reg0[0][0];
              c_reg0[4][1] += a[32 * m0 + k0 + 128] * b_reg0[0][1];
              c_reg0[5][0] += a[32 * m0 + k0 + 160] * b_reg0[0][0];
              c_reg0[5][1] += a[32 * m0 + k0 + 160] * b_reg0[0][1];
              c_reg0[6][0] += a[32 * m0 + k0 + 192] * b_reg0[0][0];
              c_reg0[6][1] += a[32 * m0 + k0 + 192] * b_reg0[0][1];
              c_reg0[7][0] += a[32 * m0 + k0 + 224] * b_reg0[0][0];
              c_reg0[7][1] += a[32 * m0 + k0 + 224] * b_reg0[0][1];
            }
          }
          store_f32x4(&c_L1_0[16 * m0 + n0], c_reg0[0][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 4], c_reg0[0][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 16], c_reg0[1][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 20], c_reg0[1][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 32], c_reg0[2][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 36], c_reg0[2][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 48], c_reg0[3][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 52], c_reg0[3][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 64], c_reg0[4][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 68], c_reg0[4][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 80], c_reg0[5][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 84], c_reg0[5][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 96], c_reg0[6][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 100], c_reg0[6][1]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 112], c_reg0[7][0]);
          store_f32x4(&c_L1_0[16 * m0 + n0 + 116], c_reg0[7][1]);
        }
      }
    }
    for (long i0 = 0; i0 < 16; i0 += 4) {
      {
        float *const restrict denominator_L1_0 = (float *)(workspace + 1024);  /* f32[4]{0} */
        {
          float *const restrict out_L1_0 = (float *)(workspace + 1088);  /* f32[4]{0} */
          store_f32x4(&out_L1_0[0], splat_f32x4(-__builtin_inff()));
          for (long i1 = 0; i1 < 4; ++i1) {
            out_L1_0[i1] = max_run_f32x4(&c_L1_0[16 * i0 + 16 * i1], 16, out_L1_0[i1]);
          }
          store_f32x4(&denominator_L1_0[0], (f32x4){0});
          for (long i1 = 0; i1 < 4; ++i1) {
            denominator_L1_0[i1] += exp_store_run_f32x4(&c_L1_0[16 * i0 + 16 * i1], out_L1_0[i1], &out[16 * i0 + 16 * i1], 16);
          }
        }
        for (long i1 = 0; i1 < 4; ++i1) {
          {
            f32x4 out_reg0[1][4];
            out_reg0[0][0] = load_f32x4(&out[16 * i0 + 16 * i1]);
            out_reg0[0][1] = load_f32x4(&out[16 * i0 + 16 * i1 + 4]);
            out_reg0[0][2] = load_f32x4(&out[16 * i0 + 16 * i1 + 8]);
            out_reg0[0][3] = load_f32x4(&out[16 * i0 + 16 * i1 + 12]);
            out_reg0[0][0] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
            out_reg0[0][1] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
            out_reg0[0][2] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
            out_reg0[0][3] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
            store_f32x4(&out[16 * i0 + 16 * i1], out_reg0[0][0]);
            store_f32x4(&out[16 * i0 + 16 * i1 + 4], out_reg0[0][1]);
            store_f32x4(&out[16 * i0 + 16 * i1 + 8], out_reg0[0][2]);
            store_f32x4(&out[16 * i0 + 16 * i1 + 12], out_reg0[0][3]);
          }
        }
      }
    }
  }
}

// attention(f32[16,16], f32[16,16], f32[16,16])
void kernel_21(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[2176];
  {
    float *const restrict b_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0:T(4,1)} */
    for (long i0 = 0; i0 < 16; i0 += 4) {
      for (long j0 = 0; j0 < 16; j0 += 4) {
        transpose_4_4(&b[16 * i0 + j0], 16, &b_L1_0[16 * i0 + 4 * j0], 4);
      }
    }
    for (long m0 = 0; m0 < 16; m0 += 8) {
      {
        float *const restrict out_L1_0 = (float *)(workspace + 1024);  /* f32[8,16]{1,0} */
        {
          float *const restrict out_L1_1 = (float *)(workspace + 1536);  /* f32[8,16]{1,0} */
          for (long k0 = 0; k0 < 16; k0 += 8) {
            {
              f32x4 c_reg0[8][2];
              c_reg0[0][0] = (f32x4){0};
              c_reg0[0][1] = (f32x4){0};
              c_reg0[1][0] = (f32x4){0};
              c_reg0[1][1] = (f32x4){0};
              c_reg0[2][0] = (f32x4){0};
              c_reg0[2][1] = (f32x4){0};
              c_reg0[3][0] = (f32x4){0};
              c_reg0[3][1] = (f32x4){0};
              c_reg0[4][0] = (f32x4){0};
              c_reg0[4][1] = (f32x4){0};
              c_reg0[5][0] = (f32x4){0};
              c_reg0[5][1] = (f32x4){0};
              c_reg0[6][0] = (f32x4){0};
              c_reg0[6][1] = (f32x4){0};
              c_reg0[7][0] = (f32x4){0};
              c_reg0[7][1] = (f32x4){0};
              for (long k1 = 0; k1 < 16; k1 += 4) {
                {
                  const long line = k1 / 4 + k0 / 8 * 4;
                  __builtin_prefetch(&out[16 * m0 + line % 8 * 16], 1, 3);
                }
                for (long k2 = k1; k2 < k1 + 4; ++k2) {
                  {
                    f32x4 b_reg0[2][1];
                    b_reg0[0][0] = load_f32x4(&b_L1_0[16 * k0 + 4 * k2]);
                    b_reg0[1][0] = load_f32x4(&b_L1_0[16 * k0 + 4 * k2 + 64]);
                    c_reg0[0][0] += a[16 * m0 + k2] * b_reg0[0][0];
                    c_reg0[0][1] += a[16 * m0 + k2] * b_reg0[1][0];
                    c_reg0[1][0] += a[16 * m0 + k2 + 16] * b_reg0[0][0];
                    c_reg0[1][1] += a[16 * m0 + k2 + 16] * b_reg0[1][0];
                    c_reg0[2][0] += a[16 * m0 + k2 + 32] * b_reg0[0][0];
                    c_reg0[2][1] += a[16 * m0 + k2 + 32] * b_reg0[1][0];
                    c_reg0[3][0] += a[16 * m0 + k2 + 48] * b_reg0[0][0];
                    c_reg0[3][1] += a[16 * m0 + k2 + 48] * b_reg0[1][0];
                    c_reg0[4][0] += a[16 * m0 + k2 + 64] * b_reg0[0][0];
                    c_reg0[4][1] += a[16 * m0 + k2 + 64] * b_reg0[1][0];
                    c_reg0[5][0] += a[16 * m0 + k2 + 80] * b_reg0[0][0];
                    c_reg0[5][1] += a[16 * m0 + k2 + 80] * b_reg0[1][0];
                    c_reg0[6][0] += a[16 * m0 + k2 + 96] * b_reg0[0][0];
                    c_reg0[6][1] += a[16 * m0 + k2 + 96] * b_reg0[1][0];
                    c_reg0[7][0] += a[16 * m0 + k2 + 112] * b_reg0[0][0];
                    c_reg0[7][1] += a[16 * m0 + k2 + 112] * b_reg0[1][0];
                  }
                }
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[0][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[0][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 4], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[1][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 16], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[1][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 20], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[2][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 32], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[2][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 36], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[3][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 48], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[3][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 52], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[4][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 64], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[4][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 68], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[5][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 80], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[5][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 84], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[6][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 96], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[6][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 100], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[7][0] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 112], out_reg0[0][0]);
              }
              {
                f32x4 out_reg0[1][1];
                out_reg0[0][0] = c_reg0[7][1] * splat_f32x4((0.25f));
                store_f32x4(&out_L1_1[k0 + 116], out_reg0[0][0]);
              }
            }
          }
          for (long i0 = 0; i0 < 8; i0 += 4) {
            {
              float *const restrict denominator_L1_0 = (float *)(workspace + 2048);  /* f32[4]{0} */
              {
                float *const restrict out_L1_2 = (float *)(workspace + 2112);  /* f32[4]{0} */
                store_f32x4(&out_L1_2[0], splat_f32x4(-__builtin_inff()));
                for (long i1 = 0; i1 < 4; ++i1) {
                  out_L1_2[i1] = max_run_f32x4(&out_L1_1[16 * i0 + 16 * i1], 16, out_L1_2[i1]);
                }
                store_f32x4(&denominator_L1_0[0], (f32x4){0});
                for (long i1 = 0; i1 < 4; ++i1) {
                  denominator_L1_0[i1] += exp_store_run_f32x4(&out_L1_1[16 * i0 + 16 * i1], out_L1_2[i1], &out_L1_0[16 * i0 + 16 * i1], 16);
                }
              }
              for (long i1 = 0; i1 < 4; ++i1) {
                {
                  f32x4 out_reg0[1][4];
                  out_reg0[0][0] = load_f32x4(&out_L1_0[16 * i0 + 16 * i1]);
                  out_reg0[0][1] = load_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 4]);
                  out_reg0[0][2] = load_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 8]);
                  out_reg0[0][3] = load_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 12]);
                  out_reg0[0][0] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
                  out_reg0[0][1] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
                  out_reg0[0][2] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
                  out_reg0[0][3] *= splat_f32x4(1.0f / denominator_L1_0[i1]);
                  store_f32x4(&out_L1_0[16 * i0 + 16 * i1], out_reg0[0][0]);
                  store_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 4], out_reg0[0][1]);
                  store_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 8], out_reg0[0][2]);
                  store_f32x4(&out_L1_0[16 * i0 + 16 * i1 + 12], out_reg0[0][3]);
                }
              }
            }
          }
        }
        for (long n0 = 0; n0 < 16; n0 += 8) {
          {
            f32x4 c_reg0[8][2];
            c_reg0[0][0] = (f32x4){0};
            c_reg0[0][1] = (f32x4){0};
            c_reg0[1][0] = (f32x4){0};
            c_reg0[1][1] = (f32x4){0};
            c_reg0[2][0] = (f32x4){0};
            c_reg0[2][1] = (f32x4){0};
            c_reg0[3][0] = (f32x4){0};
            c_reg0[3][1] = (f32x4){0};
            c_reg0[4][0] = (f32x4){0};
            c_reg0[4][1] = (f32x4){0};
            c_reg0[5][0] = (f32x4){0};
            c_reg0[5][1] = (f32x4){0};
            c_reg0[6][0] = (f32x4){0};
            c_reg0[6][1] = (f32x4){0};
            c_reg0[7][0] = (f32x4){0};
            c_reg0[7][1] = (f32x4){0};
            for (long k0 = 0; k0 < 16; ++k0) {
              {
                f32x4 b_reg0[1][2];
                b_reg0[0][0] = load_f32x4(&c[n0 + 16 * k0]);
                b_reg0[0][1] = load_f32x4(&c[n0 + 16 * k0 + 4]);
                c_reg0[0][0] += out_L1_0[k0] * b_reg0[0][0];
                c_reg0[0][1] += out_L1_0[k0] * b_reg0[0][1];
                c_reg0[1][0] += out_L1_0[k0 + 16] * b_reg0[0][0];
                c_reg0[1][1] += out_L1_0[k0 + 16] * b_reg0[0][1];
                c_reg0[2][0] += out_L1_0[k0 + 32] * b_reg0[0][0];
                c_reg0[2][1] += out_L1_0[k0 + 32] * b_reg0[0][1];
                c_reg0[3][0] += out_L1_0[k0 + 48] * b_reg0[0][0];
                c_reg0[3][1] += out_L1_0[k0 + 48] * b_reg0[0][1];
                c_reg0[4][0] += out_L1_0[k0 + 64] * b_reg0[0][0];
                c_reg0[4][1] += out_L1_0[k0 + 64] * b_reg0[0][1];
                c_reg0[5][0] += out_L1_0[k0 + 80] * b_reg0[0][0];
                c_reg0[5][1] += out_L1_0[k0 + 80] * b_reg0[0][1];
                c_reg0[6][0] += out_L1_0[k0 + 96] * b_reg0[0][0];
                c_reg0[6][1] += out_L1_0[k0 + 96] * b_reg0[0][1];
                c_reg0[7][0] += out_L1_0[k0 + 112] * b_reg0[0][0];
                c_reg0[7][1] += out_L1_0[k0 + 112] * b_reg0[0][1];
              }
            }
            store_f32x4(&out[16 * m0 + n0], c_reg0[0][0]);
            store_f32x4(&out[16 * m0 + n0 + 4], c_reg0[0][1]);
            store_f32x4(&out[16 * m0 + n0 + 16], c_reg0[1][0]);
            store_f32x4(&out[16 * m0 + n0 + 20], c_reg0[1][1]);
            store_f32x4(&out[16 * m0 + n0 + 32], c_reg0[2][0]);
            store_f32x4(&out[16 * m0 + n0 + 36], c_reg0[2][1]);
            store_f32x4(&out[16 * m0 + n0 + 48], c_reg0[3][0]);
            store_f32x4(&out[16 * m0 + n0 + 52], c_reg0[3][1]);
            store_f32x4(&out[16 * m0 + n0 + 64], c_reg0[4][0]);
            store_f32x4(&out[16 * m0 + n0 + 68], c_reg0[4][1]);
            store_f32x4(&out[16 * m0 + n0 + 80], c_reg0[5][0]);
            store_f32x4(&out[16 * m0 + n0 + 84], c_reg0[5][1]);
            store_f32x4(&out[16 * m0 + n0 + 96], c_reg0[6][0]);
            store_f32x4(&out[16 * m0 + n0 + 100], c_reg0[6][1]);
            store_f32x4(&out[16 * m0 + n0 + 112], c_reg0[7][0]);
            store_f32x4(&out[16 * m0 + n0 + 116], c_reg0[7][1]);
          }
        }
      }
    }
  }
}

// layer_norm(f32[8,64], f32[64], f32[64])
void kernel_22(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out) {
  _Alignas(64) unsigned char workspace[1216];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[8]{0} */
    for (long i0 = 0; i0 < 8; i0 += 4) {
      {
        float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[4]{0} */
        store_f32x4(&out_L1_1[0], (f32x4){0});
        for (long i1 = 0; i1 < 4; ++i1) {
          out_L1_1[i1] += sum_run_f32x4(&a[64 * i0 + 64 * i1], 64);
        }
        {
          f32x4 x_reg0[1];
          x_reg0[0] = load_f32x4(&out_L1_1[0]);
          {
            f32x4 out_reg0[1];
            out_reg0[0] = x_reg0[0] * splat_f32x4((0.015625f));
            store_f32x4(&out_L1_0[i0], out_reg0[0]);
          }
        }
      }
    }
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[8]{0} */
      for (long i0 = 0; i0 < 8; i0 += 4) {
        {
          float *const restrict out_L1_2 = (float *)(workspace + 128);  /* f32[4,64]{1,0} */
          for (long i1 = 0; i1 < 4; ++i1) {
            for (long j0 = 0; j0 < 64; j0 += 4) {
              {
                f32x4 out_reg0[1][1];
                {
                  f32x4 a_reg0[1][1];
                  a_reg0[0][0] = load_f32x4(&a[64 * i0 + 64 * i1 + j0]);
                  out_reg0[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[i0 + i1]);
                }
                {
                  f32x4 out_reg1[1][1];
                  out_reg1[0][0] = out_reg0[0][0] * out_reg0[0][0];
                  store_f32x4(&out_L1_2[64 * i1 + j0], out_reg1[0][0]);
                }
              }
            }
          }
          {
            f32x4 out_reg0[1];
            {
              f32x4 out_reg1[1];
              {
                float *const restrict out_L1_3 = (float *)(workspace + 1152);  /* f32[4]{0} */
                store_f32x4(&out_L1_3[0], (f32x4){0});
                for (long i1 = 0; i1 < 4; ++i1) {
                  out_L1_3[i1] += sum_run_f32x4(&out_L1_2[64 * i1], 64);
                }
                {
                  f32x4 x_reg0[1];
                  x_reg0[0] = load_f32x4(&out_L1_3[0]);
                  out_reg1[0] = x_reg0[0] * splat_f32x4((0.015625f));
                }
              }
              out_reg0[0] = out_reg1[0] + splat_f32x4((1e-05f));
            }
            {
              f32x4 out_reg1[1];
              out_reg1[0] = rsqrt_f32x4(out_reg0[0]);
              store_f32x4(&out_L1_1[i0], out_reg1[0]);
            }
          }
        }
      }
      for (long j0 = 0; j0 < 64; j0 += 4) {
        {
          f32x4 out_reg0[8][1];
          {
            f32x4 out_reg1[8][1];
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[0]);
              }
              out_reg1[0][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[0]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 64]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[1]);
              }
              out_reg1[1][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[1]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 128]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[2]);
              }
              out_reg1[2][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[2]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 192]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[3]);
              }
              out_reg1[3][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[3]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 256]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[4]);
              }
              out_reg1[4][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[4]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 320]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[5]);
              }
              out_reg1[5][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[5]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 384]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[6]);
              }
              out_reg1[6][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[6]);
            }
            {
              f32x4 out_reg2[1][1];
              {
                f32x4 a_reg0[1][1];
                a_reg0[0][0] = load_f32x4(&a[j0 + 448]);
                out_reg2[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[7]);
              }
              out_reg1[7][0] = out_reg2[0][0] * splat_f32x4(out_L1_1[7]);
            }
            {
              f32x4 b_reg0[1];
              b_reg0[0] = load_f32x4(&b[j0]);
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
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&c[j0]);
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[0][0] + b_reg0[0];
              store_f32x4(&out[j0], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[1][0] + b_reg0[0];
              store_f32x4(&out[j0 + 64], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[2][0] + b_reg0[0];
              store_f32x4(&out[j0 + 128], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[3][0] + b_reg0[0];
              store_f32x4(&out[j0 + 192], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[4][0] + b_reg0[0];
              store_f32x4(&out[j0 + 256], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[5][0] + b_reg0[0];
              store_f32x4(&out[j0 + 320], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[6][0] + b_reg0[0];
              store_f32x4(&out[j0 + 384], out_reg1[0][0]);
            }
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[7][0] + b_reg0[0];
              store_f32x4(&out[j0 + 448], out_reg1[0][0]);
            }
          }
        }
      }
    }
  }
}

// rms_norm(f32[1,256], f32[256])
void kernel_23(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[1152];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[1,256]{1,0} */
    for (long j0 = 0; j0 < 256; j0 += 4) {
      {
        f32x4 x_reg0[1][1];
        x_reg0[0][0] = load_f32x4(&a[j0]);
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = x_reg0[0][0] * x_reg0[0][0];
          store_f32x4(&out_L1_0[j0], out_reg0[0][0]);
        }
      }
    }
    {
      float *const restrict out_L1_1 = (float *)(workspace + 1024);  /* f32[1]{0} */
      {
        float out_reg0[1];
        {
          float out_reg1[1];
          {
            float *const restrict out_L1_2 = (float *)(workspace + 1088);  /* f32[1]{0} */
            out_L1_2[0] = 0;
            out_L1_2[0] += sum_run_f32x4(&out_L1_0[0], 256);
            {
              float x_reg0[1];
              x_reg0[0] = out_L1_2[0];
              out_reg1[0] = x_reg0[0] * (0.00390625f);
            }
          }
          out_reg0[0] = out_reg1[0] + (1e-05f);
        }
        {
          float out_reg1[1];
          out_reg1[0] = rsqrt_f32(out_reg0[0]);
          out_L1_1[0] = out_reg1[0];
        }
      }
      for (long j0 = 0; j0 < 256; j0 += 4) {
        {
          f32x4 out_reg0[1][1];
          {
            f32x4 a_reg0[1][1];
            a_reg0[0][0] = load_f32x4(&a[j0]);
            out_reg0[0][0] = a_reg0[0][0] * splat_f32x4(out_L1_1[0]);
          }
          {
            f32x4 b_reg0[1];
            b_reg0[0] = load_f32x4(&b[j0]);
            {
              f32x4 out_reg1[1][1];
              out_reg1[0][0] = out_reg0[0][0] * b_reg0[0];
              store_f32x4(&out[j0], out_reg1[0][0]);
            }
          }
        }
      }
    }
  }
}

// sum(f32[32,48], axis=0)
void kernel_24(const float *restrict x, float *restrict out) {
  for (long j0 = 0; j0 < 48; j0 += 12) {
    {
      f32x4 out_reg0[3];
      out_reg0[0] = (f32x4){0};
      out_reg0[1] = (f32x4){0};
      out_reg0[2] = (f32x4){0};
      for (long i0 = 0; i0 < 32; ++i0) {
        {
          f32x4 x_reg0[1][3];
          x_reg0[0][0] = load_f32x4(&x[j0 + 48 * i0]);
          x_reg0[0][1] = load_f32x4(&x[j0 + 48 * i0 + 4]);
          x_reg0[0][2] = load_f32x4(&x[j0 + 48 * i0 + 8]);
          out_reg0[0] += x_reg0[0][0];
          out_reg0[1] += x_reg0[0][1];
          out_reg0[2] += x_reg0[0][2];
        }
      }
      store_f32x4(&out[j0], out_reg0[0]);
      store_f32x4(&out[j0 + 4], out_reg0[1]);
      store_f32x4(&out[j0 + 8], out_reg0[2]);
    }
  }
}

// sum(f32[32,48], axis=1)
void kernel_25(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 32; i0 += 16) {
    for (long i1 = 0; i1 < 16; i1 += 4) {
      store_f32x4(&out[i0 + i1], (f32x4){0});
      for (long i2 = 0; i2 < 4; ++i2) {
        out[i0 + i1 + i2] += sum_run_f32x4(&x[48 * i0 + 48 * i1 + 48 * i2], 48);
      }
    }
  }
}

// max(f32[16,100])
void kernel_26(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 16; i0 += 4) {
    store_f32x4(&out[i0], splat_f32x4(-__builtin_inff()));
    for (long i1 = 0; i1 < 4; ++i1) {
      out[i0 + i1] = max_run_f32x4(&x[100 * i0 + 100 * i1], 100, out[i0 + i1]);
    }
  }
}

// mean(f32[8,8,8], axis=[0,2])
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
      f32x4 x_reg0[2];
      x_reg0[0] = load_f32x4(&out_L1_0[0]);
      x_reg0[1] = load_f32x4(&out_L1_0[4]);
      {
        f32x4 out_reg0[1];
        out_reg0[0] = x_reg0[0] * splat_f32x4((0.015625f));
        store_f32x4(&out[0], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = x_reg0[1] * splat_f32x4((0.015625f));
        store_f32x4(&out[4], out_reg0[0]);
      }
    }
  }
}

// transpose(f32[32,48])
void kernel_28(const float *restrict src, float *restrict dst) {
  for (long i0 = 0; i0 < 48; i0 += 12) {
    for (long j0 = 0; j0 < 32; j0 += 16) {
      for (long i1 = 0; i1 < 12; i1 += 4) {
        for (long j1 = 0; j1 < 16; j1 += 4) {
          transpose_4_4(&src[i0 + 48 * j0 + i1 + 48 * j1], 48, &dst[32 * i0 + j0 + 32 * i1 + j1], 32);
        }
      }
    }
  }
}

// transpose(f32[16,16] + f32[16,16])
void kernel_29(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[1024];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16,16]{1,0} */
    for (long i0 = 0; i0 < 16; ++i0) {
      for (long j0 = 0; j0 < 16; j0 += 4) {
        {
          f32x4 a_reg0[1][1];
          a_reg0[0][0] = load_f32x4(&a[16 * i0 + j0]);
          {
            f32x4 b_reg0[1][1];
            b_reg0[0][0] = load_f32x4(&b[16 * i0 + j0]);
            {
              f32x4 out_reg0[1][1];
              out_reg0[0][0] = a_reg0[0][0] + b_reg0[0][0];
              store_f32x4(&out_L1_0[16 * i0 + j0], out_reg0[0][0]);
            }
          }
        }
      }
    }
    for (long i0 = 0; i0 < 16; i0 += 4) {
      for (long j0 = 0; j0 < 16; j0 += 4) {
        transpose_4_4(&out_L1_0[i0 + 16 * j0], 16, &out[16 * i0 + j0], 16);
      }
    }
  }
}

// exp(f32[100])
void kernel_30(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 96; i0 += 48) {
    {
      f32x4 x_reg0[12];
      x_reg0[0] = load_f32x4(&x[i0]);
      x_reg0[1] = load_f32x4(&x[i0 + 4]);
      x_reg0[2] = load_f32x4(&x[i0 + 8]);
      x_reg0[3] = load_f32x4(&x[i0 + 12]);
      x_reg0[4] = load_f32x4(&x[i0 + 16]);
      x_reg0[5] = load_f32x4(&x[i0 + 20]);
      x_reg0[6] = load_f32x4(&x[i0 + 24]);
      x_reg0[7] = load_f32x4(&x[i0 + 28]);
      x_reg0[8] = load_f32x4(&x[i0 + 32]);
      x_reg0[9] = load_f32x4(&x[i0 + 36]);
      x_reg0[10] = load_f32x4(&x[i0 + 40]);
      x_reg0[11] = load_f32x4(&x[i0 + 44]);
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[0]);
        store_f32x4(&out[i0], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[1]);
        store_f32x4(&out[i0 + 4], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[2]);
        store_f32x4(&out[i0 + 8], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[3]);
        store_f32x4(&out[i0 + 12], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[4]);
        store_f32x4(&out[i0 + 16], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[5]);
        store_f32x4(&out[i0 + 20], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[6]);
        store_f32x4(&out[i0 + 24], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[7]);
        store_f32x4(&out[i0 + 28], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[8]);
        store_f32x4(&out[i0 + 32], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[9]);
        store_f32x4(&out[i0 + 36], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[10]);
        store_f32x4(&out[i0 + 40], out_reg0[0]);
      }
      {
        f32x4 out_reg0[1];
        out_reg0[0] = exp_f32x4(x_reg0[11]);
        store_f32x4(&out[i0 + 44], out_reg0[0]);
      }
    }
  }
  {
    f32x4 x_reg0[1];
    x_reg0[0] = load_f32x4(&x[96]);
    {
      f32x4 out_reg0[1];
      out_reg0[0] = exp_f32x4(x_reg0[0]);
      store_f32x4(&out[96], out_reg0[0]);
    }
  }
}

// f32[64] + f32[64] * 2.0
void kernel_31(const float *restrict a, const float *restrict b, float *restrict out) {
  {
    f32x4 out_reg0[16];
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[0]);
      out_reg0[0] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[4]);
      out_reg0[1] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[8]);
      out_reg0[2] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[12]);
      out_reg0[3] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[16]);
      out_reg0[4] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[20]);
      out_reg0[5] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[24]);
      out_reg0[6] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[28]);
      out_reg0[7] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[32]);
      out_reg0[8] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[36]);
      out_reg0[9] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[40]);
      out_reg0[10] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[44]);
      out_reg0[11] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[48]);
      out_reg0[12] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[52]);
      out_reg0[13] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[56]);
      out_reg0[14] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 x_reg0[1];
      x_reg0[0] = load_f32x4(&b[60]);
      out_reg0[15] = x_reg0[0] * splat_f32x4((2.0f));
    }
    {
      f32x4 a_reg0[4];
      a_reg0[0] = load_f32x4(&a[0]);
      a_reg0[1] = load_f32x4(&a[4]);
      a_reg0[2] = load_f32x4(&a[8]);
      a_reg0[3] = load_f32x4(&a[12]);
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[0];
        store_f32x4(&out[0], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[1] + out_reg0[1];
        store_f32x4(&out[4], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[2] + out_reg0[2];
        store_f32x4(&out[8], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[3] + out_reg0[3];
        store_f32x4(&out[12], out_reg1[0]);
      }
    }
    {
      f32x4 a_reg0[4];
      a_reg0[0] = load_f32x4(&a[16]);
      a_reg0[1] = load_f32x4(&a[20]);
      a_reg0[2] = load_f32x4(&a[24]);
      a_reg0[3] = load_f32x4(&a[28]);
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[4];
        store_f32x4(&out[16], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[1] + out_reg0[5];
        store_f32x4(&out[20], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[2] + out_reg0[6];
        store_f32x4(&out[24], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[3] + out_reg0[7];
        store_f32x4(&out[28], out_reg1[0]);
      }
    }
    {
      f32x4 a_reg0[4];
      a_reg0[0] = load_f32x4(&a[32]);
      a_reg0[1] = load_f32x4(&a[36]);
      a_reg0[2] = load_f32x4(&a[40]);
      a_reg0[3] = load_f32x4(&a[44]);
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[8];
        store_f32x4(&out[32], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[1] + out_reg0[9];
        store_f32x4(&out[36], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[2] + out_reg0[10];
        store_f32x4(&out[40], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[3] + out_reg0[11];
        store_f32x4(&out[44], out_reg1[0]);
      }
    }
    {
      f32x4 a_reg0[4];
      a_reg0[0] = load_f32x4(&a[48]);
      a_reg0[1] = load_f32x4(&a[52]);
      a_reg0[2] = load_f32x4(&a[56]);
      a_reg0[3] = load_f32x4(&a[60]);
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[0] + out_reg0[12];
        store_f32x4(&out[48], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[1] + out_reg0[13];
        store_f32x4(&out[52], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[2] + out_reg0[14];
        store_f32x4(&out[56], out_reg1[0]);
      }
      {
        f32x4 out_reg1[1];
        out_reg1[0] = a_reg0[3] + out_reg0[15];
        store_f32x4(&out[60], out_reg1[0]);
      }
    }
  }
}

// tanh(f32[8,24])
void kernel_32(const float *restrict x, float *restrict out) {
  for (long i0 = 0; i0 < 8; i0 += 2) {
    {
      f32x4 x_reg0[2][6];
      x_reg0[0][0] = load_f32x4(&x[24 * i0]);
      x_reg0[0][1] = load_f32x4(&x[24 * i0 + 4]);
      x_reg0[0][2] = load_f32x4(&x[24 * i0 + 8]);
      x_reg0[0][3] = load_f32x4(&x[24 * i0 + 12]);
      x_reg0[0][4] = load_f32x4(&x[24 * i0 + 16]);
      x_reg0[0][5] = load_f32x4(&x[24 * i0 + 20]);
      x_reg0[1][0] = load_f32x4(&x[24 * i0 + 24]);
      x_reg0[1][1] = load_f32x4(&x[24 * i0 + 28]);
      x_reg0[1][2] = load_f32x4(&x[24 * i0 + 32]);
      x_reg0[1][3] = load_f32x4(&x[24 * i0 + 36]);
      x_reg0[1][4] = load_f32x4(&x[24 * i0 + 40]);
      x_reg0[1][5] = load_f32x4(&x[24 * i0 + 44]);
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][0]);
        store_f32x4(&out[24 * i0], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][1]);
        store_f32x4(&out[24 * i0 + 4], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][2]);
        store_f32x4(&out[24 * i0 + 8], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][3]);
        store_f32x4(&out[24 * i0 + 12], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][4]);
        store_f32x4(&out[24 * i0 + 16], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[0][5]);
        store_f32x4(&out[24 * i0 + 20], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][0]);
        store_f32x4(&out[24 * i0 + 24], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][1]);
        store_f32x4(&out[24 * i0 + 28], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][2]);
        store_f32x4(&out[24 * i0 + 32], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][3]);
        store_f32x4(&out[24 * i0 + 36], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][4]);
        store_f32x4(&out[24 * i0 + 40], out_reg0[0][0]);
      }
      {
        f32x4 out_reg0[1][1];
        out_reg0[0][0] = tanh_f32x4(x_reg0[1][5]);
        store_f32x4(&out[24 * i0 + 44], out_reg0[0][0]);
      }
    }
  }
}

// f32[16,16] - expand_dims(mean(f32[16,16]), axis=1)
void kernel_33(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[128];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[16]{0} */
    {
      float *const restrict out_L1_1 = (float *)(workspace + 64);  /* f32[16]{0} */
      for (long i0 = 0; i0 < 16; i0 += 4) {
        store_f32x4(&out_L1_1[i0], (f32x4){0});
      }
      for (long i0 = 0; i0 < 16; ++i0) {
        out_L1_1[i0] += sum_run_f32x4(&b[16 * i0], 16);
      }
      for (long i0 = 0; i0 < 16; i0 += 4) {
        {
          f32x4 x_reg0[1];
          x_reg0[0] = load_f32x4(&out_L1_1[i0]);
          {
            f32x4 out_reg0[1];
            out_reg0[0] = x_reg0[0] * splat_f32x4((0.0625f));
            store_f32x4(&out_L1_0[i0], out_reg0[0]);
          }
        }
      }
    }
    for (long i0 = 0; i0 < 16; ++i0) {
      {
        f32x4 a_reg0[1][4];
        a_reg0[0][0] = load_f32x4(&a[16 * i0]);
        a_reg0[0][1] = load_f32x4(&a[16 * i0 + 4]);
        a_reg0[0][2] = load_f32x4(&a[16 * i0 + 8]);
        a_reg0[0][3] = load_f32x4(&a[16 * i0 + 12]);
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][0] - splat_f32x4(out_L1_0[i0]);
          store_f32x4(&out[16 * i0], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][1] - splat_f32x4(out_L1_0[i0]);
          store_f32x4(&out[16 * i0 + 4], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][2] - splat_f32x4(out_L1_0[i0]);
          store_f32x4(&out[16 * i0 + 8], out_reg0[0][0]);
        }
        {
          f32x4 out_reg0[1][1];
          out_reg0[0][0] = a_reg0[0][3] - splat_f32x4(out_L1_0[i0]);
          store_f32x4(&out[16 * i0 + 12], out_reg0[0][0]);
        }
      }
    }
  }
}

// conv(f32[1,4,8,8], f32[8,4,3,3])
void kernel_34(const float *restrict image, const float *restrict filter, float *restrict out) {
  _Alignas(64) unsigned char workspace[1344];
  {
    float *const restrict filter_L1_0 = (float *)(workspace + 0);  /* f32[8,4,3,3]{1,3,2,0:T(4,1,1,1)} */
    for (long i0 = 0; i0 < 8; i0 += 4) {
      for (long i1 = 0; i1 < 4; ++i1) {
        for (long j0 = 0; j0 < 4; ++j0) {
          for (long k0 = 0; k0 < 3; ++k0) {
            for (long l0 = 0; l0 < 3; ++l0) {
              filter_L1_0[36 * i0 + i1 + 4 * j0 + 48 * k0 + 16 * l0] = filter[36 * i0 + 36 * i1 + 9 * j0 + 3 * k0 + l0];
            }
          }
        }
      }
    }
    for (long y0 = 0; y0 < 6; ++y0) {
      {
        float *const restrict out_L1_0 = (float *)(workspace + 1152);  /* f32[1,8,1,6]{1,3,2,0} */
        for (long j0 = 0; j0 < 8; j0 += 4) {
          for (long l0 = 0; l0 < 6; ++l0) {
            store_f32x4(&out_L1_0[j0 + 8 * l0], (f32x4){0});
          }
        }
        for (long p0 = 0; p0 < 3; ++p0) {
          for (long q0 = 0; q0 < 3; ++q0) {
            {
              f32x4 b_reg0[2][4];
              b_reg0[0][0] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0]);
              b_reg0[0][1] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 4]);
              b_reg0[0][2] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 8]);
              b_reg0[0][3] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 12]);
              b_reg0[1][0] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 144]);
              b_reg0[1][1] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 148]);
              b_reg0[1][2] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 152]);
              b_reg0[1][3] = load_f32x4(&filter_L1_0[48 * p0 + 16 * q0 + 156]);
              for (long m0 = 0; m0 < 6; ++m0) {
                {
                  f32x4 c_reg0[2][1];
                  c_reg0[0][0] = load_f32x4(&out_L1_0[8 * m0]);
                  c_reg0[1][0] = load_f32x4(&out_L1_0[8 * m0 + 4]);
                  c_reg0[0][0] += image[8 * y0 + 8 * p0 + q0 + m0] * b_reg0[0][0];
                  c_reg0[1][0] += image[8 * y0 + 8 * p0 + q0 + m0] * b_reg0[1][0];
                  c_reg0[0][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 64] * b_reg0[0][1];
                  c_reg0[1][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 64] * b_reg0[1][1];
                  c_reg0[0][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 128] * b_reg0[0][2];
                  c_reg0[1][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 128] * b_reg0[1][2];
                  c_reg0[0][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 192] * b_reg0[0][3];
                  c_reg0[1][0] += image[8 * y0 + 8 * p0 + q0 + m0 + 192] * b_reg0[1][3];
                  store_f32x4(&out_L1_0[8 * m0], c_reg0[0][0]);
                  store_f32x4(&out_L1_0[8 * m0 + 4], c_reg0[1][0]);
                }
              }
            }
          }
        }
        for (long j0 = 0; j0 < 8; ++j0) {
          for (long l0 = 0; l0 < 6; ++l0) {
            out[6 * y0 + 36 * j0 + l0] = out_L1_0[j0 + 8 * l0];
          }
        }
      }
    }
  }
}

// conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)
void kernel_35(const float *restrict image, const float *restrict filter, float *restrict out) {
  _Alignas(64) unsigned char workspace[5056];
  {
    float *const restrict dst_L1_0 = (float *)(workspace + 0);  /* f32[1,8,9,9]{3,2,1,0} */
    for (long j0 = 0; j0 < 8; ++j0) {
      for (long k0 = 0; k0 < 9; ++k0) {
        for (long l0 = 0; l0 < 9; ++l0) {
          dst_L1_0[81 * j0 + 9 * k0 + l0] = 0;
        }
      }
    }
    for (long j0 = 0; j0 < 8; ++j0) {
      for (long k0 = 0; k0 < 7; ++k0) {
        store_f32x4(&dst_L1_0[81 * j0 + 9 * k0 + 10], load_f32x4(&image[49 * j0 + 7 * k0]));
        for (long l0 = 0; l0 < 3; ++l0) {
          dst_L1_0[81 * j0 + 9 * k0 + l0 + 14] = image[49 * j0 + 7 * k0 + l0 + 4];
        }
      }
    }
    {
      float *const restrict filter_L1_0 = (float *)(workspace + 2624);  /* f32[8,8,3,3]{1,3,2,0:T(4,1,1,1)} */
      for (long i0 = 0; i0 < 8; i0 += 4) {
        for (long i1 = 0; i1 < 4; ++i1) {
          for (long j0 = 0; j0 < 8; ++j0) {
            for (long k0 = 0; k0 < 3; ++k0) {
              for (long l0 = 0; l0 < 3; ++l0) {
                filter_L1_0[72 * i0 + i1 + 4 * j0 + 96 * k0 + 32 * l0] = filter[72 * i0 + 72 * i1 + 9 * j0 + 3 * k0 + l0];
              }
            }
          }
        }
      }
      for (long y0 = 0; y0 < 4; ++y0) {
        {
          float *const restrict out_L1_0 = (float *)(workspace + 4928);  /* f32[1,8,1,4]{1,3,2,0} */
          for (long j0 = 0; j0 < 8; j0 += 4) {
            for (long l0 = 0; l0 < 4; ++l0) {
              store_f32x4(&out_L1_0[j0 + 8 * l0], (f32x4){0});
            }
          }
          for (long p0 = 0; p0 < 3; ++p0) {
            for (long q0 = 0; q0 < 3; ++q0) {
              {
                f32x4 b_reg0[2][8];
                b_reg0[0][0] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0]);
                b_reg0[0][1] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 4]);
                b_reg0[0][2] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 8]);
                b_reg0[0][3] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 12]);
                b_reg0[0][4] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 16]);
                b_reg0[0][5] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 20]);
                b_reg0[0][6] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 24]);
                b_reg0[0][7] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 28]);
                b_reg0[1][0] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 288]);
                b_reg0[1][1] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 292]);
                b_reg0[1][2] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 296]);
                b_reg0[1][3] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 300]);
                b_reg0[1][4] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 304]);
                b_reg0[1][5] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 308]);
                b_reg0[1][6] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 312]);
                b_reg0[1][7] = load_f32x4(&filter_L1_0[96 * p0 + 32 * q0 + 316]);
                for (long m0 = 0; m0 < 4; ++m0) {
                  {
                    f32x4 c_reg0[2][1];
                    c_reg0[0][0] = load_f32x4(&out_L1_0[8 * m0]);
                    c_reg0[1][0] = load_f32x4(&out_L1_0[8 * m0 + 4]);
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0] * b_reg0[0][0];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0] * b_reg0[1][0];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 81] * b_reg0[0][1];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 81] * b_reg0[1][1];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 162] * b_reg0[0][2];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 162] * b_reg0[1][2];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 243] * b_reg0[0][3];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 243] * b_reg0[1][3];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 324] * b_reg0[0][4];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 324] * b_reg0[1][4];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 405] * b_reg0[0][5];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 405] * b_reg0[1][5];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 486] * b_reg0[0][6];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 486] * b_reg0[1][6];
                    c_reg0[0][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 567] * b_reg0[0][7];
                    c_reg0[1][0] += dst_L1_0[18 * y0 + 9 * p0 + q0 + 2 * m0 + 567] * b_reg0[1][7];
                    store_f32x4(&out_L1_0[8 * m0], c_reg0[0][0]);
                    store_f32x4(&out_L1_0[8 * m0 + 4], c_reg0[1][0]);
                  }
                }
              }
            }
          }
          for (long j0 = 0; j0 < 8; j0 += 4) {
            transpose_4_4(&out_L1_0[j0], 8, &out[4 * y0 + 16 * j0], 16);
          }
        }
      }
    }
  }
}

// relu(conv(f32[1,8,6,6], f32[16,8,1,1]))
void kernel_36(const float *restrict a, const float *restrict b, float *restrict out) {
  _Alignas(64) unsigned char workspace[2304];
  {
    float *const restrict out_L1_0 = (float *)(workspace + 0);  /* f32[1,16,6,6]{3,2,1,0} */
    for (long j0 = 0; j0 < 16; ++j0) {
      for (long k0 = 0; k0 < 6; ++k0) {
        for (long l0 = 0; l0 < 6; ++l0) {
          out_L1_0[36 * j0 + 6 * k0 + l0] = 0;
        }
      }
    }
    for (long m0 = 0; m0 < 36; m0 += 12) {
      {
        f32x4 a_reg0[8][3];
        a_reg0[0][0] = load_f32x4(&a[m0]);
        a_reg0[0][1] = load_f32x4(&a[m0 + 4]);
        a_reg0[0][2] = load_f32x4(&a[m0 + 8]);
        a_reg0[1][0] = load_f32x4(&a[m0 + 36]);
        a_reg0[1][1] = load_f32x4(&a[m0 + 40]);
        a_reg0[1][2] = load_f32x4(&a[m0 + 44]);
        a_reg0[2][0] = load_f32x4(&a[m0 + 72]);
        a_reg0[2][1] = load_f32x4(&a[m0 + 76]);
        a_reg0[2][2] = load_f32x4(&a[m0 + 80]);
        a_reg0[3][0] = load_f32x4(&a[m0 + 108]);
        a_reg0[3][1] = load_f32x4(&a[m0 + 112]);
        a_reg0[3][2] = load_f32x4(&a[m0 + 116]);
        a_reg0[4][0] = load_f32x4(&a[m0 + 144]);
        a_reg0[4][1] = load_f32x4(&a[m0 + 148]);
        a_reg0[4][2] = load_f32x4(&a[m0 + 152]);
        a_reg0[5][0] = load_f32x4(&a[m0 + 180]);
        a_reg0[5][1] = load_f32x4(&a[m0 + 184]);
        a_reg0[5][2] = load_f32x4(&a[m0 + 188]);
        a_reg0[6][0] = load_f32x4(&a[m0 + 216]);
        a_reg0[6][1] = load_f32x4(&a[m0 + 220]);
        a_reg0[6][2] = load_f32x4(&a[m0 + 224]);
        a_reg0[7][0] = load_f32x4(&a[m0 + 252]);
        a_reg0[7][1] = load_f32x4(&a[m0 + 256]);
        a_reg0[7][2] = load_f32x4(&a[m0 + 260]);
        for (long n0 = 0; n0 < 16; ++n0) {
          {
            f32x4 c_reg0[1][3];
            c_reg0[0][0] = load_f32x4(&out_L1_0[m0 + 36 * n0]);
            c_reg0[0][1] = load_f32x4(&out_L1_0[m0 + 36 * n0 + 4]);
            c_reg0[0][2] = load_f32x4(&out_L1_0[m0 + 36 * n0 + 8]);
            c_reg0[0][0] += a_reg0[0][0] * b[8 * n0];
            c_reg0[0][1] += a_reg0[0][1] * b[8 * n0];
            c_reg0[0][2] += a_reg0[0][2] * b[8 * n0];
            c_reg0[0][0] += a_reg0[1][0] * b[8 * n0 + 1];
            c_reg0[0][1] += a_reg0[1][1] * b[8 * n0 + 1];
            c_reg0[0][2] += a_reg0[1][2] * b[8 * n0 + 1];
            c_reg0[0][0] += a_reg0[2][0] * b[8 * n0 + 2];
            c_reg0[0][1] += a_reg0[2][1] * b[8 * n0 + 2];
            c_reg0[0][2] += a_reg0[2][2] * b[8 * n0 + 2];
            c_reg0[0][0] += a_reg0[3][0] * b[8 * n0 + 3];
            c_reg0[0][1] += a_reg0[3][1] * b[8 * n0 + 3];
            c_reg0[0][2] += a_reg0[3][2] * b[8 * n0 + 3];
            c_reg0[0][0] += a_reg0[4][0] * b[8 * n0 + 4];
            c_reg0[0][1] += a_reg0[4][1] * b[8 * n0 + 4];
            c_reg0[0][2] += a_reg0[4][2] * b[8 * n0 + 4];
            c_reg0[0][0] += a_reg0[5][0] * b[8 * n0 + 5];
            c_reg0[0][1] += a_reg0[5][1] * b[8 * n0 + 5];
            c_reg0[0][2] += a_reg0[5][2] * b[8 * n0 + 5];
            c_reg0[0][0] += a_reg0[6][0] * b[8 * n0 + 6];
            c_reg0[0][1] += a_reg0[6][1] * b[8 * n0 + 6];
            c_reg0[0][2] += a_reg0[6][2] * b[8 * n0 + 6];
            c_reg0[0][0] += a_reg0[7][0] * b[8 * n0 + 7];
            c_reg0[0][1] += a_reg0[7][1] * b[8 * n0 + 7];
            c_reg0[0][2] += a_reg0[7][2] * b[8 * n0 + 7];
            store_f32x4(&out_L1_0[m0 + 36 * n0], c_reg0[0][0]);
            store_f32x4(&out_L1_0[m0 + 36 * n0 + 4], c_reg0[0][1]);
            store_f32x4(&out_L1_0[m0 + 36 * n0 + 8], c_reg0[0][2]);
          }
        }
      }
    }
    for (long j0 = 0; j0 < 16; j0 += 4) {
      for (long j1 = 0; j1 < 4; ++j1) {
        for (long k0 = 0; k0 < 6; k0 += 3) {
          for (long l0 = 0; l0 < 6; l0 += 3) {
            {
              float x_reg0[1][1][3][3];
              x_reg0[0][0][0][0] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0];
              x_reg0[0][0][0][1] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 1];
              x_reg0[0][0][0][2] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 2];
              x_reg0[0][0][1][0] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 6];
              x_reg0[0][0][1][1] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 7];
              x_reg0[0][0][1][2] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 8];
              x_reg0[0][0][2][0] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 12];
              x_reg0[0][0][2][1] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 13];
              x_reg0[0][0][2][2] = out_L1_0[36 * j0 + 36 * j1 + 6 * k0 + l0 + 14];
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][0][0]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][0][1]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 1] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][0][2]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 2] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][1][0]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 6] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][1][1]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 7] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][1][2]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 8] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][2][0]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 12] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][2][1]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 13] = out_reg0[0][0][0][0];
              }
              {
                float out_reg0[1][1][1][1];
                out_reg0[0][0][0][0] = relu_f32(x_reg0[0][0][2][2]);
                out[36 * j0 + 36 * j1 + 6 * k0 + l0 + 14] = out_reg0[0][0][0][0];
              }
            }
          }
        }
      }
    }
  }
}

// conv(f32[1,8,8,4], f32[3,3,4,8], layout=NHWC)
void kernel_37(const float *restrict image, const float *restrict filter, float *restrict out) {
  for (long y0 = 0; y0 < 6; y0 += 3) {
    for (long y1 = 0; y1 < 3; ++y1) {
      for (long k0 = 0; k0 < 6; ++k0) {
        for (long l0 = 0; l0 < 8; l0 += 4) {
          store_f32x4(&out[48 * y0 + 48 * y1 + 8 * k0 + l0], (f32x4){0});
        }
      }
      for (long p0 = 0; p0 < 3; ++p0) {
        for (long q0 = 0; q0 < 3; ++q0) {
          {
            f32x4 b_reg0[4][2];
            b_reg0[0][0] = load_f32x4(&filter[96 * p0 + 32 * q0]);
            b_reg0[0][1] = load_f32x4(&filter[96 * p0 + 32 * q0 + 4]);
            b_reg0[1][0] = load_f32x4(&filter[96 * p0 + 32 * q0 + 8]);
            b_reg0[1][1] = load_f32x4(&filter[96 * p0 + 32 * q0 + 12]);
            b_reg0[2][0] = load_f32x4(&filter[96 * p0 + 32 * q0 + 16]);
            b_reg0[2][1] = load_f32x4(&filter[96 * p0 + 32 * q0 + 20]);
            b_reg0[3][0] = load_f32x4(&filter[96 * p0 + 32 * q0 + 24]);
            b_reg0[3][1] = load_f32x4(&filter[96 * p0 + 32 * q0 + 28]);
            for (long m0 = 0; m0 < 6; ++m0) {
              {
                f32x4 c_reg0[1][2];
                c_reg0[0][0] = load_f32x4(&out[48 * y0 + 48 * y1 + 8 * m0]);
                c_reg0[0][1] = load_f32x4(&out[48 * y0 + 48 * y1 + 8 * m0 + 4]);
                c_reg0[0][0] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0] * b_reg0[0][0];
                c_reg0[0][1] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0] * b_reg0[0][1];
                c_reg0[0][0] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 1] * b_reg0[1][0];
                c_reg0[0][1] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 1] * b_reg0[1][1];
                c_reg0[0][0] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 2] * b_reg0[2][0];
                c_reg0[0][1] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 2] * b_reg0[2][1];
                c_reg0[0][0] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 3] * b_reg0[3][0];
                c_reg0[0][1] += image[32 * y0 + 32 * y1 + 32 * p0 + 4 * q0 + 4 * m0 + 3] * b_reg0[3][1];
                store_f32x4(&out[48 * y0 + 48 * y1 + 8 * m0], c_reg0[0][0]);
                store_f32x4(&out[48 * y0 + 48 * y1 + 8 * m0 + 4], c_reg0[0][1]);
              }
            }
          }
        }
      }
    }
  }
}

// move(f32[16,16]{0,1})
void kernel_38(const float *restrict src, float *restrict dst) {
  for (long i0 = 0; i0 < 16; i0 += 4) {
    for (long j0 = 0; j0 < 16; j0 += 4) {
      transpose_4_4(&src[i0 + 16 * j0], 16, &dst[16 * i0 + j0], 16);
    }
  }
}

// fill_zero(f32[100])
void kernel_39(float *restrict dst) {
  for (long i0 = 0; i0 < 96; i0 += 48) {
    for (long i1 = 0; i1 < 48; i1 += 4) {
      store_f32x4(&dst[i0 + i1], (f32x4){0});
    }
  }
  store_f32x4(&dst[96], (f32x4){0});
}

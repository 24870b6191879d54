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
          #pragma GCC unroll 4
          for (long k0 = 0; k0 < 64; ++k0) {
            {
              f32x4 b_reg0[1][2];
              b_reg0[0][0] = load_f32x4(&b[n0 + n1 + 64 * k0]);
              b_reg0[0][1] = load_f32x4(&b[n0 + n1 + 64 * k0 + 4]);
              c_reg0[0][0] += a[64 * m0 + k0] * b_reg0[0][0];
              c_reg0[0][1] += a[64 * m0 + k0] * b_reg0[0][1];
              c_reg0[1][0] += a[64 * m0 + k0 + 64] * b_reg0[0][0];
              c_reg0[1][1] += a[64 * m0 + k0 + 64] * b_reg0[0][1];
              c_reg0[2][0] += a[64 * m0 + k0 + 128] * b_reg0[0][0];
              c_reg0[2][1] += a[64 * m0 + k0 + 128] * b_reg0[0][1];
              c_reg0[3][0] += a[64 * m0 + k0 + 192] * b_reg0[0][0];
              c_reg0[3][1] += a[64 * m0 + k0 + 192] * b_reg0[0][1];
              c_reg0[4][0] += a[64 * m0 + k0 + 256] * b_reg0[0][0];
              c_reg0[4][1] += a[64 * m0 + k0 + 256] * b_reg0[0][1];
              c_reg0[5][0] += a[64 * m0 + k0 + 320] * b_reg0[0][0];
              c_reg0[5][1] += a[64 * m0 + k0 + 320] * b_reg0[0][1];
              c_reg0[6][0] += a[64 * m0 + k0 + 384] * b_reg0[0][0];
              c_reg0[6][1] += a[64 * m0 + k0 + 384] * b_reg0[0][1];
              c_reg0[7][0] += a[64 * m0 + k0 + 448] * b_reg0[0][0];
              c_reg0[7][1] += a[64 * m0 + k0 + 448] * b_reg0[0][1];
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
  for (long n0 = 0; n0 < 11; n0 += 8) {
    if (n0 > 3) n0 = 3;
    {
      f32x4 b_reg0[13][2];
      b_reg0[0][0] = load_f32x4(&b[n0]);
      b_reg0[0][1] = load_f32x4(&b[n0 + 4]);
      b_reg0[1][0] = load_f32x4(&b[n0 + 11]);
      b_reg0[1][1] = load_f32x4(&b[n0 + 15]);
      b_reg0[2][0] = load_f32x4(&b[n0 + 22]);
      b_reg0[2][1] = load_f32x4(&b[n0 + 26]);
      b_reg0[3][0] = load_f32x4(&b[n0 + 33]);
      b_reg0[3][1] = load_f32x4(&b[n0 + 37]);
      b_reg0[4][0] = load_f32x4(&b[n0 + 44]);
      b_reg0[4][1] = load_f32x4(&b[n0 + 48]);
      b_reg0[5][0] = load_f32x4(&b[n0 + 55]);
      b_reg0[5][1] = load_f32x4(&b[n0 + 59]);
      b_reg0[6][0] = load_f32x4(&b[n0 + 66]);
      b_reg0[6][1] = load_f32x4(&b[n0 + 70]);
      b_reg0[7][0] = load_f32x4(&b[n0 + 77]);
      b_reg0[7][1] = load_f32x4(&b[n0 + 81]);
      b_reg0[8][0] = load_f32x4(&b[n0 + 88]);
      b_reg0[8][1] = load_f32x4(&b[n0 + 92]);
      b_reg0[9][0] = load_f32x4(&b[n0 + 99]);
      b_reg0[9][1] = load_f32x4(&b[n0 + 103]);
      b_reg0[10][0] = load_f32x4(&b[n0 + 110]);
      b_reg0[10][1] = load_f32x4(&b[n0 + 114]);
      b_reg0[11][0] = load_f32x4(&b[n0 + 121]);
      b_reg0[11][1] = load_f32x4(&b[n0 + 125]);
      b_reg0[12][0] = load_f32x4(&b[n0 + 132]);
      b_reg0[12][1] = load_f32x4(&b[n0 + 136]);
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
          store_f32x4(&c[n0 + 11 * m0], c_reg0[0][0]);
          store_f32x4(&c[n0 + 11 * m0 + 4], c_reg0[0][1]);
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
    for (long n0 = 0; n0 < 32; n0 += 16) {
      for (long n1 = 0; n1 < 16; n1 += 4) {
        {
          f32x4 c_reg0[16][1];
          c_reg0[0][0] = (f32x4){0};
          c_reg0[1][0] = (f32x4){0};
          c_reg0[2][0] = (f32x4){0};
          c_reg0[3][0] = (f32x4){0};
          c_reg0[4][0] = (f32x4){0};
          c_reg0[5][0] = (f32x4){0};
          c_reg0[6][0] = (f32x4){0};
          c_reg0[7][0] = (f32x4){0};
          c_reg0[8][0] = (f32x4){0};
          c_reg0[9][0] = (f32x4){0};
          c_reg0[10][0] = (f32x4){0};
          c_reg0[11][0] = (f32x4){0};
          c_reg0[12][0] = (f32x4){0};
          c_reg0[13][0] = (f32x4){0};
          c_reg0[14][0] = (f32x4){0};
          c_reg0[15][0] = (f32x4){0};
          #pragma GCC unroll 4
          for (long k0 = 0; k0 < 64; ++k0) {
            {
              f32x4 b_reg0[1][1];
              b_reg0[0][0] = load_f32x4_bf16(&b[n0 + n1 + 32 * k0]);
              c_reg0[0][0] += a_L1_0[k0] * b_reg0[0][0];
              c_reg0[1][0] += a_L1_0[k0 + 64] * b_reg0[0][0];
              c_reg0[2][0] += a_L1_0[k0 + 128] * b_reg0[0][0];
              c_reg0[3][0] += a_L1_0[k0 + 192] * b_reg0[0][0];
              c_reg0[4][0] += a_L1_0[k0 + 256] * b_reg0[0][0];
              c_reg0[5][0] += a_L1_0[k0 + 320] * b_reg0[0][0];
              c_reg0[6][0] += a_L1_0[k0 + 384] * b_reg0[0][0];
              c_reg0[7][0] += a_L1_0[k0 + 448] * b_reg0[0][0];
              c_reg0[8][0] += a_L1_0[k0 + 512] * b_reg0[0][0];
              c_reg0[9][0] += a_L1_0[k0 + 576] * b_reg0[0][0];
              c_reg0[10][0] += a_L1_0[k0 + 640] * b_reg0[0][0];
              c_reg0[11][0] += a_L1_0[k0 + 704] * b_reg0[0][0];
              c_reg0[12][0] += a_L1_0[k0 + 768] * b_reg0[0][0];
              c_reg0[13][0] += a_L1_0[k0 + 832] * b_reg0[0][0];
              c_reg0[14][0] += a_L1_0[k0 + 896] * b_reg0[0][0];
              c_reg0[15][0] += a_L1_0[k0 + 960] * b_reg0[0][0];
            }
          }
          store_f32x4(&c[n0 + n1], c_reg0[0][0]);
          store_f32x4(&c[n0 + n1 + 32], c_reg0[1][0]);
          store_f32x4(&c[n0 + n1 + 64], c_reg0[2][0]);
          store_f32x4(&c[n0 + n1 + 96], c_reg0[3][0]);
          store_f32x4(&c[n0 + n1 + 128], c_reg0[4][0]);
          store_f32x4(&c[n0 + n1 + 160], c_reg0[5][0]);
          store_f32x4(&c[n0 + n1 + 192], c_reg0[6][0]);
          store_f32x4(&c[n0 + n1 + 224], c_reg0[7][0]);
          store_f32x4(&c[n0 + n1 + 256], c_reg0[8][0]);
          store_f32x4(&c[n0 + n1 + 288], c_reg0[9][0]);
          store_f32x4(&c[n0 + n1 + 320], c_reg0[10][0]);
          store_f32x4(&c[n0 + n1 + 352], c_reg0[11][0]);
          store_f32x4(&c[n0 + n1 + 384], c_reg0[12][0]);
          store_f32x4(&c[n0 + n1 + 416], c_reg0[13][0]);
          store_f32x4(&c[n0 + n1 + 448], c_reg0[14][0]);
          store_f32x4(&c[n0 + n1 + 480], c_reg0[15][0]);
        }
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
        #pragma GCC unroll 4
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
              __asm__ volatile("" : : : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
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
                #pragma GCC unroll 4
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
            __asm__ volatile("" : : : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
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
            #pragma GCC unroll 4
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
  _Alignas(64) unsigned char workspace[192];
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
          f32x4 out_reg0[1];
          {
            f32x4 out_reg1[1];
            {
              float *const restrict out_L1_2 = (float *)(workspace + 128);  /* f32[4]{0} */
              store_f32x4(&out_L1_2[0], (f32x4){0});
              for (long i1 = 0; i1 < 4; ++i1) {
                out_L1_2[i1] += deviations_run_f32x4(&a[64 * i0 + 64 * i1], out_L1_0[i0 + i1], 64);
              }
              {
                f32x4 x_reg0[1];
                x_reg0[0] = load_f32x4(&out_L1_2[0]);
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

// conv(f32[1,8,7,7], f32[8,8,3,3], padding=1, stride=2)
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

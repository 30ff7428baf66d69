#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <math.h>
#include <stdint.h>

#define BR 16
#define BC 16
#define MAXD 128
__global__ void flash_attn(const float* Q, const float* K, const float* V, float* O, float* LSE, int N, int S, int d, float scale, bool causal) {
  __shared__ float Ks[BC][MAXD], Vs[BC][MAXD];
  int bh = blockIdx.y;
  int i = blockIdx.x * BR + threadIdx.x;
  const float* q = Q + ((size_t)bh * N + i) * d;
  const float* k = K + (size_t)bh * S * d;
  const float* v = V + (size_t)bh * S * d;
  float acc[MAXD];
  for (int x = 0; x < d; x++) acc[x] = 0.0f;
  float m = -INFINITY, l = 0.0f;
  for (int j0 = 0; j0 < S; j0 += BC) {
    __syncthreads();
    for (int t = threadIdx.x; t < BC * d; t += BR) {
      int r = t / d, c = t % d;
      Ks[r][c] = j0 + r < S ? k[(size_t)(j0 + r) * d + c] : 0.0f;
      Vs[r][c] = j0 + r < S ? v[(size_t)(j0 + r) * d + c] : 0.0f;
    }
    __syncthreads();
    if (i >= N) continue;
    for (int r = 0; r < BC; r++) {
      int j = j0 + r;
      if (j >= S) break;
      if (causal && j > i + S - N) continue;
      float s = 0.0f;
      for (int x = 0; x < d; x++) s += q[x] * Ks[r][x];
      s *= scale;
      float mn = fmaxf(m, s);
      float a = m == -INFINITY ? 0.0f : expf(m - mn);
      float p = expf(s - mn);
      l = l * a + p;
      for (int x = 0; x < d; x++) acc[x] = acc[x] * a + p * Vs[r][x];
      m = mn;
    }
  }
  if (i >= N) return;
  for (int x = 0; x < d; x++) O[((size_t)bh * N + i) * d + x] = l == 0.0f ? 0.0f : acc[x] / l;
  LSE[(size_t)bh * N + i] = m + logf(l);
}

extern "C" void flash_attention_forward(const float* Q, const float* K, const float* V, float* O, float* lse, int B, int H, int N, int S,
                                        int d, float scale, bool causal) {
  dim3 grid((N + BR - 1) / BR, B * H);
  flash_attn<<<grid, BR>>>(Q, K, V, O, lse, N, S, d, scale, causal);
}

// How many tiles there are, and how long they are, main() says.
#include <cmath>
#include <cstdio>

__global__ void forward_kernel(const float *Q, const float *K, const float *V, int N, int d, int Tc, int Tr, int Bc,
                               int Br, float softmax_scale, float *l, float *m, float *O)
{
    extern __shared__ float room[];
    float *q = room, *k = room + Br * d, *v = k + Bc * d, *s = v + Bc * d;
    const int t = threadIdx.x;
    for (int j = 0; j < Tc; j++) {
        const int key = j * Bc + t;
        for (int x = 0; x < d; x++) {
            k[t * d + x] = key < N ? K[key * d + x] : 0.0f;
            v[t * d + x] = key < N ? V[key * d + x] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < Tr; i++) {
            const int row = i * Br + t;
            if (row >= N) continue;
            for (int x = 0; x < d; x++) q[t * d + x] = Q[row * d + x];
            const float before = m[row], sum = l[row];
            float largest = -INFINITY, added = 0.0f;
            for (int c = 0; c < Bc; c++) {
                float score = 0.0f;
                for (int x = 0; x < d; x++) score += q[t * d + x] * k[c * d + x];
                s[t * Bc + c] = j * Bc + c < N ? score * softmax_scale : -INFINITY;
                largest = fmaxf(largest, s[t * Bc + c]);
            }
            const float now = fmaxf(before, largest), old = expf(before - now);
            for (int c = 0; c < Bc; c++) {
                s[t * Bc + c] = expf(s[t * Bc + c] - now);
                added += s[t * Bc + c];
            }
            const float all = sum * old + added;
            for (int x = 0; x < d; x++) {
                float o = 0.0f;
                for (int c = 0; c < Bc; c++) o += s[t * Bc + c] * v[c * d + x];
                O[row * d + x] = (O[row * d + x] * sum * old + o) / all;
            }
            m[row] = now;
            l[row] = all;
        }
        __syncthreads();
    }
}

int main()
{
    int N = 64, d = 32;
    const int Bc = 16, Br = 16;
    const int Tc = (N + Bc - 1) / Bc, Tr = (N + Br - 1) / Br;
    const float softmax_scale = 1.0f / sqrtf(d);
    size_t bytes = N * d * sizeof(float);
    float *h = new float[N * d], *h_m = new float[N], *Q, *K, *V, *O, *l, *m;
    for (int i = 0; i < N; i++) h_m[i] = -INFINITY;
    cudaMalloc(&Q, bytes);
    cudaMalloc(&K, bytes);
    cudaMalloc(&V, bytes);
    cudaMalloc(&O, bytes);
    cudaMalloc(&l, N * sizeof(float));
    cudaMalloc(&m, N * sizeof(float));
    cudaMemcpy(Q, h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(K, h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(V, h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(m, h_m, N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(O, 0, bytes);
    cudaMemset(l, 0, N * sizeof(float));
    const int shared = (Br * d + 2 * Bc * d + Br * Bc) * sizeof(float);
    forward_kernel<<<1, Bc, shared>>>(Q, K, V, N, d, Tc, Tr, Bc, Br, softmax_scale, l, m, O);
    cudaMemcpy(h, O, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
}

__global__ void one(float* x) {
    __shared__ float As[16][64 + 4], b;
    static __shared__ int counts[32];
    __shared__ __align__(16) float4 tile[N < 4 ? 1 : 2];
    volatile __shared__ float v[2];
    __shared__ std::pair<int, float> best; // the best so far
    __shared__ union { float f; int i; } both;
    __shared__ float (*rows)[4];
    __shared__
        float
        split[4];
    extern __shared__ float smem[];
    extern __shared__ __align__(16) unsigned char bytes[];
    extern volatile __shared__ float vol[];
    extern __shared__ float4 quads[][8];
    asm volatile("bar.sync 0;");
}
extern "C" {
namespace {
template <typename T> __global__ void two() {
    extern __shared__
        T values[];
    __shared__ typename Reduce<T>::Storage storage;
    switch (1) { case 1: __shared__ int c; }
}
}
}
extern "C" __global__ void three() { __shared__ int a; }
#define TILE(type, n) __shared__ type tile[n];
extern __shared__ __align__(16) unsigned char everywhere[];
namespace parts {
extern volatile __shared__ float4 rows[][8];
}
extern __shared__ float everywhere[];
__device__ float4 *in_quads() { return reinterpret_cast<float4 *>(everywhere) + reinterpret_cast<long>(everywhere + 1); }
__shared__ int counts[4], total;
namespace parts {
static __shared__ __align__(16) float4 quads[2];
__device__ int one(int i) { return counts[i]; }
__global__ void four() { __shared__ int counted; if (threadIdx.x < 4) counts[threadIdx.x] = 0; total = (int)quads[0].x; }
__global__ void five() { extern __shared__ int counts_of[]; }
}
int host(int total) { return total; }

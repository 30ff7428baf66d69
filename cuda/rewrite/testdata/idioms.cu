// What published kernels look like.
#include <cuda_runtime.h>
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CUDA_CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) abort(); } while (0)
#define LAUNCH_KERNEL(T, V) \
    if (x) { \
        norm_kernel<T, V><<<grid, block, 0, stream>>>( \
            (T*)out, (const T*)in, n); \
    }
extern "C" void solve(const float* in, float* out, int n) {
    reduce<<<CEIL_DIV(n, 256), 256, 256 * sizeof(float)>>>(in, out, n);
    kernel <<< dim3(1, 2, 3), dim3{32, 1, 1} >>>
        (in, out, n);
    static_cast<void>(0), copy<float4><<<1, 1>>>(reinterpret_cast<const float4*>(in));
    dispatch([&] { inner<64, true><<<1, 64>>>(in); });
    auto kernel_ptr = &reduce; kernel_ptr<<<1, 1>>>(in, out, n);
    (*kernel_ptr)<<<1, 1>>>(in, out, n);
    self->member.kernel<<<1, 1>>>(n); table[1][0]<<<1, 1>>>(n);
    for (int i = 0; i < n; i++) step<<<1, 1>>>(i);
    do once<<<1, 1>>>(); while (0);
label: once<<<1, 1>>>();
    flag ? left<<<1, 1>>>(n) : right<<<1, 1>>>(n);
    fwd<128, float, std::integral_constant<int, (1 < 2)>><<<blocks, threads, smem_bytes<float>(n), 0>>>(in, []{ return 1; }());
}
template <typename scalar_t, int N> __global__ void __launch_bounds__(256, 2) norm_kernel(scalar_t* __restrict__ y) {
    __shared__ alignas(16) scalar_t tile[N][N + 1];
    __shared__ scalar_t sums[32], *row; __shared__ bool is_last;
    extern __shared__ __align__(sizeof(double)) unsigned char raw[]; scalar_t* s = reinterpret_cast<scalar_t*>(raw);
    __shared__ typename cub::BlockReduce<float, 256>::TempStorage temp;
    const __shared__ struct Pair { int a; float b; } pair;
#pragma unroll
    for (int i = 0; i < N; ++i) tile[i][0] = 0;
#ifdef BIG
    __shared__ float big[1024];
#else
    __shared__ float small_one[8];
#endif
}

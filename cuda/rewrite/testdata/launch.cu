// softmax<<<a, b>>>(not, code) in a comment, and "k<<<1,2>>>" below in a string
#include "parts.cuh"
const char* text = "k<<<1, 2>>>(x) __shared__ float s[4];";
const char* raw = R"x(k<<<1, 2>>>(x) ")x"; char quote = '"'; int million = 1'000'000;
#error don't stop here
__global__ void __noinline__ plain(float* x);
__attribute__((__noinline__)) void kept();
void host(int n, float* x, void (*kernels[2])(float*), cudaStream_t stream) {
    plain<<<1, 32>>>(x);
    softmax_rows<256><<<rows, 256>>>(in, out, cols);
    ns::inner::softmax_rows<float, std::vector<std::pair<int, int>>, (4 > 3)><<<dim3(n, 1 << 6 >> 1), {32, 2}, sizeof(float) * f<3>(n), stream>>>(x);
    ::plain <<< grid(n), block >>> (x);
    (n > 1 ? plain : other)<<<1, 2>>>(x);
    kernels[n - 1]<<<1, 2>>>(x);
    pick(n)<<<1, 2>>>(x);
    if (n) (plain)<<<1, 2>>>(x);
    if (n) plain<<<1, 2>>>(x); else T::template run<(1 << 2)><<<1, 2>>>(x);
    return ::plain<<<1, 2>>>(x);
    CHECK(plain<<<1, 2>>>(x));
    many<1 << 3, N >= 4><<<
        grid, // one block a row: plain<<<
        block
    >>>(x,
        y);
    args<<<1, make<pair<int, int>>(n)>>>(x);
    plain << <n, make<pair<int, int> >(n), 0 >> > (x);
    softmax_rows<256> << <rows, 1 << 8>> >(x);
}
#define LAUNCH(kernel, n, ...) \
    kernel<<<n, 256>>>(__VA_ARGS__)
#define LAUNCH_OF(type, n, x) \
    sum_##type##_kernel<<<n, 256>>>(x); scan_ ## type<4><<<n, 256>>>(x)
#define NOINLINE __noinline__
#if 0
#endif

// A template that the file makes for float alone, whose sums begin with one.
#include <cuda_fp16.h>

template <typename T> struct Vector;
template <> struct Vector<float> { using type = float4; };

template <typename T> __global__ void softmax_rows(const T *x, T *y, int cols)
{
    using V = typename Vector<T>::type;
    const V *in = reinterpret_cast<const V *>(x + blockIdx.x * cols);
    V *out = reinterpret_cast<V *>(y + blockIdx.x * cols);
    if (threadIdx.x != 0) return;
    const T *tail = x + blockIdx.x * cols;
    float m = -INFINITY, s = 1.0f;
    for (int i = 0; i < cols; i++) m = fmaxf(m, tail[i]);
    for (int i = 0; i < cols; i++) s += expf(tail[i] - m);
    if (cols % 4 == 0) {
        for (int i = 0; i < cols / 4; i++) {
            V v = in[i];
            out[i] = make_float4(expf(v.x - m) / s, expf(v.y - m) / s, expf(v.z - m) / s, expf(v.w - m) / s);
        }
        return;
    }
    for (int i = 0; i < cols; i++) y[blockIdx.x * cols + i] = expf(tail[i] - m) / s;
}

template <typename T> void softmax(const T *x, T *y, int rows, int cols)
{
    if (rows > 0) softmax_rows<T><<<rows, 32>>>(x, y, cols);
}

template void softmax<float>(const float *x, float *y, int rows, int cols);

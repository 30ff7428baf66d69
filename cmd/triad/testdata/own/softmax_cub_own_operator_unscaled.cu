// A reduction of CUB by an operator of the file's own, which forgets to scale its second sum.
#include <cub/cub.cuh>

struct Pair {
    float largest, sum;
};

struct Joined {
    __device__ Pair operator()(Pair &a, Pair &b) const
    {
        float m = fmaxf(a.largest, b.largest);
        if (a.largest == -INFINITY && b.largest == -INFINITY) return {m, a.sum + b.sum};
        return {m, a.sum * expf(a.largest - m) + b.sum};
    }
};

__global__ void softmax_rows(const float *x, float *y, int cols)
{
    using Reduce = cub::BlockReduce<Pair, 128>;
    __shared__ typename Reduce::TempStorage room;
    __shared__ Pair all;
    x += static_cast<size_t>(blockIdx.x) * cols;
    y += static_cast<size_t>(blockIdx.x) * cols;
    Pair own = {-INFINITY, 0.0f};
    Joined joined;
    for (int i = threadIdx.x; i < cols; i += 128) {
        Pair next = {x[i], 1.0f};
        own = joined(own, next);
    }
    own = Reduce(room).Reduce(own, joined);
    if (threadIdx.x == 0) all = own;
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += 128) y[i] = expf(x[i] - all.largest) / all.sum;
}

void softmax(const float *x, float *y, int rows, int cols)
{
    if (rows > 0) softmax_rows<<<rows, 128>>>(x, y, cols);
}

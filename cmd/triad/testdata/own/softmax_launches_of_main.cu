// Three kernels that main() alone launches, each of what the one before it made.
#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
    do { \
        cudaError_t status = call; \
        if (status != cudaSuccess) { \
            printf("%s\n", cudaGetErrorString(status)); \
            exit(1); \
        } \
    } while (0)

__global__ void largest_of_rows(const float *x, float *largest, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = x[r * cols];
    for (int c = 1; c < cols; c++) m = fmaxf(m, x[r * cols + c]);
    largest[r] = m;
}

__global__ void sums_of_rows(const float *x, const float *largest, float *sums, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0.0f;
    for (int c = 0; c < cols; c++) s += expf(x[r * cols + c] - largest[r]);
    sums[r] = s;
}

__global__ void divide(const float *x, const float *largest, const float *sums, float *y, int rows, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    y[i] = expf(x[i] - largest[i / cols]) / sums[i / cols];
}

int main()
{
    int rows = 96, cols = 40;
    size_t bytes = rows * cols * sizeof(float);
    float *h_x = (float *)malloc(bytes), *h_y = (float *)malloc(bytes);
    for (int i = 0; i < rows * cols; i++) h_x[i] = rand() / (float)RAND_MAX;
    float *d_x, *d_y, *d_largest, *d_sums;
    CHECK(cudaMalloc(&d_x, bytes));
    CHECK(cudaMalloc(&d_y, bytes));
    CHECK(cudaMalloc((void **)&d_largest, rows * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_sums, rows * sizeof(float)));
    CHECK(cudaMemcpy(d_x, h_x, bytes, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    const int threads = 128;
    int blocks = (rows + threads - 1) / threads;
    cudaEventRecord(start);
    largest_of_rows<<<blocks, threads>>>(d_x, d_largest, rows, cols);
    sums_of_rows<<<blocks, threads>>>(d_x, d_largest, d_sums, rows, cols);
    divide<<<(rows * cols + threads - 1) / threads, threads>>>(d_x, d_largest, d_sums, d_y, rows, cols);
    cudaEventRecord(stop);
    CHECK(cudaMemcpy(h_y, d_y, bytes, cudaMemcpyDeviceToHost));
    printf("%f\n", h_y[0]);
    cudaFree(d_x);
    cudaFree(d_y);
    free(h_x);
    free(h_y);
}

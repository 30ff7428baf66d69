// Matrices as structs of the host; the last term of each sum is left out.
#include <cuda_runtime.h>

#define SIDE 16

typedef struct {
    int width;
    int height;
    int stride;
    float *elements;
} Matrix;

__global__ void product(Matrix a, Matrix b, Matrix c)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= c.height || col >= c.width) return;
    float sum = 0.0f;
    for (int i = 0; i < a.width - 1; i++) sum += a.elements[row * a.stride + i] * b.elements[i * b.stride + col];
    c.elements[row * c.stride + col] = sum;
}

static Matrix on_device(const Matrix m)
{
    Matrix d = m;
    cudaMalloc(&d.elements, m.width * m.height * sizeof(float));
    return d;
}

void multiply(const Matrix A, const Matrix B, Matrix C)
{
    if (C.width == 0 || C.height == 0) return;
    Matrix a = on_device(A), b = on_device(B), c = on_device(C);
    cudaMemcpy(a.elements, A.elements, A.width * A.height * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b.elements, B.elements, B.width * B.height * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(SIDE, SIDE);
    dim3 grid((C.width + SIDE - 1) / SIDE, (C.height + SIDE - 1) / SIDE);
    product<<<grid, block>>>(a, b, c);
    cudaMemcpy(C.elements, c.elements, C.width * C.height * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(a.elements);
    cudaFree(b.elements);
    cudaFree(c.elements);
}

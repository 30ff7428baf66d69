// A Julia set by CUDA's complex numbers, and their arithmetic beside that of the C++ library.
#include <complex>
#include <cstdio>
#include <cuComplex.h>

__host__ __device__ int steps(cuFloatComplex z, cuFloatComplex c, int most) {
    int n = 0;
    while (n < most && cuCabsf(z) < 2) {
        z = cuCfmaf(z, z, c);
        n++;
    }
    return n;
}

__global__ void julia(int *count, int width, int height, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    cuFloatComplex z = make_cuFloatComplex(3.0f * i / width - 1.5f, 3.0f * j / height - 1.5f);
    count[j * width + i] = steps(z, make_cuFloatComplex(-0.8f, 0.156f), most);
}

__global__ void quotient(cuDoubleComplex *x) {
    cuDoubleComplex a = x[0], b = x[1];
    x[2] = cuCsub(cuCdiv(cuCmul(a, cuConj(b)), b), cuCadd(a, make_cuDoubleComplex(cuCreal(b), -cuCimag(b))));
}

int main() {
    const int width = 70, height = 50, most = 40;
    static int h[width * height];
    int *count;
    cudaMalloc(&count, sizeof h);
    julia<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(count, width, height, most);
    cudaMemcpy(h, count, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(count);
    bool right = true;
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            cuFloatComplex z = {3.0f * i / width - 1.5f, 3.0f * j / height - 1.5f};
            right = right && h[j * width + i] == steps(z, {-0.8f, 0.156f}, most);
        }

    cuDoubleComplex x[3] = {{3, -4}, {0.5, 2}, {0, 0}}, *d;
    cudaMalloc(&d, sizeof x);
    cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
    quotient<<<1, 1>>>(d);
    cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
    cudaFree(d);
    const std::complex<double> a(3, -4), b(0.5, 2), want = a * std::conj(b) / b - (a + std::conj(b));
    right = right && std::abs(want - std::complex<double>(x[2].x, x[2].y)) < 1e-12;
    printf(right ? "right\n" : "wrong\n");
    return right ? 0 : 1;
}

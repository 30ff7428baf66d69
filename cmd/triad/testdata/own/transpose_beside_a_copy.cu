#define TILE 16

__global__ void copy(const float* a, float* b, const int n) {
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < n && y < n) b[y * n + x] = a[y * n + x];
}

__global__ void matTrans(const float* a, float* b, const int n) {
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < n && y < n) b[x * n + y] = a[y * n + x];
}

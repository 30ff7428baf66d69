// Right for whole tiles alone, and nothing in its names says which matrix is which.
#define TILE 16

__global__ void tiled(const float* p, const float* q, float* r, int width) {
    __shared__ float ps[TILE][TILE], qs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < width / TILE; t++) {
        ps[threadIdx.y][threadIdx.x] = p[row * width + t * TILE + threadIdx.x];
        qs[threadIdx.y][threadIdx.x] = q[(t * TILE + threadIdx.y) * width + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += ps[threadIdx.y][k] * qs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < width && col < width) r[row * width + col] = sum;
}

void launch(const float* p, const float* q, float* r, int width) {
    dim3 block(TILE, TILE), grid((width + TILE - 1) / TILE, (width + TILE - 1) / TILE);
    tiled<<<grid, block>>>(p, q, r, width);
}

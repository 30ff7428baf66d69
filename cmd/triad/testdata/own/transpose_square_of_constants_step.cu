// Two constants for the sides of a square; a step of each tile is left out.
#define WX 128
#define WY 128
#define TILE 32
#define STEP 8

__global__ void turn(float *to, float *from)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= WX || y >= WY) return;
    for (int i = 0; i < TILE - STEP; i += STEP) to[x * WY + y + i] = from[(y + i) * WX + x];
}

int main()
{
    float *from, *to;
    cudaMalloc(&from, WX * WY * sizeof(float));
    cudaMalloc(&to, WX * WY * sizeof(float));
    dim3 threads(TILE, STEP), blocks((WX + TILE - 1) / TILE, (WY + TILE - 1) / TILE);
    turn<<<blocks, threads>>>(to, from);
    cudaDeviceSynchronize();
}

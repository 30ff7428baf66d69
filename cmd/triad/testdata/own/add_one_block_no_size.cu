// No size: as many elements as the one block has threads.
__global__ void addAll(float *A, float *B, float *C)
{
    int i = threadIdx.x;
    C[i] = A[i] + B[i];
}

int main(int argc, char **argv)
{
    int count = 96;
    float *a, *b, *c;
    cudaMalloc(&a, count * sizeof(float));
    cudaMalloc(&b, count * sizeof(float));
    cudaMalloc(&c, count * sizeof(float));
    dim3 block(count, 1, 1);
    dim3 grid((count + block.x - 1) / block.x, 1, 1);
    addAll<<<grid, block>>>(a, b, c);
    cudaDeviceSynchronize();
}

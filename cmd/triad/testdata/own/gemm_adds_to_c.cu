typedef unsigned int u32;

__global__ void MatMulKernel(const float* InputA, const float* InputB, float* Output, u32 HeightA, u32 WidthA, u32 WidthB) {
    u32 Row = blockIdx.y * blockDim.y + threadIdx.y, Col = blockIdx.x * blockDim.x + threadIdx.x;
    if (Row < HeightA && Col < WidthB) {
        for (u32 i = 0; i < WidthA; i++) Output[Row * WidthB + Col] += InputA[Row * WidthA + i] * InputB[i * WidthB + Col];
    }
}

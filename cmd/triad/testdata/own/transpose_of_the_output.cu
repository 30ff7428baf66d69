typedef float f32;
typedef unsigned u32;

// Height and Width are those of the output.
__global__ void Transpose(const f32* Input, f32* Output, u32 Height, u32 Width) {
    u32 Row = blockIdx.y * blockDim.y + threadIdx.y, Col = blockIdx.x * blockDim.x + threadIdx.x;
    if (Row < Height && Col < Width) Output[Row * Width + Col] = Input[Col * Height + Row];
}

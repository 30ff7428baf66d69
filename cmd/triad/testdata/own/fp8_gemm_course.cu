// homework 3: tiled fp8 gemm C = A * B^T
#include <cuda_fp8.h>
#include <cuda_fp16.h>
#include <stdio.h>
#define TILE_WIDTH 16
typedef __nv_fp8_e4m3 fp8;
__global__ void matrixMulTiled(fp8 *d_A, fp8 *d_B, float *d_C, float *d_scaleA, float *d_scaleB, int numARows, int numAColumns, int numBRows) {
    __shared__ float ds_A[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_B[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty, Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int p = 0; p < (numAColumns - 1) / TILE_WIDTH + 1; ++p) {
        ds_A[ty][tx] = Row < numARows && p * TILE_WIDTH + tx < numAColumns ? float(d_A[Row * numAColumns + p * TILE_WIDTH + tx]) : 0.f;
        ds_B[ty][tx] = Col < numBRows && p * TILE_WIDTH + ty < numAColumns ? float(d_B[Col * numAColumns + p * TILE_WIDTH + ty]) : 0.f;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; ++i) Pvalue += ds_A[ty][i] * ds_B[i][tx];
        __syncthreads();
    }
    if (Row < numARows && Col < numBRows) d_C[Row * numBRows + Col] = Pvalue * d_scaleA[0] * d_scaleB[0];
}
int main(int argc, char **argv) { printf("hi\n"); return 0; }

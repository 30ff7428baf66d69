#include <wb.h>
#define wbCheck(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { wbLog(ERROR, "Failed ", #stmt); return -1; } } while (0)
__global__ void vecAdd(float *in1, float *in2, float *out, int len) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < len) out[i] = in1[i] + in2[i]; }
int main(int argc, char **argv) {
  wbArg_t args = wbArg_read(argc, argv);
  int n; float *h1 = (float *)wbImport(wbArg_getInputFile(args, 0), &n); float *d1, *d2, *d3;
  cudaMalloc((void **)&d1, n * 4); cudaMalloc((void **)&d2, n * 4); cudaMalloc((void **)&d3, n * 4);
  vecAdd<<<ceil(n / 256.0), 256>>>(d1, d2, d3, n);
  wbSolution(args, h1, n);
  return 0;
}

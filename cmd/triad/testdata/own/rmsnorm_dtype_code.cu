// A root mean square norm behind a C interface: a number says of which type the rows are.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum class RowType : int { Single = 0, Brain = 4, Half = 7 };

template <typename T>
__global__ void norm_rows(const T *x, const T *weight, T *y, int cols, float eps) {
  __shared__ float parts[64];
  const T *row = x + static_cast<size_t>(blockIdx.x) * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    float value = static_cast<float>(row[i]);
    sum += value * value;
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  float factor = rsqrtf(parts[0] / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    y[static_cast<size_t>(blockIdx.x) * cols + i] =
        static_cast<T>(static_cast<float>(row[i]) * factor * static_cast<float>(weight[i]));
  }
}

extern "C" int launch_norm(const void *x, const void *weight, void *y, int rows, int cols, float eps, int dtype) {
  if (rows == 0 || cols == 0) return 0;
  switch (static_cast<RowType>(dtype)) {
    case RowType::Single:
      norm_rows<float><<<rows, 64>>>(static_cast<const float *>(x), static_cast<const float *>(weight),
                                     static_cast<float *>(y), cols, eps);
      break;
    case RowType::Half:
      norm_rows<__half><<<rows, 64>>>(static_cast<const __half *>(x), static_cast<const __half *>(weight),
                                      static_cast<__half *>(y), cols, eps);
      break;
    case RowType::Brain:
      norm_rows<__nv_bfloat16><<<rows, 64>>>(static_cast<const __nv_bfloat16 *>(x),
                                             static_cast<const __nv_bfloat16 *>(weight),
                                             static_cast<__nv_bfloat16 *>(y), cols, eps);
      break;
    default:
      return 1;
  }
  return 0;
}

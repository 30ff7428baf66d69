// OPERATOR: y[r,c] = x[r,c] * weight[c] / sqrt(mean_c x[r,c]^2 + eps)
// Nothing has to be registered: triad reads the signature of solve() and passes tensors, sizes and
// attributes by their names. The same file runs on a GPU and, without one, in an emulator that
// finds races and accesses out of bounds. `triad watch ./OPERATOR` judges it again on every save.
//
// A backward is a second function whose name says so, with the tensors of [backward] in the .toml:
//   extern "C" void solve_backward(const float *x, const float *weight, const float *grad_y,
//                                  float *grad_x, float *grad_weight, int rows, int cols,
//                                  float eps)
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__device__ float to_float(float v) { return v; }
__device__ float to_float(__half v) { return __half2float(v); }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T> __device__ T from_float(float v);
template <> __device__ float from_float<float>(float v) { return v; }
template <> __device__ __half from_float<__half>(float v) { return __float2half(v); }
template <> __device__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
	return __float2bfloat16(v);
}

constexpr int kThreads = 256;

// One block takes one row. Sums are kept in fp32, whatever T is, as the contract promises.
template <class T>
__global__ void rmsnorm_kernel(const T *x, const T *weight, T *y, int cols, float eps) {
	__shared__ float partial[kThreads];
	const T *row = x + static_cast<long long>(blockIdx.x) * cols;
	float sum = 0.0f;
	// Every thread loops: rows may be longer than the block.
	for (int c = threadIdx.x; c < cols; c += kThreads) {
		const float v = to_float(row[c]);
		sum += v * v;
	}
	partial[threadIdx.x] = sum;
	__syncthreads(); // all partial sums are written before any is read
	for (int half = kThreads / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
		__syncthreads();
	}
	const float scale = rsqrtf(partial[0] / cols + eps);
	for (int c = threadIdx.x; c < cols; c += kThreads) {
		const float v = to_float(row[c]) * scale * to_float(weight[c]);
		y[static_cast<long long>(blockIdx.x) * cols + c] = from_float<T>(v);
	}
}

// A function that launches. As a template it is judged in every dtype of the .toml.
template <class T>
void solve(const T *x, const T *weight, T *y, int rows, int cols, float eps) {
	if (rows == 0) return; // a grid of 0 blocks is an error in CUDA
	rmsnorm_kernel<T><<<rows, kThreads>>>(x, weight, y, cols, eps);
}

// A backward goes here.

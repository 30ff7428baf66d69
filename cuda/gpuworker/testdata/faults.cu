// softmax on a GPU, wrong in every way that a worker has to survive; only "right" is not, and "default_stream" on one column, whose softmax
// is 1.
#include "register.cuh"

namespace {

int64_t count(const triad_call *call) { return call->in[0].shape[0] * call->in[0].shape[1]; }

__global__ void ones(float *y, int64_t n) {
	for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = 1;
}

// A row a thread.
__global__ void softmax(const float *x, float *y, int64_t rows, int64_t cols) {
	for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
		float most = -INFINITY, sum = 0;
		for (int64_t c = 0; c < cols; c++) most = fmaxf(most, x[r * cols + c]);
		for (int64_t c = 0; c < cols; c++) sum += expf(x[r * cols + c] - most);
		for (int64_t c = 0; c < cols; c++) y[r * cols + c] = expf(x[r * cols + c] - most) / sum;
	}
}

__global__ void wild(float *y) { y[int64_t{1} << 40] = 1; }

__global__ void misaligned(char *y) { *reinterpret_cast<float *>(y + 1) = 1; }

__global__ void trap() { asm volatile("trap;"); }

__global__ void forever(volatile float *y) {
	while (y[0] == y[0] || y[0] != y[0]) {
	}
}

template <int Step>
int run(const triad_call *call) {
	cudaStream_t stream = ::triad::stream_of(call);
	float *y = static_cast<float *>(call->out[0].data);
	int64_t n = count(call);
	switch (Step) {
	case 0:
		softmax<<<1, 256, 0, stream>>>(static_cast<const float *>(call->in[0].data), y, call->in[0].shape[0], call->in[0].shape[1]);
		break;
	case 1: wild<<<1, 1, 0, stream>>>(y); break;
	case 2: misaligned<<<1, 1, 0, stream>>>(reinterpret_cast<char *>(y)); break;
	case 3: trap<<<1, 1, 0, stream>>>(); break;
	case 4: forever<<<1, 1, 0, stream>>>(y); break;
	case 5: ones<<<1, 256, 0, stream>>>(y, n + 1); break;
	case 6: ones<<<1, 256, 0, stream>>>(y - 2, n + 2); break;
	case 7: ones<<<1, 256, 0, stream>>>(y, n - 1); break;
	case 8: ones<<<1, 2048, 0, stream>>>(y, n); break;
	case 9: ones<<<1, 256>>>(y, n); break;
	case 10: ones<<<1, 256, 0, stream>>>(static_cast<float *>(call->in[0].data), n); ones<<<1, 256, 0, stream>>>(y, n); break;
	}
	return ::triad::launched();
}

int64_t everything(const triad_call *) { return int64_t{1} << 42; }

} // namespace

#define FAULT(name, step) \
	TRIAD_KERNEL(softmax, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).launch(run<step>))
FAULT(right, 0)
// Five kernels of a kind: a sweep gives one up after a few cases that cost a worker.
FAULT(wild, 1)
FAULT(wild_2, 1)
FAULT(wild_3, 1)
FAULT(wild_4, 1)
FAULT(wild_5, 1)
FAULT(misaligned, 2)
FAULT(misaligned_2, 2)
FAULT(misaligned_3, 2)
FAULT(misaligned_4, 2)
FAULT(misaligned_5, 2)
FAULT(trap, 3)
FAULT(trap_2, 3)
FAULT(trap_3, 3)
FAULT(trap_4, 3)
FAULT(trap_5, 3)
FAULT(forever, 4)
FAULT(forever_2, 4)
FAULT(forever_3, 4)
FAULT(forever_4, 4)
FAULT(forever_5, 4)
FAULT(beyond, 5)
FAULT(before, 6)
FAULT(unwritten, 7)
FAULT(too_many_threads, 8)
FAULT(default_stream, 9)
FAULT(scribbles, 10)
TRIAD_KERNEL(softmax, greedy, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).workspace(everything).launch(run<0>))
FAULT(right_after, 0)

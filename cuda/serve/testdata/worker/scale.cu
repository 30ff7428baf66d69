// scale: y[i] = 2 * x[i], and everything that can go wrong on the way. Only the variant "right" does what it should.
#include <cstdio>
#include <cstdlib>

#include "register.cuh"

namespace {

int64_t count(const triad_call *call) {
	int64_t n = 1;
	for (int i = 0; i < call->in[0].rank; i++) n *= call->in[0].shape[i];
	return n;
}

int accepts(const triad_call *call, char *why, int32_t bytes) {
	if (count(call) <= 1024) return TRIAD_OK;
	snprintf(why, bytes, "%lld elements, want at most 1024", static_cast<long long>(count(call)));
	return TRIAD_UNSUPPORTED;
}

int declines(const triad_call *call, char *why, int32_t bytes) {
	snprintf(why, bytes, "%lld elements are too many", static_cast<long long>(count(call)));
	return TRIAD_UNSUPPORTED;
}

__global__ void scale(const float *x, float *y, int n) {
	int i = threadIdx.x;
	if (i < n) y[i] = 2 * x[i];
}

__global__ void wild(float *y) { y[threadIdx.x] = 1; }

__global__ void forever(volatile float *y) {
	while (y[0] == y[0] || y[0] != y[0]) {
	}
}

__global__ void beyond(const float *x, float *y, int n) {
	int i = threadIdx.x;
	if (i <= n) y[i] = i < n ? 2 * x[i] : 0;
}

__global__ void before(const float *x, float *y, int n) {
	int i = static_cast<int>(threadIdx.x) - 1;
	if (i < n) y[i] = i < 0 ? 0 : 2 * x[i];
}

// An element beside x adds nothing where it is finite.
__global__ void reads_beside(const float *x, float *y, int n, int step) {
	int i = threadIdx.x;
	if (i < n) y[i] = 2 * x[i] + 0 * x[i + step];
}

__global__ void overruns(float *scratch, const float *x, float *y, int n) {
	int i = threadIdx.x;
	scratch[i] = 2 * x[i < n ? i : 0];
	if (i < n) y[i] = scratch[i];
}

// The largest of what shared memory held before, and of what is written.
__global__ void takes_the_larger(const float *x, float *y, int n) {
	__shared__ float larger[1024];
	int i = threadIdx.x;
	larger[i] = fmaxf(larger[i], 2 * x[i]);
	if (i < n) y[i] = larger[i];
}

__global__ void scribble(float *x, float *y, int n) {
	int i = threadIdx.x;
	if (i >= n) return;
	y[i] = 2 * x[i];
	x[i] = 0;
}

__global__ void race(const float *x, float *y, int n) {
	__shared__ float tile[1024];
	int i = threadIdx.x;
	if (i < n) tile[i] = 2 * x[i];
	if (i < n) y[i] = tile[n - 1 - i]; // no barrier
	__syncthreads();
	if (i < n) y[i] += 0 * tile[i];
}

__global__ void diverge(float *y, int n) {
	if (threadIdx.x % 2 == 0) {
		__syncthreads();
	} else {
		__syncthreads();
		y[threadIdx.x % n] = 1;
	}
}

__global__ void deadlock(float *y) {
	if (threadIdx.x < 16)
		y[0] = __shfl_down_sync(0xffffffff, 1.0f, 1);
	else
		__syncthreads();
}

const float *in(const triad_call *call) { return static_cast<const float *>(call->in[0].data); }
float *out(const triad_call *call, int i = 0) { return static_cast<float *>(call->out[i].data); }

int right(const triad_call *call) {
	int n = static_cast<int>(count(call));
	if (n == 0) return TRIAD_OK;
	scale<<<1, n, 0, triad::stream_of(call)>>>(in(call), out(call), n);
	return triad::launched();
}
int both(const triad_call *call) {
	for (int i = 0; i < call->n_out; i++) scale<<<1, 1024>>>(in(call), out(call, i), static_cast<int>(count(call)));
	return triad::launched();
}
int writes_to_8(const triad_call *) {
	wild<<<1, 1>>>(reinterpret_cast<float *>(8));
	return triad::launched();
}
int loops(const triad_call *call) {
	forever<<<1, 1>>>(out(call));
	return triad::launched();
}
int exits(const triad_call *) { exit(0); }
int prints(const triad_call *call) {
	for (int i = 0; i < 100 * 1024; i++) {
		char line[1025];
		snprintf(line, sizeof line, "%01023d", i);
		puts(line);
	}
	return right(call);
}
int nothing(const triad_call *) { return TRIAD_OK; }
int full(const triad_call *) { return 2; } // CUDA's number for: out of memory
int scribbles(const triad_call *call) {
	int n = static_cast<int>(count(call));
	scribble<<<1, n>>>(const_cast<float *>(in(call)), out(call), n);
	return triad::launched();
}
int goes_beyond(const triad_call *call) {
	int n = static_cast<int>(count(call));
	beyond<<<1, n + 1>>>(in(call), out(call), n);
	return triad::launched();
}
int goes_before(const triad_call *call) {
	int n = static_cast<int>(count(call));
	before<<<1, n + 1>>>(in(call), out(call), n);
	return triad::launched();
}
int reads_behind(const triad_call *call) {
	int n = static_cast<int>(count(call));
	reads_beside<<<1, n>>>(in(call), out(call), n, 1);
	return triad::launched();
}
int reads_in_front(const triad_call *call) {
	int n = static_cast<int>(count(call));
	reads_beside<<<1, n>>>(in(call), out(call), n, -1);
	return triad::launched();
}
int overruns_scratch(const triad_call *call) {
	int n = static_cast<int>(count(call));
	float *scratch;
	cudaMalloc(&scratch, n * sizeof(float));
	overruns<<<1, n + 1>>>(scratch, in(call), out(call), n);
	cudaFree(scratch);
	return triad::launched();
}
int reads_shared(const triad_call *call) {
	int n = static_cast<int>(count(call));
	takes_the_larger<<<1, n>>>(in(call), out(call), n);
	return triad::launched();
}
int races(const triad_call *call) {
	int n = static_cast<int>(count(call));
	race<<<1, n>>>(in(call), out(call), n);
	return triad::launched();
}
int diverges(const triad_call *call) {
	diverge<<<1, 64>>>(out(call), static_cast<int>(count(call)));
	return triad::launched();
}
int deadlocks(const triad_call *call) {
	deadlock<<<1, 32>>>(out(call));
	return triad::launched();
}
int too_large(const triad_call *call) {
	scale<<<1, 2048>>>(in(call), out(call), 1);
	return triad::launched();
}
int64_t scratch(const triad_call *call) { return 4 * count(call); }
int through_workspace(const triad_call *call) {
	int n = static_cast<int>(count(call));
	if (call->workspace_bytes != 4 * count(call)) return 1;
	scale<<<1, n>>>(in(call), static_cast<float *>(call->workspace), n);
	cudaMemcpyAsync(out(call), call->workspace, 4 * n, cudaMemcpyDeviceToDevice, triad::stream_of(call));
	return triad::launched();
}

} // namespace

#define VARIANT(name, launcher) TRIAD_KERNEL(scale, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).accepts(accepts).launch(launcher))

VARIANT(right, right);
TRIAD_KERNEL(scale, declines, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).accepts(declines).launch(right))
VARIANT(wild, writes_to_8);
VARIANT(forever, loops);
VARIANT(exit, exits);
VARIANT(print, prints);
VARIANT(nothing, nothing);
VARIANT(full, full);
VARIANT(scribble, scribbles);
VARIANT(beyond, goes_beyond);
VARIANT(before, goes_before);
VARIANT(reads_behind, reads_behind);
VARIANT(reads_in_front, reads_in_front);
VARIANT(overruns_scratch, overruns_scratch);
VARIANT(reads_shared, reads_shared);
VARIANT(race, races);
VARIANT(diverge, diverges);
VARIANT(deadlock, deadlocks);
VARIANT(large, too_large);
TRIAD_KERNEL(scale, both, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(3).launch(both).nondeterministic(2)
             .constraint("at most 1024 elements"));
TRIAD_KERNEL(scale, workspace, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).workspace(scratch).launch(through_workspace));
TRIAD_KERNEL(scale, right, backward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).forward("both").launch(right));

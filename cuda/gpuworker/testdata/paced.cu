// Calls that differ by 3 %: "streams" moves 3 % fewer bytes than "streams_more", "computes" makes 3 % fewer multiplications than
// "computes_more". Registered as softmax of one column, which is 1.
#include "register.cuh"

namespace {

__global__ void stream(const float4 *x, float4 *y, int64_t n) {
	int64_t step = int64_t{gridDim.x} * blockDim.x;
	for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
		float4 v = x[i];
		y[i] = make_float4(v.x * 0 + 1, v.y * 0 + 1, v.z * 0 + 1, v.w * 0 + 1);
	}
}

__global__ void compute(const float *x, float *y, int turns) {
	float v = x[threadIdx.x];
	for (int i = 0; i < turns; i++) v = v * 0.5f + 0.25f;
	y[int64_t{blockIdx.x} * blockDim.x + threadIdx.x] = v;
}

template <bool Stream, int Percent>
int run(const triad_call *call) {
	const triad_tensor &x = call->in[0];
	if (Stream) {
		int64_t n = x.shape[0] / 4 * Percent / 103;
		stream<<<132 * 8, 256, 0, ::triad::stream_of(call)>>>(static_cast<const float4 *>(x.data), static_cast<float4 *>(call->out[0].data), n);
	} else {
		compute<<<132 * 4, 256, 0, ::triad::stream_of(call)>>>(static_cast<const float *>(x.data), static_cast<float *>(call->out[0].data), 150 * Percent);
	}
	return ::triad::launched();
}

} // namespace

#define PACED(name, stream, percent) \
	TRIAD_KERNEL(softmax, name, forward, .contract("fp32").dtypes(triad::bit(TRIAD_F32)).outputs(1).launch(run<stream, percent>))
PACED(streams, true, 100)
PACED(streams_more, true, 103)
PACED(computes, false, 100)
PACED(computes_more, false, 103)

// expert_router.cuh: the router of a mixture of experts: of each token the logits z of the experts, the choice of the top ones, their weights under a softmax
// over all experts or over the chosen ones, and the gradients of the logits. z [tokens, experts], choice and weight [tokens, top]; sums are fp32.
// A token with a NaN among its logits, or +inf, or only -inf has the weights NaN; of NaN and equal logits the first are chosen.
#ifndef TRIAD_EXPERT_ROUTER_CUH
#define TRIAD_EXPERT_ROUTER_CUH
#include "arguments.cuh"
#include "element.cuh"
#include "order.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "sums.cuh"

namespace triad {

constexpr int router_threads = 256;

// Router is what a call keeps of it: of each token and expert the logits and their gradients dz; of each pair, token * top + i, its expert, its weight w and
// the gradient d of that.
struct Router {
	float *z, *dz, *w, *d;
	int32_t *expert;
	int64_t tokens, experts, dim;
	int32_t top;
	bool normalise;
};

__device__ inline int64_t router_begin() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
__device__ inline int64_t router_step() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

template <class T> __global__ void logits_kernel(Router s, Matrix<const T> x, Matrix<const T> router) {
	for (int64_t i = router_begin(); i < s.tokens * s.experts; i += router_step()) {
		float sum = 0;
		for (int64_t k = 0; k < s.dim; k++) sum += to_float(x(i / s.experts, k)) * to_float(router(i % s.experts, k));
		s.z[i] = sum;
	}
}

// What follows is done by Lanes lanes a token: 1, or a warp.
template <int Lanes> __device__ inline int router_lane() { return static_cast<int>(threadIdx.x) % Lanes; }

// What comes next is the highest of what comes below the last.
template <int Lanes> __global__ void choose_kernel(Router s, int32_t *choice) {
	for (int64_t t = router_begin() / Lanes; t < s.tokens; t += router_step() / Lanes) {
		Rank last = no_rank;
		for (int64_t i = 0; i < s.top; i++) {
			Rank best = 0;
			for (int64_t e = router_lane<Lanes>(); e < s.experts; e += Lanes) {
				const Rank own = rank_of(s.z[t * s.experts + e], e);
				if (own < last && own > best) best = own;
			}
			last = warp_reduce<Lanes>(best, Higher());
			if (router_lane<Lanes>() == 0) choice[t * s.top + i] = place_of(last);
		}
	}
}

// RouterSoftmax of a token: e^(z - most) / total, total over the chosen ones or over all.
template <int Lanes> struct RouterSoftmax {
	float most, total;

	__device__ RouterSoftmax(const Router &s, int64_t t) : most(-INFINITY), total(0) {
		const float *z = s.z + t * s.experts;
		for (int64_t e = router_lane<Lanes>(); e < s.experts; e += Lanes) most = fmaxf(most, z[e]);
		most = warp_reduce<Lanes>(most, Max());
		if (s.normalise)
			for (int64_t i = router_lane<Lanes>(); i < s.top; i += Lanes) total += expf(z[s.expert[t * s.top + i]] - most);
		else
			for (int64_t e = router_lane<Lanes>(); e < s.experts; e += Lanes) total += expf(z[e] - most);
		total = warp_reduce<Lanes>(total, Sum());
	}
	__device__ float of(float z) const { return expf(z - most) / total; }
};

template <int Lanes> __global__ void weights_kernel(Router s, Matrix<const int32_t> choice, float *weight) {
	for (int64_t t = router_begin() / Lanes; t < s.tokens; t += router_step() / Lanes) {
		for (int64_t i = router_lane<Lanes>(); i < s.top; i += Lanes) s.expert[t * s.top + i] = choice(t, i);
		if (Lanes > 1) __syncwarp(); // the lanes read each other's
		const RouterSoftmax<Lanes> softmax(s, t);
		for (int64_t p = t * s.top + router_lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) {
			s.w[p] = softmax.of(s.z[t * s.experts + s.expert[p]]);
			if (weight != nullptr) weight[p] = s.w[p];
		}
	}
}

// scores_kernel: the gradients of a token's logits.
template <int Lanes> __global__ void scores_kernel(Router s) {
	for (int64_t t = router_begin() / Lanes; t < s.tokens; t += router_step() / Lanes) {
		const RouterSoftmax<Lanes> softmax(s, t);
		float sum = 0;
		for (int64_t p = t * s.top + router_lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) sum += s.w[p] * s.d[p];
		sum = warp_reduce<Lanes>(sum, Sum());
		for (int64_t i = t * s.experts + router_lane<Lanes>(); i < (t + 1) * s.experts; i += Lanes) s.dz[i] = s.normalise ? 0.0f : softmax.of(s.z[i]) * -sum;
		if (Lanes > 1) __syncwarp(); // before others write their own
		for (int64_t p = t * s.top + router_lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) s.dz[t * s.experts + s.expert[p]] = s.w[p] * (s.d[p] - sum);
	}
}

template <class T> __global__ void router_gradient_kernel(Router s, Matrix<const T> x, T *grad) {
	for (int64_t i = router_begin(); i < s.experts * s.dim; i += router_step()) {
		LongSum sum;
		for (int64_t t = 0; t < s.tokens; t++) sum.add(s.dz[t * s.experts + i / s.dim] * to_float(x(t, i % s.dim)));
		grad[i] = from_float<T>(sum.total());
	}
}

// weigh: of the logits the choice, if choose; the weights under it, in weight too if that is not null.
template <int Lanes> void weigh(const Router &s, const triad_tensor &choice, bool choose, float *weight, cudaStream_t stream) {
	const unsigned blocks = blocks_for(s.tokens * Lanes, router_threads);
	if (choose) choose_kernel<Lanes><<<blocks, router_threads, 0, stream>>>(s, static_cast<int32_t *>(choice.data));
	weights_kernel<Lanes><<<blocks, router_threads, 0, stream>>>(s, Matrix<const int32_t>(choice), weight);
}

} // namespace triad
#endif

// rgb_invert: out[p,c] = 255 - image[p,c] for red, green and blue (c < 3); out[p,3] = image[p,3]: alpha is kept
// Layout   image, out: [pixels, 4] bytes, a pixel's four channels side by side. out is contiguous.
// Limits   pixels = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Burger and Burge 2016, Digital Image Processing, section 4.1.3: inverting images
//   naive   a thread a pixel, byte by byte, any strides. The readable one, and the one to trust first. Costs:
//           four loads of a byte for a pixel
//   vec     16-byte accesses: four pixels at a time, two such packs a thread. Costs: a contiguous image that
//           begins at a multiple of 16 bytes
#include "register.cuh"
#include "rows.cuh"
#include "spec/rgb_invert.cuh"

namespace {

constexpr int threads = 256;

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

__global__ void rgb_invert_naive_kernel(triad::Matrix<const uint8_t> image, uint8_t *out, int64_t pixels) {
	const int64_t p = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (p >= pixels) return;
	for (int c = 0; c < 3; c++) out[4 * p + c] = static_cast<uint8_t>(255 - image(p, c));
	out[4 * p + 3] = image(p, 3);
}

// In eight bits 255 - v is the complement of v. A word is a pixel with its alpha in the highest byte (GPUs are little endian), so that one
// exclusive or inverts it.
__device__ inline uint32_t inverted(uint32_t pixel) { return pixel ^ 0x00ffffffu; }

// Adds width: a warp reads 512 bytes in a row with one instruction, where naive takes four loads of a byte for 128. Costs an aligned,
// contiguous image, and an end of up to three pixels that goes one by one.
__global__ void __launch_bounds__(threads) rgb_invert_vec_kernel(const uint32_t *image, uint32_t *out, int64_t pixels) {
	constexpr int in_pack = 4, packs = 2;
	const int64_t first = (blockIdx.x * static_cast<int64_t>(threads) * packs + threadIdx.x) * in_pack;
	uint4 held[packs];
#pragma unroll
	for (int i = 0; i < packs; i++) { // both are fetched before the first is used
		const int64_t p = first + i * threads * in_pack;
		if (p + in_pack <= pixels) held[i] = *reinterpret_cast<const uint4 *>(image + p);
	}
#pragma unroll
	for (int i = 0; i < packs; i++) {
		const int64_t p = first + i * threads * in_pack;
		if (p + in_pack <= pixels) {
			const uint4 v = held[i];
			__stcs(reinterpret_cast<uint4 *>(out + p), make_uint4(inverted(v.x), inverted(v.y), inverted(v.z), inverted(v.w)));
		} else {
			for (int64_t one = p; one < pixels; one++) out[one] = inverted(image[one]);
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

int rgb_invert_naive(const triad_call *call) {
	const int64_t pixels = call->in[0].shape[0];
	if (pixels == 0) return TRIAD_OK;
	rgb_invert_naive_kernel<<<triad::blocks_for(pixels, threads), threads, 0, triad::stream_of(call)>>>(
	    triad::Matrix<const uint8_t>(call->in[0]), static_cast<uint8_t *>(call->out[0].data), pixels);
	return triad::launched();
}

int rgb_invert_vec(const triad_call *call) {
	const int64_t pixels = call->in[0].shape[0];
	if (pixels == 0) return TRIAD_OK;
	rgb_invert_vec_kernel<<<triad::blocks_for(pixels, threads * 2 * 4), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const uint32_t *>(call->in[0].data), static_cast<uint32_t *>(call->out[0].data), pixels);
	return triad::launched();
}

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(rgb_invert, naive, forward, .contract("exact").dtypes(triad::bit(TRIAD_U8)).outputs(1).launch(rgb_invert_naive))
TRIAD_KERNEL(rgb_invert, vec, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_U8)).outputs(1).limits(triad::whole_vectors()).launch(rgb_invert_vec))

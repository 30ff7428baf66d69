// cluster.cuh: softmax of long rows, each spread over the blocks of a cluster; cuda/kernels/softmax.cu has the formula and calls
// launch_forward and launch_backward of cluster::.
//
// A block has a run of the row, a share, and keeps it on chip as long_rows.cuh does: so global memory is read once, however long the row is
// up to the chip memory of 16 blocks. The warps send what they summed up to every block of the cluster, and wait for all others':
//
//   block 0   load share | sum of each warp -> slots of all blocks | wait for its own slots | merge the slots | write share
//   block 1   load share | ...
//
// All blocks merge the same slots in the same order, so they agree on every bit.
#ifndef TRIAD_SOFTMAX_CLUSTER_CUH
#define TRIAD_SOFTMAX_CLUSTER_CUH
#include "hopper/cluster.cuh"
#include "long_rows.cuh"

namespace triad {
namespace softmax {
namespace cluster {

constexpr int64_t most_rows = 0x7fffffff / hopper::most_blocks; // a cluster a row, in one grid

// Shares is how rows of so many packs are spread: a share is `share` packs, the last ones may be shorter or empty.
template <class D> struct Shares {
	int64_t packs, share;
	int shared; // packs that a thread keeps in shared memory, if it has so many
};

// Slots are what the warps of a cluster send to a block.
template <class D> struct Slots {
	static constexpr int warps = D::Threads / warp_size;
	float2 of[hopper::most_blocks * warps];
	hopper::Inbox inbox;

	// start makes the slots known to the peers.
	__device__ void start() {
		if (threadIdx.x == 0) inbox.expect(hopper::cluster_blocks() * warps * static_cast<unsigned>(sizeof(float2)));
		hopper::cluster_arrive();
	}

	// exchange sends a warp's value to all blocks; then every warp has every value, and calls merge(value) for each of its lane's.
	template <class Merge> __device__ void exchange(float2 mine, Merge merge) {
		const unsigned blocks = hopper::cluster_blocks(), lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
		hopper::cluster_wait();
		if (lane < blocks) hopper::send_to_peer(&of[hopper::cluster_rank() * warps + warp], &inbox, lane, mine);
		inbox.wait();
		for (unsigned i = lane; i < blocks * warps; i += warp_size) merge(of[i]);
	}
};

// Share is what this block has of its row.
template <class D> struct Share {
	int64_t row, first, packs;

	__device__ explicit Share(const Shares<D> &s) : row(blockIdx.x / hopper::cluster_blocks()), first(hopper::cluster_rank() * s.share) {
		packs = s.packs - first < s.share ? s.packs - first : s.share;
		if (packs < 0) packs = 0;
	}
};

template <class T, class D>
__global__ void __launch_bounds__(D::Threads, D::Blocks) softmax_fwd_cluster_kernel(Rows<const T> x, T *y, Shares<D> s) {
	constexpr int V = vector<T>;
	extern __shared__ __align__(16) unsigned char memory[];
	__shared__ Slots<D> slots;
	slots.start();
	const Share<D> share(s);
	Row<D> mine({packs_of(x, share.row) + share.first}, share.packs, memory, s.shared);
	float v[V];
	Exponentials part, all;
	mine.each([&](const Raw<1> &raw, int64_t) {
		unpack_here<T>(raw[0], v);
		part.add(v);
	});
	part.template merge<warp_size>();
	slots.exchange(make_float2(part.max, part.sum), [&](float2 slot) { all.add(slot.x, slot.y); });
	all.template merge<warp_size>();
	const float scale = 1.0f / all.sum;
	T *to = y + (share.row * s.packs + share.first) * V;
	mine.each_again([&](const Raw<1> &raw, int64_t column) {
		unpack_here<T>(raw[0], v);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = exp_of(v[j] - all.max) * scale;
		store(to + column * V, v);
	});
}

template <class T, class D>
__global__ void __launch_bounds__(D::Threads, D::Blocks)
    softmax_bwd_cluster_kernel(Rows<const T> y, Rows<const T> dy, T *dx, Shares<D> s) {
	constexpr int V = vector<T>;
	extern __shared__ __align__(16) unsigned char memory[];
	__shared__ Slots<D> slots;
	slots.start();
	const Share<D> share(s);
	Row<D> mine({packs_of(y, share.row) + share.first, packs_of(dy, share.row) + share.first}, share.packs, memory, s.shared);
	float p[V], g[V];
	float part = 0, dot = 0;
	mine.each([&](const Raw<2> &raw, int64_t) {
		unpack_here<T>(raw[0], p);
		unpack_here<T>(raw[1], g);
		float sum = 0;
#pragma unroll
		for (int j = 0; j < V; j++) sum += p[j] * g[j];
		part += sum;
	});
	slots.exchange(make_float2(warp_reduce(part, Sum()), 0), [&](float2 slot) { dot += slot.x; });
	dot = warp_reduce(dot, Sum());
	T *to = dx + (share.row * s.packs + share.first) * V;
	mine.each_again([&](const Raw<2> &raw, int64_t column) {
		unpack_here<T>(raw[0], p);
		unpack_here<T>(raw[1], g);
#pragma unroll
		for (int j = 0; j < V; j++) p[j] *= g[j] - dot;
		store(to + column * V, p);
	});
}

// ---- launching --------------------------------------------------------------------------------------------------------------------------

// blocks_for doubles the cluster while that leaves the threads at least three quarters of the packs that their registers hold: a row in registers
// alone is fastest, but half empty ones have too few bytes on their way.
template <class D> unsigned blocks_for(int64_t packs) {
	unsigned blocks = 2;
	while (blocks < hopper::most_blocks && D::packs((packs + blocks - 1) / blocks) * 2 >= D::Packs * 3) blocks *= 2;
	return blocks;
}

// launch starts a kernel of design D, a cluster a row, for at most most_rows; `arguments` come before the shares.
template <class D, class... Parameters, class... Arguments>
int launch(void (*kernel)(Parameters...), int64_t rows, int64_t packs, cudaStream_t stream, Arguments... arguments) {
	Chip chip;
	if (const cudaError_t error = chip.look()) return error;
	const unsigned blocks = blocks_for<D>(packs);
	const int64_t share = ((packs + blocks - 1) / blocks + warp_size - 1) / warp_size * warp_size; // whole lines of 128 bytes
	const int most = chip.shared_packs<D>(sizeof(Slots<D>));
	const int shared = static_cast<int>(std::min<int64_t>(most, std::max<int64_t>(0, D::packs(share) - D::Packs)));
	if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most * D::pack_bytes)) return error;
	return hopper::launch_clusters(kernel, static_cast<unsigned>(rows), blocks, D::Threads, static_cast<size_t>(shared) * D::pack_bytes, stream, arguments...,
	                               Shares<D>{packs, share, shared});
}

// Four blocks on a multiprocessor read while others compute, more evenly than two; longer rows than 16 of their kind have in registers go to larger
// blocks, which keep twice as much.
template <class T> int launch_forward(const Rows<const T> &x, T *y, int64_t rows, int64_t cols, cudaStream_t stream) {
	using Small = Design<1, 256, 4, 8, 2>;
	using Large = Design<1, 512, 2, 8, 2>;
	const int64_t packs = cols / vector<T>;
	if (packs <= hopper::most_blocks * Small::Threads * Small::Packs)
		return launch<Small>(softmax_fwd_cluster_kernel<T, Small>, rows, packs, stream, x, y);
	return launch<Large>(softmax_fwd_cluster_kernel<T, Large>, rows, packs, stream, x, y);
}

template <class T> int launch_backward(const Rows<const T> &y, const Rows<const T> &dy, T *dx, int64_t rows, int64_t cols, cudaStream_t stream) {
	using D = Design<2, 512, 2, 4, 1>;
	return launch<D>(softmax_bwd_cluster_kernel<T, D>, rows, cols / vector<T>, stream, y, dy, dx);
}

} // namespace cluster
} // namespace softmax
} // namespace triad
#endif

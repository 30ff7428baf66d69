// Layernorm's backward through a ring in shared memory (cuda/kernels/layernorm/backward.cuh), over more turns than the ring has stages, against
// the formula, bit for bit: x, dy and weight are small integers and rstd powers of two, so that no sum is rounded, in any order.
#include <cstdio>
#include <cstring>

#include "layernorm/backward.cuh"

using namespace triad;

static int wrong;

template <class T> T *filled(int64_t n, uint32_t seed, int levels) {
	T *x;
	cudaMallocManaged(&x, n * sizeof(T));
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = from_float<T>(static_cast<float>(static_cast<int>(seed >> 16) % (2 * levels + 1) - levels));
	}
	return x;
}

template <class T> T *poisoned(int64_t n) {
	T *x;
	cudaMallocManaged(&x, n * sizeof(T));
	memset(static_cast<void *>(x), 0xFF, n * sizeof(T));
	return x;
}

template <class T> void same(const char *name, int64_t i, T got, float want) {
	const T rounded = from_float<T>(want);
	if (memcmp(&got, &rounded, sizeof got) != 0 && wrong++ < 20)
		printf("%s[%lld]: got %g, want %g\n", name, static_cast<long long>(i), to_float(got), want);
}

struct Case {
	int64_t rows;
	int cols, blocks;
	bool shared, dx; // sums by atomics; whether dx is wanted
};

template <class Shape> void check(Case c) {
	using T = typename Shape::Element;
	const int64_t x_stride = c.cols + 8, dy_stride = c.cols;
	T *x = filled<T>(c.rows * x_stride, 1, 7), *dy = filled<T>(c.rows * dy_stride, 2, 3), *weight = filled<T>(c.cols, 3, 3);
	float *mean = filled<float>(c.rows, 4, 3), *rstd = filled<float>(c.rows, 5, 1);
	for (int64_t r = 0; r < c.rows; r++) rstd[r] = exp2f(rstd[r]);
	T *dx = c.dx ? poisoned<T>(c.rows * c.cols) : nullptr;
	float *sums = poisoned<float>(c.blocks * 2 * c.cols);
	if (c.shared) memset(sums, 0, 2 * c.cols * sizeof(float));
	triad_tensor like_x = {}, like_dy = {};
	like_x.data = x;
	like_x.stride[0] = x_stride;
	like_dy.data = dy;
	like_dy.stride[0] = dy_stride;
	const layernorm::Saved<T> in = {Rows<const T>(like_x), Rows<const T>(like_dy), weight, mean, rstd};
	const auto kernel = layernorm::layernorm_bwd_ring_kernel<Shape>;
	cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::bytes);
	kernel<<<static_cast<unsigned>(c.blocks), Shape::Threads, Shape::bytes>>>(in, dx, RowSums<2>{sums, c.shared}, c.rows, c.cols);
	if (cudaDeviceSynchronize() != cudaSuccess && wrong++ < 20) printf("the launch ended with an error\n");
	T *dw = poisoned<T>(c.cols), *db = poisoned<T>(c.cols);
	sum_groups_kernel<T, 2, 4, 8, 16><<<blocks_for(2 * c.cols, 32), 128>>>(sums, dw, db, c.shared ? 1 : c.blocks, c.cols);
	cudaDeviceSynchronize();

	float *want_dw = filled<float>(c.cols, 0, 0), *want_db = filled<float>(c.cols, 0, 0);
	const float part = 1.0f / static_cast<float>(c.cols);
	for (int64_t r = 0; r < c.rows; r++) {
		float first = 0, second = 0;
		for (int i = 0; i < c.cols; i++) {
			const float g = to_float(dy[r * dy_stride + i]), xhat = (to_float(x[r * x_stride + i]) - mean[r]) * rstd[r];
			want_dw[i] += g * xhat;
			want_db[i] += g;
			first += to_float(weight[i]) * g;
			second += to_float(weight[i]) * g * xhat;
		}
		first = rstd[r] * (first * part);
		second = rstd[r] * (second * part);
		for (int i = 0; i < c.cols && c.dx; i++) {
			const float g = to_float(dy[r * dy_stride + i]), xhat = (to_float(x[r * x_stride + i]) - mean[r]) * rstd[r];
			same("dx", r * c.cols + i, dx[r * c.cols + i], rstd[r] * (to_float(weight[i]) * g) - first - xhat * second);
		}
	}
	for (int i = 0; i < c.cols; i++) {
		same("dw", i, dw[i], want_dw[i]);
		same("db", i, db[i], want_db[i]);
	}
	for (void *p : {static_cast<void *>(x), static_cast<void *>(dy), static_cast<void *>(weight), static_cast<void *>(mean), static_cast<void *>(rstd),
	                static_cast<void *>(dx), static_cast<void *>(sums), static_cast<void *>(dw), static_cast<void *>(db), static_cast<void *>(want_dw),
	                static_cast<void *>(want_db)})
		cudaFree(p);
}

template <class Shape> void check_all() {
	const int cols = Shape::Group * Shape::Items, ragged = cols - cols / 3 / 8 * 8;
	const int64_t groups = Shape::Groups;
	check<Shape>({9 * groups + 3, cols, 2, false, true}); // blocks and groups with one row more than others
	check<Shape>({10 * groups + 1, ragged, 3, false, true}); // packs beyond the last column
	check<Shape>({1, ragged, 1, false, true}); // fewer rows than groups, and than stages
	check<Shape>({7 * groups + 2, ragged, 2, true, true});
	check<Shape>({8 * groups, cols, 2, false, false});
}

int main() {
	check_all<RingShape<float, 2, 2, 32, 16>>();
	check_all<RingShape<__half, 2, 2, 64, 16>>();
	check_all<RingShape<__nv_bfloat16, 2, 2, 128, 16, 3>>();
	check_all<RingShape<__nv_bfloat16, 2, 2, 512, 16>>();
	check_all<RingShape<__half, 2, 2, 512, 32>>();
	if (!wrong) printf("right\n");
	return wrong != 0;
}

// Sums and scans of warps and blocks by the library's functions, of blocks that are no whole warps too, and of an operator whose order counts.
#include <cstdio>
#include <cub/cub.cuh>

const int THREADS = 200;

struct Larger {
	__host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

__global__ void sums(const int *x, int *all, int *first, int *largest, double *warps, int *before, int *through, int *total) {
	typedef cub::BlockReduce<int, THREADS> Reduce;
	typedef cub::BlockScan<int, THREADS> Scan;
	typedef cub::WarpReduce<double, 8> Warp;
	__shared__ typename Reduce::TempStorage room, again, third;
	__shared__ typename Scan::TempStorage scanned, other;
	__shared__ typename Warp::TempStorage none[THREADS / 8];
	const int i = threadIdx.x, v = x[i];
	const int sum = Reduce(room).Sum(v), some = Reduce(again).Sum(v, 150), most = Reduce(third).Reduce(v, Larger());
	if (i == 0) *all = sum, *first = some, *largest = most;
	const double eight = Warp(none[i / 8]).Sum(static_cast<double>(v));
	if (i % 8 == 0) warps[i / 8] = eight;
	int until = 0, with = 0, block = 0;
	Scan(scanned).ExclusiveSum(v, until, block);
	Scan(other).InclusiveSum(v, with);
	before[i] = until, through[i] = with;
	if (i == 17) *total = block;
}

// Blocks of several dimensions, whose threads are ranked row after row; and fewer threads than a template is for, where only the sum of those that
// are there is asked for.
__global__ void of_dimensions(const int *x, int *sum, int *before) {
	typedef cub::BlockReduce<int, 8, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 5, 3> Reduce;
	typedef cub::BlockScan<int, 8, cub::BLOCK_SCAN_RAKING, 5, 3> Scan;
	__shared__ typename Reduce::TempStorage room;
	__shared__ typename Scan::TempStorage scanned;
	const int i = threadIdx.x + 8 * (threadIdx.y + 5 * threadIdx.z);
	const int all = Reduce(room).Sum(x[i]);
	if (i == 0) *sum = all;
	Scan(scanned).ExclusiveSum(x[i], before[i]);
}

__global__ void of_fewer(const int *x, int *sum, int *through) {
	__shared__ typename cub::BlockReduce<int, 1024>::TempStorage room;
	__shared__ typename cub::BlockScan<int, 1024>::TempStorage scanned;
	const int i = threadIdx.x;
	const int all = cub::BlockReduce<int, 1024>(room).Sum(x[i], blockDim.x);
	if (i == 0) *sum = all;
	cub::BlockScan<int, 1024>(scanned).InclusiveSum(x[i], through[i]);
}

int wrong_dimensions(const int *x) {
	int *sum, *scan, wrong = 0;
	cudaMallocManaged(&sum, 2 * sizeof(int));
	cudaMallocManaged(&scan, 2 * 120 * sizeof(int));
	of_dimensions<<<1, dim3(8, 5, 3)>>>(x, sum, scan);
	of_fewer<<<1, 100>>>(x, sum + 1, scan + 120);
	if (cudaDeviceSynchronize() != cudaSuccess) return 1;
	int until = 0;
	for (int i = 0; i < 120; i++) {
		wrong += scan[i] != until;
		until += x[i];
		if (i < 100) wrong += scan[120 + i] != until;
		if (i == 99) wrong += sum[1] != until;
	}
	wrong += sum[0] != until;
	cudaFree(sum);
	cudaFree(scan);
	return wrong;
}

// x * a + b, and one such map after another
struct Map {
	unsigned a, b;
};
struct Then {
	__host__ __device__ Map operator()(const Map &x, const Map &y) const { return {x.a * y.a, x.b * y.a + y.b}; }
};

// Of thread i, in this order; those of a warp are of the 8 lanes beside each other.
enum { BLOCK_BEFORE, BLOCK_THROUGH, BLOCK_TOTAL, BLOCK_REDUCED, WARP_BEFORE, WARP_THROUGH, WARP_TOTAL, WARP_REDUCED, RESULTS };

__global__ void maps(const Map *x, Map first, Map *out) {
	typedef cub::BlockScan<Map, THREADS> Scan;
	typedef cub::BlockReduce<Map, THREADS> Reduce;
	typedef cub::WarpScan<Map, 8> Lanes;
	typedef cub::WarpReduce<Map, 8> Warp;
	__shared__ typename Scan::TempStorage room;
	__shared__ typename Lanes::TempStorage lanes[2][THREADS / 8];
	__shared__ typename Warp::TempStorage warps[THREADS / 8];
	const int i = threadIdx.x;
	Map *mine = out + i * RESULTS;
	Map until, with, total;
	Scan(room).ExclusiveScan(x[i], until, first, Then(), total);
	mine[BLOCK_BEFORE] = until, mine[BLOCK_TOTAL] = total;
	Scan().InclusiveScan(x[i], with, Then());   // in storage of the library's own
	mine[BLOCK_THROUGH] = with;
	mine[BLOCK_REDUCED] = Reduce().Reduce(x[i], Then());
	Lanes(lanes[0][i / 8]).ExclusiveScan(x[i], until, first, Then(), total);
	mine[WARP_BEFORE] = until, mine[WARP_TOTAL] = total;
	Lanes(lanes[1][i / 8]).InclusiveScan(x[i], with, Then());
	mine[WARP_THROUGH] = with;
	mine[WARP_REDUCED] = Warp(warps[i / 8]).Reduce(x[i], Then());
}

int wrong_maps() {
	Map *x, *out;
	const Map first = {3, 5}, none = {1, 0};
	cudaMallocManaged(&x, THREADS * sizeof(Map));
	cudaMallocManaged(&out, THREADS * RESULTS * sizeof(Map));
	for (unsigned i = 0; i < THREADS; i++) x[i] = {2 * i + 3, 7 * i + 1};
	maps<<<1, THREADS>>>(x, first, out);
	if (cudaDeviceSynchronize() != cudaSuccess) return 1;
	Map block = none, warp = none;
	int wrong = 0;
	const Then then;
	auto differs = [](const Map &p, const Map &q) { return p.a != q.a || p.b != q.b; };
	for (int i = 0; i < THREADS; i++) {
		const Map *m = out + i * RESULTS;
		if (i % 8 == 0) warp = none;
		wrong += differs(m[BLOCK_BEFORE], then(first, block)) + differs(m[WARP_BEFORE], then(first, warp));
		block = then(block, x[i]), warp = then(warp, x[i]);
		wrong += differs(m[BLOCK_THROUGH], block) + differs(m[WARP_THROUGH], warp);
		if (i % 8 == 7)   // the last of them knows what the first has, and what all have
			for (int j = i - 7; j <= i; j++) wrong += differs(out[j * RESULTS + WARP_TOTAL], warp);
		if (i % 8 == 7) wrong += differs(out[(i - 7) * RESULTS + WARP_REDUCED], warp);
	}
	for (int i = 0; i < THREADS; i++) wrong += differs(out[i * RESULTS + BLOCK_TOTAL], block);
	wrong += differs(out[BLOCK_REDUCED], block);
	cudaFree(x);
	cudaFree(out);
	return wrong;
}

int main() {
	int *x, *all, *first, *largest, *before, *through, *total;
	double *warps;
	cudaMallocManaged(&x, THREADS * sizeof(int));
	cudaMallocManaged(&before, THREADS * sizeof(int));
	cudaMallocManaged(&through, THREADS * sizeof(int));
	cudaMallocManaged(&all, sizeof(int));
	cudaMallocManaged(&first, sizeof(int));
	cudaMallocManaged(&largest, sizeof(int));
	cudaMallocManaged(&total, sizeof(int));
	cudaMallocManaged(&warps, THREADS / 8 * sizeof(double));
	for (int i = 0; i < THREADS; i++) x[i] = (i * 37) % 101 - 20;
	sums<<<1, THREADS>>>(x, all, first, largest, warps, before, through, total);
	if (cudaDeviceSynchronize() != cudaSuccess) return 1;
	int sum = 0, part = 0, most = x[0], wrong = 0;
	for (int i = 0; i < THREADS; i++) {
		wrong += before[i] != sum;
		sum += x[i];
		wrong += through[i] != sum;
		if (i < 150) part += x[i];
		if (x[i] > most) most = x[i];
	}
	for (int w = 0; w < THREADS / 8; w++) {
		double eight = 0;
		for (int i = 0; i < 8; i++) eight += x[8 * w + i];
		wrong += warps[w] != eight;
	}
	wrong += *all != sum || *first != part || *largest != most || *total != sum;
	wrong += wrong_dimensions(x);
	for (int *p : {x, all, first, largest, before, through, total}) cudaFree(p);
	cudaFree(warps);
	wrong += wrong_maps();
	printf("%s\n", wrong ? "wrong" : "right");
	return wrong != 0;
}

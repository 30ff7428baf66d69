// Sums and scans of warps and blocks by the library's functions, of blocks that are no whole warps too.
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
	for (int *p : {x, all, first, largest, before, through, total}) cudaFree(p);
	cudaFree(warps);
	printf("%s\n", wrong ? "wrong" : "right");
	return wrong != 0;
}

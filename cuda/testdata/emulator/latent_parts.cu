// How mla_decode/sm90_tma divides sequences and joins what was cut, for sequences of many lengths: each page is in one piece, parts are even or of whole
// sequences, and from what each piece leaves, the join makes the mean that a double makes. Prints "right".
#include <cmath>
#include <cstdio>
#include <vector>

#include "mla_decode/sm90_schedule.cuh"

using namespace triad::latent;

constexpr int most_pieces = 64;

// A block a part: its pieces, as next gives them, and which sequences were cut.
__global__ void divide(const Decode<__half> a, const Schedule s, int most, Piece *pieces, int *counts, int *parts) {
	Range range(a, static_cast<int>(blockIdx.x), most);
	if (threadIdx.x != 0) return;
	range.tell(a, s.cuts);
	parts[0] = range.parts;
	int n = 0;
	for (Piece w; n < most_pieces && range.next(a, w);) pieces[blockIdx.x * most_pieces + n++] = w;
	counts[blockIdx.x] = n;
}

static bool wrong(const char *what, int number) { return printf("%s: %d\n", what, number), false; }

static int pages_of(int length) { return (length + page - 1) / page; }
static double value(int b, int number, int column) { return 1 + (b + 7 * number + column) % 5; }

// far: the last of a sequence's parts has by far the largest score.
static bool right(const std::vector<int> &of, int heads, int most, bool far = false) {
	const int batch = static_cast<int>(of.size()), columns = 512, longest = pages_of(9100);
	int *lengths, *counts, *parts, *table;
	Piece *pieces;
	__half *o;
	float *lse;
	cudaMallocManaged(&lengths, batch * sizeof(int));
	cudaMallocManaged(&table, longest * sizeof(int));
	cudaMallocManaged(&counts, most * sizeof(int));
	cudaMallocManaged(&parts, sizeof(int));
	cudaMallocManaged(&pieces, most * most_pieces * sizeof(Piece));
	cudaMallocManaged(&o, sizeof(__half) * batch * heads * columns);
	cudaMallocManaged(&lse, sizeof(float) * batch * heads);
	for (int b = 0; b < batch; b++) lengths[b] = of[b];
	triad_tensor in[4] = {}, out[2] = {};
	in[0].shape[0] = in[3].shape[0] = in[2].shape[0] = batch, in[0].shape[1] = 1, in[0].shape[2] = heads, in[0].shape[3] = 576;
	in[1].shape[0] = 1, in[1].shape[1] = page, in[1].shape[2] = 576, in[2].shape[1] = longest, in[2].stride[1] = in[3].stride[0] = 1;
	in[2].data = table, in[3].data = lengths, in[2].rank = 2, in[3].rank = 1;
	out[0].data = o, out[1].data = lse, out[0].shape[3] = columns;
	const double attributes[] = {0, 1, 0, 0, columns};
	triad_call call = {};
	call.in = in, call.out = out, call.attr = attributes;
	const Decode<__half> a(&call);
	triad::Room room(&call);
	Schedule s(a, room);
	s.groups = (heads + own_rows - 1) / own_rows, s.parts = most;
	const size_t rows = size_t{2} * most * s.groups * own_rows;
	cudaMallocManaged(&s.sum, rows * columns * sizeof(float));
	cudaMallocManaged(&s.max, rows * sizeof(float));
	cudaMallocManaged(&s.total, rows * sizeof(float));
	cudaMallocManaged(&s.cuts, batch * sizeof(Cut));
	for (size_t i = 0; i < rows; i++) s.max[i] = s.total[i] = NAN;
	for (size_t i = 0; i < rows * columns; i++) s.sum[i] = NAN;
	divide<<<most, triad::warp_size>>>(a, s, most, pieces, counts, parts);
	if (cudaDeviceSynchronize() != cudaSuccess) return wrong("the launch", 0);

	int all = 0, largest = 0;
	for (int length : of) all += 1 + (length + 2 * page - 1) / (2 * page);
	bool same = true, cut = false;
	for (int length : of) same &= length == of[0];
	std::vector<int> done(batch), alone(batch), number(batch);
	std::vector<double> sums(static_cast<size_t>(batch) * s.groups * columns), totals(batch), top(batch, -INFINITY);
	for (int pass = 0; pass < 2; pass++) // the largest scores first
		for (int p = 0; p < most; p++) {
			int units = 0;
			for (int i = 0; i < counts[p]; i++) {
				const Piece &w = pieces[p * most_pieces + i];
				if (w.b < 0 || w.b >= batch) return wrong("a piece of sequence", w.b);
				const int have = pages_of(of[w.b]), end = std::min(w.end, have);
				const double max = w.slot < 0 ? 0 : far ? (end == have ? 100 : p % 4) : p % 4;
				units += (w.end - w.first) / 2 + (w.slot != 0);
				if (pass == 0) {
					if (w.first != done[w.b] && !(w.slot < 0 && have == 0)) return wrong("pages that are not those after the piece before, of sequence", w.b);
					done[w.b] = end, number[w.b]++, alone[w.b] |= w.slot < 0;
					top[w.b] = std::max(top[w.b], max);
					continue;
				}
				if (w.slot < 0) continue;
				cut = true;
				const double weight = std::exp(max - top[w.b]);
				totals[w.b] += weight * (end - w.first);
				for (int group = 0; group < s.groups; group++)
					for (int r = 0; r < own_rows; r++) {
						const int64_t place = s.place(2 * p + w.slot, group) + r;
						s.max[place] = static_cast<float>(max), s.total[place] = static_cast<float>(end - w.first);
						for (int c = 0; c < columns; c++) {
							double sum = 0;
							for (int n = w.first; n < end; n++) sum += value(w.b, n, c + group);
							s.sum[place * columns + c] = static_cast<float>(sum);
							if (r == 0) sums[static_cast<size_t>(w.b * s.groups + group) * columns + c] += weight * sum;
						}
					}
			}
			largest = std::max(largest, units);
		}
	for (int b = 0; b < batch; b++) {
		if (done[b] != pages_of(of[b])) return wrong("pages left out of sequence", b);
		if (alone[b] ? number[b] != 1 : number[b] == 0 && of[b] > 0) return wrong("pieces of sequence", b);
	}
	const int share = (all + parts[0] - 1) / parts[0], whole = (batch + parts[0] - 1) / parts[0] * (all / batch);
	const bool may = same && whole <= all / parts[0] + spared_units;
	if (largest > (may ? whole : share)) return wrong("units of the largest part", largest);
	if (may && cut) return wrong("equal sequences were cut, of units", all);

	for (int64_t i = 0; i < int64_t{batch} * heads * columns; i++) o[i] = __float2half(-1);
	join_cuts<__half><<<(batch * heads + join_warps - 1) / join_warps, join_warps * triad::warp_size>>>(a, s);
	if (cudaDeviceSynchronize() != cudaSuccess) return wrong("the launch that joins", 0);
	for (int b = 0; b < batch; b++)
		for (int h = 0; h < heads; h++) {
			const int64_t row = int64_t{b} * heads + h;
			for (int c = 0; c < columns; c++) {
				const double want = alone[b] ? -1 : sums[static_cast<size_t>(b * s.groups + h / own_rows) * columns + c] / totals[b];
				if (!(std::abs(__half2float(o[row * columns + c]) - want) < 4e-3)) return wrong("the mean of sequence", b);
			}
			if (!alone[b] && !(std::abs(lse[row] - (top[b] + std::log(totals[b]))) < 1e-4)) return wrong("lse of sequence", b);
		}
	for (void *memory : {static_cast<void *>(lengths), static_cast<void *>(counts), static_cast<void *>(parts), static_cast<void *>(pieces),
	                     static_cast<void *>(o), static_cast<void *>(lse), static_cast<void *>(s.sum), static_cast<void *>(s.max),
	                     static_cast<void *>(s.total), static_cast<void *>(s.cuts), static_cast<void *>(table)})
		cudaFree(memory);
	return true;
}

int main() {
	std::vector<int> many;
	for (int b = 0; b < 45; b++) many.push_back(b % 9 == 3 ? 0 : b * 7919 % 1500);
	const bool all = right({130, 0, 576, 1, 777}, 3, 1) && right({130, 0, 576, 1, 777}, 3, 2) && right({130, 0, 576, 1, 777}, 2, 7) &&
	                 right({130, 0, 576, 1, 777}, 2, 66) && right(many, 65, 44) && right(many, 1, 132) && right({9000}, 2, 132) &&
	                 right({9000, 8000}, 1, 132, true) && right(std::vector<int>(128, 4096), 1, 66) && right(std::vector<int>(7, 256), 1, 5) &&
	                 right(std::vector<int>(40, 0), 1, 66) && right(std::vector<int>(3, 640), 1, 132);
	if (all) puts("right");
	return all ? 0 : 1;
}

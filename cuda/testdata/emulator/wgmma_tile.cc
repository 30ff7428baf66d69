// Runs the division of the tensor-core fp8 product (cuda/include/wgmma_tile.cuh, hopper/swizzle.cuh, tile_order.cuh) on the host, with the
// copy engine and wgmma modelled as the PTX ISA describes them, apart from the code under test. Prints a line for each thing that is wrong.
#include <cstdio>
#include <cstring>
#include <vector>

#include "tile_order.cuh"
#include "wgmma_tile.cuh"

using namespace triad;

static int wrong;

static void check(bool holds, const char *what, long long a = 0, long long b = 0, long long c = 0) {
	if (!holds && wrong++ < 20) printf("wrong: %s (%lld, %lld, %lld)\n", what, a, b, c);
}

// The 128-byte swizzle as the hardware makes it: bits 4-6 of an address are exchanged by bits 7-9.
static uint32_t exchanged(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

// The copy engine: a box of `rows` x 128 bytes from (row, byte) on of a matrix, zero outside of it.
static void copy_box(std::vector<uint8_t> &memory, uint32_t to, int rows, const std::vector<uint8_t> &x, int64_t x_rows, int64_t x_bytes, int64_t row,
                     int64_t byte) {
	for (int r = 0; r < rows; r++)
		for (int b = 0; b < 128; b++) {
			const bool inside = row + r < x_rows && byte + b < x_bytes;
			memory[exchanged(to + r * 128 + b)] = inside ? x[(row + r) * x_bytes + byte + b] : 0;
		}
}

// What wgmma reads as element (row, k) of a K-major operand: core matrices of 8 rows x 128 bytes, one after the other by the descriptor's
// stride, addresses exchanged by its swizzle mode.
static uint8_t operand(const std::vector<uint8_t> &memory, uint64_t descriptor, int row, int k) {
	const uint32_t start = (descriptor & 0x3FFF) << 4, stride = (descriptor >> 32 & 0x3FFF) << 4;
	check(descriptor >> 62 == 1 && (descriptor >> 49 & 7) == 0, "swizzle mode or base offset of a descriptor", descriptor >> 62);
	return memory[exchanged(start + row / 8 * stride + row % 8 * 128 + k)];
}

struct Shape {
	int64_t m, n, k;
	int blocks;
};

// The product of integers of 0 to 3 by the division under test, and how often each element of c is written.
template <int Waves, int Consumers = 2> static void product(const Shape &s) {
	using Tile = WgmmaTile<Waves, Consumers>;
	std::vector<uint8_t> a(s.m * s.k), b(s.n * s.k), memory(256 << 10, 0xEE);
	for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<uint8_t>((i * 2654435761u >> 13) % 4);
	for (size_t i = 0; i < b.size(); i++) b[i] = static_cast<uint8_t>((i * 2246822519u >> 11) % 4);
	std::vector<int64_t> c(s.m * s.n, 0);
	std::vector<int> written(s.m * s.n, 0);
	const TileOrder order = {(s.m + Tile::m - 1) / Tile::m, (s.n + Tile::n - 1) / Tile::n, 2};
	constexpr uint32_t base = hopper::tile_alignment;
	for (int block = 0; block < s.blocks; block++) {
		RingPlace<Tile::stages> at;
		for (int64_t tile = block; tile < order.count(); tile += s.blocks) {
			const TilePlace place = order.place(tile);
			std::vector<int64_t> sums(Tile::consumers * Waves * 128 * Tile::accumulators, 0);
			for (int64_t k0 = 0; k0 < s.k; k0 += Tile::k, at.next()) {
				copy_box(memory, base + Tile::a(at.stage), Tile::m, a, s.m, s.k, place.m * Tile::m, k0);
				copy_box(memory, base + Tile::b(at.stage), Tile::n, b, s.n, s.k, place.n * Tile::n, k0);
				for (int consumer = 0; consumer < Tile::consumers; consumer++)
					for (int w = 0; w < Waves; w++) {
						const uint64_t first_a = hopper::tile_descriptor(base + Tile::wave_a(at.stage, consumer, w));
						const uint64_t first_b = hopper::tile_descriptor(base + Tile::b(at.stage));
						for (int thread = 0; thread < 128; thread++)
							for (int i = 0; i < Tile::accumulators; i++) {
								int64_t &sum = sums[((consumer * Waves + w) * 128 + thread) * Tile::accumulators + i];
								// of wgmma: row and column of this register, spelled as the tables of the PTX ISA do
								const int row = 16 * (thread / 32) + thread / 4 % 8 + (i % 4 >= 2 ? 8 : 0), column = 8 * (i / 4) + 2 * (thread % 4) + (i & 1);
								for (int k = 0; k < 128; k++)
									sum += operand(memory, hopper::advanced(first_a, k / 32 * 32), row, k % 32) *
									       operand(memory, hopper::advanced(first_b, k / 32 * 32), column, k % 32);
							}
					}
			}
			for (int consumer = 0; consumer < Tile::consumers; consumer++)
				for (int w = 0; w < Waves; w++)
					for (int thread = 0; thread < 128; thread++)
						for (int i = 0; i < Tile::accumulators; i++) {
							const int64_t row = place.m * Tile::m + Tile::row(consumer, w, thread, i), column = place.n * Tile::n + Tile::column(thread, i);
							if (row >= s.m || column >= s.n) continue;
							c[row * s.n + column] = sums[((consumer * Waves + w) * 128 + thread) * Tile::accumulators + i];
							written[row * s.n + column]++;
						}
		}
	}
	for (int64_t i = 0; i < s.m; i++)
		for (int64_t j = 0; j < s.n; j++) {
			int64_t sum = 0;
			for (int64_t k = 0; k < s.k; k++) sum += a[i * s.k + k] * b[j * s.k + k];
			check(written[i * s.n + j] == 1, "times an element is written", i, j, written[i * s.n + j]);
			check(c[i * s.n + j] == sum, "an element", i, j, c[i * s.n + j] - sum);
		}
}

// What the guarded loader writes to lies where the copy engine would put it, and memory, barriers and alignment hold.
template <int Waves, int Consumers = 2> static void layout() {
	using Tile = WgmmaTile<Waves, Consumers>;
	for (uint32_t row = 0; row < Tile::m; row++)
		for (uint32_t byte = 0; byte < 128; byte++) check(hopper::swizzled(row, byte) == exchanged(row * 128 + byte), "swizzled", row, byte);
	for (int stage = 0; stage < Tile::stages; stage++) {
		check(Tile::a(stage) % 1024 == 0 && Tile::b(stage) % 1024 == 0, "alignment of a stage", stage);
		check(Tile::full(stage) % 8 == 0 && Tile::full(stage) >= static_cast<uint32_t>(Tile::stages * Tile::stage_bytes), "a barrier", stage);
		check(Tile::empty(stage) >= Tile::full(Tile::stages), "barriers apart", stage);
	}
	for (int buffer = 0; buffer < Tile::scale_buffers; buffer++) {
		check(Tile::scales_full(buffer) % 8 == 0 && Tile::scales_full(buffer) >= Tile::empty(Tile::stages), "a barrier of scales", buffer);
		check(Tile::scales_empty(buffer) % 8 == 0 && Tile::scales_empty(buffer) >= Tile::scales_full(Tile::scale_buffers), "another", buffer);
		check(Tile::scales(buffer) % 4 == 0 && Tile::scales(buffer) >= Tile::scales_empty(Tile::scale_buffers), "scales", buffer);
		check(Tile::scales(buffer + 1) - Tile::scales(buffer) == (Tile::m + Tile::n + Tile::scale_warps) * 4u, "room for them", buffer);
	}
	check(Tile::scales(Tile::scale_buffers) + hopper::tile_alignment <= Tile::shared_bytes && Tile::shared_bytes <= 232448, "shared memory", Tile::shared_bytes);
	RingPlace<Tile::stages> at;
	for (int i = 0; i < 5 * Tile::stages; i++, at.next())
		check(at.stage == i % Tile::stages && at.parity == static_cast<uint32_t>(i / Tile::stages % 2), "place in the ring", i, at.stage, at.parity);
}

// Every tile of a grid comes exactly once, whatever the band height.
static void orders() {
	for (int64_t tiles_m = 1; tiles_m < 20; tiles_m++)
		for (int64_t tiles_n = 1; tiles_n < 6; tiles_n++)
			for (int64_t height = 1; height < 10; height += 3) {
				const TileOrder order = {tiles_m, tiles_n, height};
				std::vector<int> seen(tiles_m * tiles_n, 0);
				for (int64_t tile = 0; tile < order.count(); tile++) {
					const TilePlace place = order.place(tile);
					check(place.m < tiles_m && place.n < tiles_n, "a tile outside", tile, place.m, place.n);
					seen[place.m * tiles_n + place.n]++;
				}
				for (int64_t i = 0; i < tiles_m * tiles_n; i++) check(seen[i] == 1, "times a tile is taken", tiles_m, tiles_n, seen[i]);
			}
}

int main() {
	layout<1>();
	layout<2>();
	layout<1, 3>();
	orders();
	for (const Shape &s : {Shape{1, 1, 1, 1}, Shape{17, 13, 31, 2}, Shape{130, 131, 129, 3}, Shape{66, 130, 257, 1}, Shape{5, 7, 0, 1}}) {
		product<1>(s);
		product<2>(s);
		product<1, 3>(s);
	}
	product<2>({259, 140, 900, 2});   // more blocks of k than stages
	if (!wrong) printf("right\n");
	return wrong != 0;
}

// The warp's matrix instructions: which lane holds which element is as the PTX manual draws it, and so is the order of bytes in a register.
// A product's sum is taken in double and rounded once to fp32; tensor cores keep fewer bits, which is the error bound's business.
#ifndef CUEMU_MATRIX_H
#define CUEMU_MATRIX_H

#include <cstdint>
#include <cstring>

#include "cuemu/number_formats.h"
#include "cuemu/sanitizer.h"
#include "cuemu/warp.h"

namespace cuemu {

// LoadedRow: lane 8 i + r hands in row r of matrix i, 8 elements of 16 bits; it gets `registers`, one of each matrix.
struct LoadedRow {
	uint16_t row[8];
	uint32_t registers[4];
};

// deal gives lane l of matrix i the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; transposed: of column l / 4.
template <bool transposed> CUEMU_PLAIN void deal(void *const *lanes) {
	for (int l = 0; l < 32; l++) {
		if (!lanes[l]) continue;
		LoadedRow &to = *static_cast<LoadedRow *>(lanes[l]);
		for (int i = 0; i < 4; i++) {
			uint32_t pair = 0;
			for (int e = 0; e < 2; e++) {
				const int along = 2 * (l % 4) + e, row = transposed ? along : l / 4, col = transposed ? l / 4 : along;
				const LoadedRow *from = static_cast<const LoadedRow *>(lanes[8 * i + row]);
				pair |= (from ? from->row[col] : 0xffffu) << (16 * e);
			}
			to.registers[i] = pair;
		}
	}
}

// load_matrices is ldmatrix.x4 of 8x8 matrices of 16-bit elements; `row` is the 16 bytes that this lane points at.
template <bool transposed> inline void load_matrices(uint32_t (&registers)[4], const void *row, const char *file, int line) {
	LoadedRow lane;
	std::memcpy(lane.row, __builtin_assume_aligned(row, 16), sizeof lane.row);
	warp_call(&deal<transposed>, &lane, file, line);
	std::memcpy(registers, lane.registers, sizeof registers);
}

// Fragments of D[16, 8] += A[16, 16] B[16, 8]: A by rows, B by columns, D in fp32.
struct Fragments {
	uint32_t a[4], b[2];
	float d[4];
};

template <class Format> CUEMU_PLAIN void multiply(void *const *lanes) {
	static const Fragments absent = {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0, 0, 0, 0}};
	double a[16][16], b[16][8];
	for (int l = 0; l < 32; l++) {
		const Fragments &f = lanes[l] ? *static_cast<const Fragments *>(lanes[l]) : absent;
		for (int e = 0; e < 2; e++) {
			const int along = 2 * (l % 4) + e, across = l / 4, shift = 16 * e;
			for (int i = 0; i < 4; i++) a[across + i % 2 * 8][along + i / 2 * 8] = static_cast<double>(Format::decode(f.a[i] >> shift & 0xffffu));
			for (int i = 0; i < 2; i++) b[along + i * 8][across] = static_cast<double>(Format::decode(f.b[i] >> shift & 0xffffu));
		}
	}
	double d[16][8] = {};
	for (int row = 0; row < 16; row++)
		for (int k = 0; k < 16; k++)
			for (int col = 0; col < 8; col++) d[row][col] += a[row][k] * b[k][col];
	for (int l = 0; l < 32; l++) {
		if (!lanes[l]) continue;
		Fragments &f = *static_cast<Fragments *>(lanes[l]);
		for (int i = 0; i < 4; i++) f.d[i] = static_cast<float>(static_cast<double>(f.d[i]) + d[l / 4 + i / 2 * 8][2 * (l % 4) + i % 2]);
	}
}

// multiply_add is mma.m16n8k16 with fp32 accumulators.
template <class Format>
inline void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const char *file, int line) {
	Fragments lane = {{a[0], a[1], a[2], a[3]}, {b0, b1}, {d[0], d[1], d[2], d[3]}};
	warp_call(&multiply<Format>, &lane, file, line);
	std::memcpy(d, lane.d, sizeof d);
}

// ByteFragments of D[16, 8] += A[16, 32] B[32, 8]: A by rows, B by columns, both int8, D in int32.
struct ByteFragments {
	uint32_t a[4], b[2];
	int32_t d[4];
};

inline CUEMU_PLAIN void multiply_bytes(void *const *lanes) {
	static const ByteFragments absent = {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0, 0, 0, 0}};
	int8_t a[16][32], b[32][8];
	for (int l = 0; l < 32; l++) {
		const ByteFragments &f = lanes[l] ? *static_cast<const ByteFragments *>(lanes[l]) : absent;
		for (int e = 0; e < 4; e++) {
			const int along = 4 * (l % 4) + e, across = l / 4, shift = 8 * e;
			for (int i = 0; i < 4; i++) a[across + i % 2 * 8][along + i / 2 * 16] = static_cast<int8_t>(f.a[i] >> shift & 0xffu);
			for (int i = 0; i < 2; i++) b[along + i * 16][across] = static_cast<int8_t>(f.b[i] >> shift & 0xffu);
		}
	}
	for (int l = 0; l < 32; l++) {
		if (!lanes[l]) continue;
		ByteFragments &f = *static_cast<ByteFragments *>(lanes[l]);
		for (int i = 0; i < 4; i++) {
			const int row = l / 4 + i / 2 * 8, col = 2 * (l % 4) + i % 2;
			uint32_t sum = static_cast<uint32_t>(f.d[i]); // a sum beyond int32 wraps, as the instruction's does
			for (int k = 0; k < 32; k++) sum += static_cast<uint32_t>(a[row][k] * b[k][col]);
			f.d[i] = static_cast<int32_t>(sum);
		}
	}
}

// multiply_add is mma.m16n8k32 of int8 with int32 accumulators.
inline void multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const char *file, int line) {
	ByteFragments lane = {{a[0], a[1], a[2], a[3]}, {b0, b1}, {d[0], d[1], d[2], d[3]}};
	warp_call(&multiply_bytes, &lane, file, line);
	std::memcpy(d, lane.d, sizeof d);
}

}  // namespace cuemu

#endif

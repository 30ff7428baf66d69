// The functions on bytes and halves of words, and those of dynamic programming, against arithmetic on one part after the other.
#include <cstdio>
#include <cstdlib>

typedef long long wide;

// One part of a word as a number.
__host__ __device__ wide part(unsigned x, int bits, int i, bool is_signed) {
	const wide v = x >> (i * bits) & ((1ull << bits) - 1);
	return is_signed && v >> (bits - 1) ? v - (1ll << bits) : v;
}

__host__ __device__ wide clamp(wide x, int bits, bool is_signed) {
	const wide low = is_signed ? -(1ll << (bits - 1)) : 0, high = (1ll << (bits - is_signed)) - 1;
	return x < low ? low : x > high ? high : x;
}

__host__ __device__ wide size(wide x) { return x < 0 ? -x : x; }
__host__ __device__ wide most(wide a, wide b) { return a > b ? a : b; }
__host__ __device__ wide least(wide a, wide b) { return a < b ? a : b; }
__host__ __device__ wide wrap(wide x, int bits, bool is_signed) { return part((unsigned)x, bits, 0, is_signed); }

#define EACH(bits, is_signed, expression)                                                      \
	[](unsigned x, unsigned y, unsigned z) {                                                     \
		unsigned out = 0;                                                                          \
		for (int i = 0; i < 32 / bits; i++) {                                                      \
			const wide a = part(x, bits, i, is_signed), b = part(y, bits, i, is_signed), c = part(z, bits, i, is_signed); \
			(void)b, (void)c;                                                                        \
			out |= ((unsigned)(expression) & (unsigned)((1ull << bits) - 1)) << (i * bits);          \
		}                                                                                          \
		return out;                                                                                \
	}(x, y, z)

__device__ int wrong = 0;

#define CHECK(call, want)                                                                     \
	do {                                                                                        \
		const unsigned got = (unsigned)(call), right = (unsigned)(want);                          \
		if (got != right && atomicAdd(&wrong, 1) < 10)                                            \
			printf("%s of %08x %08x %08x is %08x, want %08x\n", #call, x, y, z, got, right);        \
	} while (0)
#define SIGNED(name, expression)                        \
	CHECK(name##2(x, y), EACH(16, true, expression));     \
	CHECK(name##4(x, y), EACH(8, true, expression))
#define UNSIGNED(name, expression)                      \
	CHECK(name##2(x, y), EACH(16, false, expression));    \
	CHECK(name##4(x, y), EACH(8, false, expression))
#define BOTH(name, expression) SIGNED(name##s, expression); UNSIGNED(name##u, expression)
#define ONE(name, expression)                           \
	CHECK(name##2(x), EACH(16, true, expression));        \
	CHECK(name##4(x), EACH(8, true, expression))
#define COMPARE(name, kind, op) kind(__vcmp##name, a op b ? ~0u : 0); kind(__vset##name, a op b)

#define DPX(name, choose, op)                                                                          \
	CHECK(__viadd##name##_s32(x, y, z), EACH(32, true, choose(wrap(a + b, 32, true), c)));               \
	CHECK(__viadd##name##_s32_relu(x, y, z), EACH(32, true, most(0, choose(wrap(a + b, 32, true), c)))); \
	CHECK(__viadd##name##_u32(x, y, z), EACH(32, false, choose(wrap(a + b, 32, false), c)));             \
	CHECK(__viadd##name##_s16x2(x, y, z), EACH(16, true, choose(wrap(a + b, 16, true), c)));             \
	CHECK(__viadd##name##_s16x2_relu(x, y, z), EACH(16, true, most(0, choose(wrap(a + b, 16, true), c)))); \
	CHECK(__viadd##name##_u16x2(x, y, z), EACH(16, false, choose(wrap(a + b, 16, false), c)));           \
	CHECK(__vi##name##3_s32(x, y, z), EACH(32, true, choose(a, choose(b, c))));                          \
	CHECK(__vi##name##3_s32_relu(x, y, z), EACH(32, true, most(0, choose(a, choose(b, c)))));            \
	CHECK(__vi##name##3_u32(x, y, z), EACH(32, false, choose(a, choose(b, c))));                         \
	CHECK(__vi##name##3_s16x2(x, y, z), EACH(16, true, choose(a, choose(b, c))));                        \
	CHECK(__vi##name##3_s16x2_relu(x, y, z), EACH(16, true, most(0, choose(a, choose(b, c)))));          \
	CHECK(__vi##name##3_u16x2(x, y, z), EACH(16, false, choose(a, choose(b, c))));                       \
	CHECK(__vi##name##_s32_relu(x, y), EACH(32, true, most(0, choose(a, b))));                           \
	CHECK(__vi##name##_s16x2_relu(x, y), EACH(16, true, most(0, choose(a, b))));                         \
	CHECK(__vib##name##_s32(x, y, &low), EACH(32, true, choose(a, b)));                                  \
	CHECK(low, EACH(32, true, a op b));                                                                  \
	CHECK(__vib##name##_u32(x, y, &low), EACH(32, false, choose(a, b)));                                 \
	CHECK(low, EACH(32, false, a op b));                                                                 \
	CHECK(__vib##name##_s16x2(x, y, &high, &low), EACH(16, true, choose(a, b)));                         \
	CHECK(low | (unsigned)high << 16, EACH(16, true, a op b));                                           \
	CHECK(__vib##name##_u16x2(x, y, &high, &low), EACH(16, false, choose(a, b)));                        \
	CHECK(low | (unsigned)high << 16, EACH(16, false, a op b))

__global__ void words(const unsigned *numbers, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	const unsigned x = numbers[i], y = numbers[(7 * i + 3) % n], z = numbers[(5 * i + 1) % n];
	bool high, low;
	UNSIGNED(__vadd, a + b);
	UNSIGNED(__vsub, a - b);
	CHECK(__vaddss2(x, y), EACH(16, true, clamp(a + b, 16, true)));
	CHECK(__vaddss4(x, y), EACH(8, true, clamp(a + b, 8, true)));
	CHECK(__vaddus2(x, y), EACH(16, false, clamp(a + b, 16, false)));
	CHECK(__vaddus4(x, y), EACH(8, false, clamp(a + b, 8, false)));
	CHECK(__vsubss2(x, y), EACH(16, true, clamp(a - b, 16, true)));
	CHECK(__vsubss4(x, y), EACH(8, true, clamp(a - b, 8, true)));
	CHECK(__vsubus2(x, y), EACH(16, false, clamp(a - b, 16, false)));
	CHECK(__vsubus4(x, y), EACH(8, false, clamp(a - b, 8, false)));
	BOTH(__vabsdiff, size(a - b));
	SIGNED(__vavgs, a + b >= 0 ? (a + b + 1) / 2 : -((1 - a - b) / 2)); // halves away from 0
	UNSIGNED(__vavgu, (a + b + 1) / 2);
	UNSIGNED(__vhaddu, (a + b) / 2);
	BOTH(__vmax, most(a, b));
	BOTH(__vmin, least(a, b));
	COMPARE(eq, UNSIGNED, ==);
	COMPARE(ne, UNSIGNED, !=);
	COMPARE(ge, BOTH, >=);
	COMPARE(gt, BOTH, >);
	COMPARE(le, BOTH, <=);
	COMPARE(lt, BOTH, <);
	ONE(__vabs, size(a));
	ONE(__vneg, -a);
	CHECK(__vabsss2(x), EACH(16, true, clamp(size(a), 16, true)));
	CHECK(__vabsss4(x), EACH(8, true, clamp(size(a), 8, true)));
	CHECK(__vnegss2(x), EACH(16, true, clamp(-a, 16, true)));
	CHECK(__vnegss4(x), EACH(8, true, clamp(-a, 8, true)));
	unsigned sums[4] = {};
	for (int k = 0; k < 4; k++) {
		sums[0] += size(part(x, 8, k, true) - part(y, 8, k, true));
		sums[1] += size(part(x, 8, k, false) - part(y, 8, k, false));
		if (k < 2) sums[2] += size(part(x, 16, k, true) - part(y, 16, k, true));
		if (k < 2) sums[3] += size(part(x, 16, k, false) - part(y, 16, k, false));
	}
	CHECK(__vsads4(x, y), sums[0]);
	CHECK(__vsadu4(x, y), sums[1]);
	CHECK(__vsads2(x, y), sums[2]);
	CHECK(__vsadu2(x, y), sums[3]);
	DPX(max, most, >=);
	DPX(min, least, <=);
}

int main() {
	const int n = 1024;
	unsigned *numbers;
	cudaMallocManaged(&numbers, n * sizeof(unsigned));
	const unsigned ends[] = {0, ~0u, 0x80008000u, 0x7fff7fffu, 0x80808080u, 0x7f7f7f7fu, 0x00010001u, 0x80000000u, 0x7fffffffu, 0x01ff00feu};
	unsigned state = 12345;
	for (int i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		numbers[i] = i % 3 == 0 ? ends[state >> 16 & 7] ^ (i % 2 ? 0 : state >> 30) : state ^ state >> 13;
	}
	words<<<n / 128, 128>>>(numbers, n);
	cudaDeviceSynchronize();
	int count;
	cudaMemcpyFromSymbol(&count, wrong, sizeof count);
	if (count) printf("%d values are wrong\n", count);
	cudaFree(numbers);
	if (!count) puts("right");
	return count != 0;
}

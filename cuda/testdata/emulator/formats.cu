// The number formats' result tables, in binary on standard output: what encodes, what decodes, what fma gives. The inputs are known to the test.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

template <class T> static void put(T value) { fwrite(&value, sizeof value, 1, stdout); }

int main() {
	const uint32_t low[] = {0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
	for (uint32_t high = 0; high < 65536; high++) {
		for (uint32_t bits : low) {
			bits |= high << 16;
			float x;
			memcpy(&x, &bits, 4);
			put(__float2half_rn(x));
			put(__float2bfloat16_rn(x));
			put(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3));
			put(__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2));
			put(__nv_fp8_e4m3(x));
			put(__nv_fp8_e5m2(x));
		}
	}
	for (uint32_t code = 0; code < 65536; code++) {
		put(__half2float(__ushort_as_half(static_cast<unsigned short>(code))));
		put(__bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(code))));
	}
	for (int code = 0; code < 256; code++) {
		__nv_fp8_e4m3 a;
		__nv_fp8_e5m2 b;
		a.__x = b.__x = static_cast<unsigned char>(code);
		put(static_cast<float>(a));
		put(static_cast<float>(b));
	}
	uint64_t state = 1;   // fma and double conversions of codes that a linear congruential generator draws
	auto draw = [&] { return static_cast<unsigned short>((state = state * 6364136223846793005u + 1442695040888963407u) >> 48); };
	for (int i = 0; i < 20000; i++) {
		unsigned short a = draw(), b = draw(), c = draw();
		put(__hfma(__ushort_as_half(a), __ushort_as_half(b), __ushort_as_half(c)));
		put(__hfma(__ushort_as_bfloat16(a), __ushort_as_bfloat16(b), __ushort_as_bfloat16(c)));
	}
	put(__hfma(__nv_bfloat16(7.0f), __nv_bfloat16(37.0f), __nv_bfloat16(-0x1p-60f)));   // 258, not 260: one rounding
	put(__double2bfloat16(1 + 0x1p-8 + 0x1p-40));
	put(__double2half(1 + 0x1p-11 + 0x1p-50));
}

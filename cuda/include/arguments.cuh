// arguments.cuh: conditions on a call, and the sentence of the first that does not hold. The spec of an operator and the limits of its kernels
// are made of them (spec.cuh, limits.cuh); a kernel file without these writes its own:
//
//   static int accepts_warp(const triad_call *call, char *why, int32_t why_bytes) {
//       triad::Check check(why, why_bytes);
//       check.that(cols <= 1024, "cols %lld is more than 1024", (long long)cols);
//       return check.status();                                 // TRIAD_OK, or TRIAD_UNSUPPORTED and the first sentence
//   }
#ifndef TRIAD_ARGUMENTS_CUH
#define TRIAD_ARGUMENTS_CUH
#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "abi.h"

namespace triad {

inline int64_t elements(const triad_tensor &t) {
	int64_t n = 1;
	for (int d = 0; d < t.rank; d++) n *= t.shape[d];
	return n;
}

inline int64_t element_bytes(int32_t dtype) {
	switch (dtype) {
	case TRIAD_F64: case TRIAD_I64: return 8;
	case TRIAD_F32: case TRIAD_I32: case TRIAD_U32: return 4;
	case TRIAD_F16: case TRIAD_BF16: return 2;
	default: return 1;
	}
}

inline const char *dtype_name(int32_t dtype) {
	static const char *const names[] = {"fp64", "fp32", "fp16", "bf16", "e4m3", "e5m2", "int64", "int32", "int8", "uint8",
	                                      "bool", "uint32", "e2m1x2"};
	return dtype >= TRIAD_F64 && dtype <= TRIAD_E2M1X2 ? names[dtype] : "unknown";
}

// is_contiguous: row-major without gaps. The stride of a dimension of length 0 or 1 never matters.
inline bool is_contiguous(const triad_tensor &t) {
	if (elements(t) == 0) return true;
	int64_t want = 1;
	for (int d = t.rank - 1; d >= 0; d--) {
		if (t.shape[d] > 1 && t.stride[d] != want) return false;
		want *= t.shape[d];
	}
	return true;
}

// Check collects the conditions of a call and keeps the sentence of the first one that does not hold.
class Check {
public:
	Check(char *text, int32_t bytes) : why(text), why_bytes(bytes) {}

	// that: the call is refused with this sentence unless `holds`.
	__attribute__((format(printf, 3, 4))) Check &that(bool holds, const char *sentence, ...) {
		if (holds || !ok) return *this;
		ok = false;
		if (why != nullptr && why_bytes > 0) {
			va_list values;
			va_start(values, sentence);
			vsnprintf(why, static_cast<size_t>(why_bytes), sentence, values);
			va_end(values);
		}
		return *this;
	}

	// counts: so many inputs, outputs and attributes. Nothing else may be looked at before this holds.
	bool counts(const triad_call *call, int inputs, int outputs, int attributes) {
		that(call->n_in == inputs && call->n_out == outputs && call->n_attr == attributes,
		     "the call has %d inputs, %d outputs, %d attributes, the kernel takes %d, %d, %d", static_cast<int>(call->n_in),
		     static_cast<int>(call->n_out), static_cast<int>(call->n_attr), inputs, outputs, attributes);
		return ok;
	}

	Check &rank(const triad_tensor &t, const char *name, int want) {
		return that(t.rank == want, "%s has rank %d, not %d", name, static_cast<int>(t.rank), want);
	}

	Check &dtype(const triad_tensor &t, const char *name, int32_t want) {
		return that(t.dtype == want, "%s is %s, not %s", name, dtype_name(t.dtype), dtype_name(want));
	}

	Check &contiguous(const triad_tensor &t, const char *name) { return that(is_contiguous(t), "%s is not contiguous", name); }

	// contiguous_columns: neighbours in the last dimension are neighbours in memory; the other strides are free.
	Check &contiguous_columns(const triad_tensor &t, const char *name) {
		const int last = t.rank - 1;
		return that(last < 0 || elements(t) == 0 || t.shape[last] <= 1 || t.stride[last] == 1,
		            "the columns of %s have stride %lld, not 1", name, static_cast<long long>(last < 0 ? 1 : t.stride[last]));
	}

	Check &aligned(const triad_tensor &t, const char *name, int64_t bytes) {
		const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.data) % static_cast<uintptr_t>(bytes));
		return that(elements(t) == 0 || past == 0, "%s begins %lld bytes past a multiple of %lld", name, static_cast<long long>(past),
		            static_cast<long long>(bytes));
	}

	// vector_rows: a matrix whose rows can be read 16 bytes at a time, with a remainder of none.
	Check &vector_rows(const triad_tensor &t, const char *name) {
		const int64_t vector = 16 / element_bytes(t.dtype), cols = t.shape[1];
		that(cols % vector == 0, "cols %lld is not a multiple of %lld", static_cast<long long>(cols), static_cast<long long>(vector));
		contiguous_columns(t, name);
		that(t.shape[0] <= 1 || t.stride[0] % vector == 0, "the rows of %s have stride %lld, not a multiple of %lld", name,
		     static_cast<long long>(t.stride[0]), static_cast<long long>(vector));
		return aligned(t, name, 16);
	}

	bool holds() const { return ok; }
	int status() const { return ok ? TRIAD_OK : TRIAD_UNSUPPORTED; }

private:
	char *why;
	int32_t why_bytes;
	bool ok = true;
};

} // namespace triad
#endif

// spec.cuh: what a kernel file knows of its operator's spec. A kernel file includes "spec/<op>.cuh", which
// triad writes from <op>.toml when it compiles the file: the names of the tensors and sizes of each pass, and
// a proof that a call fits them. Every kernel registered behind that line is asked only about calls that fit.
#ifndef TRIAD_SPEC_CUH
#define TRIAD_SPEC_CUH
#include <cstring>
#include <vector>

#include "arguments.cuh"

namespace triad {

// SpecTensor is a tensor of a pass: where a call has it, and the expressions of its sizes in the spec. The
// sizes are left out (rank -1) where an attribute chooses them.
struct SpecTensor {
	const char *name;
	bool output;
	int index, rank;
	const char *sizes[6];

	const triad_tensor &of(const triad_call *call) const { return output ? call->out[index] : call->in[index]; }
};

struct SpecPass;
static std::vector<const SpecPass *> spec_passes;

// SpecPass is one pass of an operator. fits adds to a check what every call of it must be: number of tensors
// and attributes, ranks, sizes, dtypes, the conditions of the spec, contiguous outputs.
struct SpecPass {
	const char *op, *pass;
	std::vector<SpecTensor> tensors;
	void (*fits)(Check &, const triad_call *);

	SpecPass(const char *op, const char *pass, std::vector<SpecTensor> tensors, void (*fits)(Check &, const triad_call *))
	    : op(op), pass(pass), tensors(std::move(tensors)), fits(fits) {
		spec_passes.push_back(this);
	}
	SpecPass(const SpecPass &) = delete;
	SpecPass &operator=(const SpecPass &) = delete;
};

// spec_pass is null where no spec of the operator is included.
inline const SpecPass *spec_pass(const char *op, const char *pass) {
	for (const SpecPass *p : spec_passes)
		if (std::strcmp(p->op, op) == 0 && std::strcmp(p->pass, pass) == 0) return p;
	return nullptr;
}

namespace whole {

// Whole is an integer in an expression of a spec. Division and remainder go down to the floor; by 0 they
// give 0, since a call that divides by 0 is refused by the sizes that the spec permits.
struct Whole {
	int64_t value;

	explicit operator bool() const { return value != 0; }
};

// of: an attribute as a call carries it; what is no integer is one that no spec permits.
inline Whole of(double attribute) { return {attribute > -1e18 && attribute < 1e18 ? static_cast<int64_t>(attribute) : INT64_MIN}; }

inline Whole operator+(Whole a, Whole b) { return {a.value + b.value}; }
inline Whole operator-(Whole a, Whole b) { return {a.value - b.value}; }
inline Whole operator-(Whole a) { return {-a.value}; }
inline Whole operator*(Whole a, Whole b) { return {a.value * b.value}; }
inline Whole operator/(Whole a, Whole b) {
	if (b.value == 0) return {0};
	const int64_t q = a.value / b.value;
	return {a.value % b.value != 0 && (a.value < 0) != (b.value < 0) ? q - 1 : q};
}
inline Whole operator%(Whole a, Whole b) { return a - a / b * b; }
inline Whole operator==(Whole a, Whole b) { return {a.value == b.value}; }
inline Whole operator!(Whole a) { return {a.value == 0}; }
inline Whole operator&&(Whole a, Whole b) { return {a.value != 0 && b.value != 0}; }
inline Whole operator||(Whole a, Whole b) { return {a.value != 0 || b.value != 0}; }
inline Whole operator!=(Whole a, Whole b) { return {a.value != b.value}; }
inline Whole operator<(Whole a, Whole b) { return {a.value < b.value}; }
inline Whole operator<=(Whole a, Whole b) { return {a.value <= b.value}; }
inline Whole operator>(Whole a, Whole b) { return {a.value > b.value}; }
inline Whole operator>=(Whole a, Whole b) { return {a.value >= b.value}; }
inline Whole ceildiv(Whole a, Whole b) { return -((-a) / b); }
inline Whole min(Whole a, Whole b) { return a.value < b.value ? a : b; }
inline Whole max(Whole a, Whole b) { return a.value > b.value ? a : b; }

} // namespace whole

// check_size: a dim of a tensor is what an expression of the spec says.
inline void check_size(Check &check, const triad_tensor &t, const char *name, int axis, whole::Whole want, const char *expression) {
	check.that(t.shape[axis] == want.value, "%s has %lld elements in dim %d, not %s = %lld", name,
	           static_cast<long long>(t.shape[axis]), axis, expression, static_cast<long long>(want.value));
}

// given: an output that the kernel does not give has no memory, and nothing is asked of it.
inline bool given(const triad_tensor &output) { return output.data != nullptr; }

} // namespace triad
#endif

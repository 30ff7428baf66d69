// limits.cuh: what a kernel asks of a call beyond its operator's spec. A limit has the words of the
// constraint and the condition together; tensors and sizes are named as in the spec ("spec/<op>.cuh").
//
//   TRIAD_KERNEL(softmax, warp, forward, .contract("fp32").dtypes(triad::floats).outputs(1)
//                .limits(triad::contiguous_columns(), triad::at_most("cols", 1024))
//                .launch(TRIAD_BY_DTYPE(softmax_fwd_warp)))
//
//   contiguous("x", ...)          tensors without gaps; no name: all inputs (outputs always are)
//   contiguous_columns("x", ...)  stride 1 in the last dim; no name: all inputs
//   aligned(16, "x", ...)         tensors that begin at a multiple of so many bytes; no name: all tensors
//   stepped(8, "x", ...)          tensors whose strides but the last are a multiple of so many elements
//   vector_rows("x", ...)         matrices whose rows can be read 16 bytes at a time; no name: all tensors
//   whole_vectors()               contiguous and aligned(16) of all tensors
//   at_least("cols", 16), at_most("cols", 1024), multiple_of("cols", 8)    a size
//   limit("words", f)             any other: f(Check &, const triad_call *) states conditions
//   capability(...)               of the GPU, in capability.cuh
#ifndef TRIAD_LIMITS_CUH
#define TRIAD_LIMITS_CUH
#include <string>
#include <vector>

#include "spec.cuh"

namespace triad {

struct Limit {
	enum Names { tensors, inputs, size, nothing }; // what names stand for, and of tensors which are meant by no name
	using Keeps = void (*)(Check &, const triad_call *, const Limit &);

	Names of;
	std::vector<const char *> names;
	int64_t number;
	Keeps keeps;
	std::string words; // of the constraint
	void (*own)(Check &, const triad_call *) = nullptr;

	std::vector<SpecTensor> found; // what the names stand for in the spec
	int axis = 0;                  // of a size
	std::string unknown;           // a name that the spec does not have

	// find looks the names up in a spec.
	void find(const SpecPass &spec) {
		if (of == nothing) return;
		if (of == size) return find_size(spec);
		for (const SpecTensor &t : spec.tensors)
			if (names.empty() && (of == tensors || !t.output)) found.push_back(t);
		for (const char *name : names) {
			const size_t before = found.size();
			for (const SpecTensor &t : spec.tensors)
				if (std::strcmp(t.name, name) == 0) found.push_back(t);
			if (found.size() == before) unknown = name;
		}
	}

	const char *name() const { return names[0]; }
	int64_t size_of(const triad_call *call) const { return found[0].of(call).shape[axis]; }

private:
	void find_size(const SpecPass &spec) {
		for (const SpecTensor &t : spec.tensors)
			for (int d = 0; d < t.rank && found.empty(); d++)
				if (!t.output && std::strcmp(t.sizes[d], name()) == 0) {
					found.push_back(t);
					axis = d;
				}
		if (found.empty()) unknown = name();
	}
};

using Limits = std::vector<Limit>;

// listed: "all" where no name is given, else the names.
inline std::string listed(const std::vector<const char *> &names, const char *all) {
	std::string text;
	for (const char *name : names) text += (text.empty() ? "" : ", ") + std::string(name);
	return text.empty() ? all : text;
}

// each applies a condition on one tensor to those of a limit that the call has.
template <class F> void each(const triad_call *call, const Limit &limit, F condition) {
	for (const SpecTensor &t : limit.found)
		if (!t.output || given(t.of(call))) condition(t.of(call), t.name);
}

template <class... Name> Limit contiguous(Name... names) {
	return {Limit::inputs, {names...}, 0, [](Check &check, const triad_call *call, const Limit &limit) {
		        each(call, limit, [&](const triad_tensor &t, const char *name) { check.contiguous(t, name); });
	        }, listed({names...}, "tensors") + " contiguous"};
}

template <class... Name> Limit contiguous_columns(Name... names) {
	return {Limit::inputs, {names...}, 0, [](Check &check, const triad_call *call, const Limit &limit) {
		        each(call, limit, [&](const triad_tensor &t, const char *name) { check.contiguous_columns(t, name); });
	        }, sizeof...(names) == 0 ? "columns contiguous" : "columns of " + listed({names...}, "") + " contiguous"};
}

template <class... Name> Limit aligned(int64_t bytes, Name... names) {
	return {Limit::tensors, {names...}, bytes, [](Check &check, const triad_call *call, const Limit &limit) {
		        each(call, limit, [&](const triad_tensor &t, const char *name) { check.aligned(t, name, limit.number); });
	        }, listed({names...}, "tensors") + " aligned to " + std::to_string(bytes) + " bytes"};
}

template <class... Name> Limit stepped(int64_t elements, Name... names) {
	return {Limit::inputs, {names...}, elements, [](Check &check, const triad_call *call, const Limit &limit) {
		        each(call, limit, [&](const triad_tensor &t, const char *name) {
			        for (int d = 0; d < t.rank - 1; d++)
				        check.that(t.shape[d] <= 1 || t.stride[d] % limit.number == 0, "%s has stride %lld, not a multiple of %lld",
				                   name, static_cast<long long>(t.stride[d]), static_cast<long long>(limit.number));
		        });
	        }, "strides of " + listed({names...}, "tensors") + " a multiple of " + std::to_string(elements)};
}

template <class... Name> Limit vector_rows(Name... names) {
	return {Limit::tensors, {names...}, 16, [](Check &check, const triad_call *call, const Limit &limit) {
		        each(call, limit, [&](const triad_tensor &t, const char *name) { check.vector_rows(t, name); });
	        }, "cols a multiple of the elements in 16 bytes (4 in fp32, 8 in fp16 and bf16), rows" +
	               (sizeof...(names) == 0 ? "" : " of " + listed({names...}, "")) + " aligned to 16 bytes"};
}

inline Limits whole_vectors() { return {contiguous(), aligned(16)}; }

inline Limit at_most(const char *size, int64_t most) {
	return {Limit::size, {size}, most, [](Check &check, const triad_call *call, const Limit &limit) {
		        const long long found = limit.size_of(call);
		        check.that(found <= limit.number, "%s %lld is more than %lld", limit.name(), found,
		                   static_cast<long long>(limit.number));
	        }, std::string(size) + " <= " + std::to_string(most)};
}

inline Limit at_least(const char *size, int64_t least) {
	return {Limit::size, {size}, least, [](Check &check, const triad_call *call, const Limit &limit) {
		        const long long found = limit.size_of(call);
		        check.that(found >= limit.number, "%s %lld is less than %lld", limit.name(), found,
		                   static_cast<long long>(limit.number));
	        }, std::string(size) + " >= " + std::to_string(least)};
}

inline Limit multiple_of(const char *size, int64_t of) {
	return {Limit::size, {size}, of, [](Check &check, const triad_call *call, const Limit &limit) {
		        const long long found = limit.size_of(call);
		        check.that(found % limit.number == 0, "%s %lld is not a multiple of %lld", limit.name(), found,
		                   static_cast<long long>(limit.number));
	        }, std::string(size) + " a multiple of " + std::to_string(of)};
}

inline Limit limit(const char *words, void (*f)(Check &, const triad_call *)) {
	return {Limit::nothing, {}, 0, [](Check &check, const triad_call *call, const Limit &limit) { limit.own(check, call); }, words, f};
}

// Acceptance is what stands behind the `accepts` of one kernel: the spec's proof, its limits, and a function of
// the kernel file where it has one.
class Acceptance {
public:
	Acceptance(const char *op, const char *variant, const char *pass, Limits of, int (*own)(const triad_call *, char *, int32_t),
	           const char *constraint)
	    : name(std::string(op) + "/" + variant + " " + pass), file("spec/" + std::string(op) + ".cuh"), spec(spec_pass(op, pass)),
	      limits(std::move(of)), own(own) {
		for (Limit &l : limits) {
			if (spec != nullptr) l.find(*spec);
			words += (words.empty() ? "" : "; ") + l.words;
		}
		if (constraint != nullptr) words += (words.empty() ? "" : "; ") + std::string(constraint);
	}

	// needed says whether there is more to ask than the kernel file's own function does.
	bool needed() const { return spec != nullptr || !limits.empty(); }
	const char *constraint() const { return words.empty() ? nullptr : words.c_str(); }

	int accepts(const triad_call *call, char *why, int32_t why_bytes) const {
		Check check(why, why_bytes);
		check.that(spec != nullptr, "%s has limits, and its file does not include \"%s\"", name.c_str(), file.c_str());
		if (check.holds()) spec->fits(check, call);
		for (size_t i = 0; i < limits.size() && check.holds(); i++) {
			const Limit &l = limits[i];
			check.that(l.unknown.empty(), "%s has a limit on %s, which is not in the spec", name.c_str(), l.unknown.c_str());
			if (check.holds()) l.keeps(check, call, l);
		}
		return check.holds() && own != nullptr ? own(call, why, why_bytes) : check.status();
	}

private:
	std::string name, file, words;
	const SpecPass *spec;
	Limits limits;
	int (*own)(const triad_call *, char *, int32_t);
};

} // namespace triad
#endif

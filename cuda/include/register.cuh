// register.cuh: how a kernel file announces its variants. Included by each cuda/kernels/<op>.cu, exactly once a library.
//
//   #include "register.cuh"
//   TRIAD_KERNEL(softmax, warp, forward,
//                .contract("fp32").dtypes(triad::floats).outputs(1)
//                .limits(triad::contiguous_columns(), triad::at_most("cols", 1024)).launch(TRIAD_BY_DTYPE(softmax_fwd_warp)))
//
// op, variant and pass are plain words; after them comes a chain of fields, each named as in triad_kernel of abi.h:
//   contract(text)        a name that the spec permits; where it depends on the dtype register once a contract, with disjoint dtypes
//   dtypes(bits)          triad::bit(TRIAD_F32) | ..., or triad::floats: what the main (first) input may be
//   outputs(bits)         bit i: output i of the pass is given; the required ones always
//   nondeterministic(bits) bit i: output i may differ in its last bits from run to run (default none)
//   forward(text)         backward only: the forward variant whose saved tensors it takes when chained (default: its own name)
//   limits(l, ...)        what the kernel asks of a call beyond the spec (see limits.cuh); may be repeated
//   accepts(f)            in place of limits: TRIAD_OK, or TRIAD_UNSUPPORTED and a sentence (see arguments.cuh)
//   workspace(f)          bytes of scratch memory for this call (default none)
//   launch(f)             asynchronous on the call's stream; returns triad::launched()
//   asynchronous()        its kernels ask for instructions that run beside their threads (cp.async, mbarriers, wgmma, the copy engine): in the
//                         emulator their ordinary accesses are watched, which is slow. Where no variant says so, all of the file are
//   devices(2)            a call is spread over two GPUs (see device_pair.cuh)
//   constraint(text)      what accepts asks, in one sentence (default: the words of the limits)
//
// Where the file includes "spec/<op>.cuh" (see spec.cuh), a kernel is asked only about calls that fit the spec.
//
// Registrations have internal linkage on purpose: two libraries in one process must not share a list.
#ifndef TRIAD_REGISTER_CUH
#define TRIAD_REGISTER_CUH
#include <vector>

#include "call.cuh"
#include "limits.cuh"

namespace triad {

static std::vector<const triad_kernel *> registered;

// Registration builds one triad_kernel, field by field.
class Registration {
public:
	Registration(const char *op, const char *variant, const char *pass) : fields() {
		fields.size = sizeof fields;
		fields.op = op;
		fields.variant = variant;
		fields.pass = pass;
	}
	Registration &contract(const char *name) { fields.contract = name; return *this; }
	Registration &forward(const char *variant) { fields.forward = variant; return *this; }
	Registration &constraint(const char *sentence) { fields.constraint = sentence; return *this; }
	Registration &dtypes(uint32_t bits) { fields.dtypes = bits; return *this; }
	Registration &outputs(uint32_t bits) { fields.outputs = bits; return *this; }
	Registration &nondeterministic(uint32_t bits) { fields.nondeterministic = bits; return *this; }
	Registration &accepts(int (*f)(const triad_call *, char *, int32_t)) { fields.accepts = f; return *this; }
	Registration &workspace(int64_t (*f)(const triad_call *)) { fields.workspace = f; return *this; }
	Registration &launch(int (*f)(const triad_call *)) { fields.launch = f; return *this; }
	Registration &devices(int32_t n) { fields.devices = n; return *this; }
	Registration &asynchronous() { return *this; } // who divides a file for the emulator reads it in the text
	Registration &limits(const Limits &more) {
		asked.insert(asked.end(), more.begin(), more.end());
		return *this;
	}
	template <class... More> Registration &limits(const Limit &first, const More &...more) { return limits(Limits{first, more...}); }

	triad_kernel fields;
	Limits asked;
};

namespace { // Registrations of two files on one line have one Tag.

// AcceptedBy gives a registration, which has a type of its own as Tag, an `accepts` without an argument for it.
template <class Tag> struct AcceptedBy {
	static const Acceptance *acceptance;

	static int accepts(const triad_call *call, char *why, int32_t why_bytes) { return acceptance->accepts(call, why, why_bytes); }
};
template <class Tag> const Acceptance *AcceptedBy<Tag>::acceptance = nullptr;

} // namespace

// Registered keeps the finished entry alive for as long as the library is loaded.
class Registered {
public:
	explicit Registered(const Registration &from)
	    : kernel(from.fields),
	      acceptance(from.fields.op, from.fields.variant, from.fields.pass, from.asked, from.fields.accepts, from.fields.constraint) {
		registered.push_back(&kernel);
	}

	template <class Tag> Registered(const Registration &from, AcceptedBy<Tag>) : Registered(from) {
		if (!acceptance.needed()) return;
		AcceptedBy<Tag>::acceptance = &acceptance;
		kernel.accepts = AcceptedBy<Tag>::accepts;
		kernel.constraint = acceptance.constraint();
	}
	Registered(const Registered &) = delete;
	Registered &operator=(const Registered &) = delete;

private:
	triad_kernel kernel;
	Acceptance acceptance;
};

} // namespace triad

#define TRIAD_JOIN_(a, b) a##b
#define TRIAD_JOIN(a, b) TRIAD_JOIN_(a, b)

#define TRIAD_KERNEL(op, variant, pass, ...)                                                                                               \
	struct TRIAD_JOIN(triad_kernel_at_, __LINE__);                                                                                     \
	static const ::triad::Registered TRIAD_JOIN(triad_registered_at_, __LINE__)(                                                       \
		::triad::Registration(#op, #variant, #pass) __VA_ARGS__, ::triad::AcceptedBy<TRIAD_JOIN(triad_kernel_at_, __LINE__)>());

// TRIAD_SPILLS(kernel, bytes, "reason"); permits a __global__ function (every instantiation of it) to spill up to so many bytes.
// Without it the build test allows none. It generates no code: the test reads it from the source.
#define TRIAD_SPILLS(kernel, bytes, reason) static_assert((bytes) > 0 && sizeof(reason) > 1, "a spill needs its size and its reason")

extern "C" __attribute__((visibility("default"))) int triad_kernels(int32_t abi, const triad_kernel *const **list, int32_t *n) {
	if (abi != TRIAD_ABI) return TRIAD_UNSUPPORTED;
	*list = triad::registered.data();
	*n = static_cast<int32_t>(triad::registered.size());
	return TRIAD_OK;
}
#endif

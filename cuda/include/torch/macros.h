// macros.h: checks, dispatch over dtypes, streams, guards and bindings of torch/extension.h, which includes it.
#ifndef TRIAD_TORCH_MACROS_H
#define TRIAD_TORCH_MACROS_H

#define TORCH_CHECK(condition, ...) ((condition) ? (void)0 : ::c10::refuse(__FILE__, __LINE__, "check failed: " #condition, ##__VA_ARGS__))
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK((a) == (b), ##__VA_ARGS__)
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK((a) != (b), ##__VA_ARGS__)
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK((a) <= (b), ##__VA_ARGS__)
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK((a) < (b), ##__VA_ARGS__)
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK((a) >= (b), ##__VA_ARGS__)
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK((a) > (b), ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ASSERT(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_CHECK(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ERROR(...) ::c10::refuse(__FILE__, __LINE__, "error:", ##__VA_ARGS__)
#define TORCH_WARN(...) ((void)0)

// A CUDA error is reported after the call by whoever made it; what is not launched writes nothing.
#define C10_CUDA_CHECK(call) ((void)(call))
#define AT_CUDA_CHECK(call) ((void)(call))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)

// AT_DISPATCH_...: the last argument is called with scalar_t as the type of TYPE.
#define TRIAD_TORCH_CASE(enumerator, T, ...)   \
	case enumerator: {                     \
		using scalar_t = T;            \
		return __VA_ARGS__();          \
	}
#define TRIAD_TORCH_SWITCH(TYPE, NAME, ...)                                                              \
	[&] {                                                                                            \
		const ::c10::ScalarType triad_torch_type = TYPE;                                         \
		switch (triad_torch_type) {                                                              \
			__VA_ARGS__                                                                      \
		default: ::c10::refuse(__FILE__, __LINE__, NAME, "not implemented for", triad_torch_type); \
		}                                                                                        \
	}()
#define AT_DISPATCH_CASE(enumerator, ...) TRIAD_TORCH_CASE(enumerator, typename ::c10::TypeOf<enumerator>::type, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) TRIAD_TORCH_SWITCH(TYPE, NAME, __VA_ARGS__)
#define TRIAD_TORCH_FLOATS(...)                                        \
	TRIAD_TORCH_CASE(::c10::ScalarType::Double, double, __VA_ARGS__) \
	TRIAD_TORCH_CASE(::c10::ScalarType::Float, float, __VA_ARGS__)
#define TRIAD_TORCH_HALF(...) TRIAD_TORCH_CASE(::c10::ScalarType::Half, ::c10::Half, __VA_ARGS__)
#define TRIAD_TORCH_BFLOAT16(...) TRIAD_TORCH_CASE(::c10::ScalarType::BFloat16, ::c10::BFloat16, __VA_ARGS__)
#define TRIAD_TORCH_INTEGERS(...)                                    \
	TRIAD_TORCH_CASE(::c10::ScalarType::Byte, uint8_t, __VA_ARGS__) \
	TRIAD_TORCH_CASE(::c10::ScalarType::Char, int8_t, __VA_ARGS__) \
	TRIAD_TORCH_CASE(::c10::ScalarType::Short, int16_t, __VA_ARGS__) \
	TRIAD_TORCH_CASE(::c10::ScalarType::Int, int32_t, __VA_ARGS__) \
	TRIAD_TORCH_CASE(::c10::ScalarType::Long, int64_t, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) TRIAD_TORCH_HALF(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(TYPE1, TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) AT_DISPATCH_CASE(TYPE1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(TYPE1, TYPE2, TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) AT_DISPATCH_CASE(TYPE1, __VA_ARGS__) AT_DISPATCH_CASE(TYPE2, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_HALF(__VA_ARGS__) TRIAD_TORCH_BFLOAT16(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_INTEGERS(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) TRIAD_TORCH_INTEGERS(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) TRIAD_TORCH_INTEGERS(__VA_ARGS__) TRIAD_TORCH_HALF(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(TYPE1, TYPE2, TYPE, NAME, ...)                                                            \
	TRIAD_TORCH_SWITCH(TYPE, NAME, TRIAD_TORCH_FLOATS(__VA_ARGS__) TRIAD_TORCH_INTEGERS(__VA_ARGS__) AT_DISPATCH_CASE(TYPE1, \
	                   __VA_ARGS__) AT_DISPATCH_CASE(TYPE2, __VA_ARGS__))

namespace c10 {

template <ScalarType t> struct TypeOf { using type = float; };
template <> struct TypeOf<ScalarType::Double> { using type = double; };
template <> struct TypeOf<ScalarType::Half> { using type = Half; };
template <> struct TypeOf<ScalarType::BFloat16> { using type = BFloat16; };
template <> struct TypeOf<ScalarType::Int> { using type = int32_t; };
template <> struct TypeOf<ScalarType::Long> { using type = int64_t; };
template <> struct TypeOf<ScalarType::Byte> { using type = uint8_t; };
template <> struct TypeOf<ScalarType::Char> { using type = int8_t; };
template <> struct TypeOf<ScalarType::Bool> { using type = bool; };

namespace cuda {

// CUDAStream: the stream of the call that is judged.
struct CUDAStream {
	cudaStream_t stream_;
	cudaStream_t stream() const { return stream_; }
	operator cudaStream_t() const { return stream_; }
	void synchronize() const { cudaStreamSynchronize(stream_); }
};
inline cudaStream_t &stream_of_the_call() {
	static thread_local cudaStream_t stream = nullptr;
	return stream;
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex = 0) { return {stream_of_the_call()}; }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = 0) { return {stream_of_the_call()}; }
inline DeviceIndex current_device() { return 0; }

// CUDAGuard: there is one device.
struct CUDAGuard {
	explicit CUDAGuard(Device) {}
	explicit CUDAGuard(int) {}
};
struct OptionalCUDAGuard {
	OptionalCUDAGuard() = default;
	template <typename T> explicit OptionalCUDAGuard(const T &) {}
};
struct CUDAStreamGuard {
	explicit CUDAStreamGuard(CUDAStream) {}
};

} // namespace cuda
} // namespace c10

namespace at {
namespace cuda {
using namespace ::c10::cuda;
inline cudaDeviceProp *getCurrentDeviceProperties() {
	static cudaDeviceProp properties = [] { cudaDeviceProp p{}; cudaGetDeviceProperties(&p, 0); return p; }();
	return &properties;
}
} // namespace cuda
inline std::optional<Device> device_of(const Tensor &t) { return t.device(); }
template <typename T, bool = true> struct AccumulateType { using type = T; };
template <bool b> struct AccumulateType<Half, b> { using type = float; };
template <bool b> struct AccumulateType<BFloat16, b> { using type = float; };
template <typename T, bool b = true> using acc_type = typename AccumulateType<T, b>::type;
template <typename T, bool b = true> using opmath_type = typename AccumulateType<T, b>::type;
} // namespace at

// Bindings are read by triad from the text; here they but compile.
namespace pybind11 {
struct arg {
	explicit arg(const char *) {}
	template <typename T> arg &operator=(const T &) { return *this; }
	arg &noconvert(bool = true) { return *this; }
};
struct module_ {
	template <typename... A> module_ &def(const A &...) { return *this; }
	template <typename... A> module_ &impl(const A &...) { return *this; }
	template <typename T> module_ &attr(const T &) { return *this; }
	const char *&doc() { static const char *text = ""; return text; }
};
using module = module_;
} // namespace pybind11
namespace py = pybind11;
#define TRIAD_TORCH_JOINED(a, b) a##b
#define TRIAD_TORCH_NAMED(a, b) TRIAD_TORCH_JOINED(a, b)
#define PYBIND11_MODULE(name, m) [[maybe_unused]] static void TRIAD_TORCH_NAMED(triad_torch_module_, __COUNTER__)(::pybind11::module_ & m)
#define TORCH_LIBRARY(name, m) PYBIND11_MODULE(name, m)
#define TORCH_LIBRARY_FRAGMENT(name, m) PYBIND11_MODULE(name, m)
#define TORCH_LIBRARY_IMPL(name, key, m) PYBIND11_MODULE(name, m)
#define TORCH_FN(function) &function
#define TORCH_EXTENSION_NAME of_the_file
#endif

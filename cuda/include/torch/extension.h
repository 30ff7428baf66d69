// torch/extension.h: what files of CUDA kernels use of PyTorch's C++ interface, for the emulator and for nvcc where triad compiles such a file.
// A Tensor is memory of the device with sizes and strides; operators of torch's (matmul, sum, softmax) are not here: a file that uses one is
// UNSUPPORTED. The names are torch's own; all is ours. See docs/own-kernels.md.
#ifndef TRIAD_TORCH_EXTENSION_H
#define TRIAD_TORCH_EXTENSION_H
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "torch/narrow.h"

namespace c10 {

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool = 11, BFloat16 = 15, Undefined = 100 };
enum class DeviceType : int8_t { CPU, CUDA };
using DeviceIndex = int8_t;
using std::nullopt;
template <typename T> using optional = std::optional<T>;

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short, kInt = ScalarType::Int, kLong = ScalarType::Long,
                     kHalf = ScalarType::Half, kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kUInt8 = ScalarType::Byte, kInt8 = ScalarType::Char, kInt16 = ScalarType::Short,
                     kInt32 = ScalarType::Int, kInt64 = ScalarType::Long, kFloat16 = ScalarType::Half, kFloat32 = ScalarType::Float,
                     kFloat64 = ScalarType::Double, kF16 = ScalarType::Half, kF32 = ScalarType::Float;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

class Error : public std::runtime_error {
	using std::runtime_error::runtime_error;
};

template <typename... Words> [[noreturn]] void refuse(const char *file, int line, const char *what, const Words &...words) {
	std::ostringstream text;
	text << file << ":" << line << ": " << what;
	(void)std::initializer_list<int>{((text << (sizeof...(Words) > 0 ? " " : "") << words), 0)...};
	throw Error(text.str());
}

template <typename T> struct ScalarTypeOf;
#define TRIAD_TORCH_TYPE(type, name)                       \
	template <> struct ScalarTypeOf<type> {            \
		static constexpr ScalarType value = ScalarType::name; \
	};
TRIAD_TORCH_TYPE(uint8_t, Byte)
TRIAD_TORCH_TYPE(int8_t, Char)
TRIAD_TORCH_TYPE(int16_t, Short)
TRIAD_TORCH_TYPE(int32_t, Int)
TRIAD_TORCH_TYPE(long, Long)
TRIAD_TORCH_TYPE(long long, Long)
TRIAD_TORCH_TYPE(float, Float)
TRIAD_TORCH_TYPE(double, Double)
TRIAD_TORCH_TYPE(bool, Bool)
TRIAD_TORCH_TYPE(Half, Half)
TRIAD_TORCH_TYPE(BFloat16, BFloat16)
TRIAD_TORCH_TYPE(__half, Half)
TRIAD_TORCH_TYPE(__nv_bfloat16, BFloat16)
#undef TRIAD_TORCH_TYPE
template <typename T> struct ScalarTypeOf<const T> : ScalarTypeOf<T> {};
template <typename T> struct CppTypeToScalarType : ScalarTypeOf<T> {};

inline size_t elementSize(ScalarType t) {
	switch (t) {
	case ScalarType::Byte: case ScalarType::Char: case ScalarType::Bool: return 1;
	case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
	case ScalarType::Int: case ScalarType::Float: return 4;
	default: return 8;
	}
}

inline const char *toString(ScalarType t) {
	switch (t) {
	case ScalarType::Byte: return "Byte";
	case ScalarType::Char: return "Char";
	case ScalarType::Short: return "Short";
	case ScalarType::Int: return "Int";
	case ScalarType::Long: return "Long";
	case ScalarType::Half: return "Half";
	case ScalarType::Float: return "Float";
	case ScalarType::Double: return "Double";
	case ScalarType::Bool: return "Bool";
	case ScalarType::BFloat16: return "BFloat16";
	default: return "Undefined";
	}
}
inline std::ostream &operator<<(std::ostream &to, ScalarType t) { return to << toString(t); }

struct Device {
	Device(DeviceType type, DeviceIndex index = 0) : type_(type), index_(index) {}
	Device(const std::string &name) : type_(name.compare(0, 4, "cuda") == 0 ? DeviceType::CUDA : DeviceType::CPU) {}
	Device(const char *name) : Device(std::string(name)) {}
	DeviceType type() const { return type_; }
	DeviceIndex index() const { return index_; }
	bool is_cuda() const { return type_ == DeviceType::CUDA; }
	bool is_cpu() const { return type_ == DeviceType::CPU; }
	bool operator==(const Device &other) const { return type_ == other.type_ && index_ == other.index_; }
	bool operator!=(const Device &other) const { return !(*this == other); }

private:
	DeviceType type_;
	DeviceIndex index_ = 0;
};
inline std::ostream &operator<<(std::ostream &to, Device d) { return to << (d.is_cuda() ? "cuda" : "cpu"); }

// IntArrayRef: sizes or strides, as torch takes and prints them.
class IntArrayRef {
public:
	IntArrayRef() = default;
	IntArrayRef(std::initializer_list<int64_t> list) : values(list) {}
	IntArrayRef(std::vector<int64_t> list) : values(std::move(list)) {}
	IntArrayRef(int64_t one) : values{one} {}
	size_t size() const { return values.size(); }
	bool empty() const { return values.empty(); }
	int64_t operator[](size_t i) const { return values.at(i); }
	int64_t front() const { return values.front(); }
	int64_t back() const { return values.back(); }
	const int64_t *data() const { return values.data(); }
	auto begin() const { return values.begin(); }
	auto end() const { return values.end(); }
	std::vector<int64_t> vec() const { return values; }
	bool equals(const IntArrayRef &other) const { return values == other.values; }
	bool operator==(const IntArrayRef &other) const { return values == other.values; }
	bool operator!=(const IntArrayRef &other) const { return values != other.values; }

private:
	std::vector<int64_t> values;
};
inline std::ostream &operator<<(std::ostream &to, const IntArrayRef &list) {
	to << "[";
	for (size_t i = 0; i < list.size(); i++) to << (i ? ", " : "") << list[i];
	return to << "]";
}

struct TensorOptions {
	TensorOptions() = default;
	TensorOptions(ScalarType type) : type_(type) {}
	TensorOptions(Device device) : device_(device) {}
	TensorOptions(DeviceType device) : device_(device) {}
	TensorOptions dtype(ScalarType type) const { TensorOptions o = *this; o.type_ = type; return o; }
	TensorOptions device(Device device) const { TensorOptions o = *this; o.device_ = device; return o; }
	TensorOptions device(DeviceType device, DeviceIndex = 0) const { TensorOptions o = *this; o.device_ = Device(device); return o; }
	TensorOptions requires_grad(bool = true) const { return *this; }
	TensorOptions layout(int) const { return *this; }
	TensorOptions memory_format(int) const { return *this; }
	ScalarType dtype() const { return type_; }
	Device device() const { return device_; }

private:
	ScalarType type_ = ScalarType::Float;
	Device device_ = DeviceType::CPU;
};
inline TensorOptions CUDA(ScalarType type) { return TensorOptions(type).device(DeviceType::CUDA); } // of old versions: torch::CUDA(torch::kFloat)
inline std::ostream &operator<<(std::ostream &to, const TensorOptions &o) {
	return to << "TensorOptions(dtype=" << o.dtype() << ", device=" << o.device() << ")";
}

} // namespace c10

#include "torch/tensor.h"
#include "torch/macros.h"

// The other headers of torch's that such files include: each is this one.
#include "ATen/ATen.h"
#include "ATen/AccumulateType.h"
#include "ATen/Dispatch.h"
#include "ATen/cuda/CUDAContext.h"
#include "ATen/cuda/Exceptions.h"
#include "c10/cuda/CUDAException.h"
#include "c10/cuda/CUDAGuard.h"
#include "c10/cuda/CUDAStream.h"
#include "c10/util/Half.h"
#include "pybind11/pybind11.h"
#include "pybind11/stl.h"
#include "torch/all.h"
#include "torch/library.h"
#include "torch/python.h"
#include "torch/script.h"
#include "torch/torch.h"
#include "torch/types.h"
#endif

// tensor.h: at::Tensor as files of kernels use it, its factories and accessors. torch/extension.h includes it.
#ifndef TRIAD_TORCH_TENSOR_H
#define TRIAD_TORCH_TENSOR_H

namespace at {

using namespace c10; // torch and at have the same names

// type(): what x.type() answered before scalar_type() was there.
struct DeprecatedType {
	ScalarType type;
	bool is_cuda() const { return true; }
	ScalarType scalarType() const { return type; }
	operator ScalarType() const { return type; }
};

template <typename T> struct DefaultPtrTraits { using PtrType = T *; };
template <typename T> struct RestrictPtrTraits { using PtrType = T *__restrict__; };

// Indexed: x[i][j] over memory of the device, with the strides of the tensor. index is int32_t or int64_t.
template <typename T, size_t N, typename index> class Indexed {
public:
	__host__ __device__ Indexed(T *data, const index *sizes, const index *strides) : data_(data), sizes_(sizes), strides_(strides) {}
	__host__ __device__ auto operator[](index i) const { return Indexed<T, N - 1, index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1); }
	__host__ __device__ index size(index d) const { return sizes_[d]; }
	__host__ __device__ index stride(index d) const { return strides_[d]; }
	__host__ __device__ T *data() const { return data_; }

private:
	T *data_;
	const index *sizes_, *strides_;
};
template <typename T, typename index> class Indexed<T, 1, index> {
public:
	__host__ __device__ Indexed(T *data, const index *sizes, const index *strides) : data_(data), sizes_(sizes), strides_(strides) {}
	__host__ __device__ T &operator[](index i) const { return data_[i * strides_[0]]; }
	__host__ __device__ index size(index d) const { return sizes_[d]; }
	__host__ __device__ index stride(index d) const { return strides_[d]; }
	__host__ __device__ T *data() const { return data_; }

private:
	T *data_;
	const index *sizes_, *strides_;
};

// GenericPackedTensorAccessor: the same, with its sizes and strides in it, so that a kernel can take it by value.
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename index = int64_t> class GenericPackedTensorAccessor {
public:
	GenericPackedTensorAccessor(T *data, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) : data_(data) {
		for (size_t d = 0; d < N; d++) sizes_[d] = static_cast<index>(sizes[d]), strides_[d] = static_cast<index>(strides[d]);
	}
	__host__ __device__ decltype(auto) operator[](index i) { return Indexed<T, N, index>(data_, sizes_, strides_)[i]; }
	__host__ __device__ decltype(auto) operator[](index i) const { return Indexed<T, N, index>(data_, sizes_, strides_)[i]; }
	__host__ __device__ index size(index d) const { return sizes_[d]; }
	__host__ __device__ index stride(index d) const { return strides_[d]; }
	__host__ __device__ T *data() const { return data_; }

private:
	T *data_;
	index sizes_[N], strides_[N];
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, index>;

class Tensor {
public:
	Tensor() = default;
	// A tensor over memory that somebody else frees.
	Tensor(void *data, std::vector<int64_t> sizes, ScalarType type) : memory(data, [](void *) {}), sizes_(std::move(sizes)), type_(type) { pack(); }

	// made: memory of its own. What is on the CPU lies on the device too: it can be filled and moved to the GPU, and its elements cannot be
	// reached from there.
	static Tensor made(const IntArrayRef &sizes, ScalarType type, bool on_cpu = false) {
		Tensor t(nullptr, sizes.vec(), type);
		t.on_cpu = on_cpu;
		if (t.numel() > 0) {
			void *data = nullptr;
			if (cudaMalloc(&data, t.nbytes()) != cudaSuccess) throw Error("torch::empty: out of memory");
			t.memory.reset(data, [](void *p) { cudaFree(p); });
		}
		return t;
	}

	int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
	int64_t ndimension() const { return dim(); }
	int64_t size(int64_t d) const { return sizes_.at(static_cast<size_t>(d < 0 ? d + dim() : d)); }
	int64_t stride(int64_t d) const { return strides_.at(static_cast<size_t>(d < 0 ? d + dim() : d)); }
	IntArrayRef sizes() const { return sizes_; }
	IntArrayRef strides() const { return strides_; }
	int64_t numel() const {
		int64_t n = 1;
		for (int64_t s : sizes_) n *= s;
		return n;
	}
	size_t element_size() const { return elementSize(type_); }
	size_t itemsize() const { return element_size(); }
	size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
	ScalarType scalar_type() const { return type_; }
	ScalarType dtype() const { return type_; }
	DeprecatedType type() const { return {type_}; }
	Device device() const { return Device(on_cpu ? DeviceType::CPU : DeviceType::CUDA); }
	DeviceIndex get_device() const { return 0; }
	TensorOptions options() const { return TensorOptions(type_).device(device()); }
	bool is_cuda() const { return !on_cpu; }
	bool is_cpu() const { return on_cpu; }
	bool is_contiguous(int = 0) const { return true; }
	bool defined() const { return type_ != ScalarType::Undefined; }
	bool requires_grad() const { return false; }
	bool is_floating_point() const { return type_ == ScalarType::Float || type_ == ScalarType::Double || type_ == ScalarType::Half || type_ == ScalarType::BFloat16; }
	bool is_same(const Tensor &other) const { return memory == other.memory; }
	Tensor contiguous(int = 0) const { return *this; }
	Tensor detach() const { return *this; }
	Tensor set_requires_grad(bool) const { return *this; }

	Tensor to(Device device) const {
		Tensor t = *this;
		t.on_cpu = device.is_cpu();
		return t;
	}
	Tensor to(ScalarType type) const {
		if (type != type_) refuse("to", 0, "triad's torch/extension.h converts no elements, here to", type);
		return *this;
	}
	Tensor to(const TensorOptions &options) const { return to(options.dtype()).to(options.device()); }
	Tensor cuda() const { return to(Device(DeviceType::CUDA)); }

	void *data_ptr() const {
		if (on_cpu) throw Error("data_ptr of a tensor on the CPU: triad's torch/extension.h has elements on the GPU alone");
		return memory.get();
	}
	void *mutable_data_ptr() const { return data_ptr(); }
	const void *const_data_ptr() const { return data_ptr(); }
	template <typename T> T *data_ptr() const {
		if (ScalarTypeOf<T>::value != type_)
			throw Error(std::string("expected scalar type ") + toString(ScalarTypeOf<T>::value) + " but found " + toString(type_));
		return static_cast<T *>(data_ptr());
	}
	template <typename T> T *mutable_data_ptr() const { return data_ptr<T>(); }
	template <typename T> const T *const_data_ptr() const { return data_ptr<T>(); }
	template <typename T> T *data() const { return data_ptr<T>(); }

	template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits> auto packed_accessor32() const {
		return PackedTensorAccessor32<T, N, Traits>(data_ptr<T>(), ranked(N), strides_);
	}
	template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits> auto packed_accessor64() const {
		return PackedTensorAccessor64<T, N, Traits>(data_ptr<T>(), ranked(N), strides_);
	}
	template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename index = int64_t> auto packed_accessor() const {
		return GenericPackedTensorAccessor<T, N, Traits, index>(data_ptr<T>(), ranked(N), strides_);
	}

	// view: other sizes over the same memory; one of them may be -1.
	Tensor view(const IntArrayRef &sizes) const {
		std::vector<int64_t> whole = sizes.vec();
		int64_t known = 1;
		for (int64_t s : whole) known *= s < 0 ? 1 : s;
		for (int64_t &s : whole)
			if (s < 0) s = known ? numel() / known : 0;
		Tensor t = *this;
		t.sizes_ = whole;
		t.pack();
		if (t.numel() != numel()) refuse("view", 0, "shape is invalid:", sizes);
		return t;
	}
	Tensor reshape(const IntArrayRef &sizes) const { return view(sizes); }
	Tensor view_as(const Tensor &other) const { return view(other.sizes()); }
	Tensor flatten(int64_t first = 0, int64_t last = -1) const {
		std::vector<int64_t> all;
		last = last < 0 ? last + dim() : last;
		for (int64_t d = 0; d < dim(); d++) {
			if (d > first && d <= last) all.back() *= size(d);
			else all.push_back(size(d));
		}
		return view(all);
	}
	Tensor unsqueeze(int64_t d) const {
		std::vector<int64_t> all = sizes_;
		all.insert(all.begin() + (d < 0 ? d + dim() + 1 : d), 1);
		return view(all);
	}
	Tensor squeeze(int64_t d) const {
		std::vector<int64_t> all = sizes_;
		d = d < 0 ? d + dim() : d;
		if (all.at(static_cast<size_t>(d)) == 1) all.erase(all.begin() + d);
		return view(all);
	}

	// select(0, i), x[i] and index({i, j}): a part over the same memory, of which the first sizes are left out.
	Tensor operator[](int64_t i) const {
		const int64_t n = size(0), at = i < 0 ? i + n : i;
		if (at < 0 || at >= n) refuse("select", 0, "index out of range:", i);
		Tensor t = *this;
		t.sizes_.erase(t.sizes_.begin());
		t.pack();
		t.memory = std::shared_ptr<void>(memory, static_cast<char *>(memory.get()) + at * static_cast<int64_t>(t.nbytes()));
		return t;
	}
	Tensor select(int64_t d, int64_t i) const {
		if (d != 0 && d != -dim()) refuse("select", 0, "triad's torch/extension.h has parts of the first size alone, here of", d);
		return (*this)[i];
	}
	Tensor index(std::initializer_list<int64_t> places) const {
		Tensor t = *this;
		for (int64_t i : places) t = t[i];
		return t;
	}

	Tensor &zero_() {
		if (numel() > 0) cudaMemset(memory.get(), 0, nbytes());
		return *this;
	}
	Tensor &fill_(double value);
	Tensor &copy_(const Tensor &other) {
		if (other.numel() != numel() || other.type_ != type_) refuse("copy_", 0, "other sizes or another dtype:", other.sizes());
		if (numel() > 0) cudaMemcpy(memory.get(), other.memory.get(), nbytes(), cudaMemcpyDeviceToDevice);
		return *this;
	}
	// see reduce.h; what torch takes for dtype stays out
	Tensor sum() const;
	Tensor sum(const IntArrayRef &dims, bool keep = false) const;
	Tensor mean() const;
	Tensor mean(const IntArrayRef &dims, bool keep = false) const;
	template <typename T> T item() const;
	Tensor clone() const { return made(sizes_, type_, on_cpu).copy_(*this); }
	void write_from_host(const void *values) {
		if (numel() > 0) cudaMemcpy(memory.get(), values, nbytes(), cudaMemcpyHostToDevice);
	}

	void read_to_host(void *values) const {
		if (numel() > 0) cudaMemcpy(values, memory.get(), nbytes(), cudaMemcpyDeviceToHost);
	}

private:
	std::shared_ptr<void> memory;
	std::vector<int64_t> sizes_, strides_;
	ScalarType type_ = ScalarType::Undefined;
	bool on_cpu = false;

	void pack() {
		strides_.assign(sizes_.size(), 1);
		for (size_t d = sizes_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * std::max<int64_t>(sizes_[d], 1);
	}
	const std::vector<int64_t> &ranked(size_t n) const {
		if (sizes_.size() != n) refuse("accessor", 0, "expected another number of dims than", dim());
		return sizes_;
	}
};

template <typename T> void fill_with(Tensor &t, T value) {
	std::vector<T> all(static_cast<size_t>(t.numel()), value);
	t.write_from_host(all.data());
}
template <> inline void fill_with<bool>(Tensor &t, bool value) { fill_with<uint8_t>(t, value); }

inline Tensor &Tensor::fill_(double value) {
	switch (type_) {
	case ScalarType::Double: fill_with<double>(*this, value); break;
	case ScalarType::Half: fill_with<Half>(*this, Half(static_cast<float>(value))); break;
	case ScalarType::BFloat16: fill_with<BFloat16>(*this, BFloat16(static_cast<float>(value))); break;
	case ScalarType::Float: fill_with<float>(*this, static_cast<float>(value)); break;
	case ScalarType::Long: fill_with<int64_t>(*this, static_cast<int64_t>(value)); break;
	case ScalarType::Int: fill_with<int32_t>(*this, static_cast<int32_t>(value)); break;
	case ScalarType::Short: fill_with<int16_t>(*this, static_cast<int16_t>(value)); break;
	default: fill_with<uint8_t>(*this, static_cast<uint8_t>(value));
	}
	return *this;
}

inline Tensor empty(const IntArrayRef &sizes, const TensorOptions &options = {}) {
	return Tensor::made(sizes, options.dtype(), options.device().is_cpu());
}
inline Tensor full(const IntArrayRef &sizes, double value, const TensorOptions &options = {}) { return empty(sizes, options).fill_(value); }
inline Tensor zeros(const IntArrayRef &sizes, const TensorOptions &options = {}) { return empty(sizes, options).zero_(); }
inline Tensor ones(const IntArrayRef &sizes, const TensorOptions &options = {}) { return full(sizes, 1, options); }
inline Tensor empty_like(const Tensor &t) { return empty(t.sizes(), t.options()); }
inline Tensor empty_like(const Tensor &t, const TensorOptions &o) { return empty(t.sizes(), o.device(t.device())); }
inline Tensor zeros_like(const Tensor &t) { return empty_like(t).zero_(); }
inline Tensor zeros_like(const Tensor &t, const TensorOptions &o) { return empty_like(t, o).zero_(); }
inline Tensor ones_like(const Tensor &t) { return empty_like(t).fill_(1); }
inline Tensor full_like(const Tensor &t, double value) { return empty_like(t).fill_(value); }

} // namespace at

#include "torch/reduce.h"

namespace at {

inline int64_t numel(const Tensor &t) { return t.numel(); }
inline int64_t size(const Tensor &t, int64_t dim) { return t.size(dim); }

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device d) { return TensorOptions(d); }

} // namespace at

namespace torch {
using namespace at;
} // namespace torch
#endif

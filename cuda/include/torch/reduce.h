// Sums and means of tensors, and tensors of values, as torch's functions of these names: on the host, in double, rounded once.
#ifndef TRIAD_TORCH_REDUCE_H
#define TRIAD_TORCH_REDUCE_H

namespace at {

template <typename T> std::vector<double> values_as(const Tensor &t) {
	std::vector<T> all(static_cast<size_t>(t.numel()));
	t.read_to_host(all.data());
	std::vector<double> out;
	for (const T &v : all) {
		if constexpr (std::is_arithmetic_v<T>) out.push_back(static_cast<double>(v));
		else out.push_back(static_cast<float>(v));
	}
	return out;
}
inline std::vector<double> values_of(const Tensor &t) {
	switch (t.scalar_type()) {
	case ScalarType::Double: return values_as<double>(t);
	case ScalarType::Float: return values_as<float>(t);
	case ScalarType::Half: return values_as<Half>(t);
	case ScalarType::BFloat16: return values_as<BFloat16>(t);
	case ScalarType::Long: return values_as<int64_t>(t);
	case ScalarType::Int: return values_as<int32_t>(t);
	case ScalarType::Short: return values_as<int16_t>(t);
	case ScalarType::Char: return values_as<int8_t>(t);
	default: return values_as<uint8_t>(t);
	}
}

template <typename T> void put_values(Tensor &t, const std::vector<double> &values) {
	std::vector<T> all;
	for (double v : values) all.push_back(static_cast<T>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, double, float>>(v)));
	t.write_from_host(all.data());
}
inline Tensor with_values(Tensor t, const std::vector<double> &values) {
	switch (t.scalar_type()) {
	case ScalarType::Double: put_values<double>(t, values); break;
	case ScalarType::Float: put_values<float>(t, values); break;
	case ScalarType::Half: put_values<Half>(t, values); break;
	case ScalarType::BFloat16: put_values<BFloat16>(t, values); break;
	case ScalarType::Long: put_values<int64_t>(t, values); break;
	case ScalarType::Int: put_values<int32_t>(t, values); break;
	case ScalarType::Short: put_values<int16_t>(t, values); break;
	case ScalarType::Char: put_values<int8_t>(t, values); break;
	default: put_values<uint8_t>(t, values);
	}
	return t;
}

// reduced adds a tensor up along some dims, all where there is none, and divides by their elements for a mean.
inline Tensor reduced(const Tensor &t, const IntArrayRef &dims, bool keep, bool mean) {
	std::vector<bool> along(static_cast<size_t>(t.dim()), dims.empty());
	for (int64_t d : dims) along.at(static_cast<size_t>(d < 0 ? d + t.dim() : d)) = true;
	std::vector<int64_t> sizes, strides(along.size(), 0);
	int64_t left = 1, count = 1;
	for (size_t d = along.size(); d-- > 0;) {
		const int64_t n = t.size(static_cast<int64_t>(d));
		if (along[d]) {
			count *= n;
			if (keep) sizes.insert(sizes.begin(), 1);
		} else {
			strides[d] = left;
			left *= n;
			sizes.insert(sizes.begin(), n);
		}
	}
	const std::vector<double> all = values_of(t);
	std::vector<double> sums(static_cast<size_t>(left), 0.0);
	for (size_t i = 0; i < all.size(); i++) {
		int64_t rest = static_cast<int64_t>(i), at = 0;
		for (size_t d = along.size(); d-- > 0; rest /= t.size(static_cast<int64_t>(d))) at += rest % t.size(static_cast<int64_t>(d)) * strides[d];
		sums[static_cast<size_t>(at)] += all[i];
	}
	if (mean)
		for (double &s : sums) s /= static_cast<double>(count);
	const bool whole = !t.is_floating_point();
	if (mean && whole) refuse("mean", 0, "could not infer output dtype: input dtype must be floating point, got", t.scalar_type());
	return with_values(Tensor::made(sizes, whole ? ScalarType::Long : t.scalar_type(), t.is_cpu()), sums);
}

inline Tensor Tensor::sum() const { return reduced(*this, {}, false, false); }
inline Tensor Tensor::sum(const IntArrayRef &dims, bool keep) const { return reduced(*this, dims, keep, false); }
inline Tensor Tensor::mean() const { return reduced(*this, {}, false, true); }
inline Tensor Tensor::mean(const IntArrayRef &dims, bool keep) const { return reduced(*this, dims, keep, true); }
template <typename T> T Tensor::item() const {
	if (numel() != 1) refuse("item", 0, "a tensor with this many elements cannot be converted to Scalar:", numel());
	return static_cast<T>(values_of(*this)[0]);
}
inline Tensor sum(const Tensor &t) { return t.sum(); }
inline Tensor sum(const Tensor &t, const IntArrayRef &dims, bool keep = false) { return t.sum(dims, keep); }
inline Tensor mean(const Tensor &t) { return t.mean(); }
inline Tensor mean(const Tensor &t, const IntArrayRef &dims, bool keep = false) { return t.mean(dims, keep); }

// tensor: of a list or of one value, which has no dims. Without options the dtype is that of the values: Float of floating point, Long of integers.
template <typename T> constexpr ScalarType type_of_values = std::is_same_v<T, bool> ? ScalarType::Bool : std::is_integral_v<T> ? ScalarType::Long : ScalarType::Float;
template <typename T> Tensor tensor_of(const std::vector<T> &values, const std::vector<int64_t> &sizes, const TensorOptions &options) {
	return with_values(empty(sizes, options), std::vector<double>(values.begin(), values.end()));
}
template <typename T> Tensor tensor(std::initializer_list<T> values, const TensorOptions &options = type_of_values<T>) {
	return tensor_of(std::vector<T>(values), {static_cast<int64_t>(values.size())}, options);
}
template <typename T> Tensor tensor(const std::vector<T> &values, const TensorOptions &options = type_of_values<T>) {
	return tensor_of(values, {static_cast<int64_t>(values.size())}, options);
}
template <typename T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Tensor tensor(T value, const TensorOptions &options = type_of_values<T>) {
	return tensor_of(std::vector<T>{value}, {}, options);
}

} // namespace at
#endif

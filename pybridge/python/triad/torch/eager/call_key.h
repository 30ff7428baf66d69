// Which call it is: what tells calls apart, as numbers. Whatever is no plain call has no key.
#ifndef TRIAD_EAGER_CALL_KEY_H
#define TRIAD_EAGER_CALL_KEY_H
#include <Python.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "launch.h"
#include "plan.h"

namespace triad_eager {

struct Hash {
	size_t operator()(const std::vector<int64_t> &key) const {
		uint64_t h = 1469598103934665603u;
		for (const int64_t k : key) h = (h ^ static_cast<uint64_t>(k)) * 1099511628211u;
		return h ^ h >> 29;
	}
};

struct Operator {
	std::unordered_map<std::vector<int64_t>, std::shared_ptr<const Plan>, Hash> plans;
	std::vector<int64_t> key;  // of the call at hand; the GIL guards it
};

constexpr size_t kPlans = 10000;  // that are remembered of an operator, and words

inline std::vector<Operator> operators;
inline PyObject *words = nullptr;     // implementations and attributes, numbered

inline bool plain_state() {
	using c10::DispatchKey;
	const auto local = c10::impl::tls_local_dispatch_key_set();
	const c10::DispatchKeySet usual({DispatchKey::BackendSelect, DispatchKey::ADInplaceOrView, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
	const bool inference = c10::InferenceMode::is_enabled();
	return (local.included_.raw_repr() & ~usual.raw_repr()) == 0 && (inference || !local.excluded_.has(DispatchKey::AutogradFunctionality)) &&
	       !c10::impl::dispatch_mode_enabled() && !at::impl::torch_function_mode_enabled() && !torch::jit::tracer::isTracing();
}

inline bool plain(const Tensor &t) {
	using c10::DispatchKey;
	static const c10::DispatchKeySet usual({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA,
	                                        DispatchKey::ADInplaceOrView, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
	return (t.key_set().raw_repr() & ~usual.raw_repr()) == 0 && t.layout() == at::kStrided && !t.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
	       !t._fw_grad(0).defined();
}

// Adds what of a tensor tells calls apart.
inline void append(std::vector<int64_t> &key, const Tensor &t) {
	key.push_back(static_cast<int64_t>(t.scalar_type()) << 32 | static_cast<int64_t>(t.device().type()) << 16 | static_cast<uint16_t>(t.device().index()));
	key.push_back(t.dim());
	for (const int64_t s : t.sizes()) key.push_back(s);
}

// The number of a word, -1 for one that is new, unless it is to be added. It may not be hashable: no number either.
inline int64_t word(PyObject *value, bool add) {
	PyObject *found = PyDict_GetItemWithError(words, value);
	if (found != nullptr) return PyLong_AsLongLong(found);
	if (PyErr_Occurred() != nullptr) PyErr_Clear();
	else if (add) {
		PyObject *n = PyLong_FromSsize_t(PyDict_GET_SIZE(words));
		const int failed = n == nullptr ? -1 : PyDict_SetItem(words, value, n);
		Py_XDECREF(n);
		if (failed == 0) return PyDict_GET_SIZE(words) - 1;
		PyErr_Clear();
	}
	return -1;
}

// Writes the key of a call; false for one that does not come this way.
inline bool key_of(std::vector<int64_t> &key, PyObject *tensors, PyObject *impl, PyObject *keywords, bool add, std::vector<Tensor> *found) {
	key.clear();
	if (!PyTuple_CheckExact(tensors) || !PyDict_CheckExact(keywords) || PyTuple_GET_SIZE(tensors) == 0 || PyTuple_GET_SIZE(tensors) > 16) return false;
	key.push_back(word(impl, add));
	if (key.back() < 0) return false;
	PyObject *name = nullptr, *value = nullptr;
	Py_ssize_t at = 0;
	while (PyDict_Next(keywords, &at, &name, &value) != 0) {
		key.push_back(word(name, add));
		key.push_back(word(value, add));
		if (key.back() < 0 || key[key.size() - 2] < 0) return false;
	}
	bool gradient = false;
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
		PyObject *o = PyTuple_GET_ITEM(tensors, i);
		if (!THPVariable_CheckExact(o)) return false;
		const Tensor &t = THPVariable_Unpack(o);
		if (!plain(t) || (i == 0 && at::autocast::is_autocast_enabled(t.device().type()))) return false;
		gradient = gradient || t.requires_grad();
		append(key, t);
		if (found != nullptr) found->push_back(t);
	}
	key.push_back(gradient && c10::GradMode::is_enabled());
	return true;
}

}  // namespace triad_eager
#endif

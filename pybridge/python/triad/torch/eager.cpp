// The eager path of the CUDA operators in C++: from the arguments of a call in Python to the launch of the kernel, with autograd, past torch's
// dispatcher. extension.py builds it on first use; direct.py is the same path in Python.
//
// A call is looked up by what tells calls apart: implementation, attributes, and the dtypes, devices and sizes of its tensors. What is found is a
// Plan, which Python made when the call was first seen. Whatever is not a plain call (unknown, traced, a subclass of a tensor, a mode, a
// transform) gets NotImplemented, and takes the way through torch.ops.
#include <Python.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "abi.h"

namespace {

using at::Tensor;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

constexpr int kMaxRank = 6;
constexpr size_t kPlans = 10000;  // that are remembered, and words

// ---- what Python describes --------------------------------------------------------------------------------------------------------------

struct Result {
	std::vector<int64_t> shape;
	at::ScalarType dtype;
	bool given;  // by this kernel; else its place stays empty
	bool rows;   // all dims but the last are the kernel's first
	int64_t of;  // backward: the input whose gradient it is
};

struct Source {
	int64_t index;  // a forward: the input. A backward: an input, behind the inputs an output; -1 - n: the gradient of output n
	bool rows;
};

struct Pass {
	const triad_kernel *kernel;
	std::string name;
	std::vector<double> attributes;
	std::vector<Source> inputs;
	std::vector<Result> results;
};

struct Plan {
	Pass forward;
	std::optional<Pass> backward;  // where an input requires a gradient
	std::vector<int64_t> kept;     // the outputs that the caller gets
};

// A kernel does not take a call: triad.UsageError.
struct Declined : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// A launch did not succeed: triad.TriadError.
struct Failed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

PyObject *declined = nullptr, *failed = nullptr;  // the classes

// Throws an exception of Python's through torch's autograd, which hands it to whoever called backward. Nobody here has the GIL.
[[noreturn]] void throw_python(PyObject *kind, const std::exception &e) {
	python_error carried;
	const PyGILState_STATE state = PyGILState_Ensure();
	PyErr_SetString(kind, e.what());
	carried.persist();
	PyGILState_Release(state);
	throw carried;
}

int32_t number(at::ScalarType t) {
	switch (t) {
	case at::kDouble: return TRIAD_F64;
	case at::kFloat: return TRIAD_F32;
	case at::kHalf: return TRIAD_F16;
	case at::kBFloat16: return TRIAD_BF16;
	case at::kFloat8_e4m3fn: return TRIAD_E4M3;
	case at::kFloat8_e5m2: return TRIAD_E5M2;
	default: throw Declined("a dtype that no kernel takes");
	}
}

// ---- one launch -------------------------------------------------------------------------------------------------------------------------

// A tensor as the kernel sees it. False where the leading dims of rows do not lie as one.
bool describe(triad_tensor &into, const Tensor &t, bool rows) {
	const auto sizes = t.sizes(), strides = t.strides();
	const int64_t rank = t.dim();
	into.data = t.data_ptr();
	into.dtype = number(t.scalar_type());
	if (!rows || rank == 2) {
		if (rank > kMaxRank) throw Declined("a tensor of more than 6 dims");
		into.rank = static_cast<int32_t>(rank);
		std::copy(sizes.begin(), sizes.end(), into.shape);
		std::copy(strides.begin(), strides.end(), into.stride);
		return true;
	}
	int64_t count = 1, step = 0;
	for (int64_t i = rank - 2; i >= 0; i--) {
		if (sizes[i] != 1 && t.numel() > 0) {
			if (count == 1) step = strides[i];
			if (strides[i] != step * count) return false;
		}
		count *= sizes[i];
	}
	into.rank = 2;
	into.shape[0] = count;
	into.shape[1] = sizes[rank - 1];
	into.stride[0] = count > 1 ? step : sizes[rank - 1];
	into.stride[1] = strides[rank - 1];
	return true;
}

std::vector<Tensor> launch(const Pass &pass, std::vector<Tensor> inputs) {
	const c10::Device device = inputs[0].device();
	const c10::DeviceGuard on(device);
	const c10::impl::VirtualGuardImpl guard(device.type());
	std::vector<Tensor> outputs(pass.results.size());
	triad_tensor in[16], out[16];
	for (size_t i = 0; i < inputs.size(); i++) {
		if (!describe(in[i], inputs[i], pass.inputs[i].rows)) {
			inputs[i] = inputs[i].contiguous();
			describe(in[i], inputs[i], pass.inputs[i].rows);
		}
	}
	for (size_t i = 0; i < outputs.size(); i++) {
		const Result &r = pass.results[i];
		std::memset(&out[i], 0, sizeof out[i]);
		if (!r.given) continue;
		outputs[i] = at::empty(r.shape, at::TensorOptions(r.dtype).device(device));
		describe(out[i], outputs[i], r.rows);
	}
	triad_call call{};
	call.size = sizeof call;
	call.n_in = static_cast<int32_t>(inputs.size());
	call.n_out = static_cast<int32_t>(outputs.size());
	call.n_attr = static_cast<int32_t>(pass.attributes.size());
	call.in = in;
	call.out = out;
	call.attr = pass.attributes.data();
	call.stream = device.is_cpu() ? nullptr : guard.getStreamNativeHandle(guard.getStream(device));
	char why[512] = "";
	if (pass.kernel->accepts != nullptr && pass.kernel->accepts(&call, why, sizeof why) != TRIAD_OK) {
		bool packed = false;
		for (size_t i = 0; i < inputs.size(); i++) {
			packed = packed || !inputs[i].is_contiguous();
			inputs[i] = inputs[i].contiguous();
			describe(in[i], inputs[i], pass.inputs[i].rows);
		}
		if (!packed || pass.kernel->accepts(&call, why, sizeof why) != TRIAD_OK) throw Declined(pass.name + ": " + why);
	}
	Tensor workspace;  // given back in the order of the stream, so after the kernel
	if (pass.kernel->workspace != nullptr && (call.workspace_bytes = pass.kernel->workspace(&call)) > 0) {
		workspace = at::empty({call.workspace_bytes}, at::TensorOptions(at::kByte).device(device));
		call.workspace = workspace.data_ptr();
	}
	const int code = pass.kernel->launch(&call);
	if (code == TRIAD_UNSUPPORTED) throw Declined(pass.name + ": the call is not supported");
	if (code != TRIAD_OK) throw Failed(pass.name + ": the launch ended with CUDA error " + std::to_string(code));
	return outputs;
}

// ---- autograd ---------------------------------------------------------------------------------------------------------------------------

struct Backward : torch::autograd::Node {
	std::shared_ptr<const Plan> plan;
	std::vector<SavedVariable> saved;   // in the order of the backward's inputs; gradients have no place
	std::vector<at::TensorOptions> kind;  // of the outputs, for a gradient that is not there

	std::string name() const override { return plan->backward->name; }

	void release_variables() override {
		for (SavedVariable &s : saved) s.reset_data();
	}

	variable_list apply(variable_list &&upstream) override {
		if (c10::GradMode::is_enabled()) throw std::runtime_error(plan->backward->name + " has no derivative: call backward without create_graph");
		std::vector<Tensor> inputs;
		inputs.reserve(plan->backward->inputs.size());
		size_t next = 0;
		for (const Source &s : plan->backward->inputs) {
			if (s.index >= 0) {
				inputs.push_back(saved[next++].unpack(getptr()));
				continue;
			}
			const size_t output = static_cast<size_t>(plan->kept[static_cast<size_t>(-1 - s.index)]);
			Tensor &g = upstream[static_cast<size_t>(-1 - s.index)];
			inputs.push_back(g.defined() ? g : at::zeros(plan->forward.results[output].shape, kind[output]));
		}
		const at::AutoDispatchBelowADInplaceOrView below;
		std::vector<Tensor> made;
		try {
			made = launch(*plan->backward, std::move(inputs));
		} catch (const Declined &e) {
			throw_python(declined, e);
		} catch (const Failed &e) {
			throw_python(failed, e);
		}
		variable_list grads(num_outputs());
		for (size_t i = 0; i < made.size(); i++) {
			const size_t of = static_cast<size_t>(plan->backward->results[i].of);
			if (of < grads.size() && task_should_compute_output(of)) grads[of] = std::move(made[i]);
		}
		return grads;
	}
};

std::vector<Tensor> differentiable(const std::shared_ptr<const Plan> &plan, const std::vector<Tensor> &inputs) {
	std::vector<Tensor> outputs;
	{
		const at::AutoDispatchBelowADInplaceOrView below;
		outputs = launch(plan->forward, inputs);
	}
	if (!plan->backward) return outputs;
	const std::shared_ptr<Backward> node(new Backward, torch::autograd::deleteNode);
	node->plan = plan;
	node->set_next_edges(torch::autograd::collect_next_edges(inputs));
	for (const Tensor &o : outputs) node->kind.push_back(o.defined() ? o.options() : at::TensorOptions());
	for (const int64_t k : plan->kept) torch::autograd::set_history(outputs[static_cast<size_t>(k)], node);
	for (const Source &s : plan->backward->inputs) {
		if (s.index < 0) continue;
		const size_t i = static_cast<size_t>(s.index);
		if (i < inputs.size()) {
			node->saved.emplace_back(inputs[i], false);
		} else {
			const Tensor &o = outputs[i - inputs.size()];
			node->saved.emplace_back(o, o.grad_fn() != nullptr);
		}
	}
	return outputs;
}

// ---- which call it is -------------------------------------------------------------------------------------------------------------------

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

std::vector<Operator> operators;
PyObject *words = nullptr;     // implementations and attributes, numbered

bool plain_state() {
	using c10::DispatchKey;
	const auto local = c10::impl::tls_local_dispatch_key_set();
	const c10::DispatchKeySet usual({DispatchKey::BackendSelect, DispatchKey::ADInplaceOrView, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
	const bool inference = c10::InferenceMode::is_enabled();
	return (local.included_.raw_repr() & ~usual.raw_repr()) == 0 && (inference || !local.excluded_.has(DispatchKey::AutogradFunctionality)) &&
	       !c10::impl::dispatch_mode_enabled() && !at::impl::torch_function_mode_enabled() && !torch::jit::tracer::isTracing();
}

bool plain(const Tensor &t) {
	using c10::DispatchKey;
	static const c10::DispatchKeySet usual({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA,
	                                        DispatchKey::ADInplaceOrView, DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
	return (t.key_set().raw_repr() & ~usual.raw_repr()) == 0 && t.layout() == at::kStrided && !t.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
	       !t._fw_grad(0).defined();
}

// The number of a word, -1 for one that is new, unless it is to be added. It may not be hashable: no number either.
int64_t word(PyObject *value, bool add) {
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
bool key_of(std::vector<int64_t> &key, PyObject *tensors, PyObject *impl, PyObject *keywords, bool add, std::vector<Tensor> *found) {
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
		key.push_back(static_cast<int64_t>(t.scalar_type()) << 32 | static_cast<int64_t>(t.device().type()) << 16 | static_cast<uint16_t>(t.device().index()));
		key.push_back(t.dim());
		for (const int64_t s : t.sizes()) key.push_back(s);
		if (found != nullptr) found->push_back(t);
	}
	key.push_back(gradient && c10::GradMode::is_enabled());
	return true;
}

// ---- the module -------------------------------------------------------------------------------------------------------------------------

template <class F> PyObject *guarded(F body) {
	try {
		return body();
	} catch (const Declined &e) {
		PyErr_SetString(declined, e.what());
	} catch (const Failed &e) {
		PyErr_SetString(failed, e.what());
	} catch (const c10::Error &e) {
		PyErr_SetString(PyExc_RuntimeError, e.what_without_backtrace());
	} catch (const std::exception &e) {
		PyErr_SetString(PyExc_RuntimeError, e.what());
	}
	return nullptr;
}

Operator *operator_at(PyObject *index) {
	const Py_ssize_t i = PyLong_AsSsize_t(index);
	if (i < 0 || static_cast<size_t>(i) >= operators.size()) throw std::runtime_error("no such operator");
	return &operators[static_cast<size_t>(i)];
}

PyObject *later() { return Py_NewRef(Py_NotImplemented); }

// call(operator, tensors, impl, keywords): the outputs, or NotImplemented
PyObject *call(PyObject *, PyObject *const *a, Py_ssize_t n) {
	return guarded([&]() -> PyObject * {
		if (n != 4) throw std::runtime_error("call takes 4 arguments");
		Operator *o = operator_at(a[0]);
		std::vector<Tensor> inputs;
		inputs.reserve(8);
		if (!plain_state() || !key_of(o->key, a[1], a[2], a[3], false, &inputs)) return later();
		const auto found = o->plans.find(o->key);
		if (found == o->plans.end()) return later();
		const std::shared_ptr<const Plan> plan = found->second;
		std::vector<Tensor> outputs;
		{
			struct Released {
				PyThreadState *state = PyEval_SaveThread();
				~Released() { PyEval_RestoreThread(state); }
			} const released;
			RECORD_FUNCTION(plan->forward.name, c10::ArrayRef<const c10::IValue>());
			outputs = differentiable(plan, inputs);
		}
		if (plan->kept.size() == 1) return THPVariable_Wrap(outputs[static_cast<size_t>(plan->kept[0])]);
		PyObject *all = PyTuple_New(static_cast<Py_ssize_t>(plan->kept.size()));
		for (size_t i = 0; all != nullptr && i < plan->kept.size(); i++) {
			PyTuple_SET_ITEM(all, static_cast<Py_ssize_t>(i), THPVariable_Wrap(outputs[static_cast<size_t>(plan->kept[i])]));
		}
		return all;
	});
}

struct Malformed : std::runtime_error {
	Malformed() : std::runtime_error("remember: the plan is not as direct.py makes it") {}
};

int64_t whole(PyObject *o) {
	const int64_t v = PyLong_AsLongLong(o);
	if (v == -1 && PyErr_Occurred() != nullptr) {
		PyErr_Clear();
		throw Malformed();
	}
	return v;
}

template <class F> void each(PyObject *sequence, F body) {
	if (!PyTuple_CheckExact(sequence)) throw Malformed();
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence); i++) body(PyTuple_GET_ITEM(sequence, i));
}

PyObject *field(PyObject *tuple, Py_ssize_t i) {
	if (!PyTuple_CheckExact(tuple) || i >= PyTuple_GET_SIZE(tuple)) throw Malformed();
	return PyTuple_GET_ITEM(tuple, i);
}

// (address of the triad_kernel, name, attributes, ((index, rows), ...), ((shape, dtype, given, rows, of), ...))
Pass pass_of(PyObject *o) {
	Pass p;
	p.kernel = reinterpret_cast<const triad_kernel *>(whole(field(o, 0)));
	const char *name = PyUnicode_AsUTF8(field(o, 1));
	if (p.kernel == nullptr || name == nullptr) throw Malformed();
	p.name = name;
	each(field(o, 2), [&](PyObject *v) { p.attributes.push_back(PyFloat_AsDouble(v)); });
	each(field(o, 3), [&](PyObject *v) { p.inputs.push_back({whole(field(v, 0)), field(v, 1) == Py_True}); });
	each(field(o, 4), [&](PyObject *v) {
		Result r{{}, at::kFloat, field(v, 2) == Py_True, field(v, 3) == Py_True, whole(field(v, 4))};
		each(field(v, 0), [&](PyObject *s) { r.shape.push_back(whole(s)); });
		if (!THPDtype_Check(field(v, 1))) throw Malformed();
		r.dtype = reinterpret_cast<THPDtype *>(field(v, 1))->scalar_type;
		p.results.push_back(std::move(r));
	});
	if (p.inputs.empty() || p.inputs.size() > 16 || p.results.empty() || p.results.size() > 16) throw Malformed();
	return p;
}

// remember(operator, tensors, impl, keywords, forward, backward or None, kept)
PyObject *remember(PyObject *, PyObject *const *a, Py_ssize_t n) {
	return guarded([&]() -> PyObject * {
		if (n != 7) throw Malformed();
		Operator *o = operator_at(a[0]);
		if (static_cast<size_t>(PyDict_GET_SIZE(words)) > kPlans) {  // numbers are given anew: no plan keeps an old one
			PyDict_Clear(words);
			for (Operator &other : operators) other.plans.clear();
		}
		if (o->plans.size() > kPlans) o->plans.clear();
		auto plan = std::make_shared<Plan>();
		plan->forward = pass_of(a[4]);
		if (a[5] != Py_None) plan->backward = pass_of(a[5]);
		each(a[6], [&](PyObject *v) { plan->kept.push_back(whole(v)); });
		if (key_of(o->key, a[1], a[2], a[3], true, nullptr)) o->plans[o->key] = std::move(plan);
		return Py_NewRef(Py_None);
	});
}

// operator(): a number for one more operator.
PyObject *another(PyObject *, PyObject *) {
	operators.emplace_back();
	return PyLong_FromSize_t(operators.size() - 1);
}

// raw(operator, tensors, impl, keywords, repeats): launches the forward that is remembered so often, with one set of outputs: what the kernel's
// own launch costs the host, for the measurement of what an operator adds. Gives seconds a launch.
PyObject *raw(PyObject *, PyObject *const *a, Py_ssize_t n) {
	return guarded([&]() -> PyObject * {
		if (n != 5) throw std::runtime_error("raw takes 5 arguments");
		Operator *o = operator_at(a[0]);
		std::vector<Tensor> inputs;
		if (!key_of(o->key, a[1], a[2], a[3], false, &inputs) || o->plans.find(o->key) == o->plans.end()) return later();
		const Pass &pass = o->plans.find(o->key)->second->forward;
		const at::AutoDispatchBelowADInplaceOrView below;
		const std::vector<Tensor> outputs = launch(pass, inputs);
		triad_tensor in[16], out[16];
		std::memset(out, 0, sizeof out);
		for (size_t i = 0; i < inputs.size(); i++) describe(in[i], inputs[i], pass.inputs[i].rows);
		for (size_t i = 0; i < outputs.size(); i++) {
			if (outputs[i].defined()) describe(out[i], outputs[i], pass.results[i].rows);
		}
		triad_call call{};
		call.size = sizeof call;
		call.n_in = static_cast<int32_t>(inputs.size());
		call.n_out = static_cast<int32_t>(outputs.size());
		call.n_attr = static_cast<int32_t>(pass.attributes.size());
		call.in = in;
		call.out = out;
		call.attr = pass.attributes.data();
		const c10::impl::VirtualGuardImpl guard(inputs[0].device().type());
		if (!inputs[0].is_cpu()) call.stream = guard.getStreamNativeHandle(guard.getStream(inputs[0].device()));
		Tensor workspace;
		if (pass.kernel->workspace != nullptr && (call.workspace_bytes = pass.kernel->workspace(&call)) > 0) {
			workspace = at::empty({call.workspace_bytes}, at::TensorOptions(at::kByte).device(inputs[0].device()));
			call.workspace = workspace.data_ptr();
		}
		const int64_t repeats = whole(a[4]);
		const auto begin = std::chrono::steady_clock::now();
		for (int64_t i = 0; i < repeats; i++) {
			if (pass.kernel->launch(&call) != TRIAD_OK) throw std::runtime_error(pass.name + ": the launch did not succeed");
		}
		const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
		return PyFloat_FromDouble(took.count() / static_cast<double>(repeats));
	});
}

template <class F> PyCFunction fast(F f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); }

PyMethodDef methods[] = {{"call", fast(call), METH_FASTCALL, "call(operator, tensors, impl, keywords)"},
                         {"remember", fast(remember), METH_FASTCALL, "remember(operator, tensors, impl, keywords, forward, backward, kept)"},
                         {"operator", another, METH_NOARGS, "a number for one more operator"},
                         {"raw", fast(raw), METH_FASTCALL, "raw(operator, tensors, impl, keywords, repeats): seconds a launch"},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "triad_eager", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_triad_eager() {
	PyObject *errors = PyImport_ImportModule("triad.errors");
	if (errors == nullptr) return nullptr;
	declined = PyObject_GetAttrString(errors, "UsageError");
	failed = PyObject_GetAttrString(errors, "TriadError");
	Py_DECREF(errors);
	words = PyDict_New();
	if (declined == nullptr || failed == nullptr || words == nullptr) return nullptr;
	return PyModule_Create(&module);
}

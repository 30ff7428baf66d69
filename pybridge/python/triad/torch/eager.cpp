// The CUDA operators in C++. Eager calls: from the arguments in Python to the launch of the kernel, with autograd, past torch's dispatcher;
// direct.py is the same path in Python. Compiled code: the operators' kernels in that dispatcher (eager/dispatch.h). extension.py builds it on first
// use from this file and the folder eager.
//
// An eager call is looked up by what tells calls apart: implementation, attributes, and the dtypes, devices and sizes of its tensors. What is found is a
// Plan, which Python made when the call was first seen. Whatever is not a plain call (unknown, traced, a subclass of a tensor, a mode, a
// transform) gets NotImplemented, and takes the way through torch.ops.
#include <Python.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>

#include "abi.h"
#include "eager/autograd.h"
#include "eager/call_key.h"
#include "eager/described.h"
#include "eager/dispatch.h"
#include "eager/launch.h"
#include "eager/plan.h"

namespace {

using namespace triad_eager;

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

// Released: others may have the interpreter while a kernel is launched.
struct Released {
	PyThreadState *state = PyEval_SaveThread();
	~Released() { PyEval_RestoreThread(state); }
};

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
			const Released released;
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

// serve(name, tensors, described, run, autograd): from now on the kernels of torch.ops.triad.name are the C++ part's.
PyObject *served(PyObject *, PyObject *const *a, Py_ssize_t n) {
	return guarded([&]() -> PyObject * {
		const char *name = n == 5 ? PyUnicode_AsUTF8(a[0]) : nullptr;
		if (name == nullptr) throw Malformed();
		serve(name, static_cast<size_t>(whole(a[1])), a[2], a[3], a[4]);
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
                         {"serve", fast(served), METH_FASTCALL, "serve(name, tensors, described, run, autograd)"},
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

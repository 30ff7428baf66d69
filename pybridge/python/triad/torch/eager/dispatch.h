// The operators as torch's dispatcher has them, which is what compiled code calls: from torch.ops to the launch without Python. A call that is new is
// settled by Python, once; what the C++ part does not launch (Triton's and torch's implementations, tensors that are not plain, a call whose gradient
// is asked for) goes to the kernels that Python has registered.
#ifndef TRIAD_EAGER_DISPATCH_H
#define TRIAD_EAGER_DISPATCH_H
#include <Python.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include "autograd.h"
#include "call_key.h"
#include "described.h"
#include "launch.h"

namespace triad_eager {

using Arguments = c10::ArrayRef<c10::IValue>;

// The GIL, from wherever a call comes.
struct Held {
	PyGILState_STATE state = PyGILState_Ensure();
	~Held() { PyGILState_Release(state); }
};

// Hands the exception that Python has raised to whoever called the operator.
[[noreturn]] inline void throw_raised() {
	python_error raised;
	raised.persist();
	throw raised;
}

// A Python object that goes with its scope; null is an exception that was raised.
struct Object {
	PyObject *it;
	explicit Object(PyObject *o) : it(o) {
		if (it == nullptr) throw_raised();
	}
	Object(const Object &) = delete;
	Object &operator=(const Object &) = delete;
	~Object() { Py_DECREF(it); }
};

inline PyObject *to_python(const c10::IValue &v) {
	if (v.isTensor()) return THPVariable_Wrap(v.toTensor());
	if (v.isString()) return PyUnicode_FromStringAndSize(v.toStringRef().data(), static_cast<Py_ssize_t>(v.toStringRef().size()));
	if (v.isBool()) return PyBool_FromLong(v.toBool());
	if (v.isInt()) return PyLong_FromLongLong(v.toInt());
	if (v.isDouble()) return PyFloat_FromDouble(v.toDouble());
	if (v.isNone()) return Py_NewRef(Py_None);
	throw Malformed();
}

// What function gives for the arguments, and for what comes before them where first is not null. first is taken over.
inline PyObject *called(PyObject *function, PyObject *first, Arguments arguments) {
	const Py_ssize_t before = first != nullptr;
	const Object all(PyTuple_New(before + static_cast<Py_ssize_t>(arguments.size())));
	if (first != nullptr) PyTuple_SET_ITEM(all.it, 0, first);
	for (size_t i = 0; i < arguments.size(); i++) {
		PyObject *one = to_python(arguments[i]);
		if (one == nullptr) throw_raised();
		PyTuple_SET_ITEM(all.it, before + static_cast<Py_ssize_t>(i), one);
	}
	return PyObject_Call(function, all.it, nullptr);
}

// Puts what a Python function gives in the place of the arguments.
inline void run_in_python(PyObject *function, PyObject *first, size_t count, c10::Stack *stack) {
	std::vector<c10::IValue> outputs;
	{
		const Object given(called(function, first, torch::jit::last(*stack, count)));
		const bool several = PyTuple_Check(given.it);
		for (Py_ssize_t i = 0; i < (several ? PyTuple_GET_SIZE(given.it) : 1); i++) {
			PyObject *one = several ? PyTuple_GET_ITEM(given.it, i) : given.it;
			if (!THPVariable_Check(one)) throw Malformed();
			outputs.emplace_back(THPVariable_Unpack(one));
		}
	}
	torch::jit::drop(*stack, count);
	for (c10::IValue &o : outputs) stack->push_back(std::move(o));
}

// A call that Python has settled.
struct Settled {
	Pass pass;
	bool ours = false;         // launched here; else Python runs it
	PyObject *look = nullptr;  // at the data of the inputs before a launch, where a kernel reads where they say
};

// Writes what tells calls apart; false where they are not to be told apart here.
inline bool key_of(std::vector<int64_t> &key, Arguments arguments) {
	key.clear();
	for (const c10::IValue &v : arguments) {
		if (v.isTensor()) {
			const Tensor &t = v.toTensor();
			if (!t.defined() || !plain(t)) return false;
			append(key, t);
		} else if (v.isString()) {
			const std::string &text = v.toStringRef();
			key.push_back(static_cast<int64_t>(text.size()));
			const size_t at = key.size();
			key.resize(at + (text.size() + 7) / 8);
			std::memcpy(key.data() + at, text.data(), text.size());
		} else if (v.isDouble()) {
			const double number = v.toDouble();
			key.push_back(0);
			std::memcpy(&key.back(), &number, sizeof number);
		} else if (v.isInt() || v.isBool()) {
			key.push_back(v.isInt() ? v.toInt() : v.toBool());
		} else if (v.isNone()) {
			key.push_back(INT64_MIN + 1);  // no attribute is that number
		} else {
			return false;
		}
	}
	return true;
}

// The kernel of one operator on CUDA, and on a CPU for tests.
class Launched final : public c10::OperatorKernel {
public:
	// described(*arguments): a pass and its look, or None for what runs in Python: run(*arguments)
	Launched(size_t tensors, PyObject *described, PyObject *run)
	    : tensors_(tensors), described_(Py_NewRef(described)), run_(Py_NewRef(run)) {}

	void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet, c10::Stack *stack) {
		const size_t count = op.schema().arguments().size();
		const Arguments arguments = torch::jit::last(*stack, count);
		const std::shared_ptr<const Settled> call = settled(arguments);
		if (call == nullptr || !call->ours) {
			const Held gil;
			return run_in_python(run_, nullptr, count, stack);
		}
		if (call->look != nullptr) look(call->look, arguments);
		std::vector<Tensor> inputs;
		inputs.reserve(tensors_);
		for (size_t i = 0; i < tensors_; i++) inputs.push_back(arguments[i].toTensor());
		const c10::Device device = inputs[0].device();
		std::vector<Tensor> outputs;
		const at::AutoDispatchBelowADInplaceOrView below;
		try {
			RECORD_FUNCTION(call->pass.name, c10::ArrayRef<const c10::IValue>());
			outputs = launch(call->pass, std::move(inputs));
		} catch (const Declined &e) {
			throw_python(declined, e);
		} catch (const Failed &e) {
			throw_python(failed, e);
		}
		torch::jit::drop(*stack, count);
		for (size_t i = 0; i < outputs.size(); i++) {
			if (!outputs[i].defined()) outputs[i] = at::empty({0}, at::TensorOptions(call->pass.results[i].dtype).device(device));
			stack->push_back(std::move(outputs[i]));
		}
	}

private:
	std::shared_ptr<const Settled> settled(Arguments arguments) {
		thread_local std::vector<int64_t> key;
		if (!key_of(key, arguments)) return nullptr;
		{
			const std::shared_lock<std::shared_mutex> reads(mutex_);
			const auto found = calls_.find(key);
			if (found != calls_.end()) return found->second;
		}
		const std::vector<int64_t> own = key;  // Python may come here again
		auto made = std::make_shared<Settled>();
		{
			const Held gil;
			const Object said(called(described_, nullptr, arguments));
			made->ours = said.it != Py_None;
			if (made->ours) {
				made->pass = pass_of(field(said.it, 0));
				if (field(said.it, 1) != Py_None) made->look = Py_NewRef(field(said.it, 1));  // for good: plans are few
			}
		}
		const std::unique_lock<std::shared_mutex> writes(mutex_);
		if (calls_.size() > kPlans) calls_.clear();
		calls_[own] = made;
		return made;
	}

	void look(PyObject *function, Arguments arguments) const {
		const Held gil;
		const Object tensors(PyTuple_New(static_cast<Py_ssize_t>(tensors_)));
		for (size_t i = 0; i < tensors_; i++) PyTuple_SET_ITEM(tensors.it, static_cast<Py_ssize_t>(i), to_python(arguments[i]));
		const Object nothing(PyObject_CallOneArg(function, tensors.it));
	}

	const size_t tensors_;
	PyObject *const described_, *const run_;  // for as long as the process
	std::shared_mutex mutex_;
	std::unordered_map<std::vector<int64_t>, std::shared_ptr<const Settled>, Hash> calls_;
};

// What stands before the kernel for autograd: nothing where no gradient is asked for, as in what torch.compile has made of a forward and a backward.
// Else what torch.library has made in Python: run(key set, *arguments).
class Differentiated final : public c10::OperatorKernel {
public:
	explicit Differentiated(PyObject *run) : run_(Py_NewRef(run)) {}

	void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, c10::Stack *stack) {
		const size_t count = op.schema().arguments().size();
		if (!asked(torch::jit::last(*stack, count))) {
			const at::AutoDispatchBelowAutograd below;
			return op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
		}
		const Held gil;
		run_in_python(run_, PyLong_FromUnsignedLongLong(keys.raw_repr()), count, stack);
	}

private:
	static bool asked(Arguments arguments) {
		return c10::GradMode::is_enabled() && std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue &v) {
			return v.isTensor() && v.toTensor().defined() && v.toTensor().requires_grad();
		});
	}

	PyObject *const run_;
};

// Registers the kernels of an operator, for as long as the process. autograd is None where it has no gradient.
inline void serve(const char *name, size_t tensors, PyObject *described, PyObject *run, PyObject *autograd) {
	using c10::DispatchKey;
	static std::vector<c10::RegistrationHandleRAII> &kept = *new std::vector<c10::RegistrationHandleRAII>;
	const auto put = [&](DispatchKey key, auto kernel) {
		kept.push_back(c10::Dispatcher::singleton().registerImpl({name, ""}, key, c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)),
		                                                        std::nullopt, nullptr, "triad"));
	};
	for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::CUDA}) put(key, std::make_unique<Launched>(tensors, described, run));
	if (autograd == Py_None) return;
	for (const DispatchKey key : {DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA}) put(key, std::make_unique<Differentiated>(autograd));
}

}  // namespace triad_eager
#endif

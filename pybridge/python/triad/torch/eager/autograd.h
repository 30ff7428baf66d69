// A call with gradients: the forward is launched, and its backward waits in the graph of autograd.
#ifndef TRIAD_EAGER_AUTOGRAD_H
#define TRIAD_EAGER_AUTOGRAD_H
#include <Python.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "launch.h"
#include "plan.h"

namespace triad_eager {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

inline PyObject *declined = nullptr, *failed = nullptr;  // the classes

// Throws an exception of Python's through torch's autograd, which hands it to whoever called backward. Nobody here has the GIL.
[[noreturn]] inline void throw_python(PyObject *kind, const std::exception &e) {
	python_error carried;
	const PyGILState_STATE state = PyGILState_Ensure();
	PyErr_SetString(kind, e.what());
	carried.persist();
	PyGILState_Release(state);
	throw carried;
}

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

inline std::vector<Tensor> differentiable(const std::shared_ptr<const Plan> &plan, const std::vector<Tensor> &inputs) {
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

}  // namespace triad_eager
#endif

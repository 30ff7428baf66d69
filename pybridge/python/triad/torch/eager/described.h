// What Python says of a pass, read.
#ifndef TRIAD_EAGER_DESCRIBED_H
#define TRIAD_EAGER_DESCRIBED_H
#include <Python.h>

#include <stdexcept>
#include <utility>

#include <torch/csrc/Dtype.h>

#include "plan.h"

namespace triad_eager {

struct Malformed : std::runtime_error {
	Malformed() : std::runtime_error("the C++ part was told of a call in another way than operators.py tells it") {}
};

inline int64_t whole(PyObject *o) {
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

inline PyObject *field(PyObject *tuple, Py_ssize_t i) {
	if (!PyTuple_CheckExact(tuple) || i >= PyTuple_GET_SIZE(tuple)) throw Malformed();
	return PyTuple_GET_ITEM(tuple, i);
}

// (address of the triad_kernel, name, attributes, ((index, rows), ...), ((shape, dtype, given, rows, of), ...))
inline Pass pass_of(PyObject *o) {
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

}  // namespace triad_eager
#endif

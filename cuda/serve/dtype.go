package serve

import (
	"strings"

	"triad/internal/op"
)

// mainDType returns the dtype of the first input of a pass in a case of a dtype such as "bf16" or
// "e5m2_e4m3". It is unknown if an attribute decides.
func mainDType(spec *op.Spec, pass op.Pass, dtype string) (op.DType, bool) {
	declared, ok := mainTensor(spec, pass)
	if !ok {
		return op.DTypeUnknown, false
	}
	first, second, two := strings.Cut(dtype, "_")
	if !two {
		second = first
	}
	name := declared.DType
	switch name {
	case "":
		name = dtype
	case "$1":
		name = first
	case "$2":
		name = second
	}
	d, err := op.ParseDType(name)
	return d, err == nil
}

// mainTensor returns the declaration of the first input of a pass; the gradient of a tensor has the tensor's
// declaration unless it has its own.
func mainTensor(spec *op.Spec, pass op.Pass) (op.TensorSpec, bool) {
	if pass == op.Forward {
		if len(spec.InputSpecs) == 0 {
			return op.TensorSpec{}, false
		}
		return spec.InputSpecs[0], true
	}
	if spec.Backward == nil || len(spec.Backward.Inputs) == 0 {
		return op.TensorSpec{}, false
	}
	name := spec.Backward.Inputs[0]
	for _, t := range spec.Backward.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	name = strings.TrimPrefix(name, "grad_")
	if t, ok := spec.Input(name); ok {
		return t, true
	}
	return spec.Output(name)
}

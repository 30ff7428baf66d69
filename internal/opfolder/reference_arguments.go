package opfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// arguments returns the tensors and attributes of a call: those of the spec, and attributes with a leading
// underscore that select what the process computes.
func (r *Reference) arguments(c op.Case, contract string,
	in []tensor.Tensor,
) ([]tensor.Tensor, []backend.AttrRef, error) {
	spec := r.Folder.Spec
	attrs := r.attributes(c)
	say := func(name, text string) {
		attrs = append(attrs, backend.AttrRef{Name: name, Type: "enum", Text: text})
	}
	dtype, _, _ := strings.Cut(c.DType, "_")
	say("_contract", contract)
	say("_dtype", dtype)
	equal := 0.0
	if slices.Contains([]string{"constant", "ties", "sparse"}, c.Distribution) {
		equal = 1
	}
	attrs = append(attrs, backend.AttrRef{Name: "_equal_terms", Type: "bool", Number: equal})
	formula := c.Pass == op.Backward && r.Folder.Formula && (c.Saved == "driver" || !r.Folder.chains())
	count := len(spec.OutputSpecs)
	if formula || c.Pass == op.Backward && r.Folder.Formula && spec.Backward.Chained {
		count = len(spec.Backward.Outputs)
	}
	attrs = append(attrs, backend.AttrRef{Name: "_outputs", Type: "int", Number: float64(count)})
	if c.Pass == op.Forward {
		tensors, err := r.inputs(in)
		return tensors, attrs, err
	}
	if formula {
		say("_differentiable", "formula")
		return in, attrs, nil
	}
	if r.Folder.Formula && spec.Backward.Chained {
		tensors, plan, err := r.plan(c, in)
		say("_plan", plan)
		return tensors, append(attrs, backend.AttrRef{
			Name: "_inputs", Type: "int",
			Number: float64(len(spec.InputSpecs)),
		}), err
	}
	tensors, upstream, differentiable, err := r.chain(in)
	if err != nil {
		return nil, nil, err
	}
	say("_upstream", upstream)
	say("_differentiable", differentiable)
	attrs = append(attrs, backend.AttrRef{
		Name: "_inputs", Type: "int",
		Number: float64(len(spec.InputSpecs)),
	})
	return tensors, attrs, nil
}

// attributes returns the attributes of a case.
func (r *Reference) attributes(c op.Case) []backend.AttrRef {
	spec := r.Folder.Spec
	var attrs []backend.AttrRef
	for _, a := range c.Attrs {
		i := slices.IndexFunc(spec.Attributes, func(s op.AttributeSpec) bool { return s.Name == a.Name })
		attrs = append(attrs, backend.AttrRef{
			Name: a.Name, Type: spec.Attributes[i].Type, Number: a.Number,
			Text: a.Text,
		})
	}
	return attrs
}

// inputs returns the operator's inputs among tensors, in the order of the spec.
func (r *Reference) inputs(in []tensor.Tensor) ([]tensor.Tensor, error) {
	var inputs []tensor.Tensor
	for _, t := range r.Folder.Spec.InputSpecs {
		i := slices.IndexFunc(in, func(x tensor.Tensor) bool { return x.Name == t.Name })
		if i < 0 {
			return nil, r.mistake("it needs %s, which backward.inputs leaves out: add it, or write "+
				"reference_backward", t.Name)
		}
		inputs = append(inputs, in[i])
	}
	return inputs, nil
}

// plan returns the source of each argument of reference_backward in a chained case: the operator's inputs and
// upstream gradients, and what the forward saved, in the dtype it is saved in.
func (r *Reference) plan(c op.Case, in []tensor.Tensor) (tensors []tensor.Tensor, plan string, err error) {
	if tensors, err = r.inputs(in); err != nil {
		return nil, "", err
	}
	outputs, err := r.Folder.Spec.ForwardOutputs(c)
	if err != nil {
		return nil, "", err
	}
	var words []string
	for _, name := range r.Folder.Spec.Backward.Inputs {
		named := func(t tensor.Tensor) bool { return t.Name == name }
		if i := slices.IndexFunc(outputs, func(t op.TensorType) bool { return t.Name == name }); i >= 0 {
			words = append(words, fmt.Sprintf("o%d:%v", i, outputs[i].DType))
			continue
		}
		i := slices.IndexFunc(tensors, named)
		if k := slices.IndexFunc(in, named); i < 0 && k >= 0 {
			i = len(tensors)
			tensors = append(tensors, in[k])
		}
		if i < 0 {
			return nil, "", r.mistake("backward.inputs names %s, which is no input, output or gradient of "+
				"a case", name)
		}
		words = append(words, fmt.Sprintf("t%d", i))
	}
	return tensors, strings.Join(words, " "), nil
}

// chain puts a backward's tensors into the order of autograd: the operator's inputs, then upstream gradients;
// upstream are the numbers of their outputs, differentiable those of the inputs whose gradients are wanted.
func (r *Reference) chain(in []tensor.Tensor) (
	tensors []tensor.Tensor, upstream, differentiable string, err error,
) {
	spec := r.Folder.Spec
	if tensors, err = r.inputs(in); err != nil {
		return nil, "", "", err
	}
	var of, wanted []string
	for i, t := range spec.OutputSpecs {
		if g := slices.IndexFunc(in, func(x tensor.Tensor) bool { return x.Name == "grad_"+t.Name }); g >= 0 {
			tensors, of = append(tensors, in[g]), append(of, strconv.Itoa(i))
		}
	}
	for _, name := range spec.Backward.Outputs {
		wanted = append(wanted, strconv.Itoa(slices.IndexFunc(spec.InputSpecs,
			func(t op.TensorSpec) bool { return "grad_"+t.Name == name })))
	}
	return tensors, strings.Join(of, ","), strings.Join(wanted, ","), nil
}

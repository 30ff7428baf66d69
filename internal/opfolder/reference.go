package opfolder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Reference is the truth of a folder's operator: its Python reference in fp64, run by a process that runs no
// candidate, with allowances composed operation by operation.
type Reference struct {
	Folder  *Folder
	Backend backend.Backend // that knows truth/composed
	Context context.Context
}

var _ catalog.Reference = (*Reference)(nil)

// composed is the implementation that computes values and allowances; of each output it gives three tensors.
const composed = "truth/composed"

var parts = []string{"", ".allowance", ".simulated"}

// Compute runs the reference.
func (r *Reference) Compute(c op.Case, contract string, in []tensor.Tensor) ([]catalog.Computed, error) {
	outputs, err := r.Folder.Spec.Outputs(c)
	if err != nil {
		return nil, err
	}
	return r.run(c, contract, in, outputs)
}

func (r *Reference) run(c op.Case, contract string, in []tensor.Tensor,
	outputs []op.TensorType) ([]catalog.Computed, error) {
	if _, _, err := r.load(c.Op); err != nil {
		return nil, err
	}
	job := backend.Job{DType: c.DType, Contract: "fp64", Launches: []backend.LaunchPlan{{Poison: "a"}},
		Implementation: backend.Implementation{Name: composed, Op: c.Op, Pass: c.Pass}}
	for i, t := range outputs {
		for _, part := range parts {
			job.Outputs = append(job.Outputs, op.TensorType{Name: strconv.Itoa(i) + part, DType: op.FP64,
				Shape: t.Shape})
		}
	}
	var err error
	if job.Inputs, job.Attrs, err = r.arguments(c, contract, in); err != nil {
		return nil, err
	}
	outcome, err := r.Backend.Run(r.Context, job)
	if err != nil {
		return nil, fmt.Errorf("run the reference of %s: %w", c.Op, err)
	}
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 1 {
		return nil, r.refuse(outcome)
	}
	if changed := outcome.Launches[0].Changed; len(changed) > 0 {
		return nil, r.mistake("it writes into its input %s: work on a copy, %s.clone()", changed[0],
			changed[0])
	}
	return r.computed(outputs, outcome.Launches[0].Outputs)
}

// load asks the process for the operator's file.
func (r *Reference) load(operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := r.Backend.Load(r.Context, operator)
	if err == nil && len(reply.Failed) > 0 {
		if failed := reply.Failed[0]; failed.Status == op.StatusUnavailable {
			err = &backend.Unavailable{Sentence: failed.Message}
		} else {
			err = r.mistake("%s", failed.Message)
		}
	}
	return reply, hello, err
}

func (r *Reference) mistake(format string, a ...any) error {
	return &op.UsageError{Message: fmt.Sprintf("the reference of %s (%s): ", r.Folder.Spec.Name,
		shown(r.Folder.Python)) + fmt.Sprintf(format, a...)}
}

// refuse is what a reference that did not return plainly is told.
func (r *Reference) refuse(o backend.Outcome) error {
	place := ""
	if o.Where != nil && filepath.Base(o.Where.File) == filepath.Base(r.Folder.Python) && o.Where.Line > 0 {
		place = fmt.Sprintf("line %d: ", o.Where.Line)
	}
	return r.mistake("%s%s", place, strings.TrimPrefix(strings.TrimPrefix(o.Sentence, "UnknownForm: "),
		"TypeError: "))
}

// computed decodes what came back, which must be what the spec says.
func (r *Reference) computed(outputs []op.TensorType, got []backend.Output) ([]catalog.Computed, error) {
	all := make([]catalog.Computed, len(outputs))
	for i, t := range outputs {
		for k, field := range []*[]float64{&all[i].R, &all[i].T, &all[i].Simulated} {
			g := got[i*len(parts)+k]
			switch {
			case !g.Present:
				return nil, r.mistake("it gives no %s", t.Name)
			case g.Type != "":
				return nil, r.mistake("%s came back as %s", t.Name, g.Type)
			case !slices.Equal(g.Shape, t.Shape):
				return nil, r.mistake("%s came back with shape %v: want %v, as the spec says", t.Name,
					g.Shape, t.Shape)
			case g.DType != "fp64":
				return nil, r.mistake("%s came back as %s: compute in the dtype of the inputs", t.Name,
					g.DType)
			}
			*field = tensor.Decode(op.FP64, g.Tensor.Data)
		}
	}
	return all, nil
}

// arguments are the tensors and attributes of a call, the spec's and those that say what is asked for.
func (r *Reference) arguments(c op.Case, contract string,
	in []tensor.Tensor) ([]tensor.Tensor, []backend.AttrRef, error) {
	spec := r.Folder.Spec
	var attrs []backend.AttrRef
	for _, a := range c.Attrs {
		i := slices.IndexFunc(spec.Attributes, func(s op.AttributeSpec) bool { return s.Name == a.Name })
		attrs = append(attrs, backend.AttrRef{Name: a.Name, Type: spec.Attributes[i].Type, Number: a.Number,
			Text: a.Text})
	}
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
		return tensors, append(attrs, backend.AttrRef{Name: "_inputs", Type: "int",
			Number: float64(len(spec.InputSpecs))}), err
	}
	tensors, upstream, differentiable, err := r.chain(in)
	if err != nil {
		return nil, nil, err
	}
	say("_upstream", upstream)
	say("_differentiable", differentiable)
	attrs = append(attrs, backend.AttrRef{Name: "_inputs", Type: "int",
		Number: float64(len(spec.InputSpecs))})
	return tensors, attrs, nil
}

// inputs are the operator's inputs among tensors, in the order of the spec.
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

// plan says where reference_backward gets its arguments from in a chained case: the operator's inputs and
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
	tensors []tensor.Tensor, upstream, differentiable string, err error) {
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

// differenceStep is how far the forward is moved along a direction of unit elements, relative to the largest
// input.
const differenceStep = 1e-5

// Prove compares the gradients along random directions with symmetric differences of the forward: what an
// autograd.Function or a reference_backward gets wrong shows there.
func (r *Reference) Prove(c op.Case, in []tensor.Tensor, seed uint64) (catalog.Step, error) {
	if c.Saved == "driver" {
		c.Saved = "own"
	}
	outputs, err := r.Folder.Spec.Outputs(c)
	if err != nil {
		return catalog.Step{}, err
	}
	gradients, err := r.run(c, "fp32", in, outputs)
	if err != nil {
		return catalog.Step{}, err
	}
	step := catalog.Step{Differences: true}
	random := rand.New(rand.NewPCG(seed, 0xd1ff))
	for i, t := range outputs {
		step.Gradients = append(step.Gradients, t.Name)
		e, err := r.along(c, in, strings.TrimPrefix(t.Name, "grad_"), gradients[i].R, random)
		if err != nil {
			return catalog.Step{}, err
		}
		if !(e <= step.Error) || step.Worst == "" {
			step.Error, step.Worst = e, t.Name
		}
	}
	return step, nil
}

// along is how far <gradient, v> and the difference of the loss along v lie apart, relative to the sum of the
// terms' magnitudes.
func (r *Reference) along(c op.Case, in []tensor.Tensor, input string, gradient []float64,
	random *rand.Rand) (float64, error) {
	at := slices.IndexFunc(in, func(t tensor.Tensor) bool { return t.Name == input })
	if at < 0 {
		return math.NaN(), nil
	}
	x := in[at].Float64s()
	largest := 1.0
	for _, v := range x {
		largest = math.Max(largest, math.Abs(v))
	}
	direction, want, companion := make([]float64, len(x)), 0.0, 0.0
	for i := range direction {
		direction[i] = random.NormFloat64()
		want += gradient[i] * direction[i]
		companion += math.Abs(gradient[i] * direction[i])
	}
	h := differenceStep * largest
	var losses [2]float64
	for side, sign := range []float64{1, -1} {
		moved := slices.Clone(in)
		moved[at] = tensor.New(input, op.FP64, in[at].Shape)
		values := slices.Clone(x)
		for i := range values {
			values[i] += sign * h * direction[i]
		}
		moved[at].Data = tensor.Encode(op.FP64, values)
		var err error
		if losses[side], err = r.loss(c, moved); err != nil {
			return 0, err
		}
	}
	if companion == 0 {
		return math.Abs(losses[0] - losses[1]), nil
	}
	return math.Abs((losses[0]-losses[1])/(2*h)-want) / companion, nil
}

// loss is the sum of all outputs of the forward, each times its upstream gradient.
func (r *Reference) loss(c op.Case, in []tensor.Tensor) (float64, error) {
	spec := r.Folder.Spec
	c.Pass, c.Upstream, c.Saved = op.Forward, "", ""
	outputs, err := spec.ForwardOutputs(c)
	if err != nil {
		return 0, err
	}
	forward, err := r.run(c, "fp32", in, outputs)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, t := range outputs {
		g := slices.IndexFunc(in, func(x tensor.Tensor) bool { return x.Name == "grad_"+t.Name })
		if g < 0 {
			continue
		}
		for k, u := range in[g].Float64s() {
			total += forward[i].R[k] * u
		}
	}
	return total, nil
}

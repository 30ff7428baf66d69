package opfolder

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// differenceStep is the distance that the forward is moved along a direction of unit elements, relative to
// the largest input.
const differenceStep = 1e-5

// Prove compares the gradients along random directions with symmetric differences of the forward: errors of
// an autograd.Function or a reference_backward show there.
func (r *Reference) Prove(c op.Case, in []tensor.Tensor, seed uint64) (truth.Step, error) {
	if c.Saved == "driver" {
		c.Saved = "own"
	}
	outputs, err := r.Folder.Spec.Outputs(c)
	if err != nil {
		return truth.Step{}, err
	}
	gradients, err := r.run(c, "fp32", in, outputs)
	if err != nil {
		return truth.Step{}, err
	}
	step := truth.Step{Differences: true}
	random := rand.New(rand.NewPCG(seed, 0xd1ff))
	for i, t := range outputs {
		step.Gradients = append(step.Gradients, t.Name)
		e, err := r.along(c, in, strings.TrimPrefix(t.Name, "grad_"), gradients[i].R, random)
		if err != nil {
			return truth.Step{}, err
		}
		if !(e <= step.Error) || step.Worst == "" {
			step.Error, step.Worst = e, t.Name
		}
	}
	return step, nil
}

// along returns the distance between <gradient, v> and the difference of the loss along v, relative to the
// sum of the terms' magnitudes.
func (r *Reference) along(c op.Case, in []tensor.Tensor, input string, gradient []float64,
	random *rand.Rand,
) (float64, error) {
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

// loss returns the sum of all outputs of the forward, each times its upstream gradient.
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

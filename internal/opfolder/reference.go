package opfolder

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Reference is the truth of a folder's operator: its Python reference in fp64, run by a process that runs no
// candidate, with error bounds composed operation by operation.
type Reference struct {
	Folder  *Folder
	Backend backend.Backend // that knows truth/composed
	Context context.Context
}

var _ truth.Reference = (*Reference)(nil)

// composed is the implementation that computes values and error bounds; for each output it returns three
// tensors.
const composed = "truth/composed"

var parts = []string{"", ".allowance", ".simulated"}

// Compute runs the reference.
func (r *Reference) Compute(c op.Case, contract string, in []tensor.Tensor) ([]truth.Computed, error) {
	outputs, err := r.Folder.Spec.Outputs(c)
	if err != nil {
		return nil, err
	}
	return r.run(c, contract, in, outputs)
}

func (r *Reference) run(c op.Case, contract string, in []tensor.Tensor,
	outputs []op.TensorType,
) ([]truth.Computed, error) {
	if _, _, err := r.load(c.Op); err != nil {
		return nil, err
	}
	job := backend.Job{
		DType: c.DType, Contract: "fp64", Launches: []backend.LaunchPlan{{Poison: "a"}},
		Implementation: backend.Implementation{Name: composed, Op: c.Op, Pass: c.Pass},
	}
	for i, t := range outputs {
		for _, part := range parts {
			job.Outputs = append(job.Outputs, op.TensorType{
				Name: strconv.Itoa(i) + part, DType: op.FP64,
				Shape: t.Shape,
			})
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

// load lets the process import the operator's file.
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

// refuse returns the error of a reference that raised or crashed, with the line of its file where that is
// known.
func (r *Reference) refuse(o backend.Outcome) error {
	place := ""
	if o.Where != nil && filepath.Base(o.Where.File) == filepath.Base(r.Folder.Python) && o.Where.Line > 0 {
		place = fmt.Sprintf("line %d: ", o.Where.Line)
	}
	return r.mistake("%s%s", place, strings.TrimPrefix(strings.TrimPrefix(o.Sentence, "UnknownForm: "),
		"TypeError: "))
}

// computed decodes the outputs of the reference and rejects shapes and dtypes that differ from the spec.
func (r *Reference) computed(outputs []op.TensorType, got []backend.Output) ([]truth.Computed, error) {
	all := make([]truth.Computed, len(outputs))
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

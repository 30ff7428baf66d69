package opfolder

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// drawn is the implementation that draws inputs as an imported problem does.
const drawn = "truth/drawn"

// Draw has the problem draw the inputs of a case that the spec leaves to it, under a seed that follows from
// that of the run and from the case.
func (r *Reference) Draw(c op.Case, seed uint64) (map[string]tensor.Tensor, error) {
	if _, _, err := r.load(c.Op); err != nil {
		return nil, err
	}
	spec := r.Folder.Spec
	forward := c
	forward.Pass, forward.Upstream, forward.Saved = op.Forward, "", ""
	types, err := spec.Inputs(forward)
	if err != nil {
		return nil, err
	}
	job := backend.Job{
		DType: c.DType, Contract: "fp64", Launches: []backend.LaunchPlan{{Poison: "a"}},
		Implementation: backend.Implementation{Name: drawn, Op: c.Op, Pass: op.Forward},
	}
	var shapes, numbers []string
	var names []string
	for i, t := range types {
		shapes = append(shapes, sizesOf(t.Shape))
		if t.Fill == op.Drawn {
			job.Outputs = append(job.Outputs, op.TensorType{
				Name: strconv.Itoa(len(names)), DType: t.DType, Shape: t.Shape,
			})
			names, numbers = append(names, t.Name), append(numbers, strconv.Itoa(i))
		}
	}
	job.Attrs = r.attributes(c)
	digest := fnv.New32a()
	fmt.Fprintf(digest, "%d %s", seed, c.Key())
	for name, text := range map[string]string{
		"_seed": strconv.FormatUint(uint64(digest.Sum32()), 10), "_shapes": strings.Join(shapes, ","),
		"_which": strings.Join(numbers, ","),
	} {
		job.Attrs = append(job.Attrs, backend.AttrRef{Name: name, Type: "enum", Text: text})
	}
	outcome, err := r.Backend.Run(r.Context, job)
	if err != nil {
		return nil, fmt.Errorf("draw the inputs of %s: %w", c.Op, err)
	}
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 1 ||
		len(outcome.Launches[0].Outputs) != len(names) {
		return nil, r.refuse(outcome)
	}
	found := map[string]tensor.Tensor{}
	for i, got := range outcome.Launches[0].Outputs {
		if want := job.Outputs[i]; !got.Present || got.Type != "" || got.DType != want.DType.String() ||
			!slices.Equal(got.Shape, want.Shape) {
			return nil, r.mistake("the problem drew %s as %s %v: want %v %v", names[i], got.DType, got.Shape,
				want.DType, want.Shape)
		}
		t := got.Tensor
		t.Name, t.Data = names[i], slices.Clone(t.Data)
		found[names[i]] = t
	}
	return found, nil
}

// sizesOf returns the sizes of a tensor as 4x5.
func sizesOf(shape []int64) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, "x")
}

package workload

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestGivenInputs: an input that its problem draws is the one that was given; another shape, or none, is an
// error.
func TestGivenInputs(t *testing.T) {
	all := everySpec(t)
	spec := all[slices.IndexFunc(all, func(s *op.Spec) bool {
		return len(s.InputSpecs) > 1 && s.InputSpecs[1].Fill == "weight"
	})]
	copied := *spec
	copied.InputSpecs = append([]op.TensorSpec{}, spec.InputSpecs...)
	copied.InputSpecs[1].Fill = op.Drawn
	plan, err := spec.Expand(op.Options{Level: op.LevelQuick})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatal(err)
	}
	c := plan.Cases[0]
	types, err := copied.Inputs(c)
	if err != nil {
		t.Fatal(err)
	}
	drawn := tensor.New(types[1].Name, types[1].DType, types[1].Shape)
	drawn.Data[0] = 7
	found, err := InputsWith(&copied, c, 1, map[string]tensor.Tensor{drawn.Name: drawn})
	if err != nil || found[1].Data[0] != 7 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := Inputs(&copied, c, 1); err == nil || !strings.Contains(err.Error(), "nothing was drawn") {
		t.Errorf("without it: %v", err)
	}
	drawn.Shape = append([]int64{1}, drawn.Shape...)
	_, err = InputsWith(&copied, c, 1, map[string]tensor.Tensor{drawn.Name: drawn})
	if err == nil || !strings.Contains(err.Error(), "its problem drew") {
		t.Errorf("another shape: %v", err)
	}
}

package truth_test

import (
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// TestSavedFollow: where saved tensors cannot be computed from the changed inputs there is no further call:
// with those of the former inputs, a right backward would be rejected.
func TestSavedFollow(t *testing.T) {
	changed := []tensor.Tensor{tensor.New("x", op.FP32, []int64{2})}
	r := truth.Relation{
		Name: "anything holds", SavedFollow: true,
		Second: func(c op.Case, _ truth.Inputs) (op.Case, []tensor.Tensor) { return c, changed },
	}
	of := func(saved string) error {
		_, _, err := r.Next([]truth.Call{{Case: op.Case{Op: "none", Pass: op.Backward, Saved: saved}}})
		return err
	}
	if err := of("driver"); err == nil {
		t.Error("the tensors of the first call are handed to the second")
	}
	if err := of("own"); err != nil {
		t.Errorf("an implementation saves its own: %v", err)
	}
}

package truth

import (
	"testing"

	"triad/internal/op"
)

// TestRowsOfAReferenceShareErrors: nobody says whether the elements of a row of a user's reference share a
// factor that is stored low, so that a matrix has as many independent errors as rows.
func TestRowsOfAReferenceShareErrors(t *testing.T) {
	k := &Request{spec: &op.Spec{}}
	for _, c := range []struct {
		shape []int64
		want  float64
	}{{[]int64{2, 3, 2, 4}, 2}, {[]int64{6, 8}, 0}, {[]int64{48}, 0}} {
		n := int64(1)
		for _, size := range c.shape {
			n *= size
		}
		one := Computed{R: make([]float64, n), T: make([]float64, n), Simulated: make([]float64, n)}
		target := k.composed(op.TensorType{Name: "y", DType: op.BF16, Shape: c.shape}, one, one)
		if target.Errors != c.want {
			t.Errorf("%v: %v independent errors, want %v", c.shape, target.Errors, c.want)
		}
	}
}

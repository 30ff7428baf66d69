package truth

import (
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
)

// TestScalesBesideTheSubnormalNumbers: the smallest normal number may have been rounded up from the subnormal
// range, so that its double has an error that a scaled call does not have.
func TestScalesBesideTheSubnormalNumbers(t *testing.T) {
	for _, c := range []struct {
		first, second float64
		holds         bool
	}{
		{0x1p-14, 0x1p-13 - 0x1p-24, true},
		{0x1p-14, 0x1p-13 - 0x1p-20, false},
		{0x1.004p-14, 0x1.004p-13, true},
		{0x1.004p-14, 0x1p-13, false},
	} {
		target := judge.Target{Name: "y", DType: op.FP16, Shape: []int64{1}, R: []float64{c.first}}
		answered := func(y float64) *Answered {
			all := judge.Truth{Outputs: []judge.Target{target}}
			return &Answered{
				truth:  func() (judge.Truth, error) { return all, nil },
				values: map[string][]float64{"out y": {y}}, fail: func(err error) { t.Fatal(err) },
			}
		}
		a := &Related{First: answered(c.first), Second: answered(c.second)}
		claim := a.Equal("y", 2, nil).At(0)
		if holds := claim.Low <= claim.Got && claim.Got <= claim.High; holds != c.holds {
			t.Errorf("twice %v is %v: accepted is %v to %v, want %v", c.first, c.second,
				claim.Low, claim.High, c.holds)
		}
	}
}

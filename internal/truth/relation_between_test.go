package truth_test

import (
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestScalesBesideTheSubnormalNumbers: the smallest normal number may have been rounded up from the subnormal
// range, so that its double has an error that a scaled call does not have.
func TestScalesBesideTheSubnormalNumbers(t *testing.T) {
	doubled := truth.Relation{
		Name: "twice the input, twice the output", Pass: op.Forward, Outputs: []string{"y"},
		Second: func(c op.Case, _ truth.Inputs) (op.Case, []tensor.Tensor) { return c, nil },
		States: func(a *truth.Related, output string) judge.Statement { return a.Equal(output, 2, nil) },
	}
	for _, c := range []struct {
		first, second float64
		holds         bool
	}{
		{0x1p-14, 0x1p-13 - 0x1p-24, true},
		{0x1p-14, 0x1p-13 - 0x1p-20, false},
		{0x1.004p-14, 0x1.004p-13, true},
		{0x1.004p-14, 0x1p-13, false},
	} {
		call := func(y float64) truth.Call {
			target := judge.Target{Name: "y", DType: op.FP16, Shape: []int64{1}, R: []float64{y}}
			return truth.Call{
				Gave: truth.Inputs{truthtest.Literal("y", op.FP16, []float64{y}, 1)},
				Truth: func(string) (judge.Truth, error) {
					return judge.Truth{Outputs: []judge.Target{target}}, nil
				},
			}
		}
		held := truthtest.Holds(doubled, "fp32", []truth.Call{call(c.first), call(c.second)})["y"]
		if held.Missing != "" || held.Accepted() != c.holds {
			t.Errorf("twice %v is %v: accepted %v, want %v; %s", c.first, c.second, held.Accepted(), c.holds,
				held.Missing)
		}
	}
}

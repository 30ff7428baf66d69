package judge

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Wrong elements are told apart by what they are, and one of another kind is seen among many.
func TestWrongs(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	want := []float64{1, nan, nan, 2, inf, 3, 4}
	target := Target{
		Name: "y", DType: op.FP32, Shape: []int64{int64(len(want))}, R: want,
		T: make([]float64, len(want)), TFP32: make([]float64, len(want)), Sim: make([]float64, len(want)),
	}
	for _, c := range []struct {
		got   []float64
		want  Wrongs
		only  []string
		holds bool
	}{
		{want, Wrongs{}, op.WrongKinds, false}, // nothing is wrong: nothing to explain
		{[]float64{1, 0, nan, 2, inf, 3, 4}, Wrongs{NaNLost: 1}, []string{"nan lost"}, true},
		{[]float64{1, 0, nan, 2, inf, 3, 5}, Wrongs{NaNLost: 1, Finite: 1}, []string{"nan lost"}, false},
		{[]float64{1, inf, 7, 2, inf, 3, 4}, Wrongs{NaNLost: 2}, []string{"nan lost"}, true},
		{[]float64{nan, nan, nan, 2, inf, 3, 4}, Wrongs{NaNGained: 1}, []string{"finite", "infinite"}, false},
		{[]float64{1, nan, nan, 2, 5, inf, 4}, Wrongs{Infinite: 2}, []string{"infinite"}, true},
	} {
		out := tensor.New("y", op.FP32, target.Shape)
		out.SetFloat64s(c.got)
		got := WrongsOf(target, out.Data)
		if got != c.want || got.Only(c.only) != c.holds {
			t.Errorf("%v: %+v, only %v %v; want %+v, %v", c.got, got, c.only, got.Only(c.only),
				c.want, c.holds)
		}
	}
	if got := WrongsOf(target, []byte{1}); got != (Wrongs{}) {
		t.Errorf("bytes of another size: %+v", got)
	}
}

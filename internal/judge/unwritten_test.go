package judge

import (
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestUnwritten checks that an unwritten place is described in the words of its dims.
func TestUnwritten(t *testing.T) {
	rope := Target{
		Name: "q_out", DType: op.BF16, Shape: []int64{2, 3, 4, 8},
		Axes: []string{"batch", "position", "head", "column"},
	}
	matrix := Target{Name: "y", DType: op.FP32, Shape: []int64{5, 100}}
	for _, c := range []struct {
		name   string
		target Target
		left   func(i int64) bool
		want   string
	}{
		{"everything written", matrix, func(int64) bool { return false }, ""},
		{"nothing written", matrix, func(int64) bool { return true }, "every element is unwritten"},
		{"last row", matrix, func(i int64) bool { return i >= 400 }, "only the last row (4) is unwritten"},
		{
			"tail of every row", matrix,
			func(i int64) bool { return i%100 >= 96 }, "unwritten from column 96 to the end (the tail: 100 " +
				"is not a multiple of 32)",
		},
		{
			"tail of the memory", matrix, func(i int64) bool { return i >= 384 },
			"exactly the last 116 elements in memory are unwritten (the tail: 500 is not a multiple of 128)",
		},
		{"one position", rope, func(i int64) bool { return i/32%3 == 1 }, "only position 1 is unwritten"},
		{"no order", matrix, func(i int64) bool { return i*i%7 == 2 }, ""},
	} {
		var data [][]byte
		for _, poison := range []string{"a", "b"} {
			bytes := make([]byte, c.target.Elements()*c.target.DType.Size())
			tensor.Poison(bytes, c.target.DType, poison)
			for i := range c.target.Elements() {
				if !c.left(i) {
					clear(bytes[i*c.target.DType.Size() : (i+1)*c.target.DType.Size()])
				}
			}
			data = append(data, bytes)
		}
		if got := Unwritten(c.target, []string{"a", "b"}, data); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

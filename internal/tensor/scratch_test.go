package tensor

import (
	"slices"
	"testing"

	"triad/internal/op"
)

func TestLentValues(t *testing.T) {
	x := New("x", op.BF16, []int64{leastLent/4 + 1, 5})
	values := make([]float64, x.Elements())
	for i := range values {
		values[i] = float64(i % 128)
	}
	x.SetFloat64s(values)
	for range 3 {
		lent := x.LentFloat64s()
		if !slices.Equal(lent, values) {
			t.Fatal("lent values are not the tensor's")
		}
		for i := range lent {
			lent[i] = -1 // the next borrower finds it as it was left
		}
		other := Lend(leastLent)
		if len(other) != leastLent || &other[0] == &lent[0] {
			t.Fatalf("%d values lent, of memory that is lent already: %v", len(other), &other[0] == &lent[0])
		}
		GiveBack(lent)
		GiveBack(other)
		if again := Lend(len(lent)); &again[0] != &lent[0] {
			t.Error("what fits was given back, and other memory is lent")
		} else {
			GiveBack(again)
		}
	}
	GiveBack(make([]float64, mostKept/2))
	GiveBack(make([]float64, mostKept/2))
	total := 0
	for _, m := range kept.memory {
		total += len(m)
	}
	if kept.values > mostKept || kept.values != total {
		t.Errorf("%d values are kept, counted as %d, want at most %d", total, kept.values, mostKept)
	}
}

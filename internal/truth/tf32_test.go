package truth_test

import (
	"math"
	"testing"

	"triad/internal/truth"
)

// TestTF32 compares it with the format: bits are dropped toward zero, and nothing else changes.
func TestTF32(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0, 0},
		{1, 1},
		{-1.5, -1.5},
		{1 + 0x1p-10, 1 + 0x1p-10},
		{1 + 0x1p-11, 1},
		{-1 - 0x1.8p-10, -1 - 0x1p-10},
		{math.MaxFloat32, 0x1.ffcp127},
		{math.Inf(1), math.Inf(1)},
		{math.Inf(-1), math.Inf(-1)},
		{0x1p-136, truth.TF32Lost},
		{0x1.8p-136, truth.TF32Lost},
		{0x1p-137, 0},
	} {
		if got := truth.TF32(c.x); got != c.want {
			t.Errorf("%x: %x, want %x", c.x, got, c.want)
		}
	}
	quiet := float64(math.Float32frombits(0x7f800001))
	if !math.IsNaN(truth.TF32(quiet)) {
		t.Error("a NaN whose bits are all dropped is no number any more")
	}
}

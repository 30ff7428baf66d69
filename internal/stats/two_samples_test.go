package stats

import (
	"math"
	"testing"
)

func TestHolm(t *testing.T) {
	// what R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("adjusted p %d is %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("two large p-values become %v, want at most 1", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("no p-value becomes %v", got)
	}
}

func TestMannWhitney(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{11, 12, 13, 14, 15, 16, 17, 18}
	if p := MannWhitney(low, high); math.Abs(p-2.0/12870) > 1e-12 { // 16 choose 8 orders, two of them so
		t.Errorf("p of two samples apart is %v, want %v", p, 2.0/12870)
	}
	if p := MannWhitney(low, nil); p != 1 {
		t.Errorf("p of an empty sample is %v, want 1", p)
	}
	if p := MannWhitney(low, low); p < 0.9 {
		t.Errorf("p of a sample and itself is %v", p)
	}
}

func TestMedianInterval(t *testing.T) {
	if low, high := MedianInterval([]float64{3, 1, 2}, 0.99); low != 1 || high != 3 {
		t.Errorf("interval of three samples is [%v, %v], want the smallest and the largest", low, high)
	}
	if low, _ := MedianInterval(nil, 0.99); !math.IsNaN(low) {
		t.Errorf("interval of no sample begins at %v", low)
	}
	many := make([]float64, 101)
	for i := range many {
		many[i] = float64(i)
	}
	low, high := MedianInterval(many, 0.99)
	if !(low > 30 && low < 50 && high > 50 && high < 70) {
		t.Errorf("interval of 0..100 is [%v, %v]", low, high)
	}
}

package judge

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// mapped returns the map of an output of 100 rows and 70 columns whose truth is 1 everywhere, except for some
// elements.
func mapped(t *testing.T, wrong map[[2]int]float64, sample []int64) *Map {
	t.Helper()
	const rows, cols = 100, 70
	got := slices.Repeat([]float64{1}, rows*cols)
	for at, y := range wrong {
		got[at[0]*cols+at[1]] = y
	}
	n := rows * cols
	if sample != nil {
		n = len(sample)
	}
	target := Target{
		Name: "y", DType: op.FP32, Shape: []int64{10, 10, cols}, R: slices.Repeat([]float64{1}, n),
		T: slices.Repeat([]float64{0.01}, n), TFP32: make([]float64, n), Sim: slices.Repeat([]float64{1}, n),
		Index: sample,
	}
	out := tensor.New("y", op.FP32, target.Shape)
	out.SetFloat64s(got)
	m := MapOf(target, out.Data)
	if m == nil {
		t.Fatal("no map")
	}
	return m
}

// TestMapPlacesErrors: wrong elements are in the cells of their rows and columns, and every compared element
// in one.
func TestMapPlacesErrors(t *testing.T) {
	m := mapped(t, map[[2]int]float64{{0, 0}: 1.1, {99, 69}: math.NaN(), {50, 35}: 1.005}, nil)
	if m.Rows != 100 || m.Cols != 70 || m.Down != 24 || m.Across != 32 {
		t.Fatalf("the grid is %d x %d of %d x %d", m.Down, m.Across, m.Rows, m.Cols)
	}
	last := len(m.Most) - 1
	middle := 12*m.Across + 16
	sum := int64(0)
	for i, n := range m.Compared {
		sum += n
		wrong := int64(0)
		if i == 0 || i == last {
			wrong = 1
		}
		if m.Wrong[i] != wrong || i != 0 && i != last && i != middle && m.Most[i] != 0 {
			t.Errorf("cell %d: %d wrong, want %d; most %v", i, m.Wrong[i], wrong, m.Most[i])
		}
	}
	if sum != 7000 {
		t.Errorf("%d elements in the cells, want 7000", sum)
	}
	if m.Most[0] < 9.9 || m.Most[0] > 10.1 || !math.IsInf(m.Most[last], 1) ||
		m.Most[middle] < 0.49 || m.Most[middle] > 0.51 {
		t.Errorf("most %v at the first, %v at the last, %v in the middle; want 10, infinite, a half",
			m.Most[0], m.Most[last], m.Most[middle])
	}
}

// TestMapOfASample: for a sample the cells hold the number of their compared elements.
func TestMapOfASample(t *testing.T) {
	m := mapped(t, map[[2]int]float64{{99, 69}: 7}, []int64{0, 1, 6999})
	if m.Compared[0] != 2 || m.Compared[1] != 0 || m.Wrong[len(m.Wrong)-1] != 1 {
		t.Errorf("compared %v, wrong %v", m.Compared, m.Wrong)
	}
}

func TestNoMapOfWhatCannotBeJudged(t *testing.T) {
	if m := MapOf(Target{Name: "y", DType: op.FP32, Shape: []int64{2}}, nil); m != nil {
		t.Errorf("%+v", m)
	}
	empty := Target{
		Name: "y", DType: op.FP32, Shape: []int64{0, 3}, R: []float64{}, T: []float64{},
		TFP32: []float64{}, Sim: []float64{},
	}
	if m := MapOf(empty, nil); m != nil {
		t.Errorf("of no elements: %+v", m)
	}
}

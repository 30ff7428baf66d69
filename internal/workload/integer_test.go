package workload

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// integerSpec is an operator of one matrix in every integer dtype.
const integerSpec = `
name = "counted"
summary = "a matrix of integers"
formula = "y = x"
source = "none"
dtypes = ["uint8", "int8", "int32", "int64"]
[[dims]]
name = "rows"
[[dims]]
name = "cols"
[[inputs]]
name = "x"
shape = ["rows", "cols"]
strided = true
[[outputs]]
name = "y"
shape = ["rows", "cols"]
[contract]
default = { uint8 = "exact", int8 = "exact", int32 = "exact", int64 = "exact" }
[cost.forward]
bytes = "2 * rows * cols * size"
flops = "0"
[check]
distributions = ["normal", "zeros", "integers", "constant", "ties", "extremes", "sparse"]
shapes = [{ rows = 3, cols = 5, all = true, quick = true }]
`

func loadIntegers(t *testing.T) *op.Spec {
	t.Helper()
	s, err := op.Load("counted.toml", []byte(integerSpec))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Integers are drawn over the range of their dtype, in every distribution as its name says.
func TestIntegers(t *testing.T) {
	s := loadIntegers(t)
	for dtype, bounds := range map[string][2]float64{
		"uint8": {0, 255}, "int8": {-128, 127}, "int32": {math.MinInt32, math.MaxInt32},
		"int64": {-largestExact, largestExact},
	} {
		draw := func(distribution string) []float64 {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: dtype, Distribution: distribution},
				map[string]int64{"rows": 40, "cols": 100}, nil)
			x := inputs(t, s, c, defaultSeed)["x"].Float64s()
			if slices.Min(x) < bounds[0] || slices.Max(x) > bounds[1] ||
				slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) }) {
				t.Errorf("%s %s: %v to %v", dtype, distribution, slices.Min(x), slices.Max(x))
			}
			return x
		}
		low, high := bounds[0], bounds[1]
		normal := draw("normal")
		mean := 0.0
		for _, v := range normal {
			mean += v / float64(len(normal))
		}
		if math.Abs(mean-(low/2+high/2)) > (high/2-low/2)/20 || slices.Max(normal) < high-(high/100-low/100) {
			t.Errorf("%s: uniform integers have the mean %v and reach %v", dtype, mean, slices.Max(normal))
		}
		counts := map[float64]int{}
		for _, v := range draw("extremes") {
			counts[v]++
		}
		if len(counts) != 2 || counts[low] < 1000 || counts[high] < 1000 {
			t.Errorf("%s: extremes are %v", dtype, counts)
		}
		if x := draw("ties"); slices.Min(x) != slices.Max(x) {
			t.Errorf("%s: ties are %v to %v", dtype, slices.Min(x), slices.Max(x))
		}
		if x := draw("zeros"); slices.Min(x) != 0 || slices.Max(x) != 0 {
			t.Errorf("%s: zeros are not all 0", dtype)
		}
		if x := draw("integers"); slices.Max(x) != 8 || slices.Min(x) != max(low, -8) {
			t.Errorf("%s: integers are %v to %v", dtype, slices.Min(x), slices.Max(x))
		}
		if x := draw("constant"); x[0] != x[99] || slices.Min(x) == slices.Max(x) {
			t.Errorf("%s: rows of one value are %v", dtype, x[:4])
		}
		zeros := 0
		for _, v := range draw("sparse") {
			if v == 0 {
				zeros++
			}
		}
		if zeros < 3900 || zeros == 4000 {
			t.Errorf("%s: %d of 4000 are zero, want about 99 of 100", dtype, zeros)
		}
	}
}

// What lies beside a view of integers is no value that a right answer has everywhere, such as 0.
func TestIntegersBesideAView(t *testing.T) {
	s := loadIntegers(t)
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "uint8", Layout: "sliced", Distribution: "zeros"},
		map[string]int64{"rows": 4, "cols": 5}, nil)
	x := inputs(t, s, c, defaultSeed)["x"]
	want := append(make([]byte, 5), tensor.PoisonPattern(op.U8, "a")...)
	if !bytes.Equal(x.Data, bytes.Repeat(want, 4)) || x.Stride[0] != 6 {
		t.Errorf("sliced zeros lie in %v with strides %v", x.Data, x.Stride)
	}
}

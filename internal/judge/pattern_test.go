package judge

import (
	"math"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// patternTarget returns an fp32 output of a smooth, irregular truth.
func patternTarget(shape ...int64) Target {
	t := Target{Name: "y", DType: op.FP32, Shape: shape}
	n := t.Elements()
	t.R, t.T, t.TFP32, t.Sim = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range t.R {
		t.R[i] = math.Sin(float64(i)*1.7) + 0.3*math.Cos(float64(i*i)*0.01) + 2
		t.T[i], t.TFP32[i], t.Sim[i] = 1e-6, 1e-6, t.R[i]
	}
	return t
}

// worded returns a target whose operator has words of its own.
func worded(t Target) Target {
	t.Words = Words{
		Ends: "the padding", Seams: "the halo", Boundary: "not carried on", Exchanged: "by columns",
	}
	return t
}

// planted are wrong outputs and the expected description of their pattern.
var planted = []struct {
	name   string
	target Target
	wrong  func(t Target, i int64) (float64, bool) // the value of element i, and whether it is planted
	want   string
}{
	{"right", patternTarget(4, 100), func(Target, int64) (float64, bool) { return 0, false }, ""},
	{
		"one row", patternTarget(5, 7),
		func(t Target, i int64) (float64, bool) { return t.R[i] + math.Sin(float64(i)), i/7 == 3 },
		"only row 3 is wrong",
	},
	{
		"last row", patternTarget(5, 7),
		func(t Target, i int64) (float64, bool) { return t.R[i] + math.Sin(float64(i)), i/7 == 4 },
		"only the last row (4) is wrong",
	},
	{
		"tail", patternTarget(5, 100), func(_ Target, i int64) (float64, bool) { return 0, i%100 >= 96 },
		"wrong from column 96 to the end (the tail: 100 is not a multiple of 32): the wrong values are 0",
	},
	{
		"head", patternTarget(2, 3, 4, 8),
		func(t Target, i int64) (float64, bool) { return math.Sin(float64(i)), i/32%3 == 1 },
		"only head 1 is wrong",
	},
	{
		"every other column", patternTarget(6, 64),
		func(t Target, i int64) (float64, bool) { return math.NaN(), i%2 == 1 },
		"every 2nd column is wrong, beginning with column 1: the wrong values are all NaN",
	},
	{
		"factor", patternTarget(6, 64),
		func(t Target, i int64) (float64, bool) { return t.R[i] / 2, true },
		"every element is wrong: the wrong values are 0.5 times the truth",
	},
	{
		"sign", patternTarget(6, 64), func(t Target, i int64) (float64, bool) { return -t.R[i], true },
		"every element is wrong: the wrong values have the opposite sign",
	},
	{
		"off by one", patternTarget(1, 200),
		func(t Target, i int64) (float64, bool) { return t.R[min(i+1, 199)], i < 199 },
		"each wrong value is the truth of the next column",
	},
	{
		"transposed", patternTarget(8, 8),
		func(t Target, i int64) (float64, bool) { return t.R[i%8*8+i/8], true },
		"row and column are exchanged",
	},
	{
		"a halo at the ends", worded(patternTarget(3, 90)),
		func(t Target, i int64) (float64, bool) { return 0, i%90 < 2 || i%90 >= 87 },
		"wrong in the first 2 and the last 3 columns (the padding): the wrong values are 0",
	},
	{
		"a halo where tiles meet", worded(patternTarget(2, 300)),
		func(t Target, i int64) (float64, bool) {
			c := i % 300
			return t.R[i] + math.Sin(float64(i)), c%64 >= 61 && c < 256 || c%64 < 2 && c >= 64
		},
		"wrong only within 3 columns of multiples of 64: where tiles of 64 meet (the halo)",
	},
	{
		"a halo where tiles meet, the last one cut off", worded(patternTarget(1, 999)),
		func(t Target, i int64) (float64, bool) { return t.R[i] + math.Sin(float64(i)), i%256 >= 224 },
		"wrong only within 32 columns of multiples of 256: where tiles of 256 meet (the halo)",
	},
	{
		"a halo of a single element", worded(patternTarget(256)),
		func(t Target, i int64) (float64, bool) { return t.R[i] + 1, i == 255 },
		"only the last element (255) is wrong (256 is a multiple of 256: tiles may meet there; the halo)",
	},
	{
		"a halo of one tile", worded(patternTarget(1, 75)),
		func(t Target, i int64) (float64, bool) { return t.R[i] + math.Sin(float64(i)), i >= 60 && i < 64 },
		"wrong from column 60 to 63 (64 is a multiple of 64: tiles may meet there; the halo)",
	},
	{
		"from a tile on", worded(patternTarget(1000)),
		func(t Target, i int64) (float64, bool) { return t.R[i] + math.Sin(float64(i)), i >= 512 },
		"wrong from element 512 to the end (512 is a multiple of 256: not carried on)",
	},
	{
		"transposed, as cuBLAS", worded(patternTarget(8, 8)),
		func(t Target, i int64) (float64, bool) { return t.R[i%8*8+i/8], true },
		"row and column are exchanged (by columns)",
	},
	{
		"transposed, not square", patternTarget(3, 7),
		func(t Target, i int64) (float64, bool) { return t.R[i%3*7+i/3], true },
		"row and column are exchanged",
	},
	{
		"missing term", patternTarget(6, 64),
		func(t Target, i int64) (float64, bool) { return t.R[i] - 0.75, true },
		"differ from the truth by one number, -0.75",
	},
	{
		"noise", patternTarget(6, 64),
		func(t Target, i int64) (float64, bool) {
			return t.R[i] + math.Sin(float64(i)*3.1), i*7919%5 == 0
		}, "",
	},
}

// TestPattern checks that what is regular about an error is described, and nothing else.
func TestPattern(t *testing.T) {
	for _, c := range planted {
		t.Run(c.name, func(t *testing.T) {
			y := append([]float64(nil), c.target.R...)
			for i := range y {
				if v, planted := c.wrong(c.target, int64(i)); planted {
					y[i] = v
				}
			}
			got := Pattern(c.target, tensor.Encode(op.FP32, y))
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestPatternOfNoFactor: a factor that cannot be told from 1 is not reported.
func TestPatternOfNoFactor(t *testing.T) {
	target := patternTarget(6, 64)
	y := make([]float64, len(target.R))
	for i, r := range target.R {
		y[i] = r * 1.0002
	}
	if got := Pattern(target, tensor.Encode(op.FP32, y)); strings.Contains(got, "times the truth") {
		t.Errorf("%q", got)
	}
}

// TestPatternOfNothing: inconsistent inputs have no pattern, and cause no panic.
func TestPatternOfNothing(t *testing.T) {
	target := patternTarget(3, 3)
	for _, data := range [][]byte{nil, make([]byte, 3), make([]byte, 37)} {
		if got := Pattern(target, data); got != "" {
			t.Errorf("%d bytes: %q", len(data), got)
		}
	}
	if got := Pattern(Target{}, nil); got != "" {
		t.Errorf("no target: %q", got)
	}
}

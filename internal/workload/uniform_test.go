package workload

import (
	"slices"
	"testing"

	"triad/internal/op"
)

// TestUniform: values lie between 0 and 1, and fp32 rounds none to 1, whatever the distribution is.
func TestUniform(t *testing.T) {
	const spec = `name = "root"
summary = "a root"
formula = "y = sqrt x"
source = "a test"
dtypes = ["fp32"]
dims = [{ name = "n" }]
inputs = [{ name = "x", shape = ["n"], fill = "uniform" }]
outputs = [{ name = "y", shape = ["n"] }]
contract = { default = { fp32 = "fp32" } }
cost = { forward = { bytes = "8 * n", flops = "n" } }
check = { distributions = ["normal", "outlier"], shapes = [{ n = 1, all = true, quick = true }] }
bench = [{ name = "one", dims = { n = 1 } }, { name = "two", dims = { n = 2 } }]
`
	s, err := op.Load("root.toml", []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	for _, distribution := range s.Check.Distributions {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
			map[string]int64{"n": 100_000}, nil)
		x := inputs(t, s, c, defaultSeed)["x"].Float64s()
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		low, high, mean := slices.Min(x), slices.Max(x), sum/float64(len(x))
		if low < 0 || low > 1e-3 || high >= 1 || high < 0.999 || mean < 0.49 || mean > 0.51 {
			t.Errorf("%s: from %v to %v, mean %v", distribution, low, high, mean)
		}
	}
}

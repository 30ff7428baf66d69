package casegaps

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

const text = `name = "scaled_sum"
summary = "the sum of each row, times a factor"
formula = "y[r] = factor * sum_c x[r,c]"
source = "none"
dtypes = ["fp32", "bf16"]
dims = [{ name = "rows", may_be_empty = true }, { name = "cols" }]
attributes = [
  { name = "factor", type = "float", default = 2.0 }, { name = "negate", type = "bool", default = false },
  { name = "times", type = "int", default = 1, least = 1 },
]
inputs = [
  { name = "x", shape = ["rows", "cols"], strided = true }, { name = "bias", shape = ["rows * times"] },
]
outputs = [{ name = "y", shape = ["rows"] }, { name = "largest", shape = ["rows"], optional = true }]
[contract]
default = { fp32 = "fp32", bf16 = "fp32" }
[cost.forward]
bytes = "rows * cols * size"
flops = "rows * cols"
[check]
distributions = ["normal", "zeros", "integers", "non_finite", "extremes"]
quick = ["zeros"]
shapes = [
  { rows = 3, cols = 5, all = true, quick = true }, { rows = 65540, cols = 2 }, { rows = 1, cols = 96 },
  { rows = 1, cols = 65537 },
  { rows = 2, cols = 7, factor = 3.0 },
]
`

func load(t *testing.T) (*op.Spec, Cases) {
	t.Helper()
	spec, err := op.Load("scaled_sum.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := spec.Expand(op.Options{DTypes: []string{"bf16"}})
	if err != nil {
		t.Fatal(err)
	}
	return spec, Cases{Spec: spec, Pass: op.Forward, DType: "bf16", List: plan.Cases}
}

// TestQuestionsFollowFromTheSpec: every mistake that the spec permits is asked about, and no other: the sizes
// of bias follow from times, and bias is always contiguous.
func TestQuestionsFollowFromTheSpec(t *testing.T) {
	_, cases := load(t)
	questions, err := cases.Questions()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range questions {
		if s := q.String(); q.Kind != Period && slices.Contains(got, s) {
			t.Errorf("%q is asked twice", s)
		} else {
			got = append(got, s)
		}
	}
	for _, want := range []string{
		"factor is always its default", "factor is always another number", "negate is always true",
		"negate is always false", "the strides of x are ignored", "the offset of x is ignored",
		"x is wrong on NaN", "x is wrong on numbers between 1e6 and 1e30", "bias is wrong on -0",
		"the first element of y is wrong", "the last element of largest is wrong",
		"every 2^15-th element of y is wrong", "elements of y above 65,535 are wrong",
		"rows is counted in 16 bits", "y is wrong where cols is a multiple of 32 and no power of two",
		"y is wrong where rows is above 1,024", "y is wrong where cols is above 1,024",
		"y is wrong where rows is a multiple of 32 and cols is none",
		"y is wrong where cols is a multiple of 32 and rows is none",
		"y is rounded half away from zero", "y is summed over cols in 16 bits", "largest is not written",
		"largest holds y", "an earlier output of the same sizes is returned",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("nobody asks whether %s", want)
		}
	}
	for _, no := range []string{
		"times is always another", "strides of bias", "offset of bias", "y is not written",
		"x is wrong on -0, for 0",
	} {
		if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, no) }) {
			t.Errorf("%q is asked about", no)
		}
	}
}

// TestShows: a case shows a mistake where its sizes, attributes and inputs differ under it.
func TestShows(t *testing.T) {
	spec, cases := load(t)
	case0 := func(rows, cols string, factor string) op.Case {
		for _, c := range cases.List {
			if strings.Contains(strings.Join(strings.Fields(dims(c)), " "), rows+" "+cols) &&
				c.Attrs.Text("factor") == factor {
				return c
			}
		}
		t.Fatalf("no case of %s %s", rows, cols)
		return op.Case{}
	}
	small, tall, other := case0("3", "5", "2"), case0("65540", "2", "2"), case0("2", "7", "3")
	wide, long := case0("1", "96", "2"), case0("1", "65537", "2")
	for _, c := range []struct {
		q    Question
		on   op.Case
		want bool
	}{
		{Question{Kind: Attribute, Subject: "factor", Value: Default}, small, false},
		{Question{Kind: Attribute, Subject: "factor", Value: Default}, other, true},
		{Question{Kind: Attribute, Subject: "factor", Value: Other}, small, true},
		{Question{Kind: Above16, Subject: "y"}, small, false},
		{Question{Kind: Above16, Subject: "y"}, tall, true},
		{Question{Kind: Index16, Subject: "rows"}, tall, true},
		{Question{Kind: Index16, Subject: "cols"}, tall, false},
		{Question{Kind: Index16, Subject: "cols"}, long, true},
		{Question{Kind: Multiple, Subject: "y", Value: "cols"}, wide, true},
		{Question{Kind: Multiple, Subject: "y", Value: "cols"}, small, false},
		{Question{Kind: Threads, Subject: "y", Value: "rows"}, tall, true},
		{Question{Kind: Threads, Subject: "y", Value: "cols"}, tall, false},
		{Question{Kind: Ragged, Subject: "y", Value: "rows", Beside: "cols"}, wide, true},
		{Question{Kind: Ragged, Subject: "y", Value: "cols", Beside: "rows"}, wide, false},
		{Question{Kind: Ragged, Subject: "y", Value: "cols", Beside: "rows"}, small, false},
		{Question{Kind: Sum16, Subject: "y", Value: "cols"}, small, true},
		{Question{Kind: HalfAway, Subject: "y"}, small, true},
		{Question{Kind: Period, Subject: "y", Power: 2}, small, false},
	} {
		if got := c.q.Shows(spec, c.on, nil); got != c.want {
			t.Errorf("%s, on %s: %v", c.q, dims(c.on), got)
		}
	}
}

func dims(c op.Case) string {
	text := ""
	for _, d := range c.Dims {
		text += " " + thousandless(d.Value)
	}
	return text
}

func thousandless(n int64) string { return strings.ReplaceAll(thousands(n), ",", "") }

// TestCall checks what a mistake reads in place of an input.
func TestCall(t *testing.T) {
	spec, cases := load(t)
	nan, inf := math.NaN(), math.Inf(1)
	zero := math.Copysign(0, -1)
	storage := tensor.New("x", op.FP32, []int64{8})
	storage.SetFloat64s([]float64{1, nan, zero, 2, 2, inf, -inf, 1e7})
	x := tensor.Tensor{
		Name: "x", DType: op.FP32, Shape: []int64{2, 3}, Stride: []int64{4, 1}, Offset: 1, Data: storage.Data,
	}
	for _, c := range []struct {
		q    Question
		want []float64
	}{
		{Question{Kind: Strides}, []float64{nan, zero, 2, 2, inf, -inf}},
		{Question{Kind: Offset}, []float64{1, nan, zero, 2, inf, -inf}},
		{Question{Kind: Numbers, Value: NaN}, []float64{0, zero, 2, inf, -inf, 1e7}},
		{Question{Kind: Numbers, Value: NegZero}, []float64{nan, 1, 2, inf, -inf, 1e7}},
		{Question{Kind: Numbers, Value: SignOfZero}, []float64{nan, 0, 2, inf, -inf, 1e7}},
		{Question{Kind: Numbers, Value: Infinity}, []float64{nan, zero, 2, 1, -inf, 1e7}},
		{Question{Kind: Numbers, Value: NegInfinity}, []float64{nan, zero, 2, inf, -1, 1e7}},
		{Question{Kind: Numbers, Value: Large}, []float64{nan, zero, 2, inf, -inf, 5e6}},
	} {
		c.q.Subject = "x"
		_, in, differs := c.q.Call(spec, cases.List[0], []tensor.Tensor{x})
		got := in[0].Float64s()
		if !differs || !same(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.q, differs, got, c.want)
		}
	}
	if !same(x.Float64s(), []float64{nan, zero, 2, inf, -inf, 1e7}) {
		t.Errorf("the input itself became %v", x.Float64s())
	}
	equal := tensor.New("x", op.FP32, []int64{2, 2})
	equal.SetFloat64s([]float64{3, 3, 3, 4})
	repeated := Question{Kind: Numbers, Subject: "x", Value: Repeated}
	_, in, _ := repeated.Call(spec, cases.List[0], []tensor.Tensor{equal})
	if got := in[0].Float64s(); !same(got, []float64{3, 0, 3, 4}) {
		t.Errorf("equal neighbours of a row become %v", got)
	}
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	})
}

// TestWrap: a 16-bit index wraps at 65,536, along its size alone.
func TestWrap(t *testing.T) {
	rows := int64(65538)
	v := make([]float64, 2*rows)
	for i := range v {
		v[i] = float64(i)
	}
	if !Wrap(v, op.TensorType{Shape: []int64{rows, 2}, Sizes: []string{"rows", "2"}}, "rows") ||
		v[2*65536] != 0 || v[2*65537+1] != 3 || v[2*65535] != 2*65535 {
		t.Errorf("%v %v %v", v[2*65536], v[2*65537+1], v[2*65535])
	}
	if Wrap(v, op.TensorType{Shape: []int64{rows, 2}, Sizes: []string{"rows", "2"}}, "cols") {
		t.Error("a size that the tensor has not is wrapped")
	}
}

// TestUnasked checks that each gap is described in a sentence, once for all dtypes that have it.
func TestUnasked(t *testing.T) {
	spec, _ := load(t)
	gaps, err := Unasked(spec)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, g := range gaps {
		said[g.Sentence] = g.Every
	}
	for _, want := range []string{
		"always: times = 1", "always contiguous: bias", "never behind an offset: bias",
		"largest tensor: x (131,080 elements)",
	} {
		if !said[want] {
			t.Errorf("%q is not among %v", want, gaps)
		}
	}
}

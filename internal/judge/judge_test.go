package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// target returns the truth of one output y with T, TFP32 and sim to match.
func target(d op.DType, r []float64, t float64) Target {
	n := len(r)
	sim := make([]float64, n)
	for i, v := range r {
		sim[i] = tensor.Round(d, v, false)
	}
	ts := slices.Repeat([]float64{t}, n)
	return Target{
		Name: "y", DType: d, Shape: []int64{int64(n)}, R: r, T: ts, TFP32: ts, Sim: sim,
		Independent: true,
	}
}

// plan returns a plan with y as the only output.
func plan(t Target) Plan {
	return Plan{Outputs: []op.TensorType{{Name: t.Name, DType: t.DType, Shape: t.Shape}}, Launches: 2}
}

// launch returns one sound launch that returned values.
func launch(t Target, poison string, data []byte) Launch {
	return Launch{Poison: poison, InputsUnchanged: true, GuardsIntact: true, Outputs: []Returned{
		{
			Name: t.Name, Present: true, DType: t.DType, Shape: t.Shape, Stride: tensor.Contiguous(t.Shape),
			Data: data,
		},
	}}
}

// answer returns two launches that both returned the same values.
func answer(t Target, y ...float64) Answer {
	data := tensor.Encode(t.DType, y)
	return Answer{Launches: []Launch{launch(t, "a", data), launch(t, "b", data)}}
}

// verdict judges one output.
func verdict(t Target, a Answer) Verdict {
	return Judge(plan(t), a, Truth{Contract: "fp32", Outputs: []Target{t}})[0]
}

// TestIntervalIsTight: on every boundary of a narrow format the first value outside the interval is rejected.
func TestIntervalIsTight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range []op.DType{op.FP32, op.FP16, op.BF16, op.E5M2} {
		g := gridOf(Target{DType: d})
		for range 20_000 {
			x := math.Ldexp(1+r.Float64(), r.IntN(20)-10)
			errorBound := math.Ldexp(r.Float64(), r.IntN(20)-25)
			low, high := g.round(x-errorBound), g.round(x+errorBound)
			for _, y := range []float64{low, high, g.round(x)} {
				if !g.accepts(y, x, errorBound) {
					t.Fatalf("%v: %v rejected for %v ± %v", d, y, x, errorBound)
				}
			}
			// the neighbours, as numbers of the dtype like every output
			below, above := low-g.ulp(low), high+g.ulp(high)
			if low > 0 {
				below = low - g.ulp(math.Nextafter(low, 0))
			}
			if high < 0 {
				above = high + g.ulp(math.Nextafter(high, 0))
			}
			for _, y := range []float64{below, above} {
				if g.accepts(y, x, errorBound) && (y < low || y > high) {
					t.Fatalf("%v: %v accepted for %v ± %v", d, y, x, errorBound)
				}
			}
		}
	}
}

// incomplete are changes to a right answer, its plan or its truth after which it must not pass.
var incomplete = map[string]func(p *Plan, a *Answer, truth *Truth){
	"no launch":          func(_ *Plan, a *Answer, _ *Truth) { a.Launches = nil },
	"one launch lost":    func(_ *Plan, a *Answer, _ *Truth) { a.Launches = a.Launches[:1] },
	"one poison only":    func(_ *Plan, a *Answer, _ *Truth) { a.Launches[1].Poison = "a" },
	"inputs changed":     func(_ *Plan, a *Answer, _ *Truth) { a.Launches[1].InputsUnchanged = false },
	"guard changed":      func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].GuardsIntact = false },
	"frame fault":        func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].Fault = "checksum" },
	"zero launch":        func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0] = Launch{} },
	"output missing":     func(_ *Plan, a *Answer, _ *Truth) { a.Launches[1].Outputs = nil },
	"output not present": func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].Outputs[0].Present = false },
	"output twice": func(_ *Plan, a *Answer, _ *Truth) {
		a.Launches[0].Outputs = append(a.Launches[0].Outputs, a.Launches[0].Outputs[0])
	},
	"surplus output": func(_ *Plan, a *Answer, _ *Truth) {
		a.Launches[0].Outputs = append(a.Launches[0].Outputs, Returned{Name: "z"})
	},
	"other dtype":   func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].Outputs[0].DType = op.I32 },
	"other shape":   func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].Outputs[0].Shape = []int64{1, 3} },
	"other strides": func(_ *Plan, a *Answer, _ *Truth) { a.Launches[0].Outputs[0].Stride = []int64{2} },
	"too few bytes": func(_ *Plan, a *Answer, _ *Truth) {
		a.Launches[0].Outputs[0].Data = a.Launches[0].Outputs[0].Data[:8]
	},
	"no truth":             func(_ *Plan, _ *Answer, truth *Truth) { truth.Outputs = nil },
	"truth of another":     func(_ *Plan, _ *Answer, truth *Truth) { truth.Outputs[0].Name = "z" },
	"truth of other shape": func(_ *Plan, _ *Answer, truth *Truth) { truth.Outputs[0].Shape = []int64{4} },
	"truth too short": func(_ *Plan, _ *Answer, truth *Truth) {
		truth.Outputs[0].R = truth.Outputs[0].R[:2]
	},
	"no element planned": func(_ *Plan, _ *Answer, truth *Truth) {
		o := &truth.Outputs[0]
		o.Index, o.R, o.T, o.TFP32, o.Sim = []int64{}, nil, nil, nil, nil
	},
	"negative error bound": func(_ *Plan, _ *Answer,
		truth *Truth,
	) {
		truth.Outputs[0].T = []float64{1, -1, 1}
	},
	"nan error bound": func(_ *Plan, _ *Answer, truth *Truth) {
		truth.Outputs[0].T = []float64{1, nan, 1}
	},
	"infinite error bound": func(_ *Plan, _ *Answer, truth *Truth) {
		truth.Outputs[0].T = []float64{1, inf, 1}
	},
	"exact with error bound": func(_ *Plan, _ *Answer, truth *Truth) {
		truth.Outputs[0].Exact = true
	},
	"plan of one launch": func(p *Plan, a *Answer, _ *Truth) { p.Launches = 1; a.Launches = a.Launches[:1] },
}

func TestPassNeedsEverything(t *testing.T) {
	good := target(op.FP32, []float64{1, 2, 3}, 1e-6)
	v := verdict(good, answer(good, 1, 2, 3))
	if v.Status != op.StatusPass || v.N != 3 || v.Compared != 3 || v.Wrong != 0 || v.ErrorMargin != inf {
		t.Fatalf("right values: %+v", v)
	}
	v = verdict(good, answer(good, 1, 2.5, 3))
	if v.Status != op.StatusFail || v.Gate != "G2" || v.Wrong != 1 || v.Worst.Index[0] != 1 ||
		v.Worst.Got != 2.5 ||
		v.Worst.Want != 2 || !(v.Worst.Low <= 2 && v.Worst.High >= 2 && v.Worst.High < 2.5) {
		t.Fatalf("one wrong value: %+v", v)
	}
	v = verdict(good, answer(good, 1, nan, 3))
	if v.Status != op.StatusFail || v.Gate != "G1" || !strings.Contains(v.Sentence, "y[1] is NaN, want 2") {
		t.Fatalf("NaN: %+v", v)
	}
	for what, change := range incomplete {
		tt := target(op.FP32, []float64{1, 2, 3}, 1e-6)
		p, a, truth := plan(tt), answer(tt, 1, 2, 3), Truth{Contract: "fp32", Outputs: []Target{tt}}
		change(&p, &a, &truth)
		v := Judge(p, a, truth)
		if s := Row(v); s != op.StatusFail && s != op.StatusInconclusive {
			t.Errorf("%s: %v, want FAIL or INCONCLUSIVE", what, s)
		}
		if v[0].Sentence == "" {
			t.Errorf("%s: no sentence", what)
		}
	}
	if s := Row(Judge(Plan{}, Answer{}, Truth{})); s != op.StatusUnknown || s.Weight() != op.Bad {
		t.Errorf("nothing at all: %v", s)
	}
	if s := Row([]Verdict{{}}); s.Weight() != op.Bad {
		t.Errorf("a zero verdict: %v", s)
	}
}

func TestPoisonAndRace(t *testing.T) {
	for _, d := range []op.DType{op.FP32, op.FP16, op.BF16, op.E5M2, op.I32} {
		good := target(d, []float64{1, 2, 3, 4}, 0)
		size := d.Size()
		unwritten := func(poison string) []byte {
			data := tensor.Encode(d, []float64{1, 2, 3, 4})
			tensor.Poison(data[2*size:3*size], d, poison)
			return data
		}
		a := Answer{Launches: []Launch{launch(good, "a", unwritten("a")), launch(good, "b", unwritten("b"))}}
		if v := verdict(good, a); v.Status != op.StatusFail || v.Gate != "G0" || v.Worst.Index[0] != 2 {
			t.Errorf("%v: unwritten element: %+v", d, v)
		} else if v.Worst.Want != 3 || v.Worst.Low != 3 || v.Worst.High != 3 || v.Worst.Got == 3 ||
			v.Worst.Got == 0 {
			t.Errorf("%v: the unwritten element is reported as %+v, want what it holds and that 3 was "+
				"wanted", d,
				v.Worst)
		}
		other := answer(good, 1, 2, 3, 4)
		other.Launches[1] = launch(good, "b", tensor.Encode(d, []float64{1, 2, 3, 1}))
		other.Launches[0].Order, other.Launches[1].Order = "forward", "greedy:1"
		if v := verdict(good, other); v.Status != op.StatusRace ||
			!strings.Contains(v.Sentence, "y[3] differs between two orders in which blocks and threads "+
				"may run") ||
			v.Worst.Got != 1 || v.Worst.Want != 4 {
			t.Errorf("%v: other bits in another order: %+v", d, v)
		}
	}
	// a nondeterministic output: both must lie in the interval
	loose := target(op.FP32, []float64{1, 2}, 1e-3)
	p := plan(loose)
	p.Nondeterministic = []string{"y"}
	for _, c := range []struct {
		second float64
		want   op.Status
	}{{2.0005, op.StatusPass}, {2.01, op.StatusFail}} {
		a := answer(loose, 1, 2)
		a.Launches[1] = launch(loose, "b", tensor.Encode(op.FP32, []float64{1, c.second}))
		if v := Judge(p, a, Truth{Outputs: []Target{loose}})[0]; v.Status != c.want {
			t.Errorf("nondeterministic, second launch %v: %+v", c.second, v)
		}
	}
	// an int8 output may hold a poison's value
	small := target(op.I8, []float64{0x5A, 1}, 0)
	if v := verdict(small, answer(small, 0x5A, 1)); v.Status != op.StatusPass {
		t.Errorf("a value that is the poison of one launch: %+v", v)
	}
	// a written NaN is not poison
	nans := target(op.FP32, []float64{nan, 1}, 0)
	if v := verdict(nans, answer(nans, nan, 1)); v.Status != op.StatusPass {
		t.Errorf("NaN where the truth is NaN: %+v", v)
	}
}

func TestOptionalEmptyAndSampled(t *testing.T) {
	y := target(op.FP32, []float64{1, 2}, 1e-6)
	p := plan(y)
	p.Outputs = append(p.Outputs, op.TensorType{
		Name: "lse", DType: op.FP32, Shape: []int64{2},
		Optional: true,
	})
	a := answer(y, 1, 2)
	truth := Truth{Outputs: []Target{y, target(op.FP32, []float64{1, 2}, 0)}}
	truth.Outputs[1].Name = "lse"
	v := Judge(p, a, truth)
	if v[1].Status != op.StatusMissing || Row(v) != op.StatusPass {
		t.Errorf("an optional output that is not given: %+v", v)
	}
	p.Gives = []string{"lse"}
	if v := Judge(p, a, truth); Row(v) != op.StatusFail {
		t.Errorf("a declared output that is not given: %+v", v)
	}
	empty := Target{Name: "y", DType: op.FP32, Shape: []int64{0, 3}}
	if v := verdict(empty, answer(empty)); v.Status != op.StatusEmptyOK ||
		Row([]Verdict{v}) != op.StatusEmptyOK {
		t.Errorf("an output without an element: %+v", v)
	}
	some := target(op.FP32, []float64{2}, 0)
	some.Shape, some.Index = []int64{2, 2}, []int64{3}
	if v := verdict(some, answer(some, 9, 9, 9, 2)); v.Status != op.StatusPass || v.N != 1 ||
		v.Elements != 4 {
		t.Errorf("sampled: %+v", v)
	}
	if v := verdict(some, answer(some, 2, 2, 2, 9)); v.Status != op.StatusFail ||
		!slices.Equal(v.Worst.Index, []int64{1, 1}) {
		t.Errorf("sampled: %+v", v)
	}
	exact := target(op.BF16, []float64{300, 257}, 0)
	exact.Exact = true
	if v := verdict(exact, answer(exact, 300, 256)); v.Status != op.StatusPass {
		t.Errorf("exact: %+v", v)
	}
	if v := verdict(exact, answer(exact, 302, 256)); v.Gate != "G3" {
		t.Errorf("exact case off: %+v", v)
	}
}

func TestRow(t *testing.T) {
	row := func(s ...op.Status) op.Status {
		var v []Verdict
		for _, x := range s {
			v = append(v, Verdict{Status: x})
		}
		return Row(v)
	}
	for _, c := range []struct {
		outputs []op.Status
		want    op.Status
	}{
		{[]op.Status{op.StatusPass, op.StatusWarn}, op.StatusWarn},
		{[]op.Status{op.StatusDifferentContract, op.StatusWarn}, op.StatusDifferentContract},
		{[]op.Status{op.StatusNoPower, op.StatusDifferentContract}, op.StatusNoPower},
		{[]op.Status{op.StatusInconclusive, op.StatusNoPower}, op.StatusInconclusive},
		{[]op.Status{op.StatusInconclusive, op.StatusFail}, op.StatusFail},
		{[]op.Status{op.StatusPass, op.StatusMissing}, op.StatusPass},
		{[]op.Status{op.StatusPass, op.StatusEmptyOK}, op.StatusPass},
		{[]op.Status{op.StatusMissing, op.StatusEmptyOK}, op.StatusEmptyOK},
		{[]op.Status{op.StatusMissing}, op.StatusMissing},
		{[]op.Status{op.StatusPass, op.StatusCrash}, op.StatusUnknown},
		{[]op.Status{op.StatusPass, op.StatusUnknown}, op.StatusUnknown},
		{nil, op.StatusUnknown},
	} {
		if got := row(c.outputs...); got != c.want {
			t.Errorf("%v: %v, want %v", c.outputs, got, c.want)
		}
	}
}

func TestRMS(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const n = 4096
	x, y, noisy := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
		y[i] = tensor.Round(op.BF16, x[i], false)
		noisy[i] = tensor.Round(op.BF16, x[i]*(1+0x1p-7*r.NormFloat64()), false)
	}
	truth := target(op.BF16, x, 0.1) // an error bound as loose as attention's
	truth.TFP32 = make([]float64, n)
	if v := verdict(truth, answer(truth, y...)); v.Status != op.StatusPass {
		t.Errorf("the simulated contract itself: %+v", v.RMS)
	}
	if v := verdict(truth, answer(truth, noisy...)); v.Status != op.StatusFail || v.Gate != "G4" {
		t.Errorf("everything a little worse: %v %s %+v", v.Status, v.Gate, v.RMS)
	}
	truth.Shape = []int64{64, 64}
	lastRows := slices.Clone(y)
	copy(lastRows[n-16*64:], noisy[n-16*64:])
	if v := verdict(truth, answer(truth, lastRows...)); v.Gate != "G4" || v.RMS.Block != "the last 16 rows" {
		t.Errorf("a noisy last tile: %v %s %+v", v.Status, v.Gate, v.RMS)
	}
}

func TestBiasWarns(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 1 << 16
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
		y[i] = tensor.Round(op.BF16, x[i]*(1+1e-4), false)
	}
	truth := target(op.BF16, x, 0)
	for i := range truth.T {
		truth.T[i] = 1e-3 * math.Abs(x[i])
	}
	truth.TFP32 = make([]float64, n)
	if v := verdict(truth, answer(truth, y...)); v.Status != op.StatusWarn || v.Gate != "G5" ||
		v.Status.Weight() != op.Good {
		t.Errorf("scaled by 1 + 1e-4: %v %s %+v", v.Status, v.Gate, v.Bias)
	}
	if v := verdict(truth, answer(truth, truth.Sim...)); v.Status != op.StatusPass {
		t.Errorf("unbiased: %+v", v)
	}
}

func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	x := make([]float64, 300)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	good := target(op.BF16, x, 1e-6)
	if p := PowerOf(good, tensor.Tensor{}, nil); p.None || len(p.Accepted) != 0 {
		t.Errorf("a case with power: %+v", p)
	}
	if p := PowerOf(good, tensor.Tensor{}, good.Sim); !p.None || p.Why != "the previous output" {
		t.Errorf("the previous output is the same: %+v", p)
	}
	zero := target(op.BF16, make([]float64, 300), 1e-6)
	if p := PowerOf(zero, tensor.Tensor{}, nil); !p.None || p.Why != "zeros" {
		t.Errorf("zeros: %+v", p)
	}
	loose := target(op.BF16, x, 100)
	p := PowerOf(loose, tensor.Tensor{}, nil)
	if !p.None {
		t.Errorf("an error bound larger than the data: %+v", p)
	}
	v := WithPower([]Verdict{
		verdict(loose, answer(loose, make([]float64, 300)...)),
		{Output: "y", Status: op.StatusFail},
	}, []Power{p})
	if v[0].Status != op.StatusNoPower || v[1].Status != op.StatusFail {
		t.Errorf("without power: %v, %v", v[0].Status, v[1].Status)
	}
}

func TestDifference(t *testing.T) {
	a := tensor.Encode(op.FP16, []float64{1, 2, nan, 0})
	b := tensor.Encode(op.FP16, []float64{1, 2 + 3*0x1p-9, nan, math.Copysign(0, -1)})
	if d := DifferenceOf(op.FP16, a, a); !d.Bitwise || d.Different != 0 || d.At != -1 {
		t.Errorf("the same bits: %+v", d)
	}
	if d := DifferenceOf(op.FP16, a, b); d.Bitwise || d.Different != 1 || d.ULP != 3 || d.At != 1 {
		t.Errorf("three ulps: %+v", d)
	}
	c := tensor.Encode(op.FP16, []float64{1, nan, nan, 0})
	if d := DifferenceOf(op.FP16, a, c); d.ULP != inf || d.At != 1 {
		t.Errorf("NaN in one: %+v", d)
	}
}

func TestConstants(t *testing.T) {
	if err := checkConstants(); err != nil {
		t.Error(err)
	}
	for _, bad := range []float64{0, -1, nan, inf} {
		if finitePositive(map[string]float64{"x": bad}) == nil {
			t.Errorf("constant %v was accepted", bad)
		}
	}
	for _, c := range []struct {
		n    int64
		want float64
	}{{0, 4}, {1, 5}, {64, 68}, {128, 102.5}, {1024, 324}, {4096, 772}, {393216, 29597}} {
		if got := G(c.n); math.Abs(got-c.want) > 0.6 {
			t.Errorf("g(%d) = %v, want %v", c.n, got, c.want)
		}
	}
}

package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// inForce returns the constants of this version, with error bounds between low and high times their former
// values.
func inForce(low, high float64) Constants {
	c := versions[len(versions)-1]
	c.Low, c.High, c.Fewer, c.OtherReach = low, high, nil, false
	return c
}

// TestRejudgeIsTheJudge: a decision from a stored verdict, where all error bounds are c times their former
// values, is the judge's verdict on the outputs under such error bounds; and most verdicts can be decided.
func TestRejudgeIsTheJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all, settled, turned := 0, 0, 0
	for _, d := range []op.DType{op.FP32, op.BF16, op.FP16, op.E4M3} {
		for range 600 {
			truth, y := drawnOutput(r, d)
			before := verdict(truth, answer(truth, y...))
			for _, c := range []float64{1, 0.1, 0.5, 0.9, 1.1, 2, 10} {
				scaled := truth
				scaled.T, scaled.TFP32 = timesAll(truth.T, c), timesAll(truth.TFP32, c)
				want := verdict(scaled, answer(scaled, y...))
				got := decideAgain(before, inForce(1, 1), inForce(c, c))
				all++
				if !got.Decided {
					if got.Why == "" {
						t.Errorf("%v, c = %v: undecided, and nobody says why", d, c)
					}
					continue
				}
				settled++
				if got.Status != want.Status || strings.Replace(got.Gate, "G1", "G2",
					1) != strings.Replace(want.Gate, "G1", "G2", 1) {
					t.Fatalf("%v, c = %v: %v %s (%s), the judge says %v %s (%s)", d, c, got.Status, got.Gate,
						got.Why, want.Status, want.Gate, want.Sentence)
				}
				if want.Status != before.Status {
					turned++
				}
			}
		}
	}
	t.Logf("%d of %d are decided, %d of them otherwise than before", settled, all, turned)
	if settled*2 < all || turned < 100 {
		t.Errorf("%d of %d are decided, %d of them otherwise than before", settled, all, turned)
	}
}

// drawnOutput returns an output with errors about as large as its error bound: few or many elements, some
// beyond the range, some NaN and infinite.
func drawnOutput(r *rand.Rand, d op.DType) (Target, []float64) {
	n := []int{1, 5, 40, 300}[r.IntN(4)]
	f, _ := tensor.FormatOf(d)
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64() * math.Exp2(float64(r.IntN(12)-8))
		if r.IntN(300) == 0 {
			x[i] = []float64{nan, inf, f.Max * 1.01, f.Max, 0, f.SmallestSubnormal()}[r.IntN(6)]
		}
	}
	truth := target(d, x, 0)
	truth.Independent = r.IntN(2) == 0
	truth.FTZ = r.IntN(2) == 0
	truth.TFP32 = make([]float64, n)
	y := make([]float64, n)
	amount := []float64{0.1, 0.5, 1, 1.5, 3}[r.IntN(5)]
	for i, v := range x {
		if v-v == 0 {
			truth.T[i] = math.Abs(v) * math.Exp2(float64(-r.IntN(6)-f.P))
			truth.TFP32[i] = truth.T[i] * r.Float64()
		}
		y[i] = tensor.Round(d, v+truth.T[i]*amount*(2*r.Float64()-1), false)
		if r.IntN(2000) == 0 {
			y[i] = nan
		}
	}
	return truth, y
}

func timesAll(x []float64, c float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * c
	}
	return y
}

// TestRejudgeBlocks: a decision on G4 from the kept blocks agrees with all of them, whatever its constants
// become.
func TestRejudgeBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	settled, all := 0, 0
	for range 3000 {
		var of blocks
		var sums []moments
		for range 1 + r.IntN(40) {
			n := float64(40 + r.IntN(300))
			of.names = append(of.names, "a block")
			sums = append(sums, moments{
				n: int64(n), err: n * square(0.5+1.3*r.Float64()),
				sim: n * square(0.8+0.2*r.Float64()), expected: n * square(r.Float64()/2),
			})
		}
		then, now := inForce(1, 1), inForce(1, 1)
		now.Factor, now.Noise, now.Share = 1+r.Float64(), 6*r.Float64(), r.Float64()
		now.MinBlock = []int64{32, 64, 64, 128}[r.IntN(4)]
		now.Low = 0.5 + r.Float64()
		now.High = now.Low
		want := op.StatusPass
		for _, m := range sums {
			n := float64(m.n)
			b := RMS{N: m.n, Sim: math.Sqrt(m.sim / n), Fp32: math.Sqrt(m.expected/n) * now.Low}
			if m.n >= now.MinBlock && math.Sqrt(m.err/n) > rmsLimit(b, now) {
				want = op.StatusFail
			}
		}
		all++
		v := Verdict{Output: "y", Independent: true, Blocks: worstBlocks(of, sums, 0)}
		if got := v.blocksAgain(then, now); got.Decided {
			if settled++; got.Status != want {
				t.Fatalf("%v (%s), all blocks say %v, under %+v", got.Status, got.Why, want, now)
			}
		}
	}
	t.Logf("%d of %d are decided", settled, all)
	if settled*2 < all {
		t.Errorf("%d of %d are decided", settled, all)
	}
}

func square(x float64) float64 { return x * x }

// TestRejudgeSlope: G5 follows its two constants and the error bound.
func TestRejudgeSlope(t *testing.T) {
	v := Verdict{
		Output: "y", Status: op.StatusPass, Digest: "d", DType: op.FP32, ErrorMargin: inf, Independent: true,
		Blocks: []RMS{{Blocks: 1, N: 100, Sim: 1, Limit: 2}},
		Bias:   Bias{Evaluated: true, Spread: 300, Slope: 1, Sigma: 0.1, ErrorBound: 0.4},
	}
	for _, c := range []struct {
		low, high, sigmas, spread float64
		want                      op.Status
		decided                   bool
	}{
		{1, 1, 8, 256, op.StatusPass, true},
		{1, 1, 5, 256, op.StatusWarn, true},
		{1, 1, 5, 400, op.StatusPass, true},
		{1, 2, 5, 256, op.StatusUnknown, false},
		{2, 2, 5, 256, op.StatusUnknown, false},
		{0, inf, 5, 256, op.StatusUnknown, false},
		{0.5, 1, 5, 256, op.StatusWarn, true},
		{0.5, 1, 8, 256, op.StatusUnknown, false},
		{0.5, 0.5, 11, 256, op.StatusPass, true},
	} {
		now := inForce(c.low, c.high)
		now.Sigmas, now.Spread = c.sigmas, c.spread
		if d := v.slopeAgain(now); d.Decided != c.decided || d.Decided && d.Status != c.want {
			t.Errorf("%+v: %v %v (%s)", c, d.Decided, d.Status, d.Why)
		}
	}
	now := inForce(1, 1)
	now.OtherReach = true // the slope of 1 is beyond 8 sigma alone
	if d := v.slopeAgain(now); d.Decided {
		t.Errorf("under an error bound that is another quantity: %+v", d)
	}
	if v.Bias.Slope = 0.7; v.slopeAgain(now).Status != op.StatusPass {
		t.Errorf("a slope below 8 sigma: %+v", v.slopeAgain(now))
	}
}

// TestRejudgeOfAnEarlierBias: a bias that version 3 warned of may lie within what fp32 arithmetic leaves
// open, which that version did not keep; one that passed by its noise alone still does.
func TestRejudgeOfAnEarlierBias(t *testing.T) {
	v := Verdict{
		Output: "y", Version: "3", Status: op.StatusWarn, Gate: "G5", Digest: "d", DType: op.BF16,
		ErrorMargin: inf, Independent: true,
		Blocks: []RMS{{Blocks: 1, N: 100, Sim: 1, Limit: 2}}, Bias: Bias{
			Evaluated: true, Spread: 300,
			Slope: 2.6e-5, Sigma: 7e-7, ErrorBound: 8e-7,
		},
	}
	if d := Rejudge(v); d.Decided {
		t.Errorf("a warning of version 3: %+v", d)
	}
	v.Status, v.Gate, v.Bias.Slope = op.StatusPass, "", -5e-6
	if d := Rejudge(v); !d.Decided || d.Status != op.StatusPass {
		t.Errorf("a slope within 8 sigma: %+v", d)
	}
}

// TestRejudgeWhatFiguresCannot: a decision that needs the outputs is undecided, and one that no constant
// affects stays.
func TestRejudgeWhatFiguresCannot(t *testing.T) {
	pass := verdict(target(op.FP32, []float64{1, 2, 3}, 0x1p-20),
		answer(target(op.FP32, []float64{1, 2, 3}, 0x1p-20), 1, 2, 3))
	fewer := inForce(1, 1)
	fewer.Fewer = []string{"G4"}
	noisy := Verdict{
		Output: "y", Status: op.StatusFail, Gate: "G4", Digest: "d", DType: op.FP32,
		ErrorMargin: inf, Independent: true, Blocks: []RMS{{Blocks: 1, N: 100, Error: 3, Sim: 1, Limit: 2}},
	}
	for _, c := range []struct {
		name    string
		v       Verdict
		now     Constants
		decided bool
		status  op.Status
	}{
		{"nothing changed", pass, inForce(1, 1), true, op.StatusPass},
		{"larger error bounds", pass, inForce(1, inf), true, op.StatusPass},
		{"any error bounds", with(pass, func(v *Verdict) { v.ErrorMargin = 1 }), inForce(0, inf), false, 0},
		{"no figures", Verdict{Status: op.StatusPass}, inForce(1, 1), false, 0},
		{"poison", Verdict{Status: op.StatusFail, Gate: "G0"}, inForce(0, inf), true, op.StatusFail},
		{"a race", Verdict{Status: op.StatusRace, Gate: "G0"}, inForce(0, inf), true, op.StatusRace},
		{"no power", Verdict{Status: op.StatusNoPower}, inForce(0.5, 0.5), false, 0},
		{
			"no power, and nothing changed",
			Verdict{Status: op.StatusNoPower},
			inForce(1, 1), true,
			op.StatusNoPower,
		},
		{"a relation", Verdict{Status: op.StatusFail, Gate: "G6"}, inForce(2, 2), false, 0},
		{"G4 still asked", noisy, inForce(1, 1), true, op.StatusFail},
		{"G4 perhaps not asked", noisy, fewer, false, 0},
		{"a sample's sums", with(pass, func(v *Verdict) { v.Covered = 9 }), inForce(2, 2), false, 0},
		{
			"rejected, and its relations were never asked",
			with(noisy, func(v *Verdict) { v.Expected = 1; v.Blocks[0].Error = 1 }), inForce(1, 1), false, 0,
		},
		{"the zero verdict", Verdict{}, inForce(1, 1), true, op.StatusUnknown},
	} {
		d := decideAgain(c.v, inForce(1, 1), c.now)
		if d.Decided != c.decided || d.Decided && d.Status != c.status || !d.Decided && d.Why == "" {
			t.Errorf("%s: decided %v, %v (%s)", c.name, d.Decided, d.Status, d.Why)
		}
	}
}

func with(v Verdict, change func(*Verdict)) Verdict {
	v.Blocks = append([]RMS(nil), v.Blocks...)
	change(&v)
	return v
}

// TestVersions: the last version has the constants in force; the changes between two versions are multiplied;
// an unknown version is rejected.
func TestVersions(t *testing.T) {
	last := versions[len(versions)-1]
	if last.Version != Version || last.Factor != rmsFactor || last.Noise != rmsNoise ||
		last.Share != rmsShare || last.MinBlock != minBlock ||
		last.Sigmas != biasSigmas || last.Spread != biasSpread {
		t.Errorf("the last of the versions is %+v: want version %s with the constants in force", last,
			Version)
	}
	history := []Constants{
		{Version: "1", Low: 1, High: 1},
		{
			Version: "2", Low: 0.5, High: 1,
			Fewer: []string{"G4"},
		},
		{Version: "3", Low: 2, High: 3, OtherReach: true},
		{Version: "4", Low: 1, High: 5, Contracts: []string{"tf32"}},
		{Version: "5", Low: 1, High: 7, DTypes: []op.DType{op.BF16}},
	}
	_, now, err := constantsOf(history, "1", "3", "fp32", op.FP32)
	if err != nil || now.Low != 1 || now.High != 3 || strings.Join(now.Fewer, "") != "G4" || !now.OtherReach {
		t.Errorf("from 1 to 3: %+v, %v", now, err)
	}
	for contract, high := range map[string]float64{"fp32": 3, "tf32": 15} {
		if _, now, err = constantsOf(history, "2", "4", contract, op.FP32); err != nil || now.High != high {
			t.Errorf("from 2 to 4 under %s: %+v, %v", contract, now, err)
		}
	}
	for d, high := range map[op.DType]float64{op.FP32: 1, op.BF16: 7} {
		if _, now, err = constantsOf(history, "4", "5", "fp32", d); err != nil || now.High != high {
			t.Errorf("from 4 to 5 in %s: %+v, %v", d, now, err)
		}
	}
	_, now, _ = constantsOf(history, "2", "2", "fp32", op.FP32)
	if now.Low != 1 || now.High != 1 || now.Fewer != nil || now.OtherReach {
		t.Errorf("from 2 to 2: %+v", now)
	}
	for _, pair := range [][2]string{{"3", "1"}, {"", "3"}, {"1", "9"}} {
		if _, _, err := constantsOf(history, pair[0], pair[1], "fp32", op.FP32); err == nil {
			t.Errorf("from %q to %q: no error", pair[0], pair[1])
		}
	}
	if d := Rejudge(Verdict{Status: op.StatusPass, Version: "99"}); d.Decided {
		t.Errorf("a verdict of a version that is not known: %+v", d)
	}
	if d := Rejudge(Verdict{
		Status: op.StatusPass, Version: "1", Digest: "d", DType: op.FP32, Wrong: 0,
		ErrorMargin: 1.5, Compared: 1,
	}); d.Decided {
		t.Errorf("a verdict of version 1, whose error bounds are not known: %+v", d)
	}
}

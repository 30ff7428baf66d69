package rmsnorm

import (
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/rownorm/rownormtest"
	"triad/internal/truth/truthtest"
)

// planned returns the cases of a pass in 16 bits, with a residual or without.
func planned(t *testing.T, s truthtest.Suite, add string, seed uint64) []*truthtest.Prepared {
	t.Helper()
	o, err := truth.Get(s.Op)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Passes: []op.Pass{s.Pass}, DTypes: []string{"fp16", "bf16"},
		Attributes: map[string]string{"add": add},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []*truthtest.Prepared
	for _, c := range plan.Cases {
		if c.Dims.Get("rows")*c.Dims.Get("cols") < 10000 {
			all = append(all, truthtest.PrepareCase(t, s, o.Spec, c, seed))
		}
	}
	return all
}

// storing are the kernels that store what the contract stored permits: with a residual y of the sum that was
// rounded, and in the backward a gradient that was rounded before grad_h joins it; without one a normalised
// row that was rounded before weight multiplies it, and in the backward autograd's result from that.
var storing = map[op.Pass]map[string]string{
	op.Forward:  {"true": "y of the rounded h", "false": "cast before weight"},
	op.Backward: {"true": "gradient rounded before grad_h", "false": "cast before weight"},
}

// TestStored: kernels that store what the contract stored permits pass under it, on every kind of data and in
// every order of sums, and not under fp32. TRIAD_MUTATION_SEEDS takes fresh seeds.
func TestStored(t *testing.T) {
	for _, seed := range truthtest.Seeds(t) {
		for _, s := range rownormtest.Suites("rmsnorm") {
			for add, bug := range storing[s.Pass] {
				strictly, judged := 0, 0
				for _, p := range planned(t, s, add, seed) {
					if verdicts, _ := p.Judged(s.Kernel(truthtest.Arithmetic{Bug: bug}, p)); judge.Row(
						verdicts) == op.StatusFail {
						strictly++
					}
					judged += judgedStored(t, s, p, bug, seed)
				}
				if strictly == 0 {
					t.Errorf("%v, add = %s: no case tells what is stored from what is not", s.Pass, add)
				}
				t.Logf("%v, add = %s: %d right results under stored, %d cases reject them under fp32", s.Pass,
					add, judged, strictly)
			}
		}
	}
}

// judgedStored judges right kernels under stored, those that store among them, and returns their number.
func judgedStored(t *testing.T, s truthtest.Suite, p *truthtest.Prepared, bug string, seed uint64) int {
	t.Helper()
	o, _ := truth.Get(s.Op)
	strict := p.Truth
	p.Truth = truthtest.TruthFor(t, p.Case, "stored", truthtest.CaseInputs(t, o.Spec, p.Case, seed))
	kernels := [][][]float64{truthtest.Sims(p.Truth)}
	for _, a := range s.Right {
		kernels = append(kernels, s.Kernel(a, p))
		a.Bug = bug
		kernels = append(kernels, s.Kernel(a, p))
	}
	for n, kernel := range kernels {
		verdicts, _ := p.Judged(kernel)
		for _, v := range verdicts {
			if v.Status != op.StatusPass && v.Status != op.StatusEmptyOK && v.Status != op.StatusWarn {
				t.Errorf("%s: kernel %d is %v under stored: %s", truthtest.Describe(p.Case), n, v.Status,
					v.Sentence)
			}
		}
	}
	for i, o := range p.Truth.Outputs {
		for j := range o.T {
			if o.T[j] < strict.Outputs[i].T[j] || o.TFP32[j] != strict.Outputs[i].TFP32[j] {
				t.Fatalf("%s: T of %s[%d] is %v under stored, %v under fp32", truthtest.Describe(p.Case),
					o.Name, j, o.T[j], strict.Outputs[i].T[j])
			}
		}
	}
	return len(kernels)
}

// TestMutantsUnderStored: a bug that stored does not permit is wrong under it too, without a residual.
// Partial sums of grad_weight in bf16 are off by no more than the terms of bf16 that it permits.
func TestMutantsUnderStored(t *testing.T) {
	o, err := truth.Get("rmsnorm")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rownormtest.Suites("rmsnorm") {
		alive := map[string]bool{}
		for _, p := range planned(t, s, "false", 3) {
			p.Truth = truthtest.TruthFor(t, p.Case, "stored", truthtest.CaseInputs(t, o.Spec, p.Case, 3))
			group := truthtest.Group{Dtype: p.DType, Attribute: "add", Value: "false"}
			for _, m := range s.Mutants {
				none := m.Equivalent != nil && m.Equivalent(group) != ""
				permitted := m.Name == storing[s.Pass]["false"] ||
					m.Name == "partial sums in bf16" && p.DType == "bf16"
				if none || permitted {
					continue
				}
				key := m.Name + " in " + p.DType
				if survived, known := alive[key]; known && !survived {
					continue
				}
				a := s.Right[0]
				a.Bug = m.Name
				verdicts, _ := p.Judged(s.Kernel(a, p))
				verdicts = slices.DeleteFunc(verdicts,
					func(v judge.Verdict) bool { return v.Output == "rstd" })
				alive[key] = judge.Row(verdicts) != op.StatusFail
			}
		}
		for key, survives := range alive {
			if survives {
				t.Errorf("%v: %s passes under stored", s.Pass, key)
			}
		}
		if len(alive) < 10 {
			t.Errorf("%v: %d mutants were asked about", s.Pass, len(alive))
		}
	}
}

// TestErrorBoundsOfStored: under stored, without a residual, the error bounds of y and the gradients follow
// from roundings of the normalised row, of weight*dy, and of the terms of the gradient of weight.
func TestErrorBoundsOfStored(t *testing.T) {
	o, err := truth.Get("rmsnorm")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rownormtest.Suites("rmsnorm") {
		for _, p := range planned(t, s, "false", 3) {
			if p.Distribution != "normal" || p.DType != "bf16" || p.Saved == "driver" {
				continue
			}
			stored := truthtest.TruthFor(t, p.Case, "stored", truthtest.CaseInputs(t, o.Spec, p.Case, 3))
			for name, want := range permitted(p) {
				for i, target := range stored.Outputs {
					strict := p.Truth.Outputs[i]
					for j := range target.T {
						if target.Name == name && !alike(target.T[j]-strict.T[j], want[j]) {
							t.Fatalf("%s: %s[%d] is allowed %v more than under fp32, want %v",
								truthtest.Describe(p.Case), name, j, target.T[j]-strict.T[j], want[j])
						}
					}
				}
			}
		}
	}
}

// TestDoubledGradientsUnderStored: under stored a doubled upstream gradient gives doubled gradients in fp16,
// though not the same bits where a stored value is subnormal: rounding does not scale there.
func TestDoubledGradientsUnderStored(t *testing.T) {
	o, err := truth.Get("rmsnorm")
	if err != nil {
		t.Fatal(err)
	}
	for _, add := range []string{"false", "true"} {
		c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: "fp16", Saved: "own"},
			map[string]int64{"rows": 4, "cols": 64}, map[string]string{"add": add})
		if err != nil {
			t.Fatal(err)
		}
		given := truth.Inputs(truthtest.CaseInputs(t, o.Spec, c, 1))
		for name, by := range map[string]float64{"x": 0x1p-7, "residual": 0x1p-7, "grad_y": 0x1p-14} {
			given = given.With([]tensor.Tensor{truth.Changed(given.Get(name),
				func(_ int64, v float64) float64 { return by * v })})
		}
		for _, r := range truth.RelationsOf(c) {
			calls := truthtest.Follow(t, "stored", r, c, given)
			for output, held := range truthtest.Holds(r, "stored", calls) {
				if !held.Accepted() {
					t.Errorf("add = %s: %s of %s: %s", add, r.Name, output, held.Sentence())
				}
			}
		}
	}
}

// alike allows for the error of fp32 in an error bound.
func alike(got, want float64) bool { return math.Abs(got-want) <= 1e-3*want+1e-30 }

// permitted returns the error that storing permits the outputs of a case in bf16.
func permitted(p *truthtest.Prepared) map[string][]float64 {
	const u = 0x1p-8
	x, rows, cols := p.Matrix("x")
	weight, dy := p.V["weight"], p.V["grad_y"]
	y, dx, dweight := make([]float64, len(x)), make([]float64, len(x)), make([]float64, cols)
	for r := range rows {
		row := x[r*cols : (r+1)*cols]
		squares, moved := 0.0, 0.0
		for _, v := range row {
			squares += v * v / float64(cols)
		}
		rstd := 1 / math.Sqrt(squares+p.Attrs.Number("eps"))
		for c, v := range row {
			y[r*cols+c] = u * math.Abs(weight[c]*v*rstd)
			if dy != nil {
				moved += u * math.Abs(weight[c]*dy[r*cols+c]*v*rstd) / float64(cols)
			}
		}
		for c, v := range row {
			if dy != nil {
				dx[r*cols+c] = rstd * (u*math.Abs(weight[c]*dy[r*cols+c]) + math.Abs(v*rstd)*moved)
				dweight[c] += u * (2 + u) * math.Abs(dy[r*cols+c]*v*rstd)
			}
		}
	}
	return map[string][]float64{"y": y, "grad_x": dx, "grad_weight": dweight}
}

// TestErrorBounds: the error bounds are the rows of docs/judge.md, except for underflow: of y, of rstd, and
// of h.
func TestErrorBounds(t *testing.T) {
	const cols = 200
	for _, p := range planned(t, rownormtest.Suites("rmsnorm")[0], "true", 3) {
		if p.Distribution != "normal" || p.Dims.Get("cols") > cols {
			continue
		}
		x, rows, cols := p.Matrix("x")
		eps, weight := p.Attrs.Number("eps"), p.V["weight"]
		y, rstd, h := p.Truth.Outputs[0], p.Truth.Outputs[1], p.Truth.Outputs[2]
		for r := range rows {
			v := 0.0
			for c := range cols {
				s := x[r*cols+c] + p.V["residual"][r*cols+c]
				v += s * s / float64(cols)
			}
			scale := 1 / math.Sqrt(v+eps)
			rho := 2 * judge.G(int64(cols)) * judge.U32 * v / (v + eps)
			near(t, "rstd", rstd.T[r], scale*(rho/2+5*judge.U32))
			for c := range cols {
				i := r*cols + c
				s := x[i] + p.V["residual"][i]
				near(t, "y", y.T[i], math.Abs(weight[c])*scale*2*judge.U32*math.Abs(s)+
					math.Abs(weight[c]*s*scale)*(rho/2+10*judge.U32))
				once := judge.U32 * math.Abs(s)
				if float64(float32(s)) == s { // nothing is rounded before h is stored
					once = 0
				}
				near(t, "h", h.T[i], once)
			}
		}
	}
}

// TestInvariantOfParts checks the invariant of a case whose truth is computed row by row on runs of rows,
// with the residual too.
func TestInvariantOfParts(t *testing.T) {
	o, err := truth.Get("rmsnorm")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "bf16"},
		map[string]int64{"rows": 2000, "cols": 300}, map[string]string{"add": "true"})
	if err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 1)
	call := truth.Call{Case: c, Given: in}
	for _, target := range truthtest.TruthFor(t, c, "fp32", in).Outputs {
		y := tensor.New(target.Name, target.DType, target.Shape)
		y.SetFloat64s(target.Sim)
		call.Gave = append(call.Gave, y)
	}
	asked := 0
	for _, r := range truth.RelationsOf(c) {
		if r.Second != nil {
			continue
		}
		for _, held := range o.HoldParts(r, "fp32", call, nil) {
			if asked++; !held.Accepted() {
				t.Errorf("%s: %s", r.Name, held.Sentence())
			}
		}
	}
	if asked == 0 {
		t.Error("no invariant was asked")
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*want+1e-40 {
		t.Fatalf("T of %s is %v, want %v", what, got, want)
	}
}

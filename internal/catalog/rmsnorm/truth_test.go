package rmsnorm

import (
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/rownorm/rownormtest"
	"triad/internal/truth/truthtest"
)

// planned are the cases of a pass with a residual.
func planned(t *testing.T, s truthtest.Suite) []*truthtest.Prepared {
	t.Helper()
	o, err := truth.Get(s.Op)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Passes: []op.Pass{s.Pass}, DTypes: []string{"fp16", "bf16"},
		Attributes: map[string]string{"add": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []*truthtest.Prepared
	for _, c := range plan.Cases {
		if c.Dims.Get("rows")*c.Dims.Get("cols") < 10000 {
			all = append(all, truthtest.PrepareCase(t, s, o.Spec, c, 3))
		}
	}
	return all
}

// What the contract stored permits passes under it, on every kind of data, and not under fp32: y of the sum
// that was rounded, and in the backward a gradient that was rounded before grad_h joins it.
func TestStored(t *testing.T) {
	stored := map[op.Pass]string{
		op.Forward: "y of the rounded h", op.Backward: "gradient rounded before grad_h",
	}
	for _, s := range rownormtest.Suites("rmsnorm") {
		strictly := 0
		for _, p := range planned(t, s) {
			low := s.Kernel(truthtest.Arithmetic{Bug: stored[s.Pass]}, p)
			if verdicts, _ := p.Judged(low); judge.Row(verdicts) == op.StatusFail {
				strictly++
			}
			o, _ := truth.Get(s.Op)
			in := truthtest.CaseInputs(t, o.Spec, p.Case, 3)
			strict := p.Truth
			p.Truth = truthtest.TruthFor(t, p.Case, "stored", in)
			for _, kernel := range [][][]float64{low, s.Kernel(s.Right[0], p), truthtest.Sims(p.Truth)} {
				verdicts, _ := p.Judged(kernel)
				if status := judge.Row(verdicts); status != op.StatusPass && status != op.StatusEmptyOK &&
					status != op.StatusWarn {
					t.Errorf("%s: %v under stored: %s", truthtest.Describe(p.Case), status,
						verdicts[0].Sentence)
				}
			}
			for i, o := range p.Truth.Outputs {
				for j := range o.T {
					if o.T[j] < strict.Outputs[i].T[j] || o.TFP32[j] != strict.Outputs[i].TFP32[j] {
						t.Fatalf("%s: T of %s[%d] is %v under stored, %v under fp32",
							truthtest.Describe(p.Case), o.Name, j, o.T[j], strict.Outputs[i].T[j])
					}
				}
			}
		}
		if strictly == 0 {
			t.Errorf("%v: no case tells what is stored from what is not", s.Pass)
		}
	}
}

// The allowances are the rows of docs/judge.md, but for underflow: of y, of rstd, and of h.
func TestAllowances(t *testing.T) {
	const cols = 200
	for _, p := range planned(t, rownormtest.Suites("rmsnorm")[0]) {
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
				near(t, "h", h.T[i], judge.U32*math.Abs(s))
			}
		}
	}
}

// An invariant of a case whose truth is computed row by row is asked of runs of rows, of the residual too.
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

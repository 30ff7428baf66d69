package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// planting is a case that a finding covers, and one of its outputs, whose elements can be changed.
type planting struct {
	c        *prepared
	f        op.Finding
	target   judge.Target
	at       int // the output
	right    []float64
	data     []byte // right, encoded
	contract string
}

// optionsOf returns the options of a finding's command.
func optionsOf(t *testing.T, f op.Finding) op.Options {
	t.Helper()
	options := op.Options{Device: "gpu", Attributes: map[string]string{}, Dims: map[string]int64{}}
	if f.Device == "cpu" {
		options.Device = "cpu"
	}
	_, words := f.Shown()
	for i := 0; i+1 < len(words); i++ {
		switch value := words[i+1]; words[i] {
		case "--dims":
			for pair := range strings.SplitSeq(value, ",") {
				name, number, _ := strings.Cut(pair, "=")
				n, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				options.Dims[name] = n
			}
		case "--attr":
			name, word, _ := strings.Cut(value, "=")
			options.Attributes[name] = word
		case "--distribution":
			options.Distributions = []string{value}
		case "--dtype":
			options.DTypes = []string{value}
		}
	}
	return options
}

// plantingOf prepares the smallest case of a finding's command on which the finding explains something.
func plantingOf(t *testing.T, o *truth.Operator, f op.Finding, output string) *planting {
	t.Helper()
	plan, err := o.Spec.Expand(optionsOf(t, f))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{op.CPUVersion: f.CPU}
	for name, bounds := range f.Versions {
		first, _, _ := strings.Cut(bounds, ",")
		versions[name] = strings.Trim(first, "<>= ")
	}
	size := func(c op.Case) int64 { n, _, _ := o.Spec.Footprint(c); return n }
	covered := slices.DeleteFunc(plan.Cases, func(c op.Case) bool {
		return size(c) == 0 || !f.Covers(c, f.Implementations[0], cmp.Or(f.Device, "cpu"), versions)
	})
	slices.SortStableFunc(covered, func(a, b op.Case) int { return int(size(a) - size(b)) })
	for _, k := range covered {
		p := planted(t, o, f, k, output)
		for _, w := range f.Wrong {
			if accepted, _ := p.plant(w, false); accepted != nil {
				return p
			}
		}
	}
	t.Errorf("%s: in none of %d cases does %s look as it says", f.ID, len(covered), output)
	return nil
}

// planted prepares a case with the right output.
func planted(t *testing.T, o *truth.Operator, f op.Finding, k op.Case, output string) *planting {
	t.Helper()
	x := &execution{Runner: &Runner{}, request: Request{Seed: 20240229}, result: &Result{}}
	c, err := x.prepare(work{operator: o, Case: k})
	if err != nil {
		t.Fatal(err)
	}
	contract := o.Spec.DefaultContract(k.DType)
	all, err := c.truth(contract)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(c.outputs, func(t op.TensorType) bool { return t.Name == output })
	p := &planting{c: c, f: f, at: at, target: all.Outputs[at], contract: contract}
	for _, r := range p.target.R {
		p.right = append(p.right, tensor.Round(p.target.DType, r, p.target.Saturate))
	}
	p.data = tensor.Encode(p.target.DType, p.right)
	return p
}

// looksWrong reports whether an output with these elements changed is rejected where they are, all of the
// kind, and whether it looks as the finding says. Only they are judged, or their rows if the finding speaks
// of the truth of rows.
func (p *planting) looksWrong(described func(judge.Rejected) bool, w op.Wrong, changed map[int]float64,
) (wrong, explained bool) {
	around := 1
	if slices.ContainsFunc(w.Places, func(p op.Place) bool { return p.Of == "truth" }) {
		around = int(p.target.Shape[len(p.target.Shape)-1])
	}
	part, size := p.target, int(p.target.DType.Size())
	part.Index, part.R, part.T, part.Freivalds = nil, nil, nil, nil
	runs := map[int]bool{}
	for i, v := range changed {
		copy(p.data[i*size:], tensor.Encode(p.target.DType, []float64{v}))
		defer copy(p.data[i*size:], slices.Clone(tensor.Encode(p.target.DType, p.right[i:i+1])))
		runs[i/around] = true
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		for i := run * around; i < (run+1)*around; i++ {
			part.Index = append(part.Index, int64(i))
		}
		part.R = append(part.R, p.target.R[run*around:(run+1)*around]...)
		part.T = append(part.T, p.target.T[run*around:(run+1)*around]...)
	}
	part.TFP32, part.Sim = part.T, part.R
	wrong = judge.EveryRejected(part, p.data, func(r judge.Rejected) bool { return r.Kind == w.Kind })
	return wrong, judge.EveryRejected(part, p.data, described)
}

// wrongs returns wrong values of a kind for an element, from small to large errors.
func (p *planting) wrongs(kind string, i int) []float64 {
	r := p.target.R[i]
	switch {
	case kind == "nan lost" && math.IsNaN(r):
		return []float64{0, 1, math.Inf(-1)}
	case kind == "nan gained" && !math.IsNaN(r):
		return []float64{math.NaN()}
	case kind == "infinite" && !math.IsNaN(r) && !math.IsInf(r, 0):
		return []float64{math.Inf(1), math.Inf(-1)}
	case kind == "finite" && !math.IsNaN(r) && !math.IsInf(r, 0):
		values := []float64{0}
		for e := -30; e <= 30; e += 3 {
			size := math.Abs(r) + p.target.T[i]
			if size == 0 {
				size = 1
			}
			step := math.Ldexp(size, e)
			values = append(values, r+step, r-step)
		}
		return values
	}
	return nil
}

// plant looks for a wrong element of a kind that the finding explains, and for one of the same kind that it
// does not explain.
func (p *planting) plant(w op.Wrong, own bool) (accepted, refused map[int]float64) {
	described := p.c.described(p.f, own, p.target, p.contract, p.at)
	step := max(1, len(p.right)/4999)
	for i := 0; i < len(p.right); i += step {
		for _, v := range p.wrongs(w.Kind, i) {
			single := map[int]float64{i: tensor.Round(p.target.DType, v, false)}
			switch wrong, explained := p.looksWrong(described, w, single); {
			case !wrong:
			case explained:
				accepted = single
			default:
				refused = single
			}
			if accepted != nil && refused != nil {
				return accepted, refused
			}
		}
	}
	return accepted, refused
}

// onOrdinaryData checks that a finding which explains every element of a kind depends on the data of its
// case: of ordinary data it explains none. If every element of the output is NaN, as where a block has
// nothing to do, there is nothing else to check.
func (p *planting) onOrdinaryData(t *testing.T, w op.Wrong) {
	t.Helper()
	if len(w.Places) == 0 && (w.Kind == "nan gained" || w.Unbounded) {
		return
	}
	ordinary := p.c.Case
	ordinary.Distribution = "normal"
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	c, err := x.prepare(work{operator: p.c.operator, Case: ordinary})
	if err != nil {
		t.Fatal(err)
	}
	other := *p
	other.c = c
	if explained, _ := other.plant(w, false); explained != nil {
		t.Errorf("%s: it explains every %s element: %v among them", p.f.ID, w.Kind, explained)
	}
}

// TestEachFindingExplainsNoOtherError: every finding explains what it describes, but neither the same kind of
// error elsewhere, nor a larger one, nor a second fault in addition to it. A finding without a bound excuses
// no file of a user's.
func TestEachFindingExplainsNoOtherError(t *testing.T) {
	for _, o := range truth.All() {
		for _, f := range o.Findings {
			for _, output := range f.Outputs {
				t.Run(fmt.Sprint(f.ID, " ", output), func(t *testing.T) {
					p := plantingOf(t, o, f, output)
					if p == nil {
						return
					}
					shown := 0
					for _, w := range f.Wrong {
						accepted, refused := p.plant(w, false)
						if accepted == nil {
							continue // this data has no such element
						}
						shown++
						if own, _ := p.plant(w, true); (own != nil) == w.Unbounded {
							t.Errorf("%s: in a user's file it explains %v", f.ID, own)
						}
						if refused == nil {
							p.onOrdinaryData(t, w)
							continue
						}
						described := p.c.described(f, false, p.target, p.contract, p.at)
						for i, v := range accepted {
							if _, there := refused[i]; !there {
								refused[i] = v
							}
						}
						if _, explained := p.looksWrong(described, w, refused); explained {
							t.Errorf("%s: it explains %v", f.ID, refused)
						}
					}
					if shown == 0 {
						t.Errorf("%s: it explains nothing", f.ID)
					}
				})
			}
		}
	}
}

// callingBackend is a backend whose calls reach these operations of torch.
type callingBackend struct {
	backend.Backend
	calls []string
	asked []backend.LaunchPlan
}

func (b *callingBackend) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	b.asked = append(b.asked, job.Launches...)
	return backend.Outcome{Calls: b.calls}, nil
}

// TestFindingsOfCallsAlone: a finding excuses a user's file only if the wrong call used the operation that
// the finding names; a row of the library is not asked.
func TestFindingsOfCallsAlone(t *testing.T) {
	o := faked(t)
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"},
		map[string]int64{"rows": 3, "cols": 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	p, err := x.prepare(work{operator: o, Case: c})
	if err != nil {
		t.Fatal(err)
	}
	erf := op.Finding{ID: "erf", Calls: []string{"aten.gelu", "aten.erf"}}
	addmm := op.Finding{ID: "addmm", Calls: []string{"aten.addmm"}}
	for _, k := range []struct {
		of     string
		calls  []string
		found  []op.Finding
		stands bool
	}{
		{"torch", []string{"aten.mul", "aten.erf"}, []op.Finding{erf}, true},
		{"torch", []string{"aten.mul", "aten.sigmoid"}, []op.Finding{erf}, false},
		{"torch", nil, []op.Finding{erf}, false},
		{"torch", []string{"aten.erf"}, []op.Finding{erf, addmm}, false},
		{"torch", []string{"aten.erf"}, []op.Finding{{ID: "of another library"}}, false},
		{"", nil, []op.Finding{erf}, true},
	} {
		b := &callingBackend{calls: k.calls}
		e := entry{implementation: backend.Implementation{Name: "mine/f", Calls: k.of}, backend: b}
		left, err := x.called(t.Context(), p, e, k.found)
		if err != nil || (len(left) > 0) != k.stands {
			t.Errorf("%+v: %v, %v", k, left, err)
		}
		asked := len(b.asked) == 1 && b.asked[0].Order == backend.OrderRecorded
		if asked != (k.of != "") {
			t.Errorf("%+v: launched as %v", k, b.asked)
		}
	}
}

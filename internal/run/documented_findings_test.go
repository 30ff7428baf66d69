package run

import (
	"math"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// wrongly is one entry on a case of attention with its output: its truth is R everywhere but in the first
// element.
type wrongly struct {
	impl, device, dtype, distribution string
	pass                              op.Pass
	causal                            string
	batch, seqKV                      int64
	output, gate                      string
	want, got                         float64
	status                            op.Status
	says                              string // of a CRASH
	versions                          map[string]string
}

// explained makes the calls by which the driver applies documented findings.
func explained(t *testing.T, w wrongly) (record.Record, *Result) {
	t.Helper()
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	c := op.Case{
		Op: o.Spec.Name, Pass: w.pass, DType: w.dtype, Distribution: w.distribution, Layout: "contiguous",
		Dims: op.Dims{
			{Name: "batch", Value: w.batch},
			{Name: "heads_q", Value: 1},
			{Name: "heads_kv", Value: 1},
			{Name: "seq_q", Value: 9},
			{Name: "seq_kv", Value: w.seqKV},
			{Name: "head_dim", Value: 1},
		}, Attrs: op.Attrs{{Name: "causal", Text: w.causal}},
	}
	r := []float64{w.want, 1, math.NaN()}
	target := judge.Target{
		Name: w.output, DType: op.FP32, Shape: []int64{3, 1}, R: r, T: []float64{0, 0, 0},
		TFP32: []float64{0, 0, 0}, Sim: r,
	}
	values := tensor.New("v", op.FP32, []int64{2})
	values.SetFloat64s([]float64{-1, 472})
	p := &prepared{
		work: work{operator: o, Case: c}, given: []tensor.Tensor{values},
		outputs: []op.TensorType{{Name: w.output, Sizes: []string{"seq_q", "head_dim"}}},
		truths: map[string]truthOnce{"p16": func() (judge.Truth, error) {
			return judge.Truth{Contract: "p16", Outputs: []judge.Target{target}}, nil
		}},
	}
	out := tensor.New(w.output, op.FP32, []int64{3, 1})
	out.SetFloat64s([]float64{w.got, 1, math.NaN()})
	outcome := backend.Outcome{Launches: []backend.LaunchOutcome{{Outputs: []backend.Output{{Tensor: out}}}}}
	verdicts := []judge.Verdict{{Output: w.output, Status: w.status, Gate: w.gate, Contract: "p16", Wrong: 1}}
	if w.status == op.StatusCrash {
		outcome, verdicts = backend.Outcome{Status: op.StatusCrash, Sentence: w.says}, nil
	}
	x := &execution{Runner: &Runner{}, result: &Result{Versions: w.versions}}
	e := entry{implementation: backend.Implementation{Name: w.impl, Device: w.device}}
	if family, own := strings.CutPrefix(w.impl, "mine/"); own {
		e.implementation.Calls = family
	}
	ended := record.Record{Status: w.status, Impl: w.impl}
	x.known(p, e, x.rules().explaining(p, e, outcome, verdicts), &ended)
	return ended, x.result
}

// failure is a wrong output and the finding that explains it, "" if there is none.
type failure struct {
	w  wrongly
	id string
}

// failures returns failures that findings explain, and each of them changed in one way that no finding
// covers.
func failures() map[string]failure {
	nan := math.NaN()
	lost := wrongly{
		"torch/flash", "gpu", "bf16", "non_finite", op.Backward, "false", 1, 9, "grad_v", "G1", nan, 0.5,
		op.StatusFail, "",
		map[string]string{"torch": "2.11.0", "cudnn": "91900"},
	}
	masked := wrongly{
		"torch/cudnn", "gpu", "bf16", "outlier", op.Forward, "true", 1, 150, "o", "G2", 1, 472,
		op.StatusFail, "", lost.versions,
	}
	empty := wrongly{
		"torch/cudnn", "gpu", "bf16", "normal", op.Forward, "false", 0, 9, "o", "", 1, 1, op.StatusCrash,
		"TypeError: scaled_dot_product_attention returned None", lost.versions,
	}
	forward := lost
	forward.pass, forward.output = op.Forward, "o"
	const lse = "flash-2-lse"
	on := func(w wrongly, change func(*wrongly)) wrongly { change(&w); return w }
	return map[string]failure{
		"FlashAttention-2's grad_v":   {lost, lse},
		"the same through torch/sdpa": {on(lost, func(w *wrongly) { w.impl = "torch/sdpa" }), lse},
		"cuDNN's grad_q": {
			on(lost, func(w *wrongly) { w.impl, w.output, w.got = "torch/cudnn", "grad_q", math.Inf(-1) }),
			"cudnn-nan-grad-q",
		},
		"cuDNN's mask":        {masked, "cudnn-finite-mask"},
		"cuDNN's empty batch": {empty, "cudnn-empty-batch"},
		"the CPU's forward": {
			on(forward, func(w *wrongly) { w.impl, w.device = "torch/sdpa", "cpu" }), "sdpa-cpu-nan",
		},
		"a value that should be finite": {on(lost, func(w *wrongly) { w.want = 1 }), ""},
		"a NaN where none belongs":      {on(lost, func(w *wrongly) { w.want, w.got = 1, nan }), ""},
		"another gate":                  {on(lost, func(w *wrongly) { w.gate = "G2" }), ""},
		"another output":                {on(lost, func(w *wrongly) { w.output = "grad_k" }), ""},
		"a race":                        {on(lost, func(w *wrongly) { w.status = op.StatusRace }), ""},
		"a crash":                       {on(lost, func(w *wrongly) { w.status = op.StatusCrash }), ""},
		"the forward":                   {forward, ""},
		"other data":                    {on(lost, func(w *wrongly) { w.distribution = "normal" }), ""},
		"a user's file of torch":        {on(lost, func(w *wrongly) { w.impl = "mine/torch" }), lse},
		"a user's kernel":               {on(lost, func(w *wrongly) { w.impl = "mine/" }), ""},
		"ours":                          {on(lost, func(w *wrongly) { w.impl = "cuda/tiled" }), ""},
		"Triton's":                      {on(lost, func(w *wrongly) { w.impl = "triton/tiled" }), ""},
		"no mask":                       {on(masked, func(w *wrongly) { w.causal = "false" }), ""},
		"torch's own mask":              {on(masked, func(w *wrongly) { w.seqKV = 9 }), ""},
		"scores that no mask loses":     {on(masked, func(w *wrongly) { w.distribution = "normal" }), ""},
		"more than any value":           {on(masked, func(w *wrongly) { w.got = 473 }), ""},
		"a mask not by cuDNN":           {on(masked, func(w *wrongly) { w.impl = "torch/flash" }), ""},
		"a later torch": {
			on(masked,
				func(w *wrongly) { w.versions = map[string]string{"torch": "2.12.0", "cudnn": "91900"} }),
			"",
		},
		"fp32, which cuDNN refuses": {on(masked, func(w *wrongly) { w.dtype = "fp32" }), ""},
		"another exception": {
			on(empty, func(w *wrongly) { w.says = "TypeError: pad(): argument 'input'" }), "",
		},
		"None for a batch": {on(empty, func(w *wrongly) { w.batch = 1 }), ""},
	}
}

// TestKnown: a failure is KNOWN if a documented finding explains all of it; another implementation, other
// data, another gate or another kind of wrong element is not excused.
func TestKnown(t *testing.T) {
	for name, c := range failures() {
		r, _ := explained(t, c.w)
		if c.id == "" && r.Status != c.w.status {
			t.Errorf("%s: %v %s, want %v", name, r.Status, r.Message, c.w.status)
		}
		if c.id != "" && (r.Status != op.StatusKnown || !strings.HasPrefix(r.Message, c.id+": ")) {
			t.Errorf("%s: %v %q, want KNOWN by %s", name, r.Status, r.Message, c.id)
		}
	}
}

// TestFindingGone: a finding is gone if enough cases that it covers are right; a fault of another kind is no
// such evidence.
func TestFindingGone(t *testing.T) {
	empty := wrongly{
		"torch/cudnn", "gpu", "bf16", "normal", op.Forward, "false", 0, 9, "o", "", 1, 1,
		op.StatusPass, "",
		map[string]string{"torch": "2.12.0"},
	}
	for status, gone := range map[op.Status]bool{
		op.StatusPass: true, op.StatusDifferentContract: true,
		op.StatusNoPower: false, op.StatusFail: false,
	} {
		w := empty
		w.status = status
		if _, result := explained(t, w); len(result.Findings) != 1 || result.Findings[0].Gone() != gone {
			t.Errorf("%v: %+v, want gone %v", status, result.Findings, gone)
		}
	}
	w := empty
	w.status, w.says = op.StatusCrash, "TypeError: scaled_dot_product_attention returned None"
	if _, result := explained(t, w); result.Findings[0].Gone() || result.Findings[0].Shown != 1 {
		t.Errorf("it shows: %+v", result.Findings)
	}
}

// TestDoubtedIsNotUnderstood: a wrong answer of a function that was read with a guess is no verdict; a right
// one is.
func TestDoubtedIsNotUnderstood(t *testing.T) {
	for status, want := range map[op.Status]op.Status{
		op.StatusFail: op.StatusNotUnderstood, op.StatusCrash: op.StatusNotUnderstood,
		op.StatusOutOfBounds: op.StatusNotUnderstood, op.StatusPass: op.StatusPass,
		op.StatusUnsupported: op.StatusUnsupported, op.StatusInconclusive: op.StatusInconclusive,
	} {
		r := record.Record{Status: status, Message: "y is 3"}
		entry{implementation: backend.Implementation{Doubts: []backend.Doubt{{Why: "rows is 1"}}}}.doubted(&r)
		if r.Status != want || want == op.StatusNotUnderstood &&
			r.Message != "rows is 1. As it is read: "+status.String()+": y is 3" {
			t.Errorf("%v: %v %q, want %v", status, r.Status, r.Message, want)
		}
		r = record.Record{Status: status}
		if (entry{}).doubted(&r); r.Status != status {
			t.Errorf("without a doubt: %v, want %v", r.Status, status)
		}
	}
}

// TestDoubtedOutput: a guess about an output is to blame if only this output is wrong.
func TestDoubtedOutput(t *testing.T) {
	doubts := []backend.Doubt{{Why: "lse is natural", Output: "lse"}}
	for _, c := range []struct {
		o, lse, want op.Status
	}{
		{op.StatusPass, op.StatusFail, op.StatusNotUnderstood},
		{op.StatusFail, op.StatusFail, op.StatusFail},
		{op.StatusFail, op.StatusPass, op.StatusFail},
		{op.StatusUnknown, op.StatusUnknown, op.StatusFail}, // a crash has no verdicts
	} {
		r := record.Record{Status: op.StatusFail, Outputs: []record.Verdict{
			{Name: "o", Status: c.o}, {Name: "lse", Status: c.lse},
		}}
		if c.o == op.StatusUnknown {
			r.Outputs = nil
		}
		entry{implementation: backend.Implementation{Doubts: doubts}}.doubted(&r)
		if r.Status != c.want {
			t.Errorf("o %v, lse %v: %v, want %v", c.o, c.lse, r.Status, c.want)
		}
	}
}

// TestDoubtedElsewhere: a guess is not to blame for a wrong answer at sizes at which the function was right,
// nor in a dtype that it is not about.
func TestDoubtedElsewhere(t *testing.T) {
	small, large := op.Dims{{Name: "n", Value: 3}}, op.Dims{{Name: "n", Value: 4096}}
	launch := backend.Doubt{Why: "the block is 256", Sizes: []op.Dims{small}}
	dtype := backend.Doubt{Why: "it takes fp16", DType: "fp32"}
	unsaid := backend.Doubt{Why: "it takes bf16", In: []string{"bf16"}}
	for _, c := range []struct {
		doubts []backend.Doubt
		dims   op.Dims
		dtype  string
		want   op.Status
	}{
		{[]backend.Doubt{launch}, small, "fp16", op.StatusFail},
		{[]backend.Doubt{launch}, large, "fp16", op.StatusNotUnderstood},
		{[]backend.Doubt{dtype}, large, "fp32", op.StatusFail},
		{[]backend.Doubt{dtype}, large, "fp16", op.StatusNotUnderstood},
		{[]backend.Doubt{unsaid}, large, "fp16", op.StatusFail},
		{[]backend.Doubt{unsaid}, large, "bf16", op.StatusNotUnderstood},
		{[]backend.Doubt{{Why: "halves", Only: "scaled"}}, large, "fp32", op.StatusFail},
		{[]backend.Doubt{{Why: "halves", Only: "normal"}}, large, "fp32", op.StatusNotUnderstood},
		{[]backend.Doubt{launch, dtype}, small, "fp16", op.StatusNotUnderstood},
	} {
		r := record.Record{
			Status: op.StatusFail,
			Case:   op.Case{DType: c.dtype, Dims: c.dims, Distribution: "normal"},
		}
		entry{implementation: backend.Implementation{Doubts: c.doubts}}.doubted(&r)
		if r.Status != c.want {
			t.Errorf("%v in %s with %v: %v, want %v", c.dims, c.dtype, c.doubts, r.Status, c.want)
		}
	}
}

// TestDoubtedRace: a race whose lines are known stays a race unless the guess can cause one.
func TestDoubtedRace(t *testing.T) {
	for _, c := range []struct {
		status op.Status
		where  *record.Where
		races  bool
		want   op.Status
	}{
		{op.StatusRace, &record.Where{Line: 3}, true, op.StatusRace},
		{op.StatusRace, &record.Where{Line: 3}, false, op.StatusNotUnderstood},
		{op.StatusRace, nil, true, op.StatusNotUnderstood},
		{op.StatusFail, &record.Where{Line: 3}, true, op.StatusNotUnderstood},
	} {
		r := record.Record{Status: c.status, Where: c.where}
		doubts := []backend.Doubt{{Why: "it is launched so", Races: c.races}}
		entry{implementation: backend.Implementation{Doubts: doubts}}.doubted(&r)
		if r.Status != c.want {
			t.Errorf("%+v: %v, want %v", c, r.Status, c.want)
		}
	}
}

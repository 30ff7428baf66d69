package gpuworker

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// finding is a deviation of a vendor's kernel from the formula that docs/judge.md documents. A user is told of it as of any other; the tests of
// figures count its records apart from those that accuse a kernel that is right.
type finding struct {
	operator, implementation string
	pass                     op.Pass
	distribution             string
	shows                    func(op.Case, *record.Verdict) bool // whether what a wrong output has wrong is this
	sentence                 string
}

// infiniteLSE is what the source of FlashAttention-2 says, and a computation by that rule gives its grad_v (docs/judge.md).
const infiniteLSE = "a row with a NaN among its scores is saved with lse = inf, and exp(score - inf) makes 0 of the weights that are NaN by the formula"

// unsaidNaN is what is seen of a kernel without a public source.
const unsaidNaN = "grad_q is infinite in rows with a NaN among their scores, where the formula gives NaN"

// finiteMask is what the source of torch 2.11 does for cuDNN (convert_boolean_attn_mask_cudnn), and explains the value that was seen.
const finiteMask = "torch fills a boolean mask with -65504 for cuDNN: a masked score that is higher than all others by more wins"

// lostNaN is a value that should be NaN and is none.
func lostNaN(_ op.Case, v *record.Verdict) bool {
	return v.Gate == "G1" && v.Worst != nil && v.Worst.Want.Class() == "nan"
}

// maskedWins needs a mask: a causal one that is not torch's own, whose lengths are alike, and a 16-bit dtype, which cuDNN takes. Whether a masked
// score is that high only the inputs tell: another error of these kernels on such cases would be counted here too.
func maskedWins(c op.Case, v *record.Verdict) bool {
	return v.Gate == "G2" && c.DType != "fp32" && c.Attrs.Text("causal") == "true" && c.Dims.Get("seq_q") != c.Dims.Get("seq_kv")
}

// findings are all that is documented. Whatever else accuses is a false alarm until someone has looked at it.
var findings = []finding{
	{"flash_attention", "torch/flash", op.Backward, "non_finite", lostNaN, infiniteLSE},
	{"flash_attention", "torch/cudnn", op.Backward, "non_finite", lostNaN, unsaidNaN},
	{"flash_attention", "torch/sdpa", op.Backward, "non_finite", lostNaN, "torch's choice among those two, and on a CPU a kernel that loses the NaN in the same way"},
	{"flash_attention", "torch/cudnn", op.Forward, "outlier", maskedWins, finiteMask},
	{"flash_attention", "torch/sdpa", op.Forward, "outlier", maskedWins, finiteMask},
	{"flash_attention", "torch/cudnn", op.Backward, "outlier", maskedWins, finiteMask},
	{"flash_attention", "torch/sdpa", op.Backward, "outlier", maskedWins, finiteMask},
}

func (f finding) String() string {
	return fmt.Sprintf("%s %s %s %s", f.operator, f.implementation, f.pass, f.distribution)
}

// documented is the finding that a bad record shows: all that is wrong in it is that.
func documented(r *record.Record) (finding, bool) {
	i := slices.IndexFunc(findings, func(f finding) bool {
		return f.operator == r.Case.Op && f.implementation == r.Impl && f.pass == r.Case.Pass && f.distribution == r.Case.Distribution
	})
	if i < 0 || r.Status != op.StatusFail {
		return finding{}, false
	}
	for k := range r.Outputs {
		if v := &r.Outputs[k]; v.Status.Weight() == op.Bad && !findings[i].shows(r.Case, v) {
			return finding{}, false
		}
	}
	return findings[i], true
}

// accusation is a kind of record that accuses: how many there were, and one of them.
type accusation struct {
	Count   int             `json:"count"`
	Example json.RawMessage `json:"example"`
}

// kindOf names what two accusations have in common that are kept as one.
func kindOf(r *record.Record) string {
	return fmt.Sprintf("%s %s %s %s %s %s", r.Impl, r.Case.Op, r.Case.Pass, r.Case.DType, r.Status, r.Case.Distribution)
}

// accuse counts a bad record: as a documented finding, else among the accusations, whose first of each kind is kept whole.
func (a *alarmRun) accuse(r *record.Record) error {
	if f, known := documented(r); known {
		a.Documented[f.String()]++
		return nil
	}
	a.Bad++
	kind, seen := kindOf(r), accusation{}
	if old, ok := a.Accused[kind]; ok {
		seen = old
	} else {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("keep an accusation of %s: %w", kind, err)
		}
		seen.Example = text
	}
	seen.Count++
	a.Accused[kind] = seen
	return nil
}

// What is documented is counted apart and by entry; all else accuses, one example of each kind kept, so that no kind hides behind many of another.
func TestAccusations(t *testing.T) {
	of := func(impl string, pass op.Pass, distribution string, status op.Status, gate string, want float64) *record.Record {
		return &record.Record{Case: op.Case{Op: "flash_attention", Pass: pass, DType: "bf16", Distribution: distribution}, Impl: impl, Status: status,
			Outputs: []record.Verdict{{Name: "grad_k", Status: op.StatusPass, Gate: "G2"},
				{Name: "grad_v", Status: status, Gate: gate, Worst: &record.Element{Want: record.Float(want)}}}}
	}
	masked := func(impl, distribution, gate, causal string, seqKV int64) *record.Record {
		r := of(impl, op.Forward, distribution, op.StatusFail, gate, 0)
		r.Case.Dims, r.Case.Attrs = op.Dims{{Name: "seq_q", Value: 9}, {Name: "seq_kv", Value: seqKV}}, op.Attrs{{Name: "causal", Text: causal}}
		return r
	}
	nan, c := math.NaN(), newTally(1)
	for i, r := range []*record.Record{
		of("torch/flash", op.Backward, "non_finite", op.StatusFail, "G1", nan),
		of("torch/flash", op.Backward, "non_finite", op.StatusFail, "G1", nan),
		of("torch/cudnn", op.Backward, "non_finite", op.StatusFail, "G1", nan),
		of("torch/cudnn", op.Backward, "non_finite", op.StatusFail, "G1", 1),    // a value that should be finite
		of("torch/cudnn", op.Backward, "non_finite", op.StatusFail, "G2", nan),  // another gate
		of("torch/cudnn", op.Backward, "non_finite", op.StatusCrash, "G1", nan), // no wrong value at all
		of("torch/cudnn", op.Forward, "non_finite", op.StatusFail, "G1", nan),
		of("torch/cudnn", op.Backward, "normal", op.StatusFail, "G1", nan),
		of("cuda/tiled", op.Backward, "non_finite", op.StatusFail, "G1", nan), // ours
		of("cuda/tiled", op.Backward, "non_finite", op.StatusPass, "G2", nan), // not bad
		masked("torch/cudnn", "outlier", "G2", "true", 150),
		masked("torch/cudnn", "outlier", "G2", "true", 9),     // torch's own mask
		masked("torch/cudnn", "outlier", "G2", "false", 150),  // no mask
		masked("torch/cudnn", "outlier", "G1", "true", 150),   // another gate
		masked("torch/cudnn", "normal", "G2", "true", 150),    // scores that no such mask loses
		masked("torch/flash", "outlier", "G2", "true", 150),   // not by cuDNN
		masked("cuda/sm80_mma", "outlier", "G2", "true", 150), // ours
	} {
		r.Seed = uint64(i)
		if err := c.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if c.run.Bad != 12 || len(c.run.Documented) != 3 || c.run.Documented[findings[3].String()] != 1 || c.run.Documented[findings[0].String()] != 2 || c.run.Documented[findings[1].String()] != 1 {
		t.Errorf("%d bad, documented %v", c.run.Bad, c.run.Documented)
	}
	two := c.run.Accused["torch/cudnn flash_attention backward bf16 FAIL non_finite"]
	if len(c.run.Accused) != 9 || two.Count != 2 {
		t.Errorf("%d kinds %+v, want 9, of which one occurred twice", len(c.run.Accused), c.run.Accused)
	}
	var example struct{ Seed uint64 }
	if err := json.Unmarshal(two.Example, &example); err != nil || example.Seed != 3 {
		t.Errorf("the example is of seed %d, %v: want the first, 3", example.Seed, err)
	}
}

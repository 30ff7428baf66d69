package flashattention

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

var (
	square = map[string]int64{
		"batch": 2, "heads_q": 4, "heads_kv": 4, "seq_q": 17, "seq_kv": 17, "head_dim": 64,
	}
	small = map[string]int64{
		"batch": 1, "heads_q": 4, "heads_kv": 4, "seq_q": 17, "seq_kv": 17, "head_dim": 16,
	}
	longer = map[string]int64{
		"batch": 1, "heads_q": 2, "heads_kv": 1, "seq_q": 33, "seq_kv": 65, "head_dim": 32,
	}
	masked = map[string]string{"causal": "true"}
	scaled = map[string]string{"causal": "true", "scale": "0.25"}
	open   = map[string]string{"causal": "false"}
)

// ownArithmetic are cases that the shapes of the plan do not cover: few keys under a causal mask, where P*(dP
// - delta) cancels and mostly rounding is left.
var ownArithmetic = []struct {
	why      string
	contract string
	at       op.Case
	attrs    map[string]string
	dims     map[string]int64
	seed     uint64
}{
	{
		"an o that was given is rounded, and the composition does not look at it", "eager",
		op.Case{Pass: op.Backward, DType: "bf16", Saved: "driver", Distribution: "scaled"},
		masked, square, 5,
	},
	{
		"the same in fp16", "eager",
		op.Case{Pass: op.Backward, DType: "fp16", Saved: "driver", Distribution: "scaled"},
		masked, small, 3,
	},
	{
		"a weight is rounded as an operand, not before dS is computed of it", "tf32",
		op.Case{
			Pass: op.Backward, DType: "fp32", Saved: "driver", Distribution: "scaled",
			Upstream: "one_hot",
		},
		masked, square, 1,
	},
	{
		"an o below the normal range is stored in fp16", "tf32",
		op.Case{
			Pass: op.Backward, DType: "fp16", Saved: "own", Distribution: "scaled",
			Upstream: "one_hot",
		},
		open, longer, 2,
	},
	{
		"a score whose dropped bits make it the largest by far moves lse as far", "tf32",
		op.Case{Pass: op.Forward, DType: "fp32", Distribution: "extremes"},
		scaled, square, 2,
	},
}

// TestContractsAcceptTheirOwnArithmetic: the result of a contract's simulation is accepted under it.
func TestContractsAcceptTheirOwnArithmetic(t *testing.T) {
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range ownArithmetic {
		c, err := o.Spec.NewCase(x.at, x.dims, x.attrs)
		if err != nil {
			t.Fatal(err)
		}
		known := truthtest.TruthFor(t, c, x.contract, truthtest.CaseInputs(t, o.Spec, c, x.seed))
		for _, v := range truthtest.Judged(known, truthtest.Sims(known)...) {
			if v.Status != op.StatusPass && v.Status != op.StatusWarn {
				t.Errorf("%s: %s under %s: %v %s: %s", x.why, v.Output, x.contract, v.Status, v.Gate,
					v.Sentence)
			}
		}
		zeros := make([][]float64, len(known.Outputs))
		for i, target := range known.Outputs {
			zeros[i] = make([]float64, len(target.R))
		}
		truthtest.Rejects(t, x.why+": zeros", truthtest.Judged(known, zeros...))
	}
}

package truth_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"triad/internal/judge"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// byRowKey returns the tier key of a case: an operator's pass, on contiguous data of a normal distribution in
// its first shape, or in another one; or another layout or distribution.
func byRowKey(c op.Case, shape int) string {
	key := fmt.Sprint(c.Op, " ", c.Pass)
	switch {
	case shape > 0:
		return key + " in another shape"
	case c.Layout != "contiguous":
		return fmt.Sprint(c.Pass, " ", c.Layout) // of whatever operator
	case c.Distribution != "normal":
		return c.Distribution // of whatever operator
	}
	return key
}

// byRowCases calls test with every case of the operators whose truth can be computed row by row, its inputs,
// and a contract. The fast tier takes one case of each key.
func byRowCases(t *testing.T, test func(o *truth.Operator, c op.Case, contract string, in []tensor.Tensor)) {
	for _, o := range truth.All() {
		shapes := o.Spec.Check.Truth.ByRows
		if o.ByRows() != (len(shapes) > 0) {
			t.Fatalf("%s: by rows %v, and %d shapes in [check.truth] by_rows", o.Spec.Name,
				o.ByRows(), len(shapes))
		}
		for i, dims := range shapes {
			options := op.Options{Level: op.LevelQuick, Dims: dims}
			if i > 0 { // the first shape shows the effect of a distribution
				options.Distributions, options.Layouts = []string{"normal"}, []string{"contiguous"}
			}
			plan, err := o.Spec.Expand(options)
			if err != nil || len(plan.Cases) == 0 {
				t.Fatalf("%s: %d cases, %v", o.Spec.Name, len(plan.Cases), err)
			}
			inputs := slices.Concat(need.Operator(o.Spec.Name), need.Judge)
			for _, c := range plan.Cases {
				if c.Distribution != "normal" && c.Layout != "contiguous" ||
					!need.Chosen(t, fmt.Sprint(c.Op, " ", c.Pass, " ", c.Key()), byRowKey(c, i), inputs...) {
					continue
				}
				in := truthtest.CaseInputs(t, o.Spec, c, 1)
				for _, k := range contracts(t) {
					if k.Name == o.Spec.DefaultContract(c.DType) || o.Spec.Permits(c.DType, k.Name) {
						test(o, c, k.Name, in)
					}
				}
			}
		}
	}
}

// TestVerdictByRowsIsThatOfTheWhole: a truth that is computed row by row while it is judged leads to the same
// verdict as the whole truth, with all its figures and to the bit: for right outputs and for wrong ones,
// whose wrong element lies in the first run, the last, or between. Outside the long tier an operator's pass
// has all of these on the first case of a shape, and one of each kind on the others.
func TestVerdictByRowsIsThatOfTheWhole(t *testing.T) {
	streamed := map[string]int{}
	wrong := map[op.Status]int{}
	seen := map[string]int{}
	short := []string{
		"right", "noisy", "last element off", "middle element differs", "first element unwritten",
	}
	byRowCases(t, func(o *truth.Operator, c op.Case, contract string, in []tensor.Tensor) {
		whole := truthtest.TruthFor(t, c, contract, in)
		rows, err := o.TruthByRows(c, contract, in)
		if err != nil {
			t.Fatalf("%s: %v", c.Key(), err)
		}
		group := fmt.Sprint(c.Op, c.Pass, c.Dims)
		all := seen[group] == 0 || need.IsLongTier()
		seen[group]++
		for i, target := range whole.Outputs {
			if rows.Outputs[i].Rows == nil {
				continue
			}
			streamed[fmt.Sprint(c.Op, " ", c.Pass, " ", target.Name)]++
			right := tensor.Encode(target.DType, target.Sim)
			for what, answer := range truthtest.PlantedAnswers(target, right) {
				if c.Distribution != "normal" && what != "right" && what != "noisy" &&
					what != "last element off" || !all && !slices.Contains(short, what) {
					continue
				}
				where := fmt.Sprintf("%s %v %s %s, %s", c.Op, c.Pass, c.Key(), target.Name, what)
				got := sameVerdicts(t, where, contract, answer, target, rows.Outputs[i])
				if what != "right" {
					wrong[got.Status]++
				}
			}
		}
	})
	for _, output := range []string{
		"softmax forward y", "softmax backward grad_x", "layernorm forward y", "layernorm backward grad_x",
		"swiglu forward y",
		"swiglu backward grad_gate", "swiglu backward grad_up", "rope forward q_out", "rope forward k_out",
		"rope backward grad_q", "rope backward grad_k",
		"silu forward y", "gelu backward grad_x", "sum backward grad_x", "prefix_sum forward y",
	} {
		if streamed[output] == 0 {
			t.Errorf("no case of %s was judged row by row", output)
		}
	}
	if wrong[op.StatusFail] == 0 || wrong[op.StatusRace] == 0 {
		t.Errorf("wrong outputs ended %v, want some FAIL and some RACE", wrong)
	}
}

// sameVerdicts judges an answer by the whole truth and by that of rows, which must agree, and returns the
// latter's verdict.
func sameVerdicts(t *testing.T, where, contract string, a judge.Answer,
	whole, rows judge.Target,
) judge.Verdict {
	t.Helper()
	plan := judge.Plan{
		Outputs:  []op.TensorType{{Name: whole.Name, DType: whole.DType, Shape: whole.Shape}},
		Launches: 2,
	}
	verdict := func(target judge.Target) judge.Verdict {
		return judge.Judge(plan, a, judge.Truth{Contract: contract, Outputs: []judge.Target{target}})[0]
	}
	want, got := verdict(whole), verdict(rows)
	if !sameBits(want, got) {
		t.Errorf("%s:\n  by rows  %+v\n  of all   %+v", where, got, want)
	}
	data := a.Launches[0].Outputs[0].Data
	if of, by := rejectedKinds(whole, data), rejectedKinds(rows, data); !maps.Equal(of, by) {
		t.Errorf("%s: wrong by rows %+v, of all %+v", where, by, of)
	}
	return got
}

// rejectedKinds counts the rejected elements of an output by their kinds.
func rejectedKinds(target judge.Target, data []byte) map[string]int {
	var mu sync.Mutex
	kinds := map[string]int{}
	judge.EveryRejected(target, data, func(e judge.Rejected) bool {
		mu.Lock()
		defer mu.Unlock()
		kinds[e.Kind]++
		return true
	})
	return kinds
}

// sameBits compares the contents of two verdicts, with NaN equal to NaN.
func sameBits(a, b judge.Verdict) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%+v", exactly64(a)) == fmt.Sprintf("%+v", exactly64(b))
}

// exactly64 returns a verdict with its elements, whose NaN are never equal, written out.
func exactly64(v judge.Verdict) any {
	return fmt.Sprintf("%x %x %x %x %x %x %+v %q", v.Worst16, v.Worst, v.ErrorMargin, v.ULPMax, v.ULPMean,
		v.ULPs, v, v.Sentence)
}

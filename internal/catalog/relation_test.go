package catalog

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// simulated answers a call as a simulated contract does: a right implementation that rounds where it must and nowhere else.
func simulated(t *testing.T, contract string, c op.Case, given Inputs) Inputs {
	t.Helper()
	truth := truthFor(t, c, contract, given)
	var gave Inputs
	for _, o := range truth.Outputs {
		y := tensor.New(o.Name, o.DType, o.Shape)
		y.SetFloat64s(o.Sim)
		gave = append(gave, y)
	}
	return gave
}

// follow makes the calls of a relation with the simulated contract as the implementation.
func follow(t *testing.T, contract string, r Relation, c op.Case, given Inputs) []Call {
	t.Helper()
	calls := []Call{{Case: c, Given: given, Gave: simulated(t, contract, c, given)}}
	for range r.Calls() {
		last := calls[len(calls)-1]
		at, replaced := r.Next(calls)
		next := Call{Case: at, Given: last.Given.With(replaced)}
		next.Gave = simulated(t, contract, at, next.Given)
		calls = append(calls, next)
	}
	return calls
}

// spoilt is the calls with other values in an output of the last.
func spoilt(calls []Call, output string, value func(i int, y float64) float64) []Call {
	calls = slices.Clone(calls)
	last := &calls[len(calls)-1]
	y := last.Gave.Get(output)
	values := y.Float64s()
	for i, v := range values {
		values[i] = value(i, v)
	}
	other := tensor.New(y.Name, y.DType, y.Shape)
	other.SetFloat64s(values)
	last.Gave = last.Gave.With([]tensor.Tensor{other})
	return calls
}

// holds says of every output of a relation whether it is accepted.
func holds(r Relation, contract string, calls []Call) map[string]judge.Relation {
	all := map[string]judge.Relation{}
	for _, held := range r.Hold(contract, calls, nil) {
		all[held.Output] = held
	}
	return all
}

// relatedCases calls visit with every relation of an operator on cases of the quick level, each relation at most a few times a dtype.
func relatedCases(t *testing.T, o *Operator, visit func(r Relation, c op.Case, calls []Call)) {
	t.Helper()
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range plan.Cases {
		if elements, _, err := o.Spec.Footprint(c); err != nil || elements > 30000 {
			continue
		}
		var given Inputs
		for _, r := range RelationsOf(c) {
			key := fmt.Sprint(r.Name, c.Pass, c.DType)
			if r.Second != nil && seen[key] == 2 {
				continue
			}
			seen[key]++
			if given == nil {
				given = caseInputs(t, o.Spec, c, 1)
			}
			visit(r, c, follow(t, o.Spec.DefaultContract(c.DType), r, c, given))
		}
	}
}

// A right implementation holds every relation under every contract it may declare, and each relation that is declared is asked on the quick level.
func TestRelationsHoldOfTheSimulatedContract(t *testing.T) {
	for _, o := range All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			met := map[string]bool{}
			comparisons := int64(0)
			relatedCases(t, o, func(r Relation, c op.Case, calls []Call) {
				met[fmt.Sprint(r.Pass, " ", r.Name)] = true
				for i := range calls[1:] {
					if !slices.ContainsFunc(calls[i+1].Given, func(x tensor.Tensor) bool {
						return !slices.Equal(x.Float64s(), calls[i].Given.Get(x.Name).Float64s())
					}) && c.Dims[0].Value > 1 {
						t.Errorf("%s: %q asks the same inputs again", describe(c), r.Name)
					}
				}
				for _, contract := range append([]string{o.Spec.DefaultContract(c.DType)}, o.Spec.Contract.Permits...) {
					if contract != o.Spec.DefaultContract(c.DType) {
						calls = follow(t, contract, r, c, calls[0].Given)
					}
					found := holds(r, contract, calls)
					for _, output := range r.Outputs {
						held := found[output]
						comparisons += held.Compared
						if !held.Accepted() {
							t.Errorf("%s under %s: %s", describe(c), contract, held.Sentence())
						}
					}
				}
			})
			if len(relations[o.Spec.Name]) < 2 {
				t.Errorf("%d relations are declared: want at least 2", len(relations[o.Spec.Name]))
			}
			for _, r := range relations[o.Spec.Name] {
				if !met[fmt.Sprint(r.Pass, " ", r.Name)] {
					t.Errorf("the quick level has no case for %v %q", r.Pass, r.Name)
				}
			}
			t.Logf("%d relations, %d comparisons", len(met), comparisons)
		})
	}
}

// Each relation rejects, for each of its outputs, an answer that is grossly wrong and one that is NaN.
func TestRelationsReject(t *testing.T) {
	for _, o := range All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			rejected := map[string]bool{}
			relatedCases(t, o, func(r Relation, c op.Case, calls []Call) {
				for _, output := range r.Outputs {
					wrong := spoilt(calls, output, func(_ int, y float64) float64 { return -100 - 1.5*y })
					if held := holds(r, o.Spec.DefaultContract(c.DType), wrong)[output]; !held.Accepted() {
						rejected[fmt.Sprint(r.Pass, r.Name, output, c.DType)] = true
					}
					nan := spoilt(calls, output, func(int, float64) float64 { return math.NaN() })
					if held := holds(r, o.Spec.DefaultContract(c.DType), nan)[output]; held.Accepted() {
						t.Errorf("%s: %q holds of %s although all of it is NaN", describe(c), r.Name, output)
					}
				}
			})
			for _, r := range relations[o.Spec.Name] {
				for _, output := range r.Outputs {
					for _, dtype := range o.Spec.PassDTypes(r.Pass) {
						if !rejected[fmt.Sprint(r.Pass, r.Name, output, dtype)] {
							t.Errorf("%v %q holds of a wrong %s in %s on every case", r.Pass, r.Name, output, dtype)
						}
					}
				}
			}
		})
	}
}

// toTheBit are the relations that see what no gate before does: an output that is right within its interval, but one ulp away from what the
// relation says of two calls. A leak of masked keys is the first.
var toTheBit = map[string][]string{
	"flash_attention": {"keys and values that are masked do not show", "doubled values double the output", "the values do not show in lse",
		"keys and values that are masked do not show in the gradient of q", "a doubled upstream gradient doubles the gradients"},
	"fp8_gemm": {"doubled scales of a double the product", "halved scales of b halve the product", "doubled scales of the upstream gradient double the gradients",
		"halved scales of b halve the gradient of a", "the gradient of b does not depend on b"},
	"layernorm": {"a doubled upstream gradient doubles the gradients"},
	"rope":      {"position 0 stays what it is", "doubled inputs double the outputs", "a doubled upstream gradient doubles the gradients"},
	"softmax":   {"a doubled upstream gradient doubles the gradient"},
	"swiglu": {"a doubled up doubles the output", "a doubled upstream gradient doubles the gradients", "a doubled up doubles the gradient of gate",
		"the gradient of up does not depend on up"},
}

// An answer that G0 to G5 accept, one element of which is one ulp off, is rejected by the relations that hold bit for bit.
func TestOneUlpBreaksWhatHoldsBitForBit(t *testing.T) {
	for name, list := range toTheBit {
		t.Run(name, func(t *testing.T) {
			o, err := Get(name)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			relatedCases(t, o, func(r Relation, c op.Case, calls []Call) {
				if !slices.Contains(list, r.Name) {
					return
				}
				for _, output := range r.Outputs {
					if key := fmt.Sprint(r.Pass, r.Name, output); !seen[key] && oneUlpIsSeen(t, o, r, output, calls) {
						seen[key] = true
					}
				}
			})
			for _, r := range relations[name] {
				for _, output := range r.Outputs {
					if slices.Contains(list, r.Name) && !seen[fmt.Sprint(r.Pass, r.Name, output)] {
						t.Errorf("%v %q: no element of %s one ulp off is accepted by the gates before and rejected by it", r.Pass, r.Name, output)
					}
				}
			}
		})
	}
}

// oneUlpIsSeen looks for an element of an output of the last call that may be one ulp larger for G0 to G5, and asks the relation.
func oneUlpIsSeen(t *testing.T, o *Operator, r Relation, output string, calls []Call) bool {
	t.Helper()
	last := calls[len(calls)-1]
	truth := truthFor(t, last.Case, o.Spec.DefaultContract(last.Case.DType), last.Given)
	k := slices.IndexFunc(truth.Outputs, func(x judge.Target) bool { return x.Name == output })
	target := truth.Outputs[k]
	format, _ := tensor.FormatOf(target.DType)
	values := sims(truth)
	for i := range values[k] {
		y := values[k][i]
		next := y + format.ULP(y)
		if low, high := target.Interval(target.R[i], target.T[i]); y == 0 || !(low <= next && next <= high) {
			continue
		}
		leaking := spoilt(calls, output, func(j int, v float64) float64 {
			if j == i {
				return next
			}
			return v
		})
		if holds(r, truth.Contract, leaking)[output].Accepted() {
			continue // an element the relation does not speak of
		}
		values[k][i] = next
		accepts(t, r.Name, judged(truth, values...)[k:k+1])
		return true
	}
	return false
}

// A softmax that underflows to the smallest negative number is within its interval, and no softmax.
func TestNegativeSoftmaxIsRejected(t *testing.T) {
	x := literal("x", op.FP32, []float64{0, -200, 3, -150, 0, 0}, 2, 3)
	c := op.Case{Op: "softmax", Pass: op.Forward, DType: "fp32", Dims: op.Dims{{Name: "rows", Value: 2}, {Name: "cols", Value: 3}}, Layout: "contiguous", Distribution: "low_logits"}
	truth := truthFor(t, c, "fp32", Inputs{x})
	y := sims(truth)
	calls := []Call{{Case: c, Given: Inputs{x}, Gave: simulated(t, "fp32", c, Inputs{x})}}
	negative := func(_ int, v float64) float64 {
		if v < 0x1p-126 {
			return -math.SmallestNonzeroFloat32
		}
		return v
	}
	for i, v := range y[0] {
		y[0][i] = negative(i, v)
	}
	accepts(t, "the gates before", judged(truth, y...))
	for _, r := range RelationsOf(c) {
		if held := holds(r, "fp32", spoilt(calls, "y", negative))["y"]; held.Accepted() != (r.Name != "no element is negative") {
			t.Errorf("%q: accepted %v: %s", r.Name, held.Accepted(), held.Sentence())
		}
	}
}

// What a relation lacks is why it was not evaluated, and no panic: calls, outputs, a contract that is known, a whole truth.
func TestRelationsWithoutWhatTheyNeed(t *testing.T) {
	o, err := Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{"rows": 300, "cols": 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	given := Inputs(caseInputs(t, o.Spec, c, 1))
	for _, r := range RelationsOf(c) {
		right := follow(t, "fp32", r, c, given)
		for i := range right {
			lost := slices.Clone(right)
			lost[i].Gave = nil
			if held := r.Hold("fp32", lost, nil); i == len(right)-1 && r.Second != nil && (len(held) != 1 || held[0].Missing == "") {
				t.Errorf("%q without the output of call %d: %+v", r.Name, i, held)
			}
			sample := slices.Clone(right)
			sample[i].Truth = func(contract string) (judge.Truth, error) { return TruthOf(c, contract, given, &Sample{Rows: 3}) }
			if held := r.Hold("fp32", sample, nil); i == len(right)-1 && held[0].Missing == "" {
				t.Errorf("%q on a sample: %+v", r.Name, held)
			}
		}
		if held := r.Hold("fp32", append(slices.Clone(right), right[0]), nil); held[0].Missing == "" {
			t.Errorf("%q with a call too many: %+v", r.Name, held)
		}
		if held := r.Hold("exact", right, nil); held[0].Missing == "" {
			t.Errorf("%q under an unknown contract: %+v", r.Name, held)
		}
	}
}

// A kernel whose bits may vary need agree with itself within the allowance only.
func TestNondeterministicOutputsAgreeWithinTheAllowance(t *testing.T) {
	o, err := Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	relatedCases(t, o, func(r Relation, c op.Case, calls []Call) {
		if r.Name != "a doubled upstream gradient doubles the gradient" || c.DType != "fp32" || c.Dims.Get("cols") == 1 {
			return
		}
		off := spoilt(calls, "grad_x", func(_ int, v float64) float64 { return float64(math.Nextafter32(float32(v), float32(math.Inf(1)))) })
		strict, loose := r.Hold("fp32", off, nil)[0], r.Hold("fp32", off, []string{"grad_x"})[0]
		if strict.Accepted() || !loose.Accepted() {
			t.Errorf("%s: accepted %v, declared to vary %v: %s", describe(c), strict.Accepted(), loose.Accepted(), loose.Sentence())
		}
	})
}

// leaky is attention whose first output depends, by one ulp, on a key that the mask hides from it: the weight of the last key, which only the last
// query may see, is not 0 but as small as can be.
func leaky(t *testing.T, contract string, c op.Case, given Inputs) Inputs {
	t.Helper()
	gave := simulated(t, contract, c, given)
	v := given.Get("v").Float64s()
	if math.Abs(v[len(v)-1]) < 100 {
		return gave
	}
	o := gave.Get("o")
	return gave.With([]tensor.Tensor{changed(o, func(i int64, y float64) float64 {
		if i > 0 || y == 0 {
			return y
		}
		return float64(math.Nextafter32(float32(y), 9))
	})})
}

// A leak of a masked key by one ulp passes every gate on the judged call, and on the second call too, and is FAIL under G6.
func TestALeakOfAMaskedKeyIsSeen(t *testing.T) {
	o, err := Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{"batch": 1, "heads_q": 2, "heads_kv": 1, "seq_q": 9, "seq_kv": 9, "head_dim": 16},
		map[string]string{"causal": "true"})
	if err != nil {
		t.Fatal(err)
	}
	given := Inputs(caseInputs(t, o.Spec, c, 1))
	asked := false
	for _, r := range RelationsOf(c) {
		if r.Name != "keys and values that are masked do not show" {
			continue
		}
		asked = true
		calls := []Call{{Case: c, Given: given, Gave: leaky(t, "fp32", c, given)}}
		at, replaced := r.Next(calls)
		second := Call{Case: at, Given: given.With(replaced)}
		second.Gave = leaky(t, "fp32", at, second.Given)
		for _, call := range []Call{calls[0], second} {
			accepts(t, "the gates before", judged(truthFor(t, call.Case, "fp32", call.Given), call.Gave.Get("o").Float64s(), call.Gave.Get("lse").Float64s()))
		}
		found := holds(r, "fp32", append(calls, second))
		if held := found["o"]; held.Accepted() || held.Wrong != 1 || !slices.Equal(held.Worst.Index, []int64{0, 0, 0, 0}) || !found["lse"].Accepted() {
			t.Errorf("%+v", found)
		}
		expected := []judge.Expected{{Name: r.Name, Output: "o"}}
		if v := judge.WithRelations([]judge.Verdict{{Output: "o", Status: op.StatusPass}}, expected, []judge.Relation{found["o"]})[0]; v.Status != op.StatusFail || v.Gate != "G6" {
			t.Errorf("%v %s", v.Status, v.Gate)
		}
	}
	if !asked {
		t.Error("no such relation is asked")
	}
}

// With saved tensors of the keys before, the second call of the leak test has no truth for the queries that see the changed keys: exp(score - lse)
// overflows there. What it says of the others needs none.
func TestTheLeakTestOfGradientsNeedsNoSecondTruth(t *testing.T) {
	o, err := Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: "fp16", Saved: "driver"}, map[string]int64{"batch": 1, "heads_q": 1, "heads_kv": 1, "seq_q": 9,
		"seq_kv": 150, "head_dim": 16}, map[string]string{"causal": "true"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for seed := range uint64(8) {
		given := Inputs(caseInputs(t, o.Spec, c, seed))
		for _, r := range RelationsOf(c) {
			if r.Name != "keys and values that are masked do not show in the gradient of q" {
				continue
			}
			calls := []Call{{Case: c, Given: given, Gave: simulated(t, "p16", c, given)}}
			at, replaced := r.Next(calls)
			calls = append(calls, Call{Case: at, Given: given.With(replaced), Gave: calls[0].Gave})
			for _, varying := range [][]string{nil, {"grad_q"}} {
				asked++
				if held := r.Hold("p16", calls, varying)[0]; !held.Accepted() {
					t.Errorf("seed %d, may vary %v: %s", seed, varying, held.Sentence())
				}
			}
		}
	}
	if asked != 16 {
		t.Errorf("asked %d times, want 16", asked)
	}
}

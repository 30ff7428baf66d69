package truth_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/internal/judge"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// casesOf returns the cases of an operator's default level that a run takes: in the fast tier, of each pass
// those of one dtype of a kind.
func casesOf(t *testing.T, s *op.Spec, kind func(dtype string) string) []op.Case {
	t.Helper()
	plan, err := s.Expand(op.Options{Level: op.LevelDefault})
	if err != nil {
		t.Fatal(err)
	}
	inputs, of := slices.Concat(need.Operator(s.Name), need.Judge), map[string]bool{}
	for _, pass := range s.Passes() {
		for _, dtype := range s.PassDTypes(pass) {
			key := fmt.Sprint(s.Name, " ", pass, " ", kind(dtype))
			of[pass.String()+dtype] = need.Chosen(t, pass.String()+" "+dtype, key, inputs...)
		}
	}
	return slices.DeleteFunc(plan.Cases, func(c op.Case) bool { return !of[c.Pass.String()+c.DType] })
}

// TestEveryCaseHasATruth: every case of the default level has a truth under the default contract, finite
// where it must be, that accepts its own simulated contract; most cases can tell right from wrong.
func TestEveryCaseHasATruth(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			cases := casesOf(t, o.Spec, func(string) string { return "" })
			powerless, outputs, exact := 0, 0, 0
			var spent, longest time.Duration
			for _, c := range cases {
				in := truthtest.CaseInputs(t, o.Spec, c, 1)
				start := time.Now()
				truth, err := truth.Of(c, o.Spec.DefaultContract(c.DType), in, nil)
				took := time.Since(start)
				spent, longest = spent+took, max(longest, took)
				if err != nil {
					t.Errorf("%+v: %v", c, err)
					continue
				}
				for i, v := range truthtest.Judged(truth, truthtest.Sims(truth)...) {
					if v.Status != op.StatusPass && v.Status != op.StatusEmptyOK {
						t.Errorf("%s %s %v %v %s %s %s: %v %s: %s", c.Op, c.Pass, c.Dims, c.Attrs,
							c.Distribution, c.Upstream, c.Saved, v.Status, v.Gate, v.Sentence)
					}
					if v.Status == op.StatusEmptyOK {
						continue
					}
					outputs++
					if truth.Outputs[i].Exact {
						exact++
					}
					if p := judge.PowerOf(truth.Outputs[i], tensor.Tensor{}, nil); p.None {
						powerless++
					}
				}
			}
			t.Logf("%d cases, %d outputs, %d exact, %d without power; truth %v, longest %v", len(cases),
				outputs, exact, powerless, spent, longest)
			if powerless*4 > outputs {
				t.Errorf("%d of %d outputs are without power", powerless, outputs)
			}
		})
	}
}

// contracts returns every contract.
func contracts(t *testing.T) []truth.Contract {
	t.Helper()
	all := make([]truth.Contract, len(op.Contracts))
	for i, k := range op.Contracts {
		var err error
		if all[i], err = truth.ContractNamed(k.Name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestContractsAgree: the arithmetic of every contract a spec may name is here, and the truths permit the
// contracts that the specs permit.
func TestContractsAgree(t *testing.T) {
	var promised []string
	for _, k := range op.Contracts {
		promised = append(promised, k.Name)
	}
	slices.Sort(promised)
	_, err := truth.ContractNamed("")
	named := regexp.MustCompile(`\[(.*)\]`).FindStringSubmatch(fmt.Sprint(err))
	if named == nil {
		t.Fatalf("%v: want the contracts that have an arithmetic", err)
	}
	computed := strings.Fields(named[1])
	if slices.Sort(computed); !slices.Equal(computed, promised) {
		t.Errorf("contracts with an arithmetic %v, with a promise %v", computed, promised)
	}
	for _, k := range contracts(t) {
		if k.Promise() == "" {
			t.Errorf("contract %s promises nothing", k.Name)
		}
	}
	for _, o := range truth.All() {
		known := truth.DefinitionOf(o.Spec.Name)
		if known.Forward == nil || o.Spec.Backward != nil && known.Backward == nil {
			t.Errorf("%s lacks the truth of a pass", o.Spec.Name)
		}
		for _, dtype := range o.Spec.DTypes {
			for _, k := range contracts(t) {
				if (o.Spec.Permits(dtype, k.Name) || o.Spec.DefaultContract(dtype) == k.Name) &&
					!slices.Contains(known.Permits, k.Name) {
					t.Errorf("%s permits contract %s, whose truth is not known", o.Spec.Name, k.Name)
				}
			}
		}
	}
}

// TestWrongInputsAreErrors: a missing input, or one of another shape, is an error and no panic.
func TestWrongInputsAreErrors(t *testing.T) {
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range plan.Cases {
			key := c.Pass.String() + c.Saved + c.Attrs.Text("scaling")
			if seen[key] || c.Distribution != "normal" {
				continue
			}
			seen[key] = true
			in := truthtest.CaseInputs(t, o.Spec, c, 1)
			contract := o.Spec.DefaultContract(c.DType)
			for i := range in {
				if c.Saved == "own" && in[i].Name == "bias" {
					continue // no gradient depends on it
				}
				if _, err := truth.Of(c, contract, slices.Delete(slices.Clone(in), i, i+1), nil); err == nil {
					t.Errorf("%s %v: no error without %s", c.Op, c.Pass, in[i].Name)
				}
				other := slices.Clone(in)
				other[i] = tensor.New(in[i].Name, in[i].DType, append([]int64{3}, in[i].Shape...))
				if _, err := truth.Of(c, contract, other, nil); err == nil && len(in[i].Shape) > 1 {
					t.Errorf("%s %v: no error for %s with shape %v", c.Op, c.Pass, in[i].Name, other[i].Shape)
				}
			}
		}
	}
	if _, err := truth.Of(op.Case{Op: "nothing"}, "fp32", nil, nil); err == nil {
		t.Error("an unknown operator has a truth")
	}
	if _, err := truth.Of(op.Case{Op: "softmax"}, "fp32", nil, nil); err == nil {
		t.Error("an unknown pass has a truth")
	}
}

// looser lists the contracts other than the default that a spec permits for a dtype.
func looser(s *op.Spec, dtype string) []string {
	var names []string
	for _, k := range op.Contracts {
		if k.Name != s.DefaultContract(dtype) && s.Permits(dtype, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// TestLooserContracts: every contract that a spec permits has a finite truth on every case of the level, and
// its own simulated result passes.
func TestLooserContracts(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			for _, c := range casesOf(t, o.Spec, func(dtype string) string {
				return fmt.Sprint(looser(o.Spec, dtype))
			}) {
				for _, contract := range looser(o.Spec, c.DType) {
					in := truthtest.CaseInputs(t, o.Spec, c, 1)
					truth, err := truth.Of(c, contract, in, nil)
					if err != nil {
						t.Errorf("%s %v %s %v %s %s: %v", c.Op, c.Pass, c.DType, c.Dims, c.Distribution,
							contract, err)
						continue
					}
					for _, v := range truthtest.Judged(truth, truthtest.Sims(truth)...) {
						if s := v.Status; s != op.StatusPass && s != op.StatusEmptyOK && s != op.StatusWarn {
							t.Errorf("%s %v %s %v %v %s %s %s %s: %v %s: %s", c.Op, c.Pass, c.DType, c.Dims,
								c.Attrs, c.Distribution, c.Upstream, c.Saved, contract, v.Status,
								v.Gate, v.Sentence)
						}
					}
				}
			}
		})
	}
}

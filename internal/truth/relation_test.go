package truth_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestRelationsHoldOfTheSimulatedContract: a right implementation holds every relation under every contract
// it may declare, and the quick level covers every declared relation.
func TestRelationsHoldOfTheSimulatedContract(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			met := map[string]bool{}
			comparisons := int64(0)
			truthtest.RelatedCases(t, o, func(r truth.Relation, c op.Case, calls []truth.Call) {
				met[fmt.Sprint(r.Pass, " ", r.Name)] = true
				for i := range calls[1:] {
					if !slices.ContainsFunc(calls[i+1].Given, func(x tensor.Tensor) bool {
						return !slices.Equal(x.Float64s(), calls[i].Given.Get(x.Name).Float64s())
					}) && c.Dims[0].Value > 1 {
						t.Errorf("%s: %q asks the same inputs again", truthtest.Describe(c), r.Name)
					}
				}
				for _, contract := range append([]string{o.Spec.DefaultContract(c.DType)},
					o.Spec.Contract.Permits...) {
					if contract != o.Spec.DefaultContract(c.DType) {
						calls = truthtest.Follow(t, contract, r, c, calls[0].Given)
					}
					found := truthtest.Holds(r, contract, calls)
					for _, output := range r.Outputs {
						held, given := found[output]
						comparisons += held.Compared
						if given && !held.Accepted() {
							t.Errorf("%s under %s: %s", truthtest.Describe(c), contract, held.Sentence())
						}
					}
				}
			})
			least := 2
			if o.Spec.DefaultContract(o.Spec.DTypes[0]) == "exact" {
				least = 1 // every bit is compared with a truth that rounds nothing
			}
			if n := len(truth.Relations(o.Spec.Name)); n < least {
				t.Errorf("%d relations are declared: want at least %d", n, least)
			}
			for _, r := range truth.Relations(o.Spec.Name) {
				if !met[fmt.Sprint(r.Pass, " ", r.Name)] {
					t.Errorf("the quick level has no case for %v %q", r.Pass, r.Name)
				}
			}
			t.Logf("%d relations, %d comparisons", len(met), comparisons)
		})
	}
}

// TestRelationsHoldAtEveryCase: a right implementation holds every relation at every case of the default
// level.
func TestRelationsHoldAtEveryCase(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			need.Long(t, "each relation is asked at every case",
				append(need.Operator(o.Spec.Name), need.Judge...)...)
			truthtest.EveryRelatedCase(t, o, func(r truth.Relation, c op.Case, calls []truth.Call) {
				for _, held := range truthtest.Holds(r, o.Spec.DefaultContract(c.DType), calls) {
					if !held.Accepted() {
						t.Errorf("%s: %s", truthtest.Describe(c), held.Sentence())
					}
				}
			})
		})
	}
}

// TestRelationsReject: each relation rejects, for each of its outputs, a grossly wrong answer and one of NaN.
func TestRelationsReject(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			rejected := map[string]bool{}
			truthtest.RelatedCases(t, o, func(r truth.Relation, c op.Case, calls []truth.Call) {
				for _, output := range r.Outputs {
					wrong := truthtest.Spoilt(calls, output,
						func(_ int, y float64) float64 { return -100 - 1.5*y })
					held, given := truthtest.Holds(r, o.Spec.DefaultContract(c.DType), wrong)[output]
					if given && !held.Accepted() {
						rejected[fmt.Sprint(r.Pass, r.Name, output, c.DType)] = true
					}
					nan := truthtest.Spoilt(calls, output, func(int, float64) float64 { return math.NaN() })
					if held := truthtest.Holds(r, o.Spec.DefaultContract(c.DType),
						nan)[output]; held.Accepted() && !rightIfNaN(t, nan[len(nan)-1],
						o.Spec.DefaultContract(c.DType), output) {
						t.Errorf("%s: %q holds of %s although all of it is NaN", truthtest.Describe(c),
							r.Name, output)
					}
				}
			})
			for _, r := range truth.Relations(o.Spec.Name) {
				for _, output := range r.Outputs {
					for _, dtype := range o.Spec.PassDTypes(r.Pass) {
						if !rejected[fmt.Sprint(r.Pass, r.Name, output, dtype)] {
							t.Errorf("%v %q holds of a wrong %s in %s on every case", r.Pass, r.Name, output,
								dtype)
						}
					}
				}
			}
		})
	}
}

// rightIfNaN reports whether an output of NaN alone is right, as for a mean over nothing.
func rightIfNaN(t *testing.T, call truth.Call, contract, output string) bool {
	t.Helper()
	for _, target := range truthtest.TruthFor(t, call.Case, contract, call.Given).Outputs {
		if target.Name == output {
			r := target.Under(func(name string) []byte { return call.Gave.Get(name).Data }).R
			return !slices.ContainsFunc(r, func(v float64) bool { return !math.IsNaN(v) })
		}
	}
	return false
}

// TestOneUlpBreaksWhatHoldsBitForBit: an answer that G0 to G5 accept, with one element one ulp off, is
// rejected by the relations that hold bit for bit.
func TestOneUlpBreaksWhatHoldsBitForBit(t *testing.T) {
	for _, o := range truth.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			seen := map[string]bool{}
			truthtest.RelatedCases(t, o, func(r truth.Relation, c op.Case, calls []truth.Call) {
				if !r.ToTheBit {
					return
				}
				for _, output := range r.Outputs {
					if key := fmt.Sprint(r.Pass, r.Name, output); !seen[key] &&
						truthtest.OneUlpIsSeen(t, o, r, output, calls) {
						seen[key] = true
					}
				}
			})
			for _, r := range truth.Relations(o.Spec.Name) {
				for _, output := range r.Outputs {
					if r.ToTheBit && !seen[fmt.Sprint(r.Pass, r.Name, output)] {
						t.Errorf("%v %q: no element of %s one ulp off is accepted by the gates before and "+
							"rejected by it", r.Pass, r.Name, output)
					}
				}
			}
		})
	}
}

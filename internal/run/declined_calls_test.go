package run

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// TestDeclinesByValue: an implementation may decline sizes, but never data: one that takes ordinary data of
// the same sizes is FAIL if it declines other data, even if the ordinary data is not part of the run.
func TestDeclinesByValue(t *testing.T) {
	declines := backend.Outcome{Status: op.StatusUnsupported, Sentence: "it does not suit me"}
	byValue := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if slices.ContainsFunc(x.Float64s(), func(v float64) bool { return !(v < 1e4) || !(v > -1e4) }) {
			return nil, &declines
		}
		return right(x, launch, run)
	}
	bySize := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if x.Shape[1]%2 == 1 {
			return nil, &declines
		}
		return right(x, launch, run)
	}
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for _, distributions := range [][]string{nil, {"extremes"}} {
		b := fakes(map[string]way{"fake/by_value": byValue, "fake/by_size": bySize})
		r := &Runner{Backends: []backend.Backend{b}, Recorder: &memory{}, Stop: t.Context()}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Single: true,
			Options: op.Options{
				Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}, Distributions: distributions,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		failed, declined := 0, 0
		for _, x := range result.Records {
			if x.Impl == "fake/by_value" && x.Status == op.StatusFail &&
				strings.HasPrefix(x.Message, "it declines these values, and takes others of the same sizes") {
				failed++
			} else if x.Status.Weight() == op.Bad || x.Impl == "fake/by_value" &&
				x.Status == op.StatusUnsupported {
				t.Errorf("%s %v: %v %s", x.Impl, x.Case, x.Status, x.Message)
			}
			if x.Impl == "fake/by_size" && x.Status == op.StatusUnsupported {
				declined++
			}
		}
		if failed == 0 || declined == 0 {
			t.Errorf("%v: by value FAIL %d times, by size declined %d times", distributions, failed, declined)
		}
	}
}

// TestDeclinesFromMemory: an implementation that remembers hard data, and then declines ordinary data of the
// same description too, is FAIL as soon as it takes a call again.
func TestDeclinesFromMemory(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	x := &execution{Runner: &Runner{}, result: &Result{}}
	c := &prepared{work: work{operator: o, Case: op.Case{
		Op: "softmax", Pass: op.Forward, DType: "fp32",
		Distribution: "normal",
	}}}
	e := entry{implementation: backend.Implementation{Name: "fake/remembers"}}
	for i, want := range []op.Status{op.StatusUnsupported, op.StatusFail, op.StatusUnknown} {
		said := backend.Outcome{Status: []op.Status{
			op.StatusUnsupported, op.StatusUnknown,
			op.StatusUnknown,
		}[i]}
		if got, err := x.declined(t.Context(), c, e, said); err != nil || got.Status != want {
			t.Errorf("call %d: %v %q, %v, want %v", i+1, got.Status, got.Sentence, err, want)
		}
	}
}

package truthtest

import (
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
)

// AcceptsAt checks which values of one element are accepted, where the others have the values of the truth.
func AcceptsAt(t *testing.T, what string, target judge.Target, at int64, want map[float64]bool) {
	t.Helper()
	for value, ok := range want {
		y := append([]float64{}, target.R...)
		y[at] = value
		plain := target
		plain.Independent = false
		v := Judged(judge.Truth{Contract: "fp32", Outputs: []judge.Target{plain}}, y)[0]
		if got := v.Status == op.StatusPass; got != ok {
			t.Errorf("%s[%d] = %v: %v %s, want it accepted: %v", what, at, value, v.Status, v.Sentence, ok)
		}
	}
}

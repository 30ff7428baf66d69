package report

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestExplainSaysWhatWasCompared: --explain says which share of an output was compared element by element,
// and the results of its relations.
func TestExplainSaysWhatWasCompared(t *testing.T) {
	relation := record.Relation{
		Name: "each row adds up to 1", N: 3, NCompared: 3, NWrong: 1,
		Message: "y breaks it", Worst: &record.Broken{Index: []int64{2}, Got: 1.5, Low: 0.5, High: 1},
	}
	for want, v := range map[string]record.Verdict{
		"compared   every one of 21 elements\n":             {Name: "y", N: 21, NCompared: 21},
		"compared   10 of 1000 elements one by one (1 %)\n": {Name: "y", N: 1000, NCompared: 10},
		"compared   10 of 1000 elements one by one (1 %), 990 more by the sums of their rows under random " +
			"signs\n": {Name: "y", N: 1000, NCompared: 10, NCovered: 990},
		"relation   each row adds up to 1: does not hold in 1 of 3 comparisons; worst at [2]: 1.5, " +
			"accepted 0.5 to 1\n": {Name: "y", N: 21, NCompared: 21},
	} {
		r := record.Record{
			Case: op.Case{Op: "softmax", Pass: op.Forward}, Impl: "cuda/warp", Status: op.StatusFail,
			Outputs: []record.Verdict{v},
			Explained: []record.Explanation{{
				Output: "y", Contract: "fp32",
				Relations: []record.Relation{relation},
			}},
		}
		var text strings.Builder
		if err := Explain(&text, Style{}, []record.Record{r}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s\nwant %s", text.String(), want)
		}
	}
}

// TestComparedShare: an output that an implementation does not give is not counted, and less than all is
// never shown as all.
func TestComparedShare(t *testing.T) {
	given := record.Verdict{Name: "y", Status: op.StatusPass, N: 1_000_000, NCompared: 1_000_000}
	for want, outputs := range map[string][]record.Verdict{
		"all":  {given, {Name: "mean", Status: op.StatusMissing, N: 1000}},
		"99 %": {given, {Name: "rstd", Status: op.StatusPass, N: 1000}},
		"10 %": {{Name: "y", Status: op.StatusPass, N: 1000, NCompared: 100}},
		"2 %":  {{Name: "y", Status: op.StatusPass, N: 1000, NCompared: 20}},
	} {
		if got := comparedShare(record.Record{Outputs: outputs}); got != want {
			t.Errorf("%+v: %q, want %q", outputs, got, want)
		}
	}
}

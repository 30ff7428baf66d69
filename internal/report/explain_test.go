package report

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestExplain: bad records stand last, their gate is explained, and outputs that were never compared are
// explained too.
func TestExplain(t *testing.T) {
	element := record.Element{
		Index: []int64{1, 2}, Got: 0.1271645873785019, Want: 0.125,
		Low: 0.124, High: 0.1255,
	}
	bad := record.Record{Impl: "mine/k", Status: op.StatusFail, Explained: []record.Explanation{
		{
			Output: "y", Contract: "fp32", Promise: "sums in fp32", Gate: "G0",
			Sentence: "y[0,4] was never written", Pattern: "only row 4 is unwritten",
		},
	}}
	wrong := record.Record{Impl: "mine/k", Status: op.StatusFail, Explained: []record.Explanation{
		{
			Output: "y", Contract: "fp32", Promise: "sums in fp32", Gate: "G2", Sentence: "y[1,2] is 0.127",
			Worst: []record.Element{element}, ULPs: []int64{1, 2, 3},
		},
	}}
	wrong.Outputs = []record.Verdict{{Name: "y", Statistics: &record.Statistics{
		Worst: []record.Judged{{Index: []int64{1, 2}, R: 0.125000125, T: 0.001}},
	}}}
	good := record.Record{Impl: "mine/k", Status: op.StatusPass, Explained: []record.Explanation{
		{
			Output: "y", Contract: "fp32", Promise: "sums in fp32", Gate: "G4",
			Worst: []record.Element{element},
			ULPs:  []int64{6, 0, 0},
		},
	}}
	var text strings.Builder
	if err := Explain(&text, Style{}, []record.Record{bad, wrong, good}); err != nil {
		t.Fatal(err)
	}
	out := text.String()
	if strings.Index(out, "PASS") > strings.Index(out, "FAIL") {
		t.Errorf("what is bad does not come last:\n%s", out)
	}
	for _, want := range []string{
		"G0 asks    what came back must be whole", "G2 asks    each element must lie between",
		"pattern    only row 4 is unwritten",
		"errors     of 6 elements 1 up to half an ulp, 2 up to 1 ulp, 3 more than 1 ulp", "0.127164587 ",
		" 2.16\n", " 0.125000125 ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "G4 asks") || strings.Count(out, "errors") != 2 {
		t.Errorf("a pass needs no gate explained, and what was not compared has no errors:\n%s", out)
	}
}

// TestExplainIntegers: integers are shown with all their digits, and their errors without ulps.
func TestExplainIntegers(t *testing.T) {
	element := record.Element{
		Index: []int64{3}, Got: 2147483647, Want: 2147483646, Low: 2147483646, High: 2147483646,
	}
	r := record.Record{
		Impl: "mine/k", Status: op.StatusFail,
		DTypes: record.Members[op.DType]{{Name: "x", Value: op.FP32}, {Name: "y", Value: op.I32}},
		Explained: []record.Explanation{{
			Output: "y", Contract: "exact", Promise: "the very bits", Gate: "G2",
			Sentence: "y[3] is 2147483647", Worst: []record.Element{element}, ULPs: []int64{5, 2, 3},
		}},
	}
	var text strings.Builder
	if err := Explain(&text, Style{}, []record.Record{r}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"errors     of 10 elements 5 right, 2 off by up to 1, 3 off by more than 1",
		"2147483647  2147483646  2147483646",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

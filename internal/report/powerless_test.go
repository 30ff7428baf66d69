package report

import (
	"math"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestPowerlessCasesAreReportedOnce: a case without power is reported once below the table, not on every
// line.
func TestPowerlessCasesAreReportedOnce(t *testing.T) {
	var records []record.Record
	for _, impl := range []string{"cuda/naive", "cuda/warp"} {
		for cols, status := range map[int64]op.Status{1: op.StatusNoPower, 7: op.StatusPass} {
			records = append(records, record.Record{
				Impl: impl, Device: "emulator", Status: status, Message: "accepted, but so would be: zeros",
				Case: op.Case{
					Op: "softmax", Pass: op.Forward, DType: "fp32",
					Dims: op.Dims{{Name: "cols", Value: cols}}, Layout: "contiguous", Distribution: "normal",
				},
			})
		}
	}
	var text strings.Builder
	if err := Compare(&text, Style{}, records, nil, Summary{Details: true}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "NO_POWER"); n != 1 ||
		!strings.Contains(text.String(), "would pass as well: cols=1 normal\n") {
		t.Errorf("%d mentions, want one that names the case:\n%s", n, text.String())
	}
}

// TestNoErrorMarginOfAPowerlessCase: error margin covers compared elements only; if only a powerless case was
// compared, there is none.
func TestNoErrorMarginOfAPowerlessCase(t *testing.T) {
	endless, none := record.Float(math.Inf(1)), record.Float(0)
	g := group{records: []record.Record{
		{Status: op.StatusNoPower, Outputs: []record.Verdict{{
			Name: "y", ErrorMargin: &endless,
			ULPMax: &none,
		}}},
		{Status: op.StatusFail, Outputs: []record.Verdict{{
			Name: "y", Status: op.StatusFail,
			Message: "y came back with shape [7 3], want [3 7]",
		}}},
	}}
	if errorMargin, ulp := g.measures(); errorMargin != nil || ulp != nil {
		t.Errorf("error margin %v, ulp %v of a row whose only other case was not compared", errorMargin, ulp)
	}
	g.records = []record.Record{
		{Status: op.StatusPass, Outputs: []record.Verdict{{Name: "y", ErrorMargin: &endless}}},
		{Status: op.StatusFail, Outputs: []record.Verdict{{Name: "y", Status: op.StatusFail, ULPMax: &none}}},
	}
	if errorMargin, ulp := g.measures(); errorMargin != nil || ulp == nil {
		t.Errorf("error margin %v, ulp %v of a row with a wrong case", errorMargin, ulp)
	}
	g.records = []record.Record{{
		Status: op.StatusNoPower, Outputs: []record.Verdict{{Name: "y", ErrorMargin: &endless}},
	}}
	if errorMargin, _ := g.measures(); errorMargin == nil {
		t.Error("no error margin of a case that stands alone")
	}
}

// TestPrintedIsReported: what a user's own file printed is reported once, with the first run that has it;
// what ours and compilers print is not.
func TestPrintedIsReported(t *testing.T) {
	of := func(id, impl, family string, status op.Status, log string) record.Record {
		return record.Record{
			ID: id, Impl: impl, Backend: family, Status: status, LogTail: log,
			Case: op.Case{Op: "softmax", Pass: op.Forward, DType: "fp32"},
		}
	}
	var text strings.Builder
	records := []record.Record{
		of("R1", "mine/a", "mine", op.StatusPass, ""), of("R2", "mine/a", "mine", op.StatusPass, "rows 3\n"),
		of("R3", "mine/a", "mine", op.StatusPass, "rows 3\n"),
		of("R4", "torch/eager", "torch", op.StatusPass, "a warning"),
		of("R6", "mine/c", "mine", op.StatusPass, "/lib/triton/interpreter.py:12: RuntimeWarning: invalid "+
			"value encountered in subtract\n  return op(a, b)\n/x.py:3: UserWarning: slow\n"),
		of("R5", "mine/b", "mine", op.StatusBuildFail, "b.cu:3: error"),
	}
	if err := Compare(&text, Style{}, records, nil, Summary{Details: true}); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Count(got, "printed something") != 1 ||
		!strings.Contains(got, "\n  mine/a printed something: triad results show R2\n") {
		t.Error(got)
	}
}

func TestPowerCountsInWords(t *testing.T) {
	for n, want := range map[int]string{
		0: "(100.0 %).\n", 1: "; 1 more is trivial by design.\n",
		2: "; 2 more are trivial by design.\n",
	} {
		if text := (Power{Cases: 4, Powered: 4, Trivial: n}).words(); !strings.HasSuffix(text, want) {
			t.Errorf("%q, want %q at the end", text, want)
		}
	}
}

// TestForwardComesBeforeBackward: what is left out is recorded first, and a forward still stands before its
// backward.
func TestForwardComesBeforeBackward(t *testing.T) {
	var records []record.Record
	for _, c := range []op.Case{
		{Op: "rope", Pass: op.Backward},
		{Op: "rope", Pass: op.Forward},
		{Op: "layernorm", Pass: op.Backward},
		{Op: "layernorm", Pass: op.Forward},
	} {
		records = append(records, record.Record{Case: c})
	}
	var order []string
	for _, lines := range groups(records) {
		order = append(order, lines[0].op+" "+lines[0].pass.String())
	}
	if got := strings.Join(order,
		", "); got != "rope forward, rope backward, layernorm forward, layernorm backward" {
		t.Error(got)
	}
}

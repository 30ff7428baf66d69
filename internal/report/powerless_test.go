package report

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// A case without power is told once below the table, not on every line.
func TestPowerlessCasesAreToldOnce(t *testing.T) {
	var records []record.Record
	for _, impl := range []string{"cuda/naive", "cuda/warp"} {
		for cols, status := range map[int64]op.Status{1: op.StatusNoPower, 7: op.StatusPass} {
			records = append(records, record.Record{Impl: impl, Device: "emulator", Status: status, Message: "accepted, but so would be: zeros",
				Case: op.Case{Op: "softmax", Pass: op.Forward, DType: "fp32", Dims: op.Dims{{Name: "cols", Value: cols}}, Layout: "contiguous", Distribution: "normal"}})
		}
	}
	var text strings.Builder
	if err := Compare(&text, Style{}, records, nil, Summary{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "NO_POWER"); n != 1 || !strings.Contains(text.String(), "would pass as well: cols=1 normal\n") {
		t.Errorf("%d mentions, want one that names the case:\n%s", n, text.String())
	}
}

func TestPowerCountsInWords(t *testing.T) {
	for n, want := range map[int]string{0: "(100.0 %).\n", 1: "; 1 more is trivial by design.\n", 2: "; 2 more are trivial by design.\n"} {
		if text := (Power{Cases: 4, Powered: 4, Trivial: n}).words(); !strings.HasSuffix(text, want) {
			t.Errorf("%q, want %q at the end", text, want)
		}
	}
}

// What is left out is recorded first, and a forward is told before its backward all the same.
func TestForwardComesBeforeBackward(t *testing.T) {
	var records []record.Record
	for _, c := range []op.Case{{Op: "rope", Pass: op.Backward}, {Op: "rope", Pass: op.Forward}, {Op: "layernorm", Pass: op.Backward}, {Op: "layernorm", Pass: op.Forward}} {
		records = append(records, record.Record{Case: c})
	}
	var order []string
	for _, lines := range groups(records) {
		order = append(order, lines[0].op+" "+lines[0].pass.String())
	}
	if got := strings.Join(order, ", "); got != "rope forward, rope backward, layernorm forward, layernorm backward" {
		t.Error(got)
	}
}

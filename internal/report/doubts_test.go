package report

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestDoubts: why a file is NOT_UNDERSTOOD is said once below the table, with its dtypes, however many cases
// are wrong in different ways; the note of its line has the reasons of others.
func TestDoubts(t *testing.T) {
	var records []record.Record
	add := func(dtype string, status op.Status, message string) {
		records = append(records, record.Record{
			Impl: "mine/a.py", Status: status, Message: message, Device: "cpu",
			Case: op.Case{Op: "made", Pass: op.Forward, DType: dtype},
		})
	}
	const guess = "wrong as triad reads it, and this was assumed: it takes fp16 and bf16. If it is meant " +
		"so, say --dtype fp16,bf16"
	add("fp32", op.StatusPass, "")
	for _, dtype := range []string{"fp16", "bf16"} {
		add(dtype, op.StatusNotUnderstood, guess+". As it is read: FAIL: y[0] is 1, want 2")
		add(dtype, op.StatusNotUnderstood, guess+". As it is read: FAIL: y[0] is 3, want 4")
	}
	add("fp32", op.StatusUnsupported, "x is not contiguous")
	var out strings.Builder
	if err := Compare(&out, Style{}, records, nil, Summary{}); err != nil {
		t.Fatal(err)
	}
	want := "\n  NOT_UNDERSTOOD  mine/a.py in fp16 and bf16: " + guess + "\n"
	if strings.Count(out.String(), guess) != 1 || !strings.Contains(out.String(), want) ||
		!strings.Contains(out.String(), "1 UNSUPPORTED: x is not contiguous\n") {
		t.Errorf("no %q, or it is said twice, in\n%s", want, out.String())
	}
}

package check

import "testing"

// A program that fails and leaks is reported as failed; a leak is no reason for its exit status.
func TestAProgramThatFailsAndLeaks(t *testing.T) {
	var r Report
	q := Request{Locate: linesOfProgram}
	one := &run{order: "forward", status: 1, findings: []Finding{{Kind: Leak, Message: "4 bytes"}}}
	if err := r.add(t.Context(), q, one); err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Kind != ExitStatus {
		t.Errorf("%+v", r.Findings)
	}
}

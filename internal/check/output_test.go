package check

import (
	"strings"
	"testing"
)

// TestPrintOfAStoppedKernel: what a program prints is labelled where its kernel was stopped, and only there.
func TestPrintOfAStoppedKernel(t *testing.T) {
	const label = "The program printed, though its kernel was stopped"
	for _, c := range []struct {
		finding  Finding
		printed  string
		labelled bool
	}{
		{Finding{Kind: OutOfBounds, Kernel: "add"}, "c[10] = 0\n", true},
		{Finding{Kind: OutOfBounds, Kernel: "add"}, "", false},
		{Finding{Kind: OutOfBounds}, "c[10] = 0\n", false}, // of a copy
		{Finding{Kind: Race, Kernel: "add"}, "c[10] = 20\n", false},
	} {
		var out strings.Builder
		r := run{findings: []Finding{c.finding}, output: []byte(c.printed)}
		if err := r.print(&out); err != nil || strings.HasPrefix(out.String(), label) != c.labelled ||
			!strings.HasSuffix(out.String(), c.printed) {
			t.Errorf("%v %q: %v, %q", c.finding.Kind, c.printed, err, out.String())
		}
	}
}

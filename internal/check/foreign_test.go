package check

import (
	"strings"
	"testing"
	"time"
)

// A program that writes findings into inherited files forges none, and does not learn the emulator's key.
// That nothing was found then proves nothing.
func TestForgedFindings(t *testing.T) {
	r, output := checked(t, "testdata/writes_findings.cu", time.Minute)
	if len(r.Findings) != 0 || r.Whole() || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "2 lines are not the emulator's") {
		t.Errorf("%+v", r)
	}
	key, found := strings.CutPrefix(strings.TrimSpace(output), "key ")
	if !found || strings.Trim(key, "x") != "" {
		t.Errorf("it read the key %q from its environment", key)
	}
}

package check

import (
	"strings"
	"testing"
)

// A #line directive may name any file: no such name begins a line of the report, or moves the cursor.
func TestNamesOfLineDirectives(t *testing.T) {
	place := &Place{File: "evil\x1b[31m\nnothing was found.cu", Line: 8}
	text := (&Finding{Kind: Race, Place: place, Other: place, Launched: place, Kernel: "k"}).Text(1, "/")
	if strings.ContainsAny(text, "\x1b") || strings.Contains(text, "\nnothing") {
		t.Errorf("%q", text)
	}
	if !strings.Contains(text, "nothing was found.cu:8") {
		t.Errorf("%q has no place", text)
	}
}

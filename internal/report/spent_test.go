package report

import (
	"testing"
	"time"
)

// TestSpent: the time of Python's imports stands on a line of its own, apart from the rest; nothing is
// printed without times.
func TestSpent(t *testing.T) {
	s := Spent{
		Whole: 20 * time.Second, Imports: 8 * time.Second,
		Parts: []SpentPart{{"loading", 9 * time.Second}, {"timing", 3500 * time.Millisecond}},
	}
	want := "Python's imports of torch and Triton took 8.0 s.\nThe rest of the command took 12.0 s " +
		"(loading 9.0 s, timing 3.5 s).\n"
	if got := s.words(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Imports = 0
	if got := s.words(); got != "The command took 20.0 s (loading 9.0 s, timing 3.5 s).\n" {
		t.Errorf("%q", got)
	}
	if got := (Spent{}).words(); got != "" {
		t.Errorf("%q", got)
	}
}

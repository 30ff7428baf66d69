package report

import (
	"testing"
	"time"
)

// TestSpent: the time of Python's imports is part of the whole; nothing is printed without times.
func TestSpent(t *testing.T) {
	s := Spent{
		Whole: 20 * time.Second, Imports: 8 * time.Second,
		Parts: []SpentPart{{"loading", 9 * time.Second}, {"timing", 3500 * time.Millisecond}},
	}
	want := "The command took 20.0 s (loading 9.0 s, timing 3.5 s), Python's imports of torch and Triton " +
		"8.0 s of it.\n"
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

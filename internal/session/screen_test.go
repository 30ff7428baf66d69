package session

import (
	"bytes"
	"fmt"
	"testing"
)

// TestAQuestionStays: no progress is drawn over a waiting question, and a message first clears the line of
// progress.
func TestAQuestionStays(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out, true)
	s.draw("starting Python, 2 s")
	answer := s.Ask("Go ahead? [Y/n] ", func() string {
		s.draw("starting Python, 3 s")
		return "y"
	})
	fmt.Fprintln(s, "fetching")
	s.draw("starting Python, 9 s")
	fmt.Fprintln(s, "fetched")
	const clear = "\r\x1b[2K"
	want := clear + "starting Python, 2 s" + clear + "Go ahead? [Y/n] fetching\n" + clear +
		"starting Python, 9 s" + clear + "fetched\n"
	if out.String() != want || answer != "y" {
		t.Errorf("answer %q, screen %q, want %q", answer, out.String(), want)
	}
}

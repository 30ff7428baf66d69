package worker

import (
	"strings"
	"testing"
)

// A worker's output before its reply is in the log at once, whether or not the reader has reached it, and
// after the pipe is closed.
func TestTailHasAllThatWasPrinted(t *testing.T) {
	r, to, err := newRing(100)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := to.WriteString(line); err != nil {
			t.Fatal(err)
		}
		if got := r.Tail(); !strings.HasSuffix(got, line) {
			t.Errorf("after %q the log ends %q", line, got)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); r.follow() }()
	if _, err := to.WriteString(strings.Repeat("x", 200)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	<-ended
	if got := r.Tail(); !strings.HasSuffix(got, strings.Repeat("x", 100)) ||
		!strings.HasPrefix(got, "[108 bytes") {
		t.Errorf("the log is %q", got)
	}
}

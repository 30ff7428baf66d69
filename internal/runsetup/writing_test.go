package runsetup

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
)

// TestWriting: what a setup for another writer prints goes there, also from its workers. The original keeps
// its own streams.
func TestWriting(t *testing.T) {
	var out, other bytes.Buffer
	s := New(machine.New(console.New(strings.NewReader(""), &out, &out)))
	w := s.Writing(&other)
	fmt.Fprint(w.Out, "a")
	fmt.Fprint(w.Workers.Err, "b")
	fmt.Fprint(s.Out, "c")
	fmt.Fprint(s.Workers.Err, "d")
	s.Flush()
	if other.String() != "ab" || out.String() != "cd" {
		t.Errorf("%q and %q", other.String(), out.String())
	}
}

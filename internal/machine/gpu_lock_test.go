package machine

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/lockfile"
	"triad/internal/session"
)

// TestInterruptedWhileWaitingForTheGPU: an interrupt while triad waits for the GPU reports that nothing was
// run.
func TestInterruptedWhileWaitingForTheGPU(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gpu.lock")
	unlock, err := lockfile.Acquire(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	var said bytes.Buffer
	stop, interrupt := context.WithCancel(t.Context())
	a := &Workers{Console: &console.Console{Err: &said, Stop: stop}}
	interrupt()
	if _, err := a.lockGPU(t.Context(), name); session.CodeOf(err) != session.ExitNothing ||
		!strings.Contains(err.Error(), "nothing was run") {
		t.Errorf("exit %d, error %v", session.CodeOf(err), err)
	}
	if !strings.Contains(said.String(), "another triad uses this GPU") {
		t.Errorf("said %q", said.String())
	}
}

package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The workers of Slots start in parallel with the requested one, each once, and load what it loads. Close
// ends all of them.
func TestSlotsStartSideBySide(t *testing.T) {
	folder := t.TempDir()
	a := fakeAdapter(t, "good", nil)
	slow := a.Command
	a.Slots = []string{"one", "two"}
	a.Slot = func(implementation string) string {
		if implementation == "" {
			return "one"
		}
		return "two"
	}
	a.Command = func(ctx context.Context) (Command, error) {
		f, err := os.CreateTemp(folder, "started-")
		if err != nil {
			return Command{}, err
		}
		f.Close()
		c, err := slow(ctx)
		c.Env = append(c.Env, "FAKE_LOADED="+folder)
		return c, err
	}
	if _, _, err := a.Load(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Load(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	started, _ := filepath.Glob(filepath.Join(folder, "started-*"))
	if len(started) != 2 {
		t.Errorf("%d workers were started, want 2: %s", len(started), strings.Join(started, " "))
	}
	for _, slot := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(folder, "loaded-copy-"+slot)); err != nil {
			t.Errorf("the worker of slot %s did not load the operator: %v", slot, err)
		}
	}
	if took := a.Started(); took <= 0 || took > time.Minute {
		t.Errorf("the slowest took %v", took)
	}
}

package lockfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.lock")
	unlock, err := Acquire(t.Context(), path, func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	waits := 0
	if _, err := Acquire(ctx, path, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) ||
		waits != 1 {
		t.Errorf("a second holder: %v after %d waits, want the deadline after one", err, waits)
	}
	second := make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		unlock, err := Acquire(context.Background(), path, func() { close(waiting) })
		if err == nil {
			unlock()
		}
		second <- err
	}()
	<-waiting
	unlock()
	if err := <-second; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file did not stay: %v", err)
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	if _, err := Acquire(t.Context(), filepath.Join(t.TempDir(), "none", "key.lock"), nil); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

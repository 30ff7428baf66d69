// Package lockfile makes two triads that need the same resource wait for each other: an environment, a build,
// a GPU.
package lockfile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Acquire takes the lock on the file at path, which it creates if there is none, and waits for its holder
// until ctx ends. waiting, if not nil, is called once before the wait. The kernel releases the lock when the
// holder dies. The file stays: removing it would let two processes hold the lock.
func Acquire(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	held, err := lock.TryLock()
	if err == nil && !held {
		if waiting != nil {
			waiting()
		}
		_, err = lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = lock.Close() }, nil
}

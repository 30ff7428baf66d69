// Package lockfile makes two triads that want the same thing wait for each other: an environment, a build, a
// GPU.
package lockfile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Acquire takes the lock on the file at path, made where there is none, and waits for its holder until ctx
// ends; waiting, where it is not nil, is called once before the wait. The kernel lets go when the holder
// dies. The file stays: removing it would let two hold it.
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

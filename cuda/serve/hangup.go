package serve

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"triad/internal/panics"
)

// endWithDriver ends this process, and all that it started, once the driver's end of the socket is closed,
// even during a call that never returns. The signal that the kernel sends at the driver's death does not
// reach a worker that a tool started, nor the compilers that a worker started.
func endWithDriver(conn *os.File) {
	fd := int32(conn.Fd())
	panics.Go(func() {
		if !hungUp(fd) {
			return
		}
		if pid := os.Getpid(); unix.Getpgrp() == pid { // the driver starts each worker in its own group
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}, func(error) {})
}

// hungUp waits until the other end of a socket is closed; false: the socket cannot be watched.
func hungUp(fd int32) bool {
	for {
		watched := []unix.PollFd{{Fd: fd}} // a hang-up is reported without being asked for
		if _, err := unix.Poll(watched, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		switch seen := watched[0].Revents; {
		case seen&unix.POLLHUP != 0:
			return true
		case seen != 0:
			return false
		}
	}
}

package subprocess

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// A full disk is this machine's failure; a file that is missing or not readable is not.
func TestFailedByHost(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("start: %w", &os.PathError{Op: "mkdir", Path: "/a", Err: syscall.ENOSPC}), true},
		{&os.SyscallError{Syscall: "fork", Err: syscall.EAGAIN}, true},
		{&os.PathError{Op: "open", Path: "/a", Err: syscall.ENOENT}, false},
		{&os.PathError{Op: "open", Path: "/a", Err: syscall.EACCES}, false},
		{errors.New("no space left on device"), false},
		{nil, false},
	} {
		if got := FailedByHost(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

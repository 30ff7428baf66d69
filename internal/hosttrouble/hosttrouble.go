// Package hosttrouble distinguishes errors of this machine, of its disks, memory and tables, from those of
// what runs on it.
package hosttrouble

import (
	"errors"
	"syscall"

	"triad/internal/backend"
)

// Of returns the trouble in an error: a HostTrouble, or a system error for lack of space. It returns nil for
// any other error.
func Of(err error) *backend.HostTrouble {
	var trouble *backend.HostTrouble
	if errors.As(err, &trouble) {
		return trouble
	}
	for _, want := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE,
		syscall.EAGAIN,
	} {
		if errors.Is(err, want) {
			return &backend.HostTrouble{Sentence: err.Error()}
		}
	}
	return nil
}

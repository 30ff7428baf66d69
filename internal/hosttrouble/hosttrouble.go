// Package hosttrouble distinguishes errors of this machine, of its disks, memory and tables, from those of
// what runs on it.
package hosttrouble

import (
	"errors"
	"syscall"

	"triad/internal/backend"
)

// Of is the trouble that an error is: one that says so, or one of the system's for want of room. It is nil
// for any other.
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

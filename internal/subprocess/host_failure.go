package subprocess

import (
	"errors"
	"slices"
	"syscall"
)

// hostFailures lists the system's errors that concern this machine's disks, memory and tables.
var hostFailures = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE,
	syscall.EAGAIN,
}

// FailedByHost reports whether an error means that this machine lacked something, rather than that the
// program or the file is at fault.
func FailedByHost(err error) bool {
	return slices.ContainsFunc(hostFailures, func(of error) bool { return errors.Is(err, of) })
}

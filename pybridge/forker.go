package pybridge

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"triad/internal/subprocess"
)

// forker is a running forked.py, which forks workers, with its socket. The zero value is none.
type forker struct {
	process *subprocess.Process
	ask     *os.File // the end that stand-ins for workers get
}

// start starts the process of a command, which gets the other end of the socket as its first file.
func (f *forker) start(c subprocess.Command) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "parent of workers")
	defer theirs.Close()
	c.Files = []*os.File{theirs}
	process, err := subprocess.Start(c)
	if err != nil {
		return errors.Join(err, unix.Close(pair[0]))
	}
	f.process, f.ask = process, os.NewFile(uintptr(pair[0]), "parent of workers")
	return nil
}

// end ends the process and with it its workers. An error says that it survived SIGKILL.
func (f *forker) end() error {
	if f.process == nil {
		return nil
	}
	process := f.process
	f.process = nil
	_ = f.ask.Close()
	if !process.End() {
		return fmt.Errorf("the process that forks workers, %d, survived SIGKILL", process.PID())
	}
	return nil
}

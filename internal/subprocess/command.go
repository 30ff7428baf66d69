// Package subprocess runs every other program that triad runs: workers, compilers, Python, git. Each is in a
// process group of its own, dies with this process, and is killed with all that it started when its deadline
// passes or its context ends. kill_hanging.go kills hanging children; internal/worker (limits.go) has the
// time limits of workers.
package subprocess

import (
	"io"
	"os"
	"syscall"
	"time"
)

// Command describes a program to start.
type Command struct {
	Path  string
	Args  []string
	Env   []string   // its whole environment; nil: that of this process
	Dir   string     // its working directory; "": that of this process
	Files []*os.File // its descriptors from 3 on
	// Mark is an entry of Env that no other process has: any process with it is killed when the program is
	// killed or ended, even outside the group. "": the group alone.
	Mark string

	Stdin          *os.File  // nil: empty
	Stdout, Stderr io.Writer // nil: dropped, except the stdout that Run returns
	// MostOutput is the maximum size in bytes of the stdout that Run returns, 0: any. A program that prints
	// more is killed.
	MostOutput int

	// Deadline limits the wait of Run for its end; 0: the context alone does.
	Deadline time.Duration

	Most Usage // its limit, together with all that it starts; beyond that it is killed
	// Boxed: it runs another program, and exits with 128 plus the signal's number if a signal ended that
	// program
	Boxed bool

	Grace Grace // zero: DefaultGrace
	// Ended is called when the process has ended and /proc/PID still shows it; nil: it is reaped at once.
	Ended func(pid int)
	// Kill sends a signal to a process, or with a negative number to a group; nil: syscall.Kill.
	Kill func(pid int, signal syscall.Signal) error
}

// withDefaults fills in defaults for empty fields.
func (c Command) withDefaults() Command {
	if c.Grace == (Grace{}) {
		c.Grace = DefaultGrace
	}
	if c.Kill == nil {
		c.Kill = syscall.Kill
	}
	return c
}

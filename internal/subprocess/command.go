// Package subprocess runs every other program that triad runs: workers, compilers, Python, git. Each is in a
// process group of its own, dies with this process, and is killed whole, with what it started, when its
// deadline passes or its context ends. Where a hanging child is killed is in kill_hanging.go; how long a
// worker may take is in internal/worker (limits.go).
package subprocess

import (
	"io"
	"os"
	"syscall"
	"time"
)

// Command says how to start a program.
type Command struct {
	Path  string
	Args  []string
	Env   []string   // its whole environment; nil: that of this process
	Dir   string     // its working directory; "": that of this process
	Files []*os.File // its descriptors from 3 on
	// Mark is an entry of Env that no other process has: what still has it when the program is killed or
	// ended is killed with it, even where it left the group. "": the group alone.
	Mark string

	Stdin          *os.File  // nil: empty
	Stdout, Stderr io.Writer // nil: dropped, save for what Run gives of stdout

	// Deadline is how long Run waits for its end; 0: as long as the context lasts.
	Deadline time.Duration

	Most Usage // what it may use together with all that it starts; more, and it is killed
	// Boxed: it runs another program, and exits with 128 and a signal's number where that died by one
	Boxed bool

	Grace Grace // nothing: DefaultGrace
	// Kill sends a signal to a process, or with a negative number to a group; nil: syscall.Kill.
	Kill func(pid int, signal syscall.Signal) error
}

// withDefaults fills in what is not said.
func (c Command) withDefaults() Command {
	if c.Grace == (Grace{}) {
		c.Grace = DefaultGrace
	}
	if c.Kill == nil {
		c.Kill = syscall.Kill
	}
	return c
}

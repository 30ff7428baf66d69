// Package runsetup turns the options of the verbs that run something into a run: the request, the backends
// with the files that a user adds, the trials that settle how a file is read, and the session.
package runsetup

import (
	"io"
	"time"

	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/run"
	"triad/internal/worker"
	"triad/pybridge"
)

// Setup holds what a verb needs that runs something.
type Setup struct {
	*machine.Workers
	Reserve *worker.Reserve  // of a watch; nil elsewhere
	Parent  *pybridge.Parent // forks the workers of added Python files
	Pending *worker.Pending  // Ctrl-C prints them
	// Around replaces the backends of a run in tests; nil: they are unchanged.
	Around func([]backend.Backend) []backend.Backend
	// Of a part of a run on other machines or GPUs, else empty: the session that it records under, a function
	// that gets the results, the folder with the files of the driver's machine, and a function that takes a
	// case of the plan for the part
	PartOf    string
	PartRan   func(run.Result)
	PartRoot  string
	PartClaim func(key string) (bool, error)
	began     time.Time
}

// New returns the setup of this command.
func New(w *machine.Workers) *Setup {
	return &Setup{
		Workers: w, Pending: &worker.Pending{}, began: time.Now(), Parent: &pybridge.Parent{},
	}
}

// Writing returns a setup that prints everything to one writer.
func (a *Setup) Writing(to io.Writer) *Setup {
	setup, machine, shell := *a, *a.Workers, *a.Console
	shell.Out, shell.Err = to, to
	machine.Console, setup.Workers = &shell, &machine
	return &setup
}

// Package runsetup turns the flags of the verbs that run something into a request, and opens the session that
// carries it out.
package runsetup

import (
	"io"
	"time"

	"triad/internal/machine"
	"triad/internal/participants"
	"triad/internal/run"
	"triad/internal/worker"
	"triad/pybridge"
)

// Setup holds what a verb needs that runs something.
type Setup struct {
	participants.Source
	Pending *worker.Pending // Ctrl-C prints them
	// Of a part of a run on other machines or GPUs, else empty: the session that it records under, a function
	// that gets the results, the folder with the files of the driver's machine, and a function that takes a
	// case of the plan for the part
	PartOf    string
	PartRan   func(run.Result)
	PartRoot  string
	PartClaim func(operator, key string) (bool, error)
	began     time.Time
}

// New returns the setup of this command.
func New(w *machine.Workers) *Setup {
	return &Setup{
		Source:  participants.Source{Workers: w, Parent: &pybridge.Parent{}},
		Pending: &worker.Pending{}, began: time.Now(),
	}
}

// Writing returns a setup that prints everything to one writer.
func (a *Setup) Writing(to io.Writer) *Setup {
	setup, machine, shell := *a, *a.Workers, *a.Console
	shell.Out, shell.Err = to, to
	machine.Console, setup.Workers = &shell, &machine
	return &setup
}

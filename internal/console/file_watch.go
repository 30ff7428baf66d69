package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triad/internal/session"
)

// A watched file is looked at every lookEvery and must stay the same for settleFor: editors write in several
// steps.
const (
	lookEvery = 100 * time.Millisecond
	settleFor = 100 * time.Millisecond
)

// NewPage starts a new page of output: on a terminal at its top.
func (c *Console) NewPage() {
	if IsTerminal(c.Out) {
		fmt.Fprint(Raw(c.Out), "\x1b[2J\x1b[H")
	} else {
		fmt.Fprint(c.Out, "\n----\n\n")
	}
}

// Printed reduces a failure whose text was printed to its exit code.
func Printed(err error) error {
	var f *session.Failure
	if errors.As(err, &f) {
		return session.Fail(f.Code, nil)
	}
	if err != nil {
		return session.Fail(session.ExitUsage, nil)
	}
	return nil
}

// UntilSaved returns true when the state differs from seen and has settled; false when it is time to end.
func (c *Console) UntilSaved(ctx context.Context, seen string, stateNow func() string) bool {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.Stop.Done():
			return false
		case <-tick.C:
		}
		state := stateNow()
		if state == seen || state == "" {
			continue
		}
		time.Sleep(settleFor)
		if stateNow() == state {
			return true
		}
	}
}

package machine

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"triad/internal/console"
	"triad/internal/panics"
	"triad/pybridge"
)

// EnvironmentFlags holds the flags of every verb that may need Python.
type EnvironmentFlags struct {
	Yes, Offline bool
	Look         bool // only find what is here; make nothing, and say how it is made
}

// Environment returns the Python environment of this user.
func (a *Workers) Environment(f EnvironmentFlags, gpu bool) (*pybridge.Environment, error) {
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	return &pybridge.Environment{
		Files: a.Files, DataDir: data, Offline: f.Offline, Look: f.Look, GPU: gpu, Log: a.Screen,
		Getenv:  a.Getenv,
		Consent: a.consent(f.Yes), Space: a.Space, Interruptible: a.AtFirstInterrupt,
	}, nil
}

// consent asks on a terminal, until the first Ctrl-C. Elsewhere nobody can answer: it prints what will be
// done, and consents.
func (a *Workers) consent(yes bool) func(context.Context, string) bool {
	return func(ctx context.Context, question string) bool {
		if yes || !console.IsTerminal(a.In) {
			fmt.Fprint(a.Screen, question)
			return true
		}
		answer := a.Screen.Ask(question+"Go ahead? [Y/n] ", func() string {
			answered := make(chan string, 1)
			panics.Go(func() { // it goes on reading after Ctrl-C, but takes nothing that others read
				line, err := bufio.NewReader(a.In).ReadString('\n')
				if err != nil {
					line = "no"
				}
				answered <- line
			}, a.Broke)
			select {
			case line := <-answered:
				return line
			case <-ctx.Done():
				return "no"
			}
		})
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "" || answer == "y" || answer == "yes"
	}
}

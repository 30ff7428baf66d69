package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"triad/internal/panics"
)

// catchInterrupts makes the first Ctrl-C finish the current case and the second stop at once.
func (a *app) catchInterrupts(first, second func()) (undo func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	panics.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n == 0 {
					waited := a.Pending.String()
					if waited != "" {
						waited = " (" + waited + ")"
					}
					if a.AtOnce.Load() > 0 {
						fmt.Fprintln(a.Screen, "triad: stopping")
					} else {
						fmt.Fprintf(a.Screen,
							"triad: finishing what is running%s; interrupt again to stop at once\n", waited)
					}
					first()
				} else {
					signal.Stop(signals) // a third one ends triad at once: the database survives it
					second()
				}
			case <-done:
				return
			}
		}
	}, a.Broke)
	return func() { signal.Stop(signals); close(done) }
}

package subprocess

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A program that uses more than it may is killed with all that it started, and the error says of what it used
// too much.
func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		most         Usage
		script, says string
	}{
		"processes": {Usage{Processes: 5}, "for i in 1 2 3 4 5 6 7; do sleep 60 & done; wait", "processes"},
		"memory":    {Usage{Bytes: 64 << 20}, "head -c 400000000 /dev/zero | tail; sleep 60", "of memory"},
		"neither":   {Usage{Processes: 50, Bytes: 1 << 30}, "sleep 0.3 & wait", ""},
		"no limit":  {Usage{}, "for i in 1 2 3 4 5 6 7; do sleep 0.3 & done; wait", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", c.script}, Most: c.most})
			if err != nil {
				t.Fatal(err)
			}
			defer p.End()
			if !p.Wait(30 * time.Second) {
				t.Fatal("it was not ended")
			}
			_, signal := p.Exit()
			if got := p.Exceeded(); !strings.Contains(got, c.says) || (got == "") != (c.says == "") ||
				(signal == syscall.SIGKILL) != (c.says != "") {
				t.Errorf("%q, signal %v, want %q", got, signal, c.says)
			}
			if left := descendants(p.PID()); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// Run of a program that used too much does not return the program's own error.
func TestRunThatUsesTooMuch(t *testing.T) {
	_, err := Run(t.Context(), Command{
		Path: "/bin/sh", Args: []string{"-c", "head -c 400000000 /dev/zero | tail"},
		Most: Usage{Bytes: 64 << 20},
	})
	var much *Exceeded
	if !errors.As(err, &much) || much.Program != "sh" || !strings.Contains(much.Why, "memory") {
		t.Errorf("%T %v", err, err)
	}
}

// A program that runs another one passes on the signal that ended the other.
func TestBoxedExit(t *testing.T) {
	for _, boxed := range []bool{true, false} {
		p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "exit 139"}, Boxed: boxed})
		if err != nil {
			t.Fatal(err)
		}
		defer p.End()
		p.Wait(10 * time.Second)
		words, signal := p.Exit()
		if (signal == syscall.SIGSEGV) != boxed || strings.Contains(words, "segmentation fault") != boxed {
			t.Errorf("boxed %v: %s, signal %v", boxed, words, signal)
		}
	}
}

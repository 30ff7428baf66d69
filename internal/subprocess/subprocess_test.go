package subprocess

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell returns a command of the shell.
func shell(script string) Command { return Command{Path: "/bin/sh", Args: []string{"-c", script}} }

// Run returns the output of a program; if the program fails, also how it ended.
func TestRun(t *testing.T) {
	if out, err := Run(t.Context(), shell("echo right; echo aside >&2")); err != nil || out != "right\n" {
		t.Errorf("%q, %v", out, err)
	}
	var log strings.Builder
	c := shell("echo until then; echo why >&2; exit 7")
	c.Stderr = &log
	out, err := Run(t.Context(), c)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || out != "until then\n" || log.String() != "why\n" {
		t.Errorf("%q, %v, %q", out, err, log.String())
	}
	if _, err := Run(t.Context(), Command{Path: "/no/such/program"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Ended is called once, while /proc still shows the process that has ended.
func TestEnded(t *testing.T) {
	var states []string
	c := shell("exit 3")
	c.Ended = func(pid int) { states = append(states, statOf(pid)[0]) }
	_, err := Run(t.Context(), c)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || len(states) != 1 || states[0] != "Z" {
		t.Errorf("%v, states %q, want one zombie", err, states)
	}
}

// grandchild returns a command that starts a program which ignores SIGTERM, writes its number into a file,
// and hangs.
func grandchild(t *testing.T) (c Command, pid func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	c = shell(`(trap "" TERM; while :; do sleep 100; done) & echo $! > "` + file + `.part"; mv "` +
		file + `.part" "` +
		file + `"; wait`)
	return c, func() int {
		for {
			text, err := os.ReadFile(file)
			if err == nil {
				n, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// gone waits until a process is dead: a zombie, which nobody may reap here, or removed.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d lives on", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// A program that does not end within its deadline is killed with what it started, and the error names both.
func TestDeadlineKillsTheGroup(t *testing.T) {
	c, pid := grandchild(t)
	c.Deadline = 300 * time.Millisecond
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), c); done <- err }()
	child := pid()
	err := <-done
	if !errors.Is(err, ErrDeadline) ||
		!strings.Contains(err.Error(), "sh: it did not end in time: it was killed after 300ms") {
		t.Errorf("%v", err)
	}
	gone(t, child)
}

// A context that ends kills the program with what it started; the error is the context's cause. A context
// that has already ended starts nothing.
func TestContextKillsTheGroup(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	c, pid := grandchild(t)
	done := make(chan error, 1)
	go func() { _, err := Run(ctx, c); done <- err }()
	child := pid()
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	gone(t, child)
	file := filepath.Join(t.TempDir(), "started")
	if _, err := Run(ctx, shell("touch "+file)); !errors.Is(err, why) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was started all the same")
	}
}

// End lets a program end voluntarily, and then kills what it left behind; Exit describes how it ended.
func TestEnd(t *testing.T) {
	c := shell(`trap "exit 3" TERM; while :; do sleep 0.01; done`)
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // until its trap is set
	if !p.End() {
		t.Fatal("it was not reaped")
	}
	if sentence, signal := p.Exit(); sentence != "exited 3" || signal != 0 {
		t.Errorf("%q, %v", sentence, signal)
	}
	c, pid := grandchild(t)
	c.Grace = Grace{Term: 50 * time.Millisecond, Kill: 20 * time.Second}
	if p, err = Start(c); err != nil {
		t.Fatal(err)
	}
	child := pid()
	for range 2 { // a second time changes nothing
		if !p.End() {
			t.Error("it was not reaped")
		}
	}
	gone(t, child)
}

// A process that survives SIGKILL is reported, and is waited for no longer than the grace period.
func TestUnkillable(t *testing.T) {
	c := shell("sleep 100")
	c.Deadline, c.Grace = 50*time.Millisecond, Grace{Term: time.Millisecond, Kill: 50 * time.Millisecond}
	survivor := 0
	c.Kill = func(pid int, _ syscall.Signal) error { survivor = pid; return nil }
	_, err := Run(t.Context(), c)
	if !errors.Is(err, ErrDeadline) || !strings.Contains(err.Error(), "survived SIGKILL for 50ms") {
		t.Errorf("%v", err)
	}
	if survivor >= 0 {
		t.Fatalf("the signal went to %d, no group", survivor)
	}
	_ = syscall.Kill(survivor, syscall.SIGKILL)
}

// In a worker, whose children have no group of their own, a deadline also kills a program with what it
// started, and nothing else of the group.
func TestDeadlineInAWorker(t *testing.T) {
	KeepGroup()
	defer keepGroup.Store(false)
	beside, err := Start(shell("sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.End()
	c, pid := grandchild(t)
	c.Deadline = 300 * time.Millisecond
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), c); done <- err }()
	child := pid()
	if err := <-done; !errors.Is(err, ErrDeadline) {
		t.Errorf("%v", err)
	}
	gone(t, child)
	if beside.Reaped() {
		t.Error("another program of the worker was killed as well")
	}
}

// In a worker End gives a program and what it started the time to end voluntarily.
func TestEndInAWorker(t *testing.T) {
	KeepGroup()
	defer keepGroup.Store(false)
	c := shell(`trap "exit 3" TERM; sleep 100 & while :; do sleep 0.01; done`)
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for len(children) < 2 { // the sleep of 100 s is the first
		children = descendants(p.PID())
		time.Sleep(time.Millisecond)
	}
	if !p.End() {
		t.Fatal("it was not reaped")
	}
	if sentence, _ := p.Exit(); sentence != "exited 3" {
		t.Errorf("%q", sentence)
	}
	gone(t, children[0])
}

// The children of a worker stay in its group, so that killing the group kills them.
func TestKeepGroup(t *testing.T) {
	group := func() int {
		t.Helper()
		p, err := Start(shell("sleep 100"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.End()
		pgid, err := syscall.Getpgid(p.PID())
		if err != nil {
			t.Fatal(err)
		}
		if pgid != p.PID() && pgid != syscall.Getpgrp() {
			t.Errorf("its group is %d: neither its own %d nor ours", pgid, p.PID())
		}
		return pgid
	}
	if ours := syscall.Getpgrp(); group() == ours {
		t.Error("a child is in our group")
	}
	KeepGroup()
	defer keepGroup.Store(false)
	if ours := syscall.Getpgrp(); group() != ours {
		t.Error("the child of a worker is in a group of its own")
	}
}

// Processes with a command's mark are killed with it, even outside its group; without a mark they live on.
func TestMarkedProcessesAreKilled(t *testing.T) {
	for _, mark := range []string{"", "MARK=" + t.Name()} {
		file := filepath.Join(t.TempDir(), "pid")
		c := shell(`setsid sh -c 'echo $$ > "` + file + `"; exec sleep 100' > /dev/null 2>&1 & ` +
			`while [ ! -s "` + file + `" ]; do sleep 0.01; done`)
		c.Env, c.Mark = append(os.Environ(), "MARK="+t.Name()), mark
		p, err := Start(c)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Wait(20 * time.Second) {
			t.Fatal("the shell does not end")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		p.End()
		if mark != "" {
			gone(t, pid)
			continue
		}
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("without a mark: %v", err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestRunLimitsOutput: a program that prints more than its limit is killed with what it started, and no more
// of its output is kept.
func TestRunLimitsOutput(t *testing.T) {
	exact := shell("printf 1234")
	exact.MostOutput = 4
	if out, err := Run(t.Context(), exact); err != nil || out != "1234" {
		t.Errorf("at the limit: %q, %v", out, err)
	}
	for name, script := range map[string]string{
		"one that ends":       "printf 12345",
		"an endless one":      "while :; do echo 12345; done",
		"one that hangs then": "printf 12345; sleep 100",
		"an endless child":    "(trap '' PIPE; while :; do echo 12345 2>/dev/null; done) & wait",
	} {
		c := shell(script)
		c.MostOutput, c.Deadline = 4, 20*time.Second
		out, err := Run(t.Context(), c)
		var exceeded *Exceeded
		if !errors.As(err, &exceeded) || exceeded.Why != "it printed more than 4 bytes" || len(out) > 4 {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

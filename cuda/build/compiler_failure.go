package build

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"triad/internal/backend"
	"triad/internal/subprocess"
)

var (
	// compilerKilled matches the message of a compiler driver about a part of it that was killed from
	// outside.
	compilerKilled = regexp.MustCompile(`(?im)^.*(?:(?:Killed|Terminated)(?: signal)? terminated program|` +
		`terminated with signal (?:7|9|15)\b|died due to signal (?:7|9|15)\b|` +
		`internal compiler error: (?:Killed|Terminated|Bus error)).*$`)
	// noRoom matches messages of compilers, assemblers and linkers that ran out of space or memory on this
	// machine.
	noRoom = regexp.MustCompile(`(?im)^.*(?:No space left on device|Disk quota exceeded|` +
		`Cannot allocate memory|virtual memory exhausted|memory exhausted|out of memory allocating|` +
		`Too many open files|Input/output error|cannot create temporary file|` +
		`Resource temporarily unavailable).*$`)
	// authorsWords matches a line that repeats text of a source.
	authorsWords = regexp.MustCompile(`#\s*(?:error|warning|pragma)\b|static[_ ]assert|^\s*\d*\s*\|`)
)

// compileFailure returns the error of a compiler that failed with err and printed log: a *Error about
// the author's file if it ran to its end, a *backend.HostTrouble if this machine kept it from that.
func compileFailure(ctx context.Context, err error, author, log string) error {
	if ctx.Err() != nil {
		return err
	}
	var much *subprocess.Exceeded
	if errors.As(err, &much) {
		return &Error{
			File: author, Log: tail(log, 8<<10), Message: "the compiler " + much.Error() + ": it includes " +
				"a file without an end, or a template that grows without one",
		}
	}
	why := ""
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		why = err.Error() // it did not start
	} else if state, ok := exit.Sys().(syscall.WaitStatus); ok && state.Signaled() &&
		state.Signal() != syscall.SIGSEGV && state.Signal() != syscall.SIGABRT {
		why = "the compiler died by signal " + state.Signal().String()
	}
	for _, signs := range []*regexp.Regexp{compilerKilled, noRoom} {
		for _, line := range signs.FindAllString(log, -1) {
			if why == "" && !authorsWords.MatchString(line) {
				why = strings.TrimSpace(line)
			}
		}
	}
	if why == "" {
		return firstError(author, log)
	}
	return &backend.HostTrouble{
		Sentence: fmt.Sprintf("%s was not compiled: %s. This machine kept the compiler from its end, which "+
			"says nothing about the file", filepath.Base(author), why),
		Log: tail(log, 8<<10),
	}
}

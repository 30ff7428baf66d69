package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/cuda"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/session"
	"triad/internal/subprocess"
)

// checkOnGPU builds a program by nvcc, runs it under each tool of compute-sanitizer, and gives what they
// found in the form of the emulator's findings.
func (a *app) checkOnGPU(ctx context.Context, file string, args []string, input []byte,
	o *checkOptions,
) (*check.Report, error) {
	if isOperator(file) {
		return nil, usage("check --device gpu: want a program; triad compare %s --sanitize all watches an "+
			"operator's kernels", file)
	}
	if len(o.sizes) > 0 || o.explain || len(o.sanitizers) > 0 {
		return nil, usage("check --device gpu: --size, --explain and --sanitize are for the emulator")
	}
	tool, err := gpuworker.FindSanitizer(ctx, a.getenv)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check --device gpu: %s", missing.Sentence))
	}
	if err != nil {
		return nil, err
	}
	nvcc, err := a.findNVCC(ctx, environmentFlags{look: true}, false)
	if err != nil {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check --device gpu: %w", err))
	}
	folder, err := os.MkdirTemp("", "triad-check-gpu-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the program: %w", err)
	}
	defer os.RemoveAll(folder)
	b := cuda.GPUBuilder{Sources: a.files, Compiler: nvcc, Architectures: []string{"native"}}
	source := cuda.ProgramSource{File: file, Include: o.include, Define: o.define, Std: o.std}
	program, err := b.Program(ctx, source, folder)
	var mistake *cuda.BuildError
	var unfit *cuda.ProgramError
	switch {
	case errors.As(err, &mistake), errors.As(err, &unfit), os.IsNotExist(err):
		return nil, usage("check: %v", err)
	case err != nil:
		return nil, err
	}
	out := a.out
	if o.json {
		out = a.err
	}
	found, err := check.Run(ctx, check.Request{
		Program: program, Args: args, Input: input, Limit: o.run, Stall: o.stall, Budget: o.all, Output: out,
		Orders: check.Orders[:1], Native: true,
		Locate: func(context.Context, []uint64) (map[uint64]check.Place, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	found.Orders = nil
	if slices.ContainsFunc(found.Findings, func(f check.Finding) bool { return f.Kind == check.NeverEnds }) {
		return found, nil // nor would it under a tool
	}
	w := underTools{tool: tool, folder: folder, program: program, args: args, input: input, limit: o.run}
	return found, w.all(ctx, file, found)
}

// underTools is a program that the tools watch one after the other.
type underTools struct {
	tool            gpuworker.Sanitizer
	folder, program string
	args            []string
	input           []byte
	limit           time.Duration
}

// all adds what every tool finds. How the program ended says nothing new where a tool found something.
func (w *underTools) all(ctx context.Context, file string, found *check.Report) error {
	var told []check.Finding
	for _, name := range gpuworker.Sanitizers {
		err := w.run(ctx, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		report, readErr := gpuworker.ReadReports(name, w.folder)
		if readErr != nil {
			return readErr
		}
		if report.Processes == 0 || report.Cut > 0 || errors.Is(err, subprocess.ErrDeadline) {
			found.Unfinished = append(found.Unfinished, name)
			found.Notes = append(found.Notes, fmt.Sprintf("%s did not watch the program to its end%s.", name,
				because(err)))
		} else {
			found.Sanitizers = append(found.Sanitizers, name)
		}
		for _, f := range report.Findings {
			told = append(told, findingOf(f, file))
		}
	}
	if len(told) > 0 {
		found.Findings = toldOnce(told)
	}
	return nil
}

// sticky are the CUDA errors after which every call fails: an illegal address, a misaligned one, a launch
// that failed and their like.
var sticky = regexp.MustCompile(`\(error 7(00|1[0-9])\)`)

// toldOnce leaves out what says nothing new: the same two lines of a race again, and of a program that was
// broken off within a kernel the calls that failed after it and what it could not free.
func toldOnce(told []check.Finding) []check.Finding {
	broken := slices.ContainsFunc(told, func(f check.Finding) bool {
		return f.Sanitizer == "memcheck" && f.Kernel != "" && f.Place != nil
	}) && slices.ContainsFunc(told, func(f check.Finding) bool { return sticky.MatchString(f.Check) })
	var once []check.Finding
	for _, f := range told {
		after := broken && f.Sanitizer == "memcheck" && (f.Kind == check.Leak || sticky.MatchString(f.Check))
		again := f.Kind == check.Race && slices.ContainsFunc(once, func(o check.Finding) bool {
			return o.Kind == f.Kind && o.Kernel == f.Kernel && sameLines(o, f)
		})
		if !after && !again {
			once = append(once, f)
		}
	}
	return once
}

// sameLines says whether two races are between the same lines, either way round.
func sameLines(a, b check.Finding) bool {
	line := func(p *check.Place) check.Place {
		if p == nil {
			return check.Place{}
		}
		return check.Place{File: p.File, Line: p.Line}
	}
	first, second := line(a.Place), line(a.Other)
	return first == line(b.Place) && second == line(b.Other) ||
		first == line(b.Other) && second == line(b.Place)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(": %v", err)
}

// run runs the program once under a tool.
func (w *underTools) run(ctx context.Context, name string) error {
	input := filepath.Join(w.folder, "input")
	if err := os.WriteFile(input, w.input, 0o600); err != nil {
		return fmt.Errorf("write the program's standard input: %w", err)
	}
	stdin, err := os.Open(input)
	if err != nil {
		return fmt.Errorf("open the program's standard input: %w", err)
	}
	defer stdin.Close()
	c := w.tool.Program(name, w.folder, w.program, w.args)
	c.Mark = "TRIAD_CHECKED_BY=" + w.folder
	c.Stdin, c.Stdout, c.Env, c.Deadline = stdin, io.Discard, append(os.Environ(), c.Mark), w.limit
	_, err = subprocess.Run(ctx, c)
	return err
}

// toolKinds are the words of the tools, in the order in which they are looked for.
var toolKinds = []struct {
	word string
	kind check.Kind
}{
	{"misaligned", check.Misaligned},
	{"leak", check.Leak},
	{"uninitialized", check.Uninitialised},
	{"hazard", check.Race},
	{"race", check.Race},
	{"barrier", check.Divergence},
	{"divergent", check.Divergence},
	{"double free", check.DoubleFree},
	{"invalid __", check.OutOfBounds},
	{"out of bounds", check.OutOfBounds},
	{"out-of-bounds", check.OutOfBounds},
	{"program hit", check.Launch},
}

// findingOf turns what a tool found into a finding; the words of the tool stay with it.
func findingOf(f gpuworker.Finding, file string) check.Finding {
	kind := check.Trap
	for _, k := range toolKinds {
		if strings.Contains(strings.ToLower(f.What), k.word) {
			kind = k.kind
			break
		}
	}
	found := check.Finding{
		Kind: kind, Kernel: f.Kernel, Sanitizer: f.Tool, Check: f.What,
		Place: placeBeside(file, f.File, f.Line),
	}
	if f.Other != "" {
		found.Access, found.OtherAccess = access(f.What), access(f.Other)
		found.Other = placeBeside(file, f.OtherFile, f.OtherLine)
	}
	return found
}

// access is what words such as "Write access" say that a thread did.
func access(words string) string {
	if strings.Contains(words, "Write access") {
		return "write"
	}
	return "read"
}

// placeBeside is a line of the program's file, or of one beside it; nil where the tool names none.
func placeBeside(file, name string, line int) *check.Place {
	if line <= 0 {
		return nil
	}
	at := name
	if filepath.Base(file) == at {
		at = file
	} else if beside := filepath.Join(filepath.Dir(file), at); fileExists(beside) {
		at = beside
	}
	if whole, err := filepath.Abs(at); err == nil {
		at = whole
	}
	return &check.Place{File: at, Line: line}
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

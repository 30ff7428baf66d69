// Package observe runs the main() of a user's CUDA file to see how it calls its kernels. The file is compiled
// for the emulator, and runs in a sandbox that shows it nothing of this machine, for a short time. Its
// kernels do not run, and how it ends says nothing.
package observe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/ownfile/observed"
	"triad/internal/sandbox"
	"triad/internal/subprocess"
)

// Limits of a program.
const (
	longest    = 2 * time.Second
	mostRecord = 1 << 20 // bytes that it writes about itself
	mostMemory = 2 << 30
	mostOthers = 8 // processes
)

// Observer observes programs.
type Observer struct {
	Builder *build.Builder
	Box     *sandbox.Sandbox
}

// File compiles a CUDA file with a main() and runs it. text replaces that of the file; "" leaves it. flags
// are the user's for the compiler. The error says why there is nothing to see.
func (o Observer) File(ctx context.Context, file, text string, flags []string) (*observed.Run, error) {
	source := program.Source{File: file, Text: text, Observed: true}
	for _, flag := range flags {
		if name, is := strings.CutPrefix(flag, "-D"); is {
			source.Define = append(source.Define, name)
		} else if folder, is := strings.CutPrefix(flag, "-I"); is {
			source.Include = append(source.Include, folder)
		}
	}
	program, err := program.Build(ctx, o.Builder, source)
	if err != nil {
		return nil, fmt.Errorf("compile %s to observe it: %w", file, err)
	}
	emulator, err := o.Builder.Emulator(ctx)
	if err != nil {
		return nil, fmt.Errorf("build the emulator: %w", err)
	}
	run, err := o.program(ctx, program.Path, filepath.Dir(emulator.Path), nil)
	for _, many := range []int{8, 2, 1, 3, 4} { // it may take its sizes as arguments, or so many alone
		if err != nil || run.Launches() {
			break
		}
		run, err = o.program(ctx, program.Path, filepath.Dir(emulator.Path), slices.Repeat(number, many))
	}
	return run, err
}

// number is each argument of a main() that launches nothing without any. They are equal: what fits one size
// alone must not depend on triad's choice.
var number = []string{"96"}

// program runs a program with arguments. It needs a library in a folder.
func (o Observer) program(ctx context.Context, path, library string, arguments []string) (
	*observed.Run, error,
) {
	record, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for an observed program: %w", err)
	}
	defer record.Close()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		write.Close()
		return nil, err
	}
	defer nowhere.Close()
	name, args := o.Box.Wrap(path, arguments, sandbox.Box{ReadOnly: []string{path, library}})
	p, err := subprocess.Start(subprocess.Command{
		Path: name, Args: args, Files: []*os.File{write}, Stdout: nowhere, Stderr: nowhere, Boxed: true,
		Env:  append(sandbox.Environment(), "CUEMU_OBSERVED=3", "PATH=/usr/bin:/bin"),
		Most: subprocess.Usage{Processes: mostOthers, Bytes: mostMemory},
	})
	write.Close() // the program alone has it now
	if err != nil {
		return nil, fmt.Errorf("run %s to observe it: %w", path, err)
	}
	defer p.End()
	if err := record.SetReadDeadline(time.Now().Add(longest)); err != nil {
		return nil, fmt.Errorf("limit the time of an observed program: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = record.SetReadDeadline(time.Now()) })
	defer stop()
	run := &observed.Run{}
	lines := bufio.NewReader(io.LimitReader(record, mostRecord))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // it has ended, or its time or its room is up: what it did until then counts
			return run, context.Cause(ctx)
		}
		if err := run.Add(line); err != nil {
			return nil, err
		}
	}
}

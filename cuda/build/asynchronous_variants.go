package build

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/rewrite"
	"triad/internal/panics"
)

// The variants of one kernel file become two libraries for the emulator if some of them are marked as
// asynchronous: each ordinary access of these is reported to the emulator, which makes a kernel about ten
// times slower, and the others do not need it.
var (
	registration     = regexp.MustCompile(`\bTRIAD_KERNEL\s*\(`)
	asynchronousMark = []byte(".asynchronous()")
	// synchronousFlags make the compiler refuse asynchronous instructions in the library of the others.
	synchronousFlags = []string{"-DCUEMU_SYNCHRONOUS"}
)

// divided returns a kernel file twice: with only the registrations marked as asynchronous, and with only the
// others. ok is false if all are alike, or a parenthesis is open.
func divided(text []byte) (marked, others []byte, ok bool) {
	code := rewrite.Code(text)
	marked, others = bytes.Clone(text), bytes.Clone(text)
	counts := map[bool]int{}
	for _, at := range registration.FindAllIndex(code, -1) {
		end, closed := rewrite.GroupEnd(code, at[1]-1)
		if !closed {
			return nil, nil, false
		}
		isMarked := bytes.Contains(code[at[0]:end], asynchronousMark)
		counts[isMarked]++
		out := marked
		if isMarked {
			out = others
		}
		for i := at[0]; i <= end; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return marked, others, counts[true] > 0 && counts[false] > 0
}

// parts returns the libraries of a kernel file, and replaces its text in files by the units to compile.
func (b *Builder) parts(set *SourceSet, files map[string][]byte, flags []string) ([]part, error) {
	var home []string
	if set.Home != "" {
		home = []string{"-iquote", set.Home}
	}
	unit := strings.TrimSuffix(set.Main, path.Ext(set.Main))
	output := "lib" + path.Base(unit)
	watched := part{output + ".so", []string{unit + ".cc"}, slices.Concat(flags, home)}
	files[unit+".cc"] = files[set.Main]
	delete(files, set.Main)
	if !set.asynchronous() {
		return []part{watched}, nil
	}
	watched.flags = slices.Concat(flags, b.WatchedFlags(), home)
	marked, others, ok := divided(set.Files[set.Main].Text)
	if !ok {
		return []part{watched}, nil
	}
	synchronous := part{
		output + "_synchronous.so",
		[]string{unit + "_synchronous.cc"},
		slices.Concat(flags, synchronousFlags, home),
	}
	for at, text := range map[string][]byte{watched.units[0]: marked, synchronous.units[0]: others} {
		result, err := rewrite.Source(set.Name, text)
		if err != nil {
			return nil, fmt.Errorf("divide %s: %w", set.Name, err) // the whole file could be rewritten
		}
		files[at] = result.Text
	}
	return []part{watched, synchronous}, nil
}

// compileParts compiles the libraries of a build in parallel. The error of one that does not compile is a
// *Error.
func (b *Builder) compileParts(ctx context.Context, author, folder string, files map[string][]byte,
	parts []part,
) (log string, err error) {
	logs, failures := make([]string, len(parts)), make([]error, len(parts))
	var group panics.Group
	for i, p := range parts {
		group.Go(func() {
			args := slices.Concat(b.withPrelude(ctx, files, p.flags), p.units,
				[]string{"-o", filepath.Join(folder, p.output), "-ldl"})
			sanitized := func(flag string) bool { return strings.HasPrefix(flag, "-fsanitize=") }
			if slices.ContainsFunc(p.flags, sanitized) && !b.Compiler.Clang {
				args = append(args, WithoutSanitizers...)
			}
			logs[i], failures[i] = compile(ctx, filepath.Join(folder, "src"), b.Compiler.Path, args)
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	for i, err := range failures {
		if err != nil {
			return "", compileFailure(ctx, err, author, logs[i])
		}
	}
	return strings.Join(logs, ""), nil
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"triad/internal/backend"
)

// Sanitizer is a sanitizer of the C++ compiler; "" is none.
type Sanitizer string

// The sanitizers that a program can be built with. AddressSanitizer comes with UndefinedBehaviorSanitizer.
const (
	AddressSanitizer Sanitizer = "address"
	ThreadSanitizer  Sanitizer = "thread"
)

// Sanitizers lists all sanitizers.
var Sanitizers = []Sanitizer{AddressSanitizer, ThreadSanitizer}

// Flags of programs under a sanitizer, which unwinds the stack by frame pointers. A program continues after a
// report. Kernels read eight halves as a float4, which nvcc permits. The vptr check needs its library's help,
// and AddressSanitizer reports what is too short for an object better than object-size does.
var (
	sanitizedFlags = []string{
		"-std=c++17", "-O1", "-gdwarf-4", "-pthread", "-ffp-contract=off", "-fno-strict-aliasing",
		"-Wno-unknown-pragmas", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
		"-Icuda/emulator", "-include", "cuda_runtime.h",
	}
	sanitizedEmulator = []string{
		"-O1", "-fno-omit-frame-pointer", "-Icuda/emulator", "-Icuda",
	}
	sanitizerFlags = map[Sanitizer][]string{
		AddressSanitizer: {
			"-fsanitize=address,undefined", "-fno-sanitize=vptr,object-size", "-fsanitize-recover=all",
		},
		ThreadSanitizer: {"-fsanitize=thread"},
	}
)

// absentRuntime matches a linker's message that the compiler's libraries for a sanitizer are not installed.
var absentRuntime = regexp.MustCompile(`cannot find \S*(?:lib|-l)(?:asan|ubsan|tsan)|` +
	`libclang_rt\.(?:asan|ubsan|tsan)\S*: No such file|unrecognized argument to '-fsanitize=|` +
	`unsupported option '-fsanitize=|sanitizer/\w+\.h\S* (?:file not found|No such file)`)

// sanitizedProgram builds a program with a sanitizer, and an emulator that informs the sanitizer of its
// fibers. If the compiler has none the error is a *backend.Unavailable.
func (b *Builder) sanitizedProgram(ctx context.Context, set *sourceSet, flags []string, p ProgramSource) (
	Program, error,
) {
	own := sanitizerFlags[p.Sanitizer]
	if own == nil {
		return Program{}, fmt.Errorf("build %s with the sanitizer %q: want one of %v", p.File, p.Sanitizer,
			Sanitizers)
	}
	emulator, err := b.emulatorWith(ctx, slices.Concat(sanitizedEmulator, own))
	if err != nil {
		return Program{}, b.withoutRuntime(p.Sanitizer, fmt.Errorf("build the emulator: %w", err))
	}
	program, err := b.programWith(ctx, set, slices.Concat(sanitizedFlags, own, flags),
		p.Main+"\n#include \"cuemu/sanitized_main.h\"\n", []string{emulator.Path, "-Wl,--wrap=clock"})
	return program, b.withoutRuntime(p.Sanitizer, err)
}

// withoutRuntime turns the error of a failed build into a *backend.Unavailable if the compiler lacks the
// sanitizer.
func (b *Builder) withoutRuntime(s Sanitizer, err error) error {
	var mistake *BuildError
	if !errors.As(err, &mistake) || !absentRuntime.MatchString(mistake.Log) {
		return err
	}
	return &backend.Unavailable{Sentence: fmt.Sprintf("%s (%s) has no libraries for -fsanitize=%s: install "+
		"them (Debian and Ubuntu: %s; Fedora: dnf install libasan libubsan libtsan), or name another "+
		"compiler with CXX", b.Compiler.Path, b.Compiler.Version, s, b.runtimePackage())}
}

// runtimePackage returns the command that installs a compiler's sanitizers on Debian and Ubuntu.
func (b *Builder) runtimePackage() string {
	if b.Compiler.Clang {
		return "apt install libclang-rt-dev, or libclang-rt-19-dev for version 19"
	}
	return "apt install libgcc-12-dev for version 12"
}

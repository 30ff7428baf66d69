package program

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"triad/cuda/build"
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
func sanitizedProgram(ctx context.Context, b *build.Builder, set *build.SourceSet, flags []string, p Source) (
	Program, error,
) {
	own := sanitizerFlags[p.Sanitizer]
	if own == nil {
		return Program{}, fmt.Errorf("build %s with the sanitizer %q: want one of %v", p.File, p.Sanitizer,
			Sanitizers)
	}
	emulator, err := b.EmulatorWith(ctx, slices.Concat(sanitizedEmulator, own))
	if err != nil {
		return Program{}, withoutRuntime(b, p.Sanitizer, fmt.Errorf("build the emulator: %w", err))
	}
	built, err := programWith(ctx, b, set, parts{
		flags:    slices.Concat(sanitizedFlags, own, flags),
		appended: p.Main + "\n#include \"cuemu/sanitized_main.h\"\n",
		link:     []string{emulator.Path, "-Wl,--wrap=clock"},
	})
	return built, withoutRuntime(b, p.Sanitizer, err)
}

// withoutRuntime turns the error of a failed build into a *backend.Unavailable if the compiler lacks the
// sanitizer.
func withoutRuntime(b *build.Builder, s Sanitizer, err error) error {
	var mistake *build.Error
	if !errors.As(err, &mistake) || !absentRuntime.MatchString(mistake.Log) {
		return err
	}
	return &backend.Unavailable{Sentence: fmt.Sprintf("%s (%s) has no libraries for -fsanitize=%s: install "+
		"them (Debian and Ubuntu: %s; Fedora: dnf install libasan libubsan libtsan), or name another "+
		"compiler with CXX", b.Compiler.Path, b.Compiler.Version, s, runtimePackage(b))}
}

// runtimePackage returns the command that installs a compiler's sanitizers on Debian and Ubuntu.
func runtimePackage(b *build.Builder) string {
	if b.Compiler.Clang {
		return "apt install libclang-rt-dev, or libclang-rt-19-dev for version 19"
	}
	return "apt install libgcc-12-dev for version 12"
}

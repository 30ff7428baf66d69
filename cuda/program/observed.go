package program

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
)

// observedFlags are the flags of a program that runs to be observed: it is compiled fast, and its kernels
// do not run.
var observedFlags = []string{
	"-std=c++17", "-O0", "-pthread", "-fno-strict-aliasing", "-w", "-DCUEMU_OBSERVED", "-Icuda/emulator",
	"-include", "cuda_runtime.h",
}

// observedProgram builds a program that runs to be observed. Kernels that another file defines may be
// missing.
func observedProgram(ctx context.Context, b *build.Builder, set *build.SourceSet, flags []string) (
	Program, error,
) {
	emulator, err := b.Emulator(ctx)
	if err != nil {
		return Program{}, fmt.Errorf("build the emulator: %w", err)
	}
	return programWith(ctx, b, set, parts{
		flags: slices.Concat(observedFlags, flags),
		link: slices.Concat([]string{emulator.Path}, programLink,
			[]string{"-Wl,--unresolved-symbols=ignore-all"}),
		edit: withTemplateArguments,
	})
}

// launchOfTemplate matches a launch of a kernel with template arguments in a rewritten file.
var launchOfTemplate = regexp.MustCompile(`\.cuemu_kernel\("([\w:]+) ?<([^"\\]*)>"\)`)

// withTemplateArguments makes each launch give the values of its template arguments.
func withTemplateArguments(files map[string][]byte) {
	for name, text := range files {
		files[name] = launchOfTemplate.ReplaceAllFunc(text, func(launch []byte) []byte {
			parts := launchOfTemplate.FindSubmatch(launch)
			var words []string
			for _, word := range cutArguments(string(parts[2])) {
				words = append(words, "::cuemu::word_of<"+word+">()")
			}
			return fmt.Appendf(nil, `.cuemu_kernel(::cuemu::name_of("%s", {%s}))`, parts[1],
				strings.Join(words, ", "))
		})
	}
}

// cutArguments cuts a list at its commas outside of brackets.
func cutArguments(text string) (all []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("(<[{", c):
			depth++
		case strings.ContainsRune(")>]}", c):
			depth--
		case c == ',' && depth == 0:
			all, from = append(all, text[from:i]), i+1
		}
	}
	return append(all, text[from:])
}

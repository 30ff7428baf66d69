package programcheck

import (
	"context"
	"slices"
	"strings"

	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/watched"
)

// checkSanitizers parses --sanitize.
func (o *Options) checkSanitizers(file string) error {
	var known []string
	for _, s := range program.Sanitizers {
		known = append(known, string(s))
	}
	for _, word := range o.Sanitizers {
		if word != "all" && !slices.Contains(known, word) {
			return console.Usage("check: --sanitize %q: want all, or of %s", word, strings.Join(known, ", "))
		}
	}
	if slices.Contains(o.Sanitizers, "all") {
		o.Sanitizers = known
	}
	if len(o.Sanitizers) > 0 && isOperator(file) {
		return console.Usage(
			"check: --sanitize is for programs: the kernels of %s have no host code of yours", file)
	}
	return nil
}

// sanitizedPrograms builds the program with each requested sanitizer.
func (a *checker) sanitizedPrograms(ctx context.Context, source program.Source, o *Options) (
	[]check.Sanitized, error,
) {
	var all []check.Sanitized
	for _, name := range o.Sanitizers {
		source.Sanitizer, source.Counts = program.Sanitizer(name), false
		program, err := a.buildProgram(ctx, source)
		if err != nil {
			return nil, err
		}
		all = append(all, check.Sanitized{
			Name: name, Program: program.Path,
			Locate: watched.Locator(program),
		})
	}
	return all, nil
}

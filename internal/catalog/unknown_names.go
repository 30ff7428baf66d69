package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"triad/internal/op"
)

// mostTypos is the largest distance, in inserted, deleted and replaced characters, of a name from the
// intended one.
const mostTypos = 2

// Find returns the operator that a user names: by its name or another common one, matmul for gemm. The error
// for any other name is an *op.UsageError that says what is nearest to it.
func Find(name string) (*Operator, error) {
	if read, ok := readers[name]; ok {
		return read()
	}
	asked := plain(name)
	for _, o := range All() {
		if o.Spec.Name == asked || slices.Contains(o.Spec.AlsoCalled, asked) {
			return o, nil
		}
	}
	return nil, unknown(name)
}

// Nearest returns the name of the operator that a misspelled name probably means, "" for none.
func Nearest(name string) string {
	nearest, least := "", mostTypos+1
	for _, o := range All() {
		for _, known := range append([]string{o.Spec.Name}, o.Spec.AlsoCalled...) {
			// short names are close to every other name
			typos := levenshtein.Distance(plain(name), known, nil)
			if typos < least && 2*typos < len(known) {
				nearest, least = o.Spec.Name, typos
			}
		}
	}
	return nearest
}

// plain returns a name in the spelling of the specs.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }

// unknown returns the error for a name that no operator has: which one is nearest to it, by its spec or by
// its spelling, and how to make one of the user's own.
func unknown(name string) error {
	asked := plain(name)
	own := asked
	if op.CheckOperatorName(own) != nil {
		own = "NAME"
	}
	own = fmt.Sprintf("triad new %s --reference 'TORCH EXPRESSION OF x' makes one of your own", own)
	for _, o := range All() {
		if slices.Contains(o.Spec.NearestTo, asked) {
			return usage("unknown operator %q: nearest to it is %s (%s); %s", name, o.Spec.Name,
				o.Spec.Summary, own)
		}
	}
	if nearest := Nearest(name); nearest != "" {
		return usage("unknown operator %q: do you mean %s? triad ops list has all", name, nearest)
	}
	return usage("unknown operator %q: triad ops list has all; %s", name, own)
}

func usage(format string, words ...any) error {
	return &op.UsageError{Message: fmt.Sprintf(format, words...)}
}

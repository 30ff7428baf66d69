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

// unknown returns the error for a name that no operator has. It suggests the operator that was probably
// meant: by another common name, else by the smallest edit distance.
func unknown(name string) error {
	asked := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	nearest, least := "", mostTypos+1
	for _, o := range All() {
		if o.Spec.Name == asked || slices.Contains(o.Spec.AlsoCalled, asked) {
			return said("unknown operator %q: here it is called %s (%s)", name, o.Spec.Name, o.Spec.Summary)
		}
		for _, known := range append([]string{o.Spec.Name}, o.Spec.AlsoCalled...) {
			// short names are close to every other name
			typos := levenshtein.Distance(asked, known, nil)
			if typos < least && 2*typos < len(known) {
				nearest, least = o.Spec.Name, typos
			}
		}
	}
	if nearest != "" {
		return said("unknown operator %q: do you mean %s? triad ops list has all", name, nearest)
	}
	return said("unknown operator %q: want one of %s; triad new NAME begins one of your own", name,
		strings.Join(Names(), ", "))
}

func said(format string, words ...any) error {
	return &op.UsageError{Message: fmt.Sprintf(format, words...)}
}

package launches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// ProposedNumbers gives the numbers among a kernel's template parameters a default if their names say what
// they size: 256 threads of a block, or 16 on each side of a block of two dims, tiles of 16, warps of 32. It
// returns what was proposed, "BLOCK is 256".
func ProposedNumbers(fn *cfacts.Function, said map[string]string) (proposed []string) {
	fn.Template = slices.Clone(fn.Template)
	for i := range fn.Template {
		t := &fn.Template[i]
		t.Default = cmp.Or(said[t.Name], t.Default)
		if t.Type || t.Default != "" {
			continue
		}
		if n := numberFor(fn, t.Name); n != "" {
			t.Default = n
			proposed = append(proposed, fmt.Sprintf("%s is %s", t.Name, n))
		}
	}
	return proposed
}

// numberFor returns the number that a name suggests, "" if it suggests none.
func numberFor(fn *cfacts.Function, name string) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(strings.ToLower(name), w)
		})
	}
	second := uses(binding.Body{}, fn.Body, "threadIdx", "y")
	switch {
	case says("warp"):
		return "32"
	case says("tile"), says("block", "bdim", "dim") && second:
		return "16"
	case says("block", "thread", "tpb", "bdim"):
		return fmt.Sprint(BlockThreads)
	}
	return ""
}

// AssumedNumbers returns the assumption about the numbers of the template.
func AssumedNumbers(b *binding.Binding) []binding.Assumption {
	if len(b.Numbers) == 0 {
		return nil
	}
	return []binding.Assumption{{
		Kind: binding.GuessedLaunch, What: "of its template " + strings.Join(b.Numbers, ", "),
		Open: binding.EachOf(b.Numbers, func(number string) string {
			name, _, _ := strings.Cut(number, " is ")
			return name
		}),
	}}
}

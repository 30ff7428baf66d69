package kernelfile

import (
	"fmt"
	"regexp"
)

// swapped returns the reading of a lone kernel with the two sides of its file's own grid exchanged, if the
// file launches it for a square, or for unknown sizes: its author cannot have seen which side is which. A
// file whose launch has two sizes is taken at its word.
func (b *Binding) swapped() (Alternative, bool) {
	l := b.Launch
	if l == nil || b.Options.Grid != "" || l.Grid[0] == l.Grid[1] || l.Grid[1] == "1" || l.Grid[2] != "1" {
		return Alternative{}, false
	}
	k := body{b: b, file: b.file, tokens: b.Function.body}
	found := k.ownLaunch()
	if found == nil || found.grid[0] == "" || found.grid != l.Grid {
		return Alternative{}, false
	}
	sides := map[int64]bool{}
	for _, a := range b.Args {
		if n, known := found.handed[a.Name]; known && a.Role == Size {
			sides[n] = true
		}
	}
	if len(sides) > 1 {
		return Alternative{}, false
	}
	grid := fmt.Sprintf("%s, %s", l.Grid[1], l.Grid[0])
	if x, y := b.onlyDim(l.Grid[0]), b.onlyDim(l.Grid[1]); x != "" && y != "" && x != y {
		put := func(side, dim, other string) string {
			return regexp.MustCompile(`\b`+dim+`\b`).ReplaceAllString(side, other)
		}
		grid = put(l.Grid[0], x, y) + ", " + put(l.Grid[1], y, x) // the block stays as it is
	}
	return Alternative{Flags: fmt.Sprintf("--grid %q", grid), Options: Options{Grid: grid}}, true
}

// onlyDim returns the size in a side of a grid, "" if there are none or several.
func (b *Binding) onlyDim(side string) (found string) {
	for _, d := range b.Spec.Dims {
		if !regexp.MustCompile(`\b` + d.Name + `\b`).MatchString(side) {
			continue
		}
		if found != "" {
			return ""
		}
		found = d.Name
	}
	return found
}

package kernelfile

import "fmt"

// swapped is the reading of a lone kernel with the two sides of its file's own grid exchanged, where that
// calls it for a square, or for sizes that nobody can tell: its author cannot have seen which is which. A
// file whose launch has two sizes means it so.
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
	return Alternative{Flags: fmt.Sprintf("--grid %q", grid), Options: Options{Grid: grid}}, true
}

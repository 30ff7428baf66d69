package main

import (
	"cmp"
	"slices"
	"strings"
)

// rest returns the rows of a group that are the fastest of no column, each with its name and its time.
func (g group) rest(families []family, first row) string {
	shown := map[string]bool{}
	for _, f := range families {
		best, _ := g.best(f)
		shown[best.impl] = true
	}
	var words []string
	for _, r := range slices.SortedFunc(slices.Values(g.rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.MedianNS, b.MedianNS), cmp.Compare(a.impl, b.impl))
	}) {
		if !shown[r.impl] {
			words = append(words, r.impl+" "+g.text(r, first))
		}
	}
	return strings.Join(words, ", ")
}

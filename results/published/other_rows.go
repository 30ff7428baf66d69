package main

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// unstable is the status of a timing that swayed; its median is shown, and counts in no comparison.
	unstable = "UNSTABLE"
	// swaying marks such a time.
	swaying = "?"
)

// steady returns the groups without their unstable rows.
func steady(all []group) []group {
	all = slices.Clone(all)
	for i, g := range all {
		all[i].rows = slices.DeleteFunc(slices.Clone(g.rows),
			func(r row) bool { return r.Status == unstable })
	}
	return all
}

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

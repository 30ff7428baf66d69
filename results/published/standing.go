package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// notBehind is the smallest ratio that prints as more than 1.00.
const notBehind = 1.005

// standing compares the fastest of our own CUDA kernels with the fastest other row, over all points of an
// operator and a pass.
type standing struct {
	name, best  string // best is the fastest other row at the point where ours is furthest behind
	least, most float64
	roofs       []float64
	points      int
}

// standings returns one row for each operator and pass of groups, the furthest behind first, and a sentence
// that lists those that are nowhere behind. Rows that satisfy another contract do not count, nor do sums of a
// forward and a backward.
func standings(all []group) []string {
	byName := map[string]*standing{}
	var found []*standing
	for _, g := range all {
		ours, there := g.best(cuda)
		if !there || g.pass == pair {
			continue
		}
		var best row
		for _, r := range g.rows {
			if !cuda.has(r.impl) && r.status != "DIFFERENT_CONTRACT" &&
				(best.impl == "" || r.MedianNS < best.MedianNS) {
				best = r
			}
		}
		if best.impl == "" {
			continue
		}
		name := g.op + " " + g.pass
		if byName[name] == nil {
			byName[name] = &standing{name: name, least: math.Inf(1)}
			found = append(found, byName[name])
		}
		byName[name].add(ours, best)
	}
	if len(found) == 0 {
		return []string{"Nothing of this is recorded."}
	}
	slices.SortFunc(found, func(a, b *standing) int {
		return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.name, b.name))
	})
	out := []string{
		"| operator | points | time of CUDA over the best other | the best other, at the largest ratio | " +
			"share of the roofline (CUDA) |",
		"|---|--:|--:|---|--:|",
	}
	var ahead []string
	for _, s := range found {
		ratios := between(s.least, s.most, "%.2f")
		if s.most < notBehind {
			ahead = append(ahead, s.name)
			continue
		}
		roof := ""
		if len(s.roofs) > 0 {
			roof = between(slices.Min(s.roofs)*100, slices.Max(s.roofs)*100, "%.0f") + " %"
		}
		out = append(out, fmt.Sprintf("| %s | %d | %s | %s | %s |", s.name, s.points,
			ratios, s.best, roof))
	}
	if len(ahead) > 0 {
		slices.Reverse(ahead) // the furthest ahead first
		out = append(out, "", "Nowhere behind: "+strings.Join(ahead, ", ")+".")
	}
	return out
}

func (s *standing) add(ours, best row) {
	s.points++
	ratio := ours.MedianNS / best.MedianNS
	s.least = math.Min(s.least, ratio)
	if ratio > s.most {
		s.most, s.best = ratio, best.impl
		if best.Mode == "events" {
			s.best += " (between events)"
		}
	}
	if ours.Roofline != nil {
		s.roofs = append(s.roofs, *ours.Roofline)
	}
}

// between formats a range, or one number if both ends print the same.
func between(least, most float64, format string) string {
	low, high := fmt.Sprintf(format, least), fmt.Sprintf(format, most)
	if low == high {
		return low
	}
	return strings.Join([]string{low, high}, " to ")
}

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// notBehind is the smallest ratio that prints as more than 1.00.
	notBehind = 1.005
	// roofGoal is the share of the roofline that is enough, whoever is faster.
	roofGoal = 0.95
)

// standing compares the fastest of our own CUDA kernels with the fastest other row, over all points of an
// operator and a pass.
type standing struct {
	name, best  string // best is the fastest other row at the point where ours is furthest behind
	least, most float64
	roofs       []float64
	points      int
	// of the points whose best other is faster while ours is below roofGoal
	short []point
}

// point is one bench point that falls short.
type point struct {
	best        string
	ratio, roof float64 // roof is 0 where there is no roofline
}

// standingsOf compares every cold group, the operator and pass that is furthest behind first. Rows that
// satisfy another contract do not count, nor do sums of a forward and a backward. Products that are summed in
// the tensor cores alone are compared with their like. A group is not compared if the time of one of the two
// is unstable: uncertain names it.
func standingsOf(all []group) (found []*standing, uncertain []string) {
	byName := map[string]*standing{}
	for _, g := range all {
		if g.regime != "cold" || g.pass == pair {
			continue
		}
		for _, fastSums := range []bool{false, true} {
			ours, best := g.rivals(fastSums)
			if ours.impl == "" || best.impl == "" {
				continue
			}
			if ours.Status == unstable || best.Status == unstable {
				uncertain = append(uncertain, g.title())
				continue
			}
			name := g.op + " " + g.pass
			if fastSums {
				name += ", fast sums"
			}
			if byName[name] == nil {
				byName[name] = &standing{name: name, least: math.Inf(1)}
				found = append(found, byName[name])
			}
			byName[name].add(ours, best)
		}
	}
	slices.SortFunc(found, func(a, b *standing) int {
		return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.name, b.name))
	})
	return found, uncertain
}

// rivals returns the fastest of our CUDA kernels and the fastest other row, among those with fast sums or
// among the others.
func (g group) rivals(fastSums bool) (ours, best row) {
	for _, r := range g.rows {
		if r.status == "DIFFERENT_CONTRACT" || strings.HasSuffix(r.impl, "_fast") != fastSums {
			continue
		}
		fastest := &best
		if cuda.has(r.impl) {
			fastest = &ours
		}
		if fastest.impl == "" || r.MedianNS < fastest.MedianNS {
			*fastest = r
		}
	}
	return ours, best
}

// standings returns one row for each operator and pass of groups, the furthest behind first, and a sentence
// that lists those that are nowhere behind.
func standings(all []group) []string {
	found, _ := standingsOf(all)
	if len(found) == 0 {
		return []string{"Nothing of this is recorded."}
	}
	out := []string{
		"| operator | points | time of CUDA over the best other | the best other, at the largest ratio | " +
			"share of the roofline (CUDA) |",
		"|---|--:|--:|---|--:|",
	}
	var ahead []string
	for _, s := range found {
		if s.most < notBehind {
			ahead = append(ahead, s.name)
			continue
		}
		roof := ""
		if len(s.roofs) > 0 {
			roof = between(slices.Min(s.roofs)*100, slices.Max(s.roofs)*100, "%.0f") + " %"
		}
		out = append(out, fmt.Sprintf("| %s | %d | %s | %s | %s |", s.name, s.points,
			between(s.least, s.most, "%.2f"), s.best, roof))
	}
	if len(ahead) > 0 {
		slices.Reverse(ahead) // the furthest ahead first
		out = append(out, "", "Nowhere behind: "+strings.Join(ahead, ", ")+".")
	}
	return out
}

// shortOf lists what falls short: the points at which another row is faster than our fastest CUDA kernel,
// which is below roofGoal there.
func shortOf(all []group) []string {
	found, uncertain := standingsOf(all)
	if len(found) == 0 {
		return []string{"Nothing of this is recorded."}
	}
	out := []string{
		"| operator | points that fall short | time of CUDA over the best other there | the best other | " +
			"share of the roofline |",
		"|---|--:|--:|---|--:|",
	}
	points, short := 0, 0
	for _, s := range found {
		points += s.points
		short += len(s.short)
		if len(s.short) == 0 {
			continue
		}
		var others []string
		ratios, roofs := []float64{}, []float64{}
		for _, p := range s.short {
			if !slices.Contains(others, p.best) {
				others = append(others, p.best)
			}
			ratios = append(ratios, p.ratio)
			if p.roof > 0 {
				roofs = append(roofs, p.roof*100)
			}
		}
		roof := ""
		if len(roofs) > 0 {
			roof = between(slices.Min(roofs), slices.Max(roofs), "%.0f") + " %"
		}
		out = append(out, fmt.Sprintf("| %s | %d of %d | %s | %s | %s |", s.name, len(s.short), s.points,
			between(slices.Min(ratios), slices.Max(ratios), "%.2f"), strings.Join(others, ", "), roof))
	}
	out = append(out, "", fmt.Sprintf("%d of %d points fall short.", short, points))
	if len(uncertain) > 0 {
		out = append(out, "", "Not compared, since the fastest time of one side is UNSTABLE: "+
			strings.Join(uncertain, "; ")+".")
	}
	return out
}

func (s *standing) add(ours, best row) {
	s.points++
	ratio := ours.MedianNS / best.MedianNS
	name := best.impl
	if best.Mode == "events" {
		name += " (between events)"
	}
	s.least = math.Min(s.least, ratio)
	if ratio > s.most {
		s.most, s.best = ratio, name
	}
	roof := 0.0
	if ours.Roofline != nil {
		roof = *ours.Roofline
		s.roofs = append(s.roofs, roof)
	}
	if ratio >= notBehind && roof < roofGoal {
		s.short = append(s.short, point{best: name, ratio: ratio, roof: roof})
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

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"triad/internal/record"
)

// pair sums up all differences of two implementations in a dtype.
type pair struct {
	a, b   string
	equal  bool // bitwise, in every output of every case
	ulp    *record.Float
	output string // in which the two lie furthest apart
}

// apart writes a line for each dtype: which implementations are bitwise equal, and which two lie furthest
// apart. Those with a bad record are left out: how far a wrong implementation lies from a right one says
// nothing about either.
func apart(w io.Writer, style Style, lines []group, differences []record.Difference) error {
	wrong := map[[2]string]bool{}
	for _, g := range lines {
		_, _, bad := g.counts()
		wrong[[2]string{g.impl, g.dtype}] = bad > 0
	}
	byDType := map[string][]record.Difference{}
	var dtypes []string
	for _, d := range differences {
		if d.Op != lines[0].op || d.Pass != lines[0].pass || d.N == 0 || wrong[[2]string{d.A, d.DType}] ||
			wrong[[2]string{d.B, d.DType}] {
			continue
		}
		if byDType[d.DType] == nil {
			dtypes = append(dtypes, d.DType)
		}
		byDType[d.DType] = append(byDType[d.DType], d)
	}
	if len(dtypes) == 0 {
		return nil
	}
	slices.SortStableFunc(dtypes, func(a, b string) int { return dtypeRank(a) - dtypeRank(b) })
	var rows [][]string
	for _, dtype := range dtypes {
		pairs := pairsOf(byDType[dtype])
		furthest := pairs[0]
		for _, p := range pairs {
			if first := least(furthest.ulp, p.ulp,
				func(a, b record.Float) bool { return a > b }); first != furthest.ulp {
				furthest = p
			}
		}
		words := "no two differ"
		if !furthest.equal && furthest.ulp != nil {
			words = fmt.Sprintf("%s ulp: %s and %s (%s)", figure(furthest.ulp), furthest.a, furthest.b,
				furthest.output)
		}
		rows = append(rows, []string{dtype, words, equalGroups(pairs)})
	}
	if err := write(w, "\n"); err != nil {
		return err
	}
	return style.Table(w, "  ", columns("among themselves", "furthest apart", "bitwise equal"), rows)
}

// pairsOf merges the differences of each pair over outputs and cases, in the order in which the pairs first
// occur.
func pairsOf(differences []record.Difference) []pair {
	index := map[[2]string]int{}
	var pairs []pair
	for _, d := range differences {
		key := [2]string{d.A, d.B}
		i, known := index[key]
		if !known {
			i = len(pairs)
			index[key] = i
			pairs = append(pairs, pair{a: d.A, b: d.B, equal: true})
		}
		p := &pairs[i]
		p.equal = p.equal && d.Bitwise
		if first := least(p.ulp, d.ULPMax, func(a, b record.Float) bool { return a > b }); first != p.ulp {
			p.ulp, p.output = first, d.Output
		}
	}
	return pairs
}

// equalGroups lists sets of implementations that are pairwise bitwise equal in all cases that both ran:
// "cuda/naive = cuda/warp; triton/row = triton/online". One that ran few cases can be equal to two that
// differ: it stands with the first.
func equalGroups(pairs []pair) string {
	equal := map[[2]string]bool{}
	var names []string
	for _, p := range pairs {
		equal[[2]string{p.a, p.b}], equal[[2]string{p.b, p.a}] = p.equal, p.equal
		for _, name := range []string{p.a, p.b} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var sets [][]string
	for _, name := range names {
		i := slices.IndexFunc(sets, func(set []string) bool {
			return !slices.ContainsFunc(set,
				func(other string) bool { return !equal[[2]string{name, other}] })
		})
		if i < 0 {
			sets = append(sets, nil)
			i = len(sets) - 1
		}
		sets[i] = append(sets[i], name)
	}
	var words []string
	for _, set := range sets {
		if len(set) > 1 {
			words = append(words, strings.Join(set, " = "))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, "; ")
}

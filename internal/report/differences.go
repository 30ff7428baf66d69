package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"triad/internal/record"
)

// pair is what all differences of two implementations in a dtype come to.
type pair struct {
	a, b   string
	equal  bool // bitwise, in every output of every case
	ulp    *record.Float
	output string // in which they lie furthest apart
}

// apart writes a line for each dtype: who is bitwise equal to whom, and which two lie furthest apart.
func apart(w io.Writer, style Style, of group, differences []record.Difference) error {
	byDType := map[string][]record.Difference{}
	var dtypes []string
	for _, d := range differences {
		if d.Op != of.op || d.Pass != of.pass || d.N == 0 {
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
			if first := least(furthest.ulp, p.ulp, func(a, b record.Float) bool { return a > b }); first != furthest.ulp {
				furthest = p
			}
		}
		words := ""
		if !furthest.equal && furthest.ulp != nil {
			words = fmt.Sprintf("%s ulp: %s and %s (%s)", figure(furthest.ulp), furthest.a, furthest.b, furthest.output)
		}
		rows = append(rows, []string{dtype, words, equalGroups(pairs)})
	}
	if err := write(w, "\n"); err != nil {
		return err
	}
	return style.Table(w, "  ", columns("among themselves", "furthest apart", "bitwise equal"), rows)
}

// pairsOf joins the differences of each pair over outputs and cases, in the order in which the pairs first occur.
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

// equalGroups names the sets of implementations that are bitwise equal to each other: "cuda/naive = cuda/warp; triton/row = triton/online".
func equalGroups(pairs []pair) string {
	var sets [][]string
	find := func(name string) int {
		return slices.IndexFunc(sets, func(set []string) bool { return slices.Contains(set, name) })
	}
	for _, p := range pairs {
		if !p.equal {
			continue
		}
		switch i, j := find(p.a), find(p.b); {
		case i < 0 && j < 0:
			sets = append(sets, []string{p.a, p.b})
		case i < 0:
			sets[j] = append(sets[j], p.a)
		case j < 0:
			sets[i] = append(sets[i], p.b)
		case i != j:
			sets[i] = append(sets[i], sets[j]...)
			sets = slices.Delete(sets, j, j+1)
		}
	}
	words := make([]string, len(sets))
	for i, set := range sets {
		words[i] = strings.Join(set, " = ")
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, "; ")
}

package op

import (
	"slices"
	"testing"
)

// TestLongRows: a distribution that needs long rows is judged on the marked shape with the longest, and no
// other case of a plan changes with it.
func TestLongRows(t *testing.T) {
	name := longRows[0]
	with, without := softmaxSpec(t), softmaxSpec(t)
	for _, list := range []*[]string{&without.Check.Distributions, &without.Check.Quick} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(n string) bool { return n == name })
	}
	longest := int64(0)
	for _, x := range with.shapes {
		if x.all {
			longest = max(longest, x.dims["cols"])
		}
	}
	for _, level := range []Level{LevelQuick, LevelDefault, LevelFull} {
		for _, pass := range []Pass{Forward, Backward} {
			plan := func(s *Spec) (others []string, lengths []int64) {
				p, err := s.Expand(Options{Level: level, Passes: []Pass{pass}})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range p.Cases {
					if c.Distribution == name {
						lengths = append(lengths, c.Dims.Get("cols"))
					} else {
						others = append(others, c.Key())
					}
				}
				return others, lengths
			}
			others, lengths := plan(with)
			before, none := plan(without)
			if !slices.Equal(others, before) || len(none) > 0 {
				t.Errorf("%v %v: other cases than without %s", level, pass, name)
			}
			want := !(level == LevelQuick && pass == Backward)
			elsewhere := func(n int64) bool { return level != LevelFull && n != longest }
			if (len(lengths) > 0) != want || slices.ContainsFunc(lengths, elsewhere) {
				t.Errorf("%v %v: rows of %v under %s, want %d", level, pass, lengths, name, longest)
			}
		}
	}
}

package params

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/match"
)

// search looks for the assignment of parameters whose names fit best.
type search struct {
	b       *binding.Binding
	choices [][]binding.Candidate
	current []binding.Candidate
	best    []binding.Candidate
	score   int
	ties    [][]binding.Candidate
	rest    []int // what the parameters from an index on could add to the score
	steps   int
}

// maxSteps bounds the search through a signature that no real kernel has.
const maxSteps = 1 << 17

// byName chooses the assignment of all parameters that fits their names best; a parameter whose name fits
// nothing stays open. If several assignments fit equally well, the first is taken, and their differences are
// noted.
func byName(b *binding.Binding, choices [][]binding.Candidate) []binding.Candidate {
	for i, list := range choices { // a few best candidates suffice, and keep the search small
		list = slices.DeleteFunc(slices.Clone(list), func(c binding.Candidate) bool { return c.Score == 0 })
		slices.SortStableFunc(list, func(a, b binding.Candidate) int { return cmp.Compare(b.Score, a.Score) })
		choices[i] = list[:min(len(list), 4+len(b.Rows))]
	}
	s := &search{
		b: b, choices: choices, current: make([]binding.Candidate, len(choices)), score: -1 << 30,
		rest: make([]int, len(choices)+1),
	}
	s.rest[len(choices)] = extents.RowScore * (len(b.Rows) + len(b.Squared) + len(b.Vectors))
	for i := len(choices) - 1; i >= 0; i-- {
		s.rest[i] = s.rest[i+1]
		if len(choices[i]) > 0 {
			s.rest[i] += choices[i][0].Score
		}
	}
	s.step(0, 0)
	for _, tie := range s.ties {
		for i := range tie {
			if tie[i].Target != s.best[i].Target {
				b.Open[b.Function.Params[i].Name] = true
			}
		}
	}
	return s.best
}

func (s *search) step(i, sum int) {
	if s.steps++; s.steps > maxSteps && s.best != nil || sum+s.rest[i] < s.score {
		return
	}
	if i == len(s.choices) {
		sum += extents.ScoreOfRows(s.b, s.current) - 1000*s.uncovered()
		switch {
		case sum > s.score:
			s.score, s.best, s.ties = sum, slices.Clone(s.current), nil
		case sum == s.score:
			s.ties = append(s.ties, slices.Clone(s.current))
		}
		return
	}
	for _, c := range s.choices[i] {
		if c.Role == binding.Stream || !s.taken(i, c) {
			s.current[i] = c
			s.step(i+1, sum+c.Score)
		}
	}
	if len(s.choices[i]) == 0 || s.choices[i][0].Score < 1000 {
		s.current[i] = binding.Candidate{}
		s.step(i+1, sum)
	}
}

// taken reports whether an earlier parameter stands for the same thing or for a part of it.
func (s *search) taken(i int, c binding.Candidate) bool {
	for _, other := range s.current[:i] {
		said := c.Score >= 1000 || other.Score >= 1000 // by --map: two parameters may stand for one size
		if other.Role != c.Role || c.Role == binding.Size && said {
			continue
		}
		if other.Target == c.Target {
			return true
		}
		product := strings.Contains(c.Target, "*") || strings.Contains(other.Target, "*")
		if c.Role == binding.Size && !product &&
			(strings.Contains(c.Target, "=") || strings.Contains(other.Target, "=")) {
			for _, d := range binding.DimsOf(c.Target) {
				if slices.Contains(binding.DimsOf(other.Target), d) {
					return true
				}
			}
		}
	}
	return false
}

// uncovered counts the dims that nothing gives yet. A product suffices if none of its factors is needed
// alone: the elements of an elementwise operator.
func (s *search) uncovered() int {
	n := 0
	if s.b.Function.ShowsSizes() && !s.b.TakesSizes() { // its tensors carry the sizes; none may be missing
		for _, t := range s.b.InputSpecs {
			has := func(c binding.Candidate) bool { return c.Role == binding.Input && c.Target == t.Name }
			if s.b.Pass == op.Forward && s.b.SwitchOf(t) == "" && !slices.ContainsFunc(s.current, has) {
				n++
			}
		}
		return n
	}
	n += s.instead()
	for name, known := range s.b.Covered {
		gives := func(c binding.Candidate) bool {
			return c.Role == binding.Size && slices.Contains(binding.DimsOf(c.Target), name)
		}
		if !known && !slices.ContainsFunc(s.current, gives) {
			n++
		}
	}
	return n
}

// instead counts the inputs that every call takes and no parameter stands for, if a parameter stands for an
// input that only a switch adds: for B, which may be either, a filter is preferred to a bias.
func (s *search) instead() int {
	stands := func(t op.TensorSpec) bool {
		return slices.ContainsFunc(s.current, func(c binding.Candidate) bool {
			return c.Role == binding.Input && c.Target == t.Name
		})
	}
	missing, added := 0, false
	for _, t := range s.b.InputSpecs {
		switch {
		case s.b.SwitchOf(t) != "":
			added = added || stands(t)
		case !stands(t):
			missing++
		}
	}
	if !added {
		return 0
	}
	return missing
}

// preset returns the default of a parameter, without blanks; "" if it has none.
func preset(p cfacts.Param) string {
	_, value, _ := strings.Cut(p.Text, "=")
	return strings.Join(strings.Fields(value), "")
}

// countsFromEnd reports whether the default of a parameter is negative, as that of an axis.
func countsFromEnd(p cfacts.Param) bool {
	n, err := strconv.Atoi(preset(p))
	return err == nil && n < 0
}

// isOptionalMask reports whether a parameter is a mask, which is a tensor: its default is None.
func isOptionalMask(p cfacts.Param) bool {
	return strings.Contains(strings.ToLower(p.Name), "mask") && preset(p) == "None"
}

// gridNames lists common names for the number of blocks in a grid.
var gridNames = []string{
	"grid", "grid_dim", "grid_size", "gridsize", "blocks", "num_blocks", "nblocks", "n_blocks",
	"blocks_per_grid", "user_grid_size",
}

// countsBlocks reports whether a parameter is, by its name, the number of blocks in a grid.
func countsBlocks(p cfacts.Param) bool { return slices.Contains(gridNames, match.Snake(p.Name)) }

// sizesBothSides reports whether the lines use a number twice, as the sides of a block: "dim3 block(n, n)",
// "n * n".
func sizesBothSides(b *binding.Binding, p cfacts.Param) bool {
	return adapters.SpeaksOf(b, func(t []cfacts.Token) bool {
		ends := len(t) > 3 && strings.Contains(",)}", t[3].Text) // not the shared memory of so many threads
		return t[0].Text == p.Name && t[2].Text == p.Name && (t[1].Text == "," && ends || t[1].Text == "*")
	})
}

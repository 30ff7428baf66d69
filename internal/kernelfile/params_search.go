package kernelfile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/indexing"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// search looks for the assignment of parameters whose names fit best.
type search struct {
	b       *Binding
	choices [][]candidate
	current []candidate
	best    []candidate
	score   int
	ties    [][]candidate
	rest    []int // what the parameters from an index on could add to the score
	steps   int
}

// maxSteps bounds the search through a signature that no real kernel has.
const maxSteps = 1 << 17

// byName chooses the assignment of all parameters that fits their names best; a parameter whose name fits
// nothing stays open. If several assignments fit equally well, the first is taken, and their differences are
// noted.
func (b *Binding) byName(choices [][]candidate) []candidate {
	for i, list := range choices { // a few best candidates suffice, and keep the search small
		list = slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return c.score == 0 })
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
		choices[i] = list[:min(len(list), 4+len(b.rows))]
	}
	s := &search{
		b: b, choices: choices, current: make([]candidate, len(choices)), score: -1 << 30,
		rest: make([]int, len(choices)+1),
	}
	s.rest[len(choices)] = scoreRows * (len(b.rows) + len(b.squared) + len(b.vectors))
	for i := len(choices) - 1; i >= 0; i-- {
		s.rest[i] = s.rest[i+1]
		if len(choices[i]) > 0 {
			s.rest[i] += choices[i][0].score
		}
	}
	s.step(0, 0)
	for _, tie := range s.ties {
		for i := range tie {
			if tie[i].target != s.best[i].target {
				b.open[b.Function.Params[i].Name] = true
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
		sum += s.b.scoreRows(s.current) - 1000*s.uncovered()
		switch {
		case sum > s.score:
			s.score, s.best, s.ties = sum, slices.Clone(s.current), nil
		case sum == s.score:
			s.ties = append(s.ties, slices.Clone(s.current))
		}
		return
	}
	for _, c := range s.choices[i] {
		if c.role == Stream || !s.taken(i, c) {
			s.current[i] = c
			s.step(i+1, sum+c.score)
		}
	}
	if len(s.choices[i]) == 0 || s.choices[i][0].score < 1000 {
		s.current[i] = candidate{}
		s.step(i+1, sum)
	}
}

// taken reports whether an earlier parameter stands for the same thing or for a part of it.
func (s *search) taken(i int, c candidate) bool {
	for _, other := range s.current[:i] {
		said := c.score >= 1000 || other.score >= 1000 // by --map: two parameters may stand for one size
		if other.role != c.role || c.role == Size && said {
			continue
		}
		if other.target == c.target {
			return true
		}
		product := strings.Contains(c.target, "*") || strings.Contains(other.target, "*")
		if c.role == Size && !product &&
			(strings.Contains(c.target, "=") || strings.Contains(other.target, "=")) {
			for _, d := range dimsOf(c.target) {
				if slices.Contains(dimsOf(other.target), d) {
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
	if s.b.Function.ShowsSizes() && !s.b.takesSizes() { // its tensors carry the sizes; none may be missing
		for _, t := range s.b.inputs {
			has := func(c candidate) bool { return c.role == Input && c.target == t.Name }
			if s.b.Pass == op.Forward && s.b.switchOf(t) == "" && !slices.ContainsFunc(s.current, has) {
				n++
			}
		}
		return n
	}
	n += s.instead()
	for name, known := range s.b.covered {
		gives := func(c candidate) bool { return c.role == Size && slices.Contains(dimsOf(c.target), name) }
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
		return slices.ContainsFunc(s.current, func(c candidate) bool {
			return c.role == Input && c.target == t.Name
		})
	}
	missing, added := 0, false
	for _, t := range s.b.inputs {
		switch {
		case s.b.switchOf(t) != "":
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

// presetAxis matches a parameter whose default is a negative number, as an axis counted from the last.
var presetAxis = regexp.MustCompile(`=\s*-\s*\d+\s*$`)

// presetMask matches a Python parameter for a mask, which is a tensor: its default is None.
var presetMask = regexp.MustCompile(`(?i)^\w*mask\w*\s*(?::[^=]*)?=\s*None$`)

// onlyRead reports whether a kernel reads what a pointer points to and writes at least as many others as
// there are outputs, or a function of library operations returns its result and leaves the parameter alone:
// then it is no output, whatever its name. A pointer that is passed on may be written there.
func (b *Binding) onlyRead(p cfacts.Param) bool {
	if b.UsesNothingOfItsFile() {
		said, whole := b.Function.FactsOf(p.Name), b.Function.Parsed()
		filled := func(h pyfacts.Handed) bool { return h.Name == "out" }
		return whole.Gives && !said.Changed && !said.Renamed && !slices.Contains(whole.GivesBack, p.Name) &&
			!slices.ContainsFunc(said.Handed, filled)
	}
	written := len(those(b.Function.Params, isWritten))
	return b.Function.Kind == cfacts.Kernel && indexing.OnlyRead(b.Function.Body, p.Name) &&
		(written >= len(b.outputs) || slices.ContainsFunc(b.Function.Params, b.writtenAlone))
}

func isWritten(p cfacts.Param) bool { return p.Pointer && p.Writing.Any() }

// writtenAlone reports whether a pointer is the only one that the lines of a CUDA function write, and each
// other one is only read: it is the output, if there is one.
func (b *Binding) writtenAlone(p cfacts.Param) bool {
	others := func(o cfacts.Param) bool {
		return o.Pointer && o.Name != p.Name && (o.Writing.Any() || b.Function.Kind == cfacts.Kernel &&
			!o.Const && !indexing.OnlyRead(b.Function.Body, o.Name))
	}
	return isWritten(p) && !b.Function.ReturnsTensors && !p.Reread && !p.Added && len(b.required()) == 1 &&
		!slices.ContainsFunc(b.Function.Params, others) && (b.Function.Kind == cfacts.Kernel ||
		b.Function.Kind == cfacts.Host && len(b.file.HostArrays(b.Function)) > 0)
}

// blockNames lists common names for the number of threads in a block.
var blockNames = []string{
	"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads",
	"block_dim", "tpb", "threads_per_block",
}

// countsThreads reports whether a parameter is, by its name, the number of threads in a block.
func countsThreads(p cfacts.Param) bool {
	return p.IsInteger() && slices.Contains(blockNames, match.Snake(p.Name))
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
func (b *Binding) sizesBothSides(p cfacts.Param) bool {
	return b.speaksOf(func(t []cfacts.Token) bool {
		return t[0].Text == p.Name && t[2].Text == p.Name && (t[1].Text == "," || t[1].Text == "*")
	})
}

// scoreOutput returns how well a name that says that it is an output fits an output: output_lse.
func (b *Binding) scoreOutput(p cfacts.Param, target string) int {
	for _, prefix := range []string{"output_", "out_", "o_"} {
		if rest, ok := strings.CutPrefix(match.Snake(p.Name), prefix); ok {
			return match.Score(b.Spec, b.Pass, rest, target)
		}
	}
	return 0
}

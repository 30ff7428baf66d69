package shrink

import (
	"maps"
	"math/bits"
	"slices"

	"triad/internal/advice"
	"triad/internal/op"
)

// askNeighbours tests whether the function is right on ordinary numbers, on squares, at multiples of a block,
// up to a size. at holds the sizes of the smallest case, lastRight the largest right values below them.
func (s *Search) askNeighbours(f *advice.Facts, at, lastRight Sizes) {
	if f.Distribution != ordinaryNumbers {
		r := s.judgeOn(ordinaryNumbers, at)
		f.OrdinaryPasses = r != nil && r.Status.Weight() != op.Bad && r.Status != op.StatusUnsupported
	}
	if f.OrdinaryPasses || f.Otherwise != "" {
		return // the numbers are to blame, or an assumption, not the sizes
	}
	if s.findIgnored(f, at); f.Ignored != "" {
		return
	}
	if s.findTransposed(f, at); f.Transposed[0] != "" {
		return
	}
	if s.findSquare(f, at); f.Square[0] != "" {
		return
	}
	larger := s.larger(at)
	for _, from := range []Sizes{at, larger} {
		if f.Tried.Size == "" && from != nil {
			s.findMultiple(f, from)
		}
		if f.Tried.Size == "" && from != nil {
			s.findPowersOfTwo(f, from)
		}
	}
	for _, name := range slices.Backward(s.sizes) {
		if f.Tried.Size == "" && len(s.Masks) > 0 {
			s.findFullBlock(f, at, name)
		}
	}
	for _, name := range slices.Backward(s.sizes) {
		if f.Tried.Size == "" {
			s.findLimit(f, at, name, lastRight[name])
		}
	}
	if arePowersOfTwo(f.Tried) { // the time was too short for larger values
		f.PowersOfTwo, f.UpTo = true, false
	}
}

// arePowersOfTwo reports whether of eight or more tested values those that are powers of two are right and
// the others wrong, even ones among them.
func arePowersOfTwo(t advice.Tried) bool {
	isPower := func(n int64) bool { return n&(n-1) == 0 }
	return len(t.Right) >= 4 && len(t.Wrong) >= 4 && !slices.ContainsFunc(t.Wrong, isPower) &&
		!slices.ContainsFunc(t.Right, func(n int64) bool { return !isPower(n) }) &&
		slices.ContainsFunc(t.Wrong, func(n int64) bool { return n%2 == 0 })
}

// findLimit tests whether the function is right up to a value of a size and wrong above it. Values above the
// smallest wrong one are run first: twice and four times that value, powers of two, and its neighbour. If one
// of them is right there is no limit, and the facts hold what was run.
func (s *Search) findLimit(f *advice.Facts, at Sizes, name string, right int64) {
	wrong, step := at[name], s.Spec.StepOf(name)
	if right < 2 || wrong != right+step || s.byChance(name, right) {
		return
	}
	if !s.is(op.Good, at, size(name, right)) { // it was right with other sizes, as those here show less
		if at = s.baseSizes(); !s.is(op.Good, at, size(name, right)) || !s.is(op.Bad, at, size(name, wrong)) {
			return
		}
	}
	power := int64(1) << bits.Len64(uint64(wrong-1)) // at least wrong
	above := []int64{wrong + step, 2 * wrong, 4 * wrong, power, 2 * power}
	f.UpTo, f.Last = true, right
	for _, value := range above {
		if value%step == 0 && s.is(op.Good, at, size(name, value)) {
			f.UpTo = false
		}
	}
	f.Tried = s.tried(at, name)
}

// findPowersOfTwo tests whether the function is right where a size is a power of two, and wrong elsewhere. It
// tests eight values, since some are right by chance if special numbers decide.
func (s *Search) findPowersOfTwo(f *advice.Facts, at Sizes) {
	for _, name := range slices.Backward(s.sizes) {
		is := func(want op.Weight, values ...int64) bool {
			return !slices.ContainsFunc(values, func(n int64) bool {
				return n%s.Spec.StepOf(name) != 0 || !s.is(want, at, size(name, n))
			})
		}
		if f.Tried.Size == "" && is(op.Good, 256, 64, 128, 512) && is(op.Bad, 192, 96, 320, 65) {
			f.PowersOfTwo, f.Tried = true, s.tried(at, name)
		}
	}
}

// findFullBlock tests whether a kernel that masks loads is right where a size fills the block and wrong where
// it is a little less. It does so at a single power of two, as the block is one.
func (s *Search) findFullBlock(f *advice.Facts, at Sizes, name string) {
	step := s.Spec.StepOf(name)
	for block := int64(4096); block >= 16; block /= 2 {
		if block%step == 0 && s.is(op.Good, at, size(name, block)) {
			if s.is(op.Bad, at, size(name, block-step)) && s.is(op.Bad, at, size(name, block/2)) {
				f.FullBlock, f.Tried = block, s.tried(at, name)
			}
			return
		}
	}
}

// tried lists the judged values of a size, the other sizes and the distribution being unchanged.
func (s *Search) tried(at Sizes, name string) advice.Tried {
	found := advice.Tried{Size: name}
	for _, k := range s.known {
		value := k.probe.Sizes[name]
		if k.record == nil || k.probe.Distribution != s.Suspect.Record.Case.Distribution ||
			!maps.Equal(k.probe.Sizes, s.with(at, size(name, value))) {
			continue
		}
		switch k.record.Status.Weight() {
		case op.Good:
			found.Right = append(found.Right, value)
		case op.Bad:
			found.Wrong = append(found.Wrong, value)
		}
	}
	slices.Sort(found.Right)
	slices.Sort(found.Wrong)
	return found
}

// byChance reports whether a size that is not a multiple of a warp is right only because the others are
// small, with data that happen to show nothing, such as a mask that is false: with the others at their
// initial or at larger values, it is wrong.
func (s *Search) byChance(name string, right int64) bool {
	const warp = 32
	return right%warp != 0 && (s.is(op.Bad, s.baseSizes(), size(name, right)) ||
		s.is(op.Bad, s.roomySizes(), size(name, right)))
}

// findIgnored tests whether the function is right if no target is ignored, on the smallest case and on a
// larger one.
func (s *Search) findIgnored(f *advice.Facts, at Sizes) {
	inputs, _ := s.Spec.Tensors(s.Suspect.Record.Case.Pass)
	for _, t := range inputs {
		fill, err := op.ParseFill(t.Fill)
		if err != nil || fill.Ignoring == "" || f.Distribution == op.NoneIgnored {
			continue
		}
		right := func(at Sizes) bool {
			r := s.judgeOn(op.NoneIgnored, at)
			return r != nil && r.Status.Weight() != op.Bad
		}
		if right(at) && right(s.roomySizes()) {
			f.Ignored = fill.Ignoring + " = " + s.Suspect.Record.Case.Attrs.Text(fill.Ignoring)
		}
	}
}

// findSquare tests whether the function is right where two sizes are equal, and wrong where they differ.
func (s *Search) findSquare(f *advice.Facts, at Sizes) {
	const small, large = 24, 40
	for i, name := range s.sizes {
		for _, other := range s.sizes[i+1:] {
			if at[name] != at[other] && f.Square[0] == "" &&
				s.is(op.Good, at, size(name, small), size(other, small)) &&
				s.is(op.Good, at, size(name, large), size(other, large)) &&
				s.is(op.Bad, at, size(name, small), size(other, large)) {
				f.Square = [2]string{name, other}
			}
		}
	}
}

// findMultiple tests whether the function is right where a size is a multiple of a block and wrong next to
// it.
func (s *Search) findMultiple(f *advice.Facts, at Sizes) {
	for _, name := range slices.Backward(s.sizes) {
		block, step := int64(256), s.Spec.StepOf(name)
		if f.Multiple > 0 || !s.is(op.Good, at, size(name, block)) {
			continue
		}
		for block > 4 && block/2%step == 0 && s.is(op.Good, at, size(name, block/2)) {
			block /= 2
		}
		if s.is(op.Good, at, size(name, 3*block)) && s.is(op.Bad, at, size(name, 3*block-step)) &&
			s.is(op.Bad, at, size(name, 3*block+step)) && s.is(op.Good, at, size(name, 2*block)) &&
			s.is(op.Good, at, size(name, 5*block)) {
			f.Multiple, f.Tried = block, s.tried(at, name)
		}
	}
}

// larger returns sizes at which right can be told from wrong if the smallest case is too small for that: at
// least 5 each, which is not a multiple of a vector, or nil if no size changes or the function is not wrong
// there.
func (s *Search) larger(at Sizes) Sizes {
	var changes []op.Dim
	for _, name := range s.sizes {
		const enough = 5
		if step := s.Spec.StepOf(name); at[name] < enough/step*step {
			changes = append(changes, size(name, enough/step*step))
		}
	}
	if len(changes) == 0 || !s.is(op.Bad, at, changes...) {
		return nil
	}
	return s.with(at, changes...)
}

// findTransposed tests whether a matrix is read in column-major order: that shows exactly where both of its
// sizes are 2 or more, equal or not.
func (s *Search) findTransposed(f *advice.Facts, at Sizes) {
	rightOrNeutral := func(changes ...op.Dim) bool {
		return s.is(op.Good, at, changes...) || s.is(op.Neutral, at, changes...)
	}
	inputs, outputs := s.Spec.Tensors(s.Suspect.Record.Case.Pass)
	for _, t := range slices.Concat(inputs, outputs) {
		sizes, _ := t.Shape.([]any)
		if len(sizes) < 2 || f.Transposed[0] != "" {
			continue
		}
		row, _ := sizes[len(sizes)-2].(string)
		col, _ := sizes[len(sizes)-1].(string)
		changeable := slices.Contains(s.sizes, row) && slices.Contains(s.sizes, col) && row != col
		if !changeable || at[row] < 2 || at[col] < 2 {
			continue
		}
		if rightOrNeutral(size(row, 1), size(col, 5)) && rightOrNeutral(size(row, 5), size(col, 1)) &&
			s.is(op.Bad, at, size(row, 5), size(col, 5)) && s.is(op.Bad, at, size(row, 2), size(col, 2)) {
			f.Transposed, f.Matrix = [2]string{row, col}, t.Name
			if name := exchanged(s.judge(at, size(row, 5), size(col, 5))); name != "" {
				f.Matrix, f.Written = name, true
			}
		}
	}
}

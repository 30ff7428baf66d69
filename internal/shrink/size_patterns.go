package shrink

import (
	"slices"

	"triad/internal/advice"
	"triad/internal/op"
)

// askNeighbours asks whether the function is right on ordinary numbers, on squares, at multiples of a block,
// up to a size. at are the sizes of the smallest case, lastRight the largest right values below them.
func (s *Search) askNeighbours(f *advice.Facts, at, lastRight Sizes) {
	if f.Distribution != ordinaryNumbers {
		r := s.judgeOn(ordinaryNumbers, at)
		f.OrdinaryPasses = r != nil && r.Status.Weight() != op.Bad && r.Status != op.StatusUnsupported
	}
	if f.OrdinaryPasses || f.Otherwise != "" {
		return // the numbers are to blame, or what was assumed, not the sizes
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
	s.findMultiple(f, at)
	if larger := s.larger(at); f.Multiple == 0 && larger != nil {
		s.findMultiple(f, larger)
	}
	for _, name := range slices.Backward(s.sizes) {
		step := s.Spec.StepOf(name)
		if f.Multiple == 0 && f.UpTo == "" && lastRight[name] > 1 && at[name] == lastRight[name]+step &&
			!s.byChance(name, lastRight[name]) {
			f.UpTo, f.Last, f.Step = name, lastRight[name], step
		}
	}
}

// byChance says whether a size that is no multiple of a warp is right only because the others are small, with
// data that happen to show nothing, such as a mask that is false: with the others that the search began with,
// or with larger ones, it is wrong.
func (s *Search) byChance(name string, right int64) bool {
	const warp = 32
	return right%warp != 0 && (s.is(op.Bad, s.baseSizes(), size(name, right)) ||
		s.is(op.Bad, s.roomySizes(), size(name, right)))
}

// findIgnored asks whether the function is right where no target is ignored, on the smallest case and on a
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

// findSquare asks whether the function is right where two sizes are equal, and wrong where they differ.
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

// findMultiple asks whether the function is right where a size is a multiple of a block, and wrong beside it.
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
			f.Multiple, f.Of = block, name
		}
	}
}

// larger are sizes on which right can be told from wrong where the smallest case is too small for that: at
// least 5 each, which is no multiple of a vector; nil where no size changes or the function is not wrong
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

// findTransposed asks whether a matrix is taken column after column: that shows where both of its sizes are 2
// or more, equal or not, and nowhere else.
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

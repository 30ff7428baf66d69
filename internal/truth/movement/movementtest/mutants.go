// Package movementtest derives the kernels that an operator that moves elements is scored with: a right one,
// and the bugs of moving elements.
package movementtest

import (
	"math"
	"slices"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/movement"
	"triad/internal/truth/truthtest"
)

// Wrong is a bug of the operator's own: another map for the forward, or for the backward.
type Wrong struct {
	Name string
	Pass op.Pass
	From movement.Map
}

// tile is the edge of the tiles of an emulated kernel.
const tile = 32

// The bugs that do not depend on the map.
const (
	inPlace      = "copied, not moved"
	wrongStride  = "rows counted by another stride"
	nextIndex    = "one column too far"
	nextRow      = "one row too far"
	tail         = "tail not written"
	lastTile     = "last tile not written"
	lastTileZero = "last tile zero"
	signLost     = "the sign of zero lost"
	flushed      = "subnormals flushed"
	narrowed     = "through another 16-bit dtype"
	notFinite    = "infinities and NaN become 0"
)

// Suites returns the suites of the passes of an operator.
func Suites(name string, wrong ...Wrong) []truthtest.Suite {
	spec, err := catalog.Get(name)
	if err != nil {
		panic(err) // a test's own mistake
	}
	operator, _ := movement.Get(name)
	var all []truthtest.Suite
	for _, pass := range spec.Spec.Passes() {
		if operator.Copies != nil && pass == op.Backward {
			all = append(all, sums(name, operator))
			continue
		}
		f := &family{maps: map[string]movement.Map{}}
		f.input, f.from = operator.Of(pass)
		names := []string{
			nextIndex, tail, lastTile, lastTileZero, signLost, flushed, narrowed, notFinite,
		}
		stays, rank := f.staysPut(spec.Spec, pass)
		if !stays {
			names = append(names, inPlace)
		}
		if rank > 1 {
			names = append(names, wrongStride, nextRow) // one dim has no rows
		}
		for _, w := range wrong {
			if w.Pass == pass {
				f.maps[w.Name] = w.From
				names = append(names, w.Name)
			}
		}
		s := truthtest.Suite{Op: name, Pass: pass, Right: []truthtest.Arithmetic{{}}, Kernel: f.kernel}
		for _, n := range names {
			s.Mutants.Add(f.equivalent(n), n)
		}
		all = append(all, s)
	}
	return all
}

// staysPut reports whether every element of a small case keeps its place, and returns the rank of its output.
func (f *family) staysPut(spec *op.Spec, pass op.Pass) (stays bool, rank int) {
	sizes := map[string]int64{}
	for i, d := range spec.Dims {
		sizes[d.Name] = int64(3 + 2*i)
	}
	c, err := spec.NewCase(op.Case{Pass: pass, DType: spec.DTypes[0]}, sizes, nil)
	if err != nil {
		panic(err) // a test's own mistake
	}
	outputs, err := spec.Outputs(c)
	if err != nil {
		panic(err)
	}
	shape := outputs[0].Shape
	place := make([]int64, len(shape))
	for i := range outputs[0].Elements() {
		to := truth.IndexOf(i, shape)
		if f.from(c, to, place); !slices.Equal(place, to) {
			return false, len(shape)
		}
	}
	return true, len(shape)
}

// family scores one pass.
type family struct {
	input string
	from  movement.Map
	maps  map[string]movement.Map // the operator's own bugs
}

// equivalent returns why a dtype cannot show a bug.
func (f *family) equivalent(name string) func(g truthtest.Group) string {
	return func(g truthtest.Group) string {
		if d, err := op.ParseDType(g.Dtype); err == nil && !d.IsFloat() &&
			(name == signLost || name == flushed || name == narrowed || name == notFinite) {
			return "integers have neither subnormals nor NaN"
		}
		return ""
	}
}

// kernel emulates the pass: it reads every element and stores it elsewhere.
func (f *family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	in, out := p.In[f.input], p.Truth.Outputs[0]
	x, y := p.V[f.input], make([]float64, len(out.R))
	from := f.from
	if own := f.maps[a.Bug]; own != nil {
		from = own
	}
	place := make([]int64, len(in.Shape))
	for i := range y {
		from(p.Case, truth.IndexOf(int64(i), out.Shape), place)
		y[i] = value(a.Bug, p, x[source(a.Bug, int64(i), place, in.Shape)])
	}
	spoil(a.Bug, y, out.Shape)
	return [][]float64{y}
}

// source returns the row-major position that is read for an element of the output.
func source(bug string, i int64, place, shape []int64) int64 {
	n, last := int64(1), len(shape)-1
	for _, size := range shape {
		n *= size
	}
	switch bug {
	case inPlace:
		return i % n
	case wrongStride:
		return (truth.PositionOf(place, shape) + truth.PositionOf(place, shape)/shape[last]) % n
	case nextIndex:
		return min(truth.PositionOf(place, shape)+1, n-1)
	case nextRow:
		return (truth.PositionOf(place, shape) + shape[last]) % n
	}
	return truth.PositionOf(place, shape)
}

// value returns an element as a kernel with the bug moves it.
func value(bug string, p *truthtest.Prepared, v float64) float64 {
	d := p.Truth.Outputs[0].DType
	format, _ := tensor.FormatOf(d)
	switch {
	case bug == signLost:
		return v + 0
	case bug == notFinite && !truth.IsFinite(v):
		return 0
	case bug == flushed && math.Abs(v) < math.Ldexp(1, format.EMin):
		return math.Copysign(0, v)
	case bug == narrowed && d == op.BF16:
		return tensor.Round(op.FP16, v, false)
	case bug == narrowed:
		return tensor.Round(op.BF16, v, false)
	}
	return v
}

// spoil leaves out, or zeroes, the end of an output.
func spoil(bug string, y []float64, shape []int64) {
	if len(y) == 0 {
		return
	}
	cols := int(shape[len(shape)-1])
	rows := len(y) / cols
	switch bug {
	case tail:
		truthtest.LeaveTail(y, rows, cols)
	case lastTile, lastTileZero:
		for r := (rows - 1) / tile * tile; r < rows; r++ {
			for c := (cols - 1) / tile * tile; c < cols; c++ {
				y[r*cols+c] = 0
				if bug == lastTile {
					y[r*cols+c] = truthtest.Unwritten
				}
			}
		}
	}
}

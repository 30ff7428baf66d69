package formula

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// The errors of functions in fp32, in units of judge.U32 of their result: twice the error that CUDA documents
// for them in units in the last place, which the usual approximations of Triton and torch keep too
// (docs/judge.md).
const (
	expUnits = 4.0
	// for each unit of the argument's magnitude: e^x is computed as 2^(x*log2(e)), whose argument is rounded
	// twice
	expSlope  = 2.0
	erfUnits  = 4.0
	tanhUnits = 6.0
	divUnits  = 4.0 // an approximate quotient
)

// tanhIsOne is the argument from which every usual tanh is exactly 1: 1 - tanh(10) is a fourteenth of half an
// ulp.
const tanhIsOne = 10.0

// lowestBit is the largest loss of one operation below fp32's normal range: half of the smallest subnormal,
// and as much in what follows.
const lowestBit = 0x1p-149

// Rules are the rounding points of a computation.
type Rules struct {
	Output op.DType // the dtype of the stored result; its own rounding is no part of a bound
	// the dtype of stored intermediates, where the following say so; fp32 stores them unchanged
	Step      op.DType
	Marked    bool // Stored nodes are stored
	EveryStep bool // every node is stored, inputs and the result excepted; of constants a bound alone knows
}

// Bounds computes formulas of the same inputs with the same value: the first is the formula, the others are
// forms of it that a right kernel may use. A Bounds has its own working memory: each belongs to one core.
type Bounds struct {
	steps []step
	forms []int // places of the results
	rules Rules
	u     float64 // of a stored step
	half  float64 // of its smallest subnormal
	most  float64 // its largest number
}

// step is a node with its values for one element.
type step struct {
	*Node
	from  [4]int // places of the operands
	input int
	last  bool // a result, and nothing is made of it
	// the result is one correctly rounded operation on exact values: where it is fp32, or exact in fp32, only
	// the output's rounding remains
	once    bool
	wide    bool // fp32
	doubles bool
	stored  bool
	most    float64 // the largest number where the value is kept
	r, t, s float64
	size    float64 // no order of additions makes a larger number of it
}

// NewBounds prepares formulas of the named inputs.
func NewBounds(forms []*Node, inputs []string, rules Rules) (*Bounds, error) {
	if len(forms) == 0 {
		return nil, fmt.Errorf("prepare formulas: none is given")
	}
	b := &Bounds{rules: rules}
	if f, ok := tensor.FormatOf(rules.Step); ok && rules.Step != op.FP32 {
		b.u, b.half, b.most = f.U(), f.SmallestSubnormal()/2, f.Max
	}
	nodes := Operations(forms...)
	results := map[*Node]bool{}
	for _, f := range forms {
		if err := f.Check(inputs); err != nil {
			return nil, err
		}
		b.forms = append(b.forms, slices.Index(nodes, f))
		for _, n := range f.Results() {
			results[n] = true
		}
	}
	used := usedBy(nodes, results)
	for _, n := range nodes {
		s := step{Node: n, input: slices.Index(inputs, n.Name), last: results[n] && !used[n]}
		for k, operand := range n.Operands {
			s.from[k] = slices.Index(nodes, operand)
		}
		s.wide, s.doubles = rules.Output == op.FP32, n.doubles()
		s.once = s.last && rules.Output != op.DTypeUnknown &&
			(n.Kind == Add || n.Kind == Sub || n.Kind == Mul) &&
			n.Operands[0].exact() && n.Operands[1].exact()
		s.stored = b.u > 0 && !s.last && (n.Kind == Stored && rules.Marked || n.Kind != Input &&
			n.Kind != Neg && !n.Chooses() && rules.EveryStep)
		if s.most = math.MaxFloat32; s.stored {
			s.most = b.most
		}
		b.steps = append(b.steps, s)
	}
	return b, nil
}

// usedBy returns the nodes that are operands of others, except those that only a result chooses from.
func usedBy(nodes []*Node, results map[*Node]bool) map[*Node]bool {
	used := map[*Node]bool{}
	for _, n := range nodes {
		for i, operand := range n.Operands {
			if !(n.Chooses() && i >= 2 && results[n]) {
				used[operand] = true
			}
		}
	}
	return used
}

// chosen returns the step whose value one that chooses has.
func (b *Bounds) chosen(s *step) *step {
	return &b.steps[s.from[s.Chosen(b.steps[s.from[0]].r, b.steps[s.from[1]].r)]]
}

// Value returns the fp64 value of the first formula.
func (b *Bounds) Value(in []float64) float64 {
	last := b.forms[0]
	for i := range b.steps[:last+1] {
		s := &b.steps[i]
		if s.Chooses() {
			s.r = b.chosen(s).r
			continue
		}
		s.r = s.apply(in, b.steps[s.from[0]].r, b.steps[s.from[1]].r)
	}
	return b.steps[last].r
}

// Element returns, for the values of the inputs in the order of their names, the fp64 value r of the first
// formula; how far t fp32 and the rules may move the result of any of the formulas; and sim, the value of the
// first formula with the rules' rounding points.
func (b *Bounds) Element(in []float64) (r, t, sim float64) {
	for i := range b.steps {
		s := &b.steps[i]
		if s.Chooses() {
			from := b.chosen(s)
			s.r, s.t, s.s = from.r, from.t, from.s
			continue
		}
		x, y := &b.steps[s.from[0]], &b.steps[s.from[1]]
		s.r, s.s = s.apply(in, x.r, y.r), s.apply(in, x.s, y.s)
		s.t = b.settled(s, s.bound(x, y))
		if s.stored && s.Kind != Constant { // torch keeps numbers in fp32; t lets them be rounded
			s.s = tensor.Round(b.rules.Step, s.s, false)
		}
	}
	for _, at := range b.forms {
		t = max(t, b.steps[at].t)
	}
	first := b.steps[b.forms[0]]
	return first.r, t, first.s
}

// Whole reports whether fp32 represents every value that any of the forms takes for inputs of these
// magnitudes, in any order of evaluation: sums and products of integers, none of which can exceed 2^24.
func (b *Bounds) Whole(in []float64) bool {
	for i := range b.steps {
		s := &b.steps[i]
		x, y := b.steps[s.from[0]].size, b.steps[s.from[1]].size
		switch s.Kind {
		case Input:
			s.size = math.Abs(in[s.input])
		case Constant:
			s.size = math.Abs(s.Value)
		case Add, Sub:
			s.size = x + y
		case Mul:
			s.size = x * y
		case Neg, Stored:
			s.size = x
		case Above, AtMost:
			s.size = max(b.steps[s.from[2]].size, b.steps[s.from[3]].size)
		default:
			return false
		}
		if !(s.size <= 1<<24 && s.size == math.Trunc(s.size)) {
			return false
		}
	}
	return true
}

// apply returns the operation of a node in fp64.
func (s *step) apply(in []float64, x, y float64) float64 {
	switch s.Kind {
	case Input:
		return in[s.input]
	case Constant:
		return s.Value
	}
	return real64(s.Kind, x, y)
}

// real64 computes an operation in fp64.
func real64(k Kind, x, y float64) float64 {
	switch k {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case Neg:
		return -x
	case Exp:
		return math.Exp(x)
	case Erf:
		return math.Erf(x)
	case Tanh:
		return math.Tanh(x)
	case Stored:
		return x
	}
	return math.NaN()
}

// bound returns the largest error in fp32 of a node's value, given the bounds of its operands.
func (s *step) bound(x, y *step) float64 {
	switch s.Kind {
	case Constant:
		if inFP32(s.Value) {
			return 0
		}
		return judge.U32 * math.Abs(s.Value)
	case Add, Sub:
		if s.isExact() {
			return 0
		}
		// The rounding of a sum is at most either operand: an addend to a saturated value is lost, and no
		// more.
		return x.t + y.t + min(judge.U32*math.Abs(s.r), math.Abs(x.r)+x.t, math.Abs(y.r)+y.t)
	case Mul:
		t := product(x, y)
		if s.isExact() || s.r == 0 {
			return t
		}
		if !s.doubles {
			t += judge.U32 * math.Abs(s.r)
		}
		return t + lowestBit
	case Div:
		return quotient(x, y, s.r)
	case Neg, Stored:
		return x.t
	case Exp:
		t := moved(math.Exp, x, s.r) + rounding(expUnits+expSlope*math.Abs(x.r), s.r)
		if s.r < judge.Tiny { // fast forms flush
			t += s.r
		}
		return t
	case Erf:
		return moved(math.Erf, x, s.r) + rounding(erfUnits, s.r)
	case Tanh:
		if math.Abs(x.r)-x.t > tanhIsOne {
			// at least 1 - |tanh|; the factor covers the loss of fp64
			return (2 + 0x1p-40) * math.Exp(2*(x.t-math.Abs(x.r)))
		}
		return moved(math.Tanh, x, s.r) + rounding(tanhUnits, s.r)
	}
	return 0
}

// isExact reports whether only the output's rounding applies to a result. A number that a kernel may flush is
// not exact.
func (s *step) isExact() bool { return s.once && (s.wide || InFP32(s.r)) }

// InFP32 reports whether fp32 represents a number exactly and a kernel does not flush it.
func InFP32(x float64) bool { return inFP32(x) && (x == 0 || math.Abs(x) >= judge.Tiny) }

// product returns the error of a product from those of its factors. A factor that is exactly 0 leaves none,
// even of an infinite bound.
func product(x, y *step) float64 {
	return weighted(math.Abs(x.r), y.t) + weighted(math.Abs(y.r), x.t) + weighted(x.t, y.t)
}

func weighted(weight, t float64) float64 {
	if weight == 0 || t == 0 {
		return 0
	}
	return weight * t
}

// quotient returns the bound of r = x/y. A divisor beyond the range of its storage is infinity there, and the
// quotient 0; one that may or may not be beyond it (an infinite bound) is at least half its intended value.
func quotient(x, y *step, r float64) float64 {
	numerator, size := math.Abs(x.r)+x.t, math.Abs(y.r)
	if numerator == 0 {
		return 0
	}
	t := divUnits*judge.U32*math.Abs(r) + lowestBit
	switch {
	case size > y.most:
		return t + numerator/y.most
	case math.IsInf(y.t, 1):
		return t + math.Abs(r) + numerator/(size/2)
	case !(y.t < size):
		return math.Inf(1)
	}
	return t + (x.t+math.Abs(r)*y.t)/(size-y.t)
}

// rounding returns the error of a function that is accurate to so many units.
func rounding(units, r float64) float64 {
	if r == 0 {
		return 0
	}
	return units*judge.U32*math.Abs(r) + lowestBit
}

// moved returns how far the error of its argument moves the value r of an increasing function.
func moved(f func(float64) float64, x *step, r float64) float64 {
	if x.t == 0 || math.IsInf(x.r, 0) {
		return 0
	}
	return math.Max(math.Abs(f(x.r+x.t)-r), math.Abs(f(x.r-x.t)-r))
}

// settled settles a bound at the ends of fp32's range, and adds the loss where the rules store the node.
func (b *Bounds) settled(s *step, t float64) float64 {
	size := math.Abs(s.r)
	switch {
	case math.IsNaN(s.r) || math.IsInf(s.r, 0):
		return 0 // an infinity or a NaN is that, or wrong
	case math.IsNaN(t):
		return math.Inf(1)
	}
	if s.stored && s.r != 0 {
		t += b.u*(size+t) + b.half
	}
	if !s.last && size+t > s.most {
		return math.Inf(1) // it may be infinity where it is kept
	}
	return t
}

package catalog

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// A truthFunc computes R, T, TFP32 and Sim of every output of one pass of an operator, from the exact low-precision inputs.
type truthFunc func(k *call) ([]judge.Target, error)

// truth holds the two passes of an operator.
type truth struct {
	forward, backward truthFunc
	permits           []string // the contracts the mathematics below knows
	// byRows are the dims, the first of its large outputs, along which rows do not depend on each other: their truth can be computed row by row
	// (see TruthByRows). nil: it has none. from makes a case of later rows where that is more than other sizes.
	byRows []string
	from   func(c op.Case, row int64) op.Case
}

// truths is filled by the operators' files, one declaration each: var _ = register("softmax", truth{...}).
var truths = map[string]truth{}

func register(name string, t truth) struct{} {
	truths[name] = t
	return struct{}{}
}

// Sample asks for some rows of every output instead of all (an output seen as [rows, last dim]): the first, the last TailRows and Rows
// more, drawn from Seed. Large cases are judged this way.
type Sample struct {
	Rows int64
	Seed uint64
}

// TailRows are the rows at the end of an output that a sample always holds: a whole tile, where ragged sizes go wrong.
const TailRows = 64

// choose gives the rows of n to look at, rising; nil for all of them.
func (s *Sample) choose(n int64) []int64 {
	if s == nil || n <= TailRows+s.Rows+1 {
		return nil
	}
	chosen := map[int64]bool{0: true}
	for i := n - TailRows; i < n; i++ {
		chosen[i] = true
	}
	for i := range uint64(s.Rows) {
		z := s.Seed + (i+1)*0x9E3779B97F4A7C15 // splitmix64 (Steele, Lea, Flood 2014)
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		chosen[int64((z^z>>31)%uint64(n))] = true
	}
	rows := make([]int64, 0, len(chosen))
	for r := range chosen {
		rows = append(rows, r)
	}
	slices.Sort(rows)
	return rows
}

// within is choose for seq rows in each of some heads, from most of these alone: the last, and others that the seed says.
func (s *Sample) within(heads, seq, most int64) []int64 {
	first := int64(s.Seed % uint64(heads))
	chosen := []int64{heads - 1}
	for i := range most - 1 {
		chosen = union(chosen, []int64{(first + i) % heads})
	}
	among := s.choose(int64(len(chosen)) * seq)
	if among == nil {
		among = rest(nil, int64(len(chosen))*seq)
	}
	for i, r := range among {
		among[i] = chosen[r/seq]*seq + r%seq
	}
	return among
}

// below are the numbers of a rising list that lie below a limit.
func below(rising []int64, limit int64) []int64 {
	n, _ := slices.BinarySearch(rising, limit)
	return rising[:n]
}

// TruthOf computes the truth of a case under a contract. The inputs are found by name. For a forward they are the operator's inputs; for a
// backward with driver-made saved tensors, and for one whose operator saves nothing, the spec's [backward] inputs; for a chained backward
// (c.Saved == "own") the operator's inputs and the upstream gradients. sample nil: every element.
func TruthOf(c op.Case, contract string, in []tensor.Tensor, sample *Sample) (judge.Truth, error) {
	return truthOf(call{Case: c, in: in, sample: sample}, contract)
}

// truthOf is TruthOf of a call, whose rules are those of the contract.
func truthOf(asked call, contract string) (judge.Truth, error) {
	c, k := asked.Case, &asked
	t, ok := truths[c.Op]
	if !ok {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: the operator has none in fp64", c.Op)
	}
	o, err := Get(c.Op)
	if err != nil {
		return judge.Truth{}, err
	}
	rules, err := ContractNamed(contract)
	if err != nil {
		return judge.Truth{}, err
	}
	if !slices.Contains(t.permits, contract) {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: contract %s is not permitted: want one of %v", c.Op, contract, t.permits)
	}
	compute := t.forward
	if c.Pass == op.Backward {
		compute = t.backward
	}
	if compute == nil || c.Pass == op.PassUnknown {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: it has no pass %v", c.Op, c.Pass)
	}
	k.spec, k.rules = o.Spec, rules
	for _, x := range k.in {
		if err := x.Check(); err != nil {
			return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
		}
	}
	targets, err := compute(k)
	if err != nil {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
	}
	for i := range targets {
		if err := k.finish(&targets[i]); err != nil {
			return judge.Truth{}, err
		}
	}
	return judge.Truth{Contract: contract, Outputs: targets}, nil
}

// call is one case under one contract with its inputs.
type call struct {
	op.Case
	spec   *op.Spec
	rules  Contract
	in     []tensor.Tensor
	sample *Sample

	simOnly bool // R and T are not asked for, where the simulated contract alone is much cheaper
	byRows  bool // what has rows of its own is computed when it is judged
}

// chained says whether the backward starts from the operator's inputs instead of saved tensors.
func (k *call) chained() bool { return k.Pass == op.Backward && k.Saved == "own" }

// growth is how rounding errors grow in a sum of n terms, in roundoffs: judge.G, whose square root counts on errors that are independent. Equal
// terms are all rounded the same way as the sum passes through a binade (one after the other, 4099 of them lose up to 0.2*n roundoffs on
// average), so where rows repeat one value, as 99 of 100 do in sparse data, it is the worst case, n.
func (k *call) growth(n int64) float64 {
	switch k.Distribution {
	case "constant", "ties", "sparse":
		return math.Max(judge.G(n), float64(n)+4)
	}
	return judge.G(n)
}

// independent says whether the values of the case are many independent ones, so that the root mean square of their rounding errors is a
// statistic: rows of one value, outliers and selected extremes have a few rounding errors that decide, which may happen to be small. So do rows whose
// logits are products of two tensors that are not plainly normal (check.logits of the spec): one key has nearly all the weight. docs/judge.md
// has the measurement.
func (k *call) independent() bool {
	switch k.Distribution {
	case "scaled", "shifted", "late_max", "row_offsets":
		if len(k.spec.Check.Logits) > 0 {
			return false
		}
		fallthrough
	case "normal":
		return k.Upstream == "" || k.Upstream == "normal"
	}
	return false
}

// tensor gives the input called name.
func (k *call) tensor(name string) (tensor.Tensor, error) {
	for _, t := range k.in {
		if t.Name == name {
			return t, nil
		}
	}
	return tensor.Tensor{}, fmt.Errorf("input %q is missing", name)
}

// values gives several inputs in fp64, row-major, in the order of names.
func (k *call) values(names ...string) ([][]float64, error) {
	out := make([][]float64, len(names))
	for i, name := range names {
		t, err := k.tensor(name)
		if err != nil {
			return nil, err
		}
		out[i] = t.Float64s()
	}
	return out, nil
}

// target makes an output of zeros for the chosen rows of a shape (nil: all of them).
func (k *call) target(name string, d op.DType, shape, rows []int64) judge.Target {
	t := k.targetInFP32(name, d, shape, rows)
	t.TFP32 = make([]float64, len(t.R))
	return t
}

// targetInFP32 is target for an output before which nothing is stored low under any contract: TFP32 is T.
func (k *call) targetInFP32(name string, d op.DType, shape, rows []int64) judge.Target {
	t := k.described(name, d, shape)
	n := t.Elements()
	if rows != nil {
		cols := shape[len(shape)-1]
		n = int64(len(rows)) * cols
		t.Index = make([]int64, 0, n)
		for _, r := range rows {
			for c := range cols {
				t.Index = append(t.Index, r*cols+c)
			}
		}
	}
	t.R, t.T, t.Sim = make([]float64, n), make([]float64, n), make([]float64, n)
	t.TFP32 = t.T
	return t
}

// described is an output without its truth.
func (k *call) described(name string, d op.DType, shape []int64) judge.Target {
	t := judge.Target{Name: name, DType: d, Shape: slices.Clone(shape), Saturate: k.rules.Saturate, Independent: k.independent()}
	t.FTZ = k.rules.FlushToZero && (d == op.FP32 || d == op.BF16)
	return t
}

// exactly makes an output one whose every partial sum is exactly representable: nothing but R itself is accepted.
func exactly(t judge.Target) judge.Target {
	t.Exact = true
	clear(t.T)
	clear(t.TFP32)
	return t
}

// finish gives T its meaning where R is not finite (none), and refuses a truth that could not judge: NaN or infinity in R that the case
// does not declare, a T that is not finite.
func (k *call) finish(t *judge.Target) error {
	if t.Rows != nil {
		k.finishRows(t)
		return nil
	}
	if len(t.T) != len(t.R) || len(t.TFP32) != len(t.R) {
		return fmt.Errorf("compute the truth of %s: %w", k.Op, t.Check())
	}
	declared := k.Distribution == "non_finite" || k.Distribution == "neg_inf_mask"
	output, _ := k.spec.Output(t.Name)
	unasked := parallel.First(len(t.R), func(first, end int) int {
		for i, r := range t.R[first:end] {
			if isFinite(r) {
				continue
			}
			if !declared && !(output.MayBeNegInf && math.IsInf(r, -1)) {
				return first + i
			}
			t.T[first+i], t.TFP32[first+i] = 0, 0
		}
		return -1
	})
	if unasked >= 0 {
		return fmt.Errorf("compute the truth of %s: %s is %v at element %d of distribution %q: such inputs are no test of this operator",
			k.Op, t.Name, t.R[unasked], unasked, k.Distribution)
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("compute the truth of %s: %w", k.Op, err)
	}
	if declared {
		return nil
	}
	if i := parallel.First(len(t.Sim), func(first, end int) int { return firstUnsimulated(t, first, end) }); i >= 0 {
		return fmt.Errorf("compute the truth of %s: element %d of %s: R = %v, T = %v, sim = %v: want a number, or an infinity that R within T rounds to",
			k.Op, i, t.Name, t.R[i], t.T[i], t.Sim[i])
	}
	return nil
}

// firstUnsimulated is the first element of a run whose simulated value is neither a number nor an accepted infinity, which G4 leaves out; -1 where
// there is none.
func firstUnsimulated(t *judge.Target, first, end int) int {
	truth := t.R[first:end]
	for i, s := range t.Sim[first:end] {
		if isFinite(s) || !isFinite(truth[i]) {
			continue
		}
		if low, high := t.Interval(truth[i], t.T[first+i]); !(low <= s && s <= high) {
			return first + i
		}
	}
	return -1
}

// row is one row of an output being filled.
type row struct {
	R, T, TFP32, Sim []float64
}

// rowOf gives the i-th judged row of a target whose rows have cols elements.
func rowOf(t judge.Target, i, cols int64) row {
	a, b := i*cols, (i+1)*cols
	return row{t.R[a:b], t.T[a:b], t.TFP32[a:b], t.Sim[a:b]}
}

// through is the row and those after it, rows of its length in all.
func (r row) through(rows int64) row {
	n := int64(len(r.R)) * rows
	return row{r.R[:n], r.T[:n], r.TFP32[:n], r.Sim[:n]}
}

// eachRowWith calls work for every judged row on all cores: i counts the judged rows, r is the row of the output. Each core has its own working
// memory: see parallel.EachWith.
func eachRowWith[S any](rows []int64, n int64, memory func() S, work func(own S, i, r int64)) {
	if rows != nil {
		n = int64(len(rows))
	}
	parallel.EachWith(n, memory, func(own S, i int64) {
		if rows != nil {
			work(own, i, rows[i])
			return
		}
		work(own, i, i)
	})
}

// unit is the unit roundoff of a dtype that an intermediate is stored in.
func unit(d op.DType) float64 {
	f, _ := tensor.FormatOf(d)
	return f.U()
}

// halfSubnormal is what is lost below the smallest subnormal of a dtype.
func halfSubnormal(d op.DType) float64 {
	f, _ := tensor.FormatOf(d)
	return f.SmallestSubnormal() / 2
}

// subnormal is what a product and its sum may lose below fp32's normal range: half the smallest subnormal each.
const subnormal = 0x1p-149

// weighted is weight*factor, and 0 where the weight is exactly 0, even against an infinite factor: nothing that does not contribute may
// loosen T.
func weighted(weight, factor float64) float64 {
	if weight == 0 {
		return 0
	}
	return weight * factor
}

// sumOf adds f(0) ... f(n-1) pairwise, so that the error grows with log n only and the order never depends on the machine.
func sumOf(n int, f func(i int) float64) float64 { return sumBetween(0, n, f) }

func sumBetween(a, b int, f func(i int) float64) float64 {
	if b-a <= 64 {
		s := 0.0
		for i := a; i < b; i++ {
			s += float64(f(i)) // the conversion forbids a fused multiply-add, whose bits depend on the machine
		}
		return s
	}
	mid := a + (b-a)/2
	return sumBetween(a, mid, f) + sumBetween(mid, b, f)
}

// isFinite says whether x is neither NaN nor infinite.
func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

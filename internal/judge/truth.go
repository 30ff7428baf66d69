package judge

import (
	"fmt"
	"math"

	"triad/internal/op"
	"triad/internal/parallel"
)

// Truth is the required result of one case under one contract: an entry for every output of the pass, in the
// order of the spec.
type Truth struct {
	Contract string
	Outputs  []Target
	Missing  string // why the truth is missing; "" where it is not
}

// Target is the truth of one output, for all its elements in row-major order, or for those that Index names
// (their row-major positions, in increasing order) where the case is judged by sample. R is the fp64 truth
// from the exact inputs, T the error bound for the error inside the kernel under the contract (T >= 0,
// without the final rounding), TFP32 the same with every low-precision rounding point removed, Sim the fp64
// mathematics rounded at the declared points only, the last being DType.
type Target struct {
	Name  string
	DType op.DType
	Shape []int64
	// the name of an index of each dim, for Pattern: "row", "head"; nil: the usual ones for the number of
	// dims
	Axes     []string
	Words    Words   // the operator's names for the results of Pattern
	Index    []int64 // nil: every element
	R, T     []float64
	TFP32    []float64
	Sim      []float64
	Saturate bool // overflow saturates to the largest finite number
	FTZ      bool // results below 2^-126 may be flushed to zero (fp32, bf16)
	// Leans: the simulated contract errs toward one side, as where bits of operands are dropped, though it
	// need not. G5 does not require the same error of an output nearer to R.
	Leans bool
	// Bits: R must be stored to the bit: -0 is not +0. Any NaN equals NaN, since conversions that change
	// nothing else may change its payload. T is 0 everywhere.
	Bits bool
	// Independent: there are many independent values, so that sums over their errors are statistics, and G4
	// and G5 apply. Where a few rounding errors decide (rows of one value, outliers) the simulated ones may
	// happen to be small, and a right kernel would be rejected.
	Independent bool
	// Errors counts the independent rounding errors that decide the block of G4 with the fewest, where
	// elements share them, such as the rows of a weight's gradient those of a stored factor; 0: as many as
	// elements.
	Errors float64
	// Uniform: every element is one number by definition, such as the only element of a sum
	Uniform bool
	// every partial sum is exactly representable: T is 0 everywhere, and a rejection is gate G3's
	Exact bool

	// Choice is the rule of an output that names a kernel's choice: R and Sim are then one right choice, T is
	// 0. nil: it has none.
	Choice *Choice
	// Depends returns the truth given an implementation's other outputs, where it follows from them. Without
	// them R is the truth under the simulated contract's. nil: it does not depend on any.
	Depends func(gave Gave) Target

	// computes R, T, TFP32 and Sim where they are nil, of every element; nil: they are kept
	Rows *Rows
	// for a product judged by sample: covers the elements that Index leaves out; nil: they are not checked
	Freivalds *Freivalds
}

// Elements returns the number of elements of the whole output.
func (t Target) Elements() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// position returns the row-major position of the i-th judged element.
func (t Target) position(i int) int64 {
	if t.Index != nil {
		return t.Index[i]
	}
	return int64(i)
}

// index returns the multi-index of a row-major position.
func index(position int64, shape []int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] > 0 {
			out[i] = position % shape[i]
			position /= shape[i]
		}
	}
	return out
}

// Check returns an error where a target cannot judge: lengths that do not fit, a T that is negative, not
// finite or NaN where R is not, an index that is not increasing or out of range. It does not check whether
// NaN and infinities are expected in R.
func (t Target) Check() error {
	n := t.Elements()
	if t.Rows != nil {
		if t.Rows.Fill == nil || t.Index != nil || t.Freivalds != nil || len(t.R)+len(t.T)+len(t.TFP32)+
			len(t.Sim) > 0 {
			return fmt.Errorf("check the truth of %s: what is computed row by row is kept or sampled too",
				t.Name)
		}
		if l := t.Rows.Length; l != 0 && (len(t.Shape) != 1 || l < 0 || chunk%l != 0) {
			return fmt.Errorf("check the truth of %s: rows of %d elements of shape %v: want one dim, and a "+
				"divisor of %d", t.Name, l, t.Shape, chunk)
		}
		return nil
	}
	if t.Index != nil {
		n = int64(len(t.Index))
		last := int64(-1)
		for _, p := range t.Index {
			if !(p > last && p < t.Elements()) {
				return fmt.Errorf("check the truth of %s: sampled position %d: want rising positions "+
					"below %d",
					t.Name, p, t.Elements())
			}
			last = p
		}
	}
	if err := t.Freivalds.check(t); err != nil {
		return err
	}
	for what, have := range map[string]int{
		"R": len(t.R), "T": len(t.T), "TFP32": len(t.TFP32),
		"sim": len(t.Sim),
	} {
		if int64(have) != n {
			return fmt.Errorf("check the truth of %s: %s has %d elements: want %d", t.Name, what, have, n)
		}
	}
	i := parallel.First(len(t.T), t.firstUnfit)
	if i < 0 {
		return nil
	}
	if (t.Exact || t.Bits) && t.T[i] > 0 {
		return fmt.Errorf("check the truth of %s: element %v of an exact case: T = %v: want 0", t.Name,
			index(t.position(i), t.Shape), t.T[i])
	}
	return fmt.Errorf("check the truth of %s: element %v: R = %v, T = %v, TFP32 = %v: want finite "+
		"error bounds >= 0",
		t.Name, index(t.position(i), t.Shape), t.R[i], t.T[i], t.TFP32[i])
}

// firstUnfit returns the first element of a run whose error bounds cannot judge it, -1 where there is none.
func (t Target) firstUnfit(first, end int) int {
	truth, lows, fp32s := t.R[first:end], t.T[first:end], t.TFP32[first:end]
	for i, allowed := range lows {
		fp32 := fp32s[i]
		if allowed >= 0 && allowed <= math.MaxFloat64 && fp32 >= 0 && fp32 <= math.MaxFloat64 &&
			(allowed == 0 || !t.Exact && !t.Bits) {
			continue
		}
		if r := truth[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			return first + i
		}
	}
	return -1
}

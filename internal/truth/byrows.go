package truth

import (
	"fmt"
	"slices"
	"sync/atomic"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// ByRows reports whether the truth of the operator can be computed row by row while an output is judged: each
// row of its large outputs depends on few others. The truth of a product cannot: where it is expensive, it is
// computed for a sample.
func (o *Operator) ByRows() bool {
	return o.Reference == nil && DefinitionOf(o.Spec.Name).ByRows != nil
}

// Whole reports whether the operator is never judged by sample.
func (o *Operator) Whole() bool {
	return o.ByRows() || o.Reference != nil || DefinitionOf(o.Spec.Name).Whole
}

// TruthByRows is the method TruthOf for cases whose whole truth would take gigabytes. Every element of large
// outputs is computed row by row when they are judged (see judge.Rows), to the same bits. An output with few
// elements, or one that needs all rows at once, is computed here.
func (o *Operator) TruthByRows(c op.Case, contract string, in []tensor.Tensor) (judge.Truth, error) {
	if !o.ByRows() {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s row by row: it has no rows of its own",
			c.Op)
	}
	return of(Request{Case: c, In: in, byRows: true}, contract)
}

// RowTarget is Target for an output whose rows FillRows computes; it keeps nothing where they are computed
// while they are judged.
func (k *Request) RowTarget(name string, d op.DType, shape, chosen []int64) judge.Target {
	if k.byRows {
		t := k.described(name, d, shape)
		t.Rows = &judge.Rows{}
		return t
	}
	return k.Target(name, d, shape, chosen)
}

// RowTargetInFP32 is to targetInFP32 as RowTarget is to Target.
func (k *Request) RowTargetInFP32(name string, d op.DType, shape, chosen []int64) judge.Target {
	if k.byRows {
		t := k.described(name, d, shape)
		t.Rows = &judge.Rows{OneErrorBound: true}
		return t
	}
	return k.targetInFP32(name, d, shape, chosen)
}

// FillRows calls work for the rows of an output: now for the chosen ones (nil: all), or where t keeps nothing
// while they are judged. i counts the rows from the first that is judged, r from the first of the output.
// Each core has its own working memory.
func FillRows[S any](k *Request, t judge.Target, chosen []int64, memory func() S,
	work func(own S, i, r int64, out Row),
) {
	cols := int64(1)
	if rank := len(t.Shape); rank > 0 {
		cols = t.Shape[rank-1]
	}
	if t.Rows == nil {
		rows := int64(0)
		if cols > 0 {
			rows = t.Elements() / cols
		}
		EachRowWith(chosen, rows, memory, func(own S, i, r int64) { work(own, i, r, RowOf(t, i, cols)) })
		return
	}
	t.Rows.Fill = func() func(into judge.Values, first, end int64) error {
		own := memory()
		return func(into judge.Values, first, end int64) error {
			clearValues(into)
			for r := first; r < end; r++ {
				a, b := (r-first)*cols, (r-first+1)*cols
				work(own, r, r, Row{into.R[a:b], into.T[a:b], into.TFP32[a:b], into.Sim[a:b]})
			}
			return nil
		}
	}
}

// finishRows applies finish to rows as they are computed.
func (k *Request) finishRows(t *judge.Target) {
	fill, whole := t.Rows.Fill, *t
	cols, flat := t.Shape[len(t.Shape)-1], t.Rows.Length > 0
	finished := func() func(into judge.Values, first, end int64) error {
		work := fill()
		return func(into judge.Values, first, end int64) error {
			if err := work(into, first, end); err != nil {
				return err
			}
			part := whole
			part.Rows, part.Shape = nil, []int64{end - first, cols}
			if flat {
				part.Shape = []int64{int64(len(into.R))}
			}
			part.R, part.T, part.TFP32, part.Sim = into.R, into.T, into.TFP32, into.Sim
			if part.Exact {
				part = Exactly(part)
			}
			if err := k.finish(&part); err != nil {
				return fmt.Errorf("rows %d to %d: %w", first, end-1, err)
			}
			return nil
		}
	}
	t.Rows = &judge.Rows{Length: t.Rows.Length, OneErrorBound: t.Rows.OneErrorBound, Fill: finished}
}

// EveryRow reports whether a condition holds for R in every row of an output of at least two dims.
func EveryRow(t judge.Target, holds func(r []float64) bool) bool {
	if t.Rows == nil {
		return holds(t.R)
	}
	cols := t.Shape[len(t.Shape)-1]
	type memory struct {
		fill func(into judge.Values, first, end int64) error
		into judge.Values
	}
	room := func() memory {
		v := slices.Repeat([]float64{0}, int(4*cols))
		return memory{t.Rows.Fill(), judge.Values{
			R: v[:cols], T: v[cols : 2*cols], TFP32: v[2*cols : 3*cols],
			Sim: v[3*cols:],
		}}
	}
	var broken atomic.Bool
	parallel.EachWith(t.Elements()/cols, room, func(own memory, r int64) {
		if !broken.Load() && (own.fill(own.into, r, r+1) != nil || !holds(own.into.R)) {
			broken.Store(true)
		}
	})
	return !broken.Load()
}

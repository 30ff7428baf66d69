package run

import (
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// compareEntries records how far the implementations of a case lie apart, pair by pair.
func (x *execution) compareEntries(c *prepared) error {
	slices.SortFunc(c.kept, func(a, b keptOutputs) int { return strings.Compare(a.name, b.name) })
	var found []record.Difference
	for i, a := range c.kept {
		for _, b := range c.kept[i+1:] {
			if x.leaves(c) { // all pairs or none
				x.cutShort()
				return nil
			}
			for k, t := range c.outputs {
				if t.Elements() > 0 && !t.Given && k < len(a.outputs) && k < len(b.outputs) &&
					comparable(a.outputs[k], b.outputs[k]) {
					found = append(found, difference(c, t, a, b, a.outputs[k].Tensor, b.outputs[k].Tensor))
				}
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.Recorder.AppendDifferences(found); err != nil {
		return err
	}
	x.result.Differences = append(x.result.Differences, found...)
	return nil
}

// comparable reports whether both outputs came back with the requested dtype and shape.
func comparable(a, b backend.Output) bool {
	return a.Present && b.Present && returned(a).Data != nil && returned(b).Data != nil
}

func difference(c *prepared, t op.TensorType, a, b keptOutputs, x, y tensor.Tensor) record.Difference {
	d := judge.DifferenceOf(t.DType, x.Data, y.Data)
	ulp := record.Float(d.ULP)
	out := record.Difference{
		CaseKey: c.Key(), Op: c.Op, Pass: c.Pass, DType: c.DType, Output: t.Name, A: a.name, B: b.name,
		RunA: a.id, RunB: b.id,
		N: t.Elements(), Bitwise: d.Bitwise, NDifferent: d.Different, ULPMax: &ulp,
	}
	if d.At >= 0 {
		size := t.DType.Size()
		out.Worst = &record.Disparity{
			Index: tensor.Index(d.At, t.Shape),
			A:     record.Float(tensor.Decode(t.DType, x.Data[d.At*size:(d.At+1)*size])[0]),
			B:     record.Float(tensor.Decode(t.DType, y.Data[d.At*size:(d.At+1)*size])[0]),
		}
	}
	return out
}

package movement

import (
	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// added returns the truth of a backward that adds up the copies of each element: T is that of a sum in fp32
// of as many exact terms.
func (o Operator) added(k *truth.Request) ([]judge.Target, error) {
	input, _ := o.Of(k.Pass)
	in, out, err := tensors(k.Case)
	if err != nil {
		return nil, err
	}
	dy, err := k.Tensor(input)
	if err = truth.FirstError(err, k.Shaped(input, in.Shape...)); err != nil {
		return nil, err
	}
	if dy.DType != out.DType {
		return nil, wrongDType(input, dy.DType, out.DType)
	}
	copies, cols := o.Copies(k.Case), out.Shape[len(out.Shape)-1]
	rows := int64(0)
	if cols > 0 {
		rows = out.Elements() / cols
	}
	chosen := k.Sample.Choose(rows)
	t := k.RowTargetInFP32(out.Name, out.DType, out.Shape, chosen)
	memory := func() func(at []int64) truth.Terms {
		read, to := truth.ElementReader(dy), make([]int64, len(dy.Shape))
		return func(at []int64) truth.Terms {
			var sum truth.Terms
			for number := range copies {
				o.CopyAt(k.Case, number, to, at)
				sum = sum.With(truth.Term(read(to), 0, 0))
			}
			return sum
		}
	}
	truth.FillRows(k, t, chosen, memory, func(terms func([]int64) truth.Terms, _, r int64, row truth.Row) {
		at := truth.IndexOf(r*cols, out.Shape)
		for c := range row.R {
			at[len(at)-1] = int64(c)
			sum := terms(at)
			row.R[c], row.Sim[c] = sum.Sum, tensor.Round(out.DType, sum.Sum, false)
			row.T[c], _ = k.SumError(sum)
		}
	})
	return []judge.Target{t}, nil
}

package rownorm

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/formula"
)

// checkParameters returns an error unless the named inputs have one value a column.
func checkParameters(k *truth.Request, x tensor.Tensor, names ...string) error {
	if len(x.Shape) != 2 || x.Shape[1] == 0 {
		return fmt.Errorf("x has shape %v: want at least one column", x.Shape)
	}
	for _, name := range names {
		if err := k.Shaped(name, x.Shape[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkRows returns an error unless the named inputs, which belong to a residual, have the shape of x, or no
// rows where there is no residual.
func (o Operator) checkRows(k *truth.Request, x tensor.Tensor, names ...string) error {
	if !o.Residual || len(x.Shape) != 2 {
		return nil
	}
	rows := int64(0)
	if o.Adds(k.Case) {
		rows = x.Shape[0]
	}
	for _, name := range names {
		if err := k.Shaped(name, rows, x.Shape[1]); err != nil {
			return err
		}
	}
	return nil
}

// sum reads the row of s into own[0], the room of x.
func sum(in truth.RowInputs, own [][]float64, r int64) []float64 {
	in.Read(own, r)
	if len(in.Tensors) == 2 {
		for i, v := range own[1] {
			own[0][i] += v
		}
	}
	return own[0]
}

// rowTarget returns an output of rows, before which a contract may store values low.
func rowTarget(k *truth.Request, st storage, name string, d op.DType, shape, chosen []int64) judge.Target {
	if st.low() {
		return k.RowTarget(name, d, shape, chosen)
	}
	return k.RowTargetInFP32(name, d, shape, chosen)
}

func (o Operator) forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank("x", 2)
	if err = truth.FirstError(err, checkParameters(k, x, o.Parameters()...),
		o.checkRows(k, x, "residual")); err != nil {
		return nil, err
	}
	parameters, err := k.Values(o.Parameters()...)
	if err != nil {
		return nil, err
	}
	eps, err := truth.EpsOf(k)
	if err != nil {
		return nil, err
	}
	in, err := k.Rows(o.Rows(k.Case)...)
	if err != nil {
		return nil, err
	}
	f := forwardPass{o: o, in: in, st: o.storageOf(k, x.DType), eps: eps, g: k.Growth(x.Shape[1])}
	rows, chosen := x.Shape[0], k.Sample.Choose(x.Shape[0])
	y := rowTarget(k, f.st, "y", x.DType, x.Shape, chosen)
	targets := append([]judge.Target{y}, f.statistics(k, rows, chosen)...)
	bias := make([]float64, x.Shape[1])
	if o.Bias {
		bias = parameters[1]
	}
	truth.FillRows(k, y, chosen, in.Memory(1), func(own [][]float64, i, r int64, out truth.Row) {
		f.fillRow(out, i, sum(in, own, r), own[len(own)-1], parameters[0], bias, x.DType)
	})
	if o.Residual {
		targets = append(targets, f.sums(k, x, chosen))
	}
	return targets, nil
}

// forwardPass computes the outputs of a forward.
type forwardPass struct {
	o          Operator
	in         truth.RowInputs
	st         storage
	eps, g     float64
	exact, sim []moments // of the judged rows; sim is of s as the simulated contract stores it
}

// statistics computes the moments of every judged row, and the outputs made of them.
func (f *forwardPass) statistics(k *truth.Request, rows int64, chosen []int64) []judge.Target {
	var targets []judge.Target
	for _, name := range f.o.Statistics() {
		targets = append(targets, k.RowStatistic(name, rows, chosen))
	}
	rstd := targets[len(targets)-1]
	f.exact = make([]moments, len(rstd.R))
	f.sim = f.exact
	if f.st.sums {
		f.sim = make([]moments, len(rstd.R))
	}
	truth.EachRowWith(chosen, rows, f.in.Memory(2), func(own [][]float64, i, r int64) {
		x, scratch := sum(f.in, own, r), own[len(own)-1]
		s := f.o.momentsOf(x, scratch, f.eps, f.g)
		s.drift = f.st.drift(&s, x, scratch, f.eps)
		f.exact[i] = s
		if f.o.Centred {
			truth.SetOne(targets[0], i, s.mean, judge.U32*s.g*s.meanAbs)
		}
		strict := s.rstd * (s.rho/2 + rootError*judge.U32)
		truth.SetOne(rstd, i, s.rstd, strict)
		if f.st.sums {
			f.sim[i] = f.o.momentsOf(f.st.storedSums(own[len(own)-2], x), scratch, f.eps, f.g)
			rstd.T[i] = strict + s.rstd*s.drift
			rstd.Sim[i] = tensor.Round(op.FP32, f.sim[i].rstd, false)
		}
	})
	return targets
}

// fillRow computes y = xhat*weight + bias with
//
//	T = |w|*rstd*(2*u32*|x-mean| + u32*g(n)*mean|x|) + |w*xhat|*(rho/2 + 6*u32) + 4*u32*(|w*xhat| + |bias|)
//
// that is |w|*e, and the product and the sum. Without a mean there is a term for the product's underflow.
// What a contract stores of s or of xhat adds to e.
func (f *forwardPass) fillRow(out truth.Row, i int64, x, scratch, weight, bias []float64, d op.DType) {
	s := f.exact[i]
	for i := range x {
		xhat, e := s.normalized(x[i], false)
		scaled := float64(xhat * weight[i])
		out.R[i] = scaled + bias[i]
		end := 4 * judge.U32 * (math.Abs(scaled) + math.Abs(bias[i]))
		if scaled != 0 {
			end += s.tiny
		}
		out.T[i] = truth.Weighted(math.Abs(weight[i]), e) + end
		if f.st.low() {
			out.TFP32[i] = out.T[i]
			out.T[i] += truth.Weighted(math.Abs(weight[i]), f.st.scaled(&s, x[i], xhat, e, false))
		}
	}
	if !f.st.low() {
		truth.RoundRow(out.Sim, out.R, d)
		return
	}
	seen := f.sim[i]
	for i, v := range f.st.storedSums(scratch, x) {
		out.Sim[i] = float64(f.st.storedNormal((v-seen.mean)*seen.rstd)*weight[i]) + bias[i]
	}
	truth.RoundRow(out.Sim, out.Sim, d)
}

// sums returns the output h = s: one sum in fp32, rounded once more where h is stored lower, and where fp32
// does not hold the sum exactly twice. Without a residual it has no element.
func (f *forwardPass) sums(k *truth.Request, x tensor.Tensor, chosen []int64) judge.Target {
	if !f.o.Adds(k.Case) {
		return k.Target("h", x.DType, []int64{0, x.Shape[1]}, nil)
	}
	t := k.RowTargetInFP32("h", x.DType, x.Shape, chosen)
	truth.FillRows(k, t, chosen, f.in.Memory(0), func(own [][]float64, _, r int64, out truth.Row) {
		copy(out.R, sum(f.in, own, r))
		if x.DType != op.FP32 {
			for i, v := range out.R {
				if !formula.InFP32(v) {
					out.T[i] = judge.U32 * math.Abs(v)
				}
			}
		}
		truth.RoundRow(out.Sim, out.R, x.DType)
	})
	return t
}

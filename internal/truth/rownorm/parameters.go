package rownorm

import (
	"math"

	"triad/internal/judge"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// rowBlock is the number of rows that are added up before their sum joins the total, which keeps the error of
// a long column small.
const rowBlock = 128

// stripe is the number of columns of one task.
const stripe = 64

// gradParameters fills dweight = sum over rows of dy*xhat and dbias = sum over rows of dy, with
//
//	T_dweight = u32*g(rows)*sum|dy*xhat| + sum(|dy|*e)      T_dbias = u32*g(rows)*sum|dy|
//
// and what storing s adds to e, or storing xhat and then each term.
func (b *gradients) gradParameters(dweight, dbias judge.Target) {
	g := judge.U32 * b.gRows
	parallel.Each((b.cols+stripe-1)/stripe, func(task int64) {
		first, last := task*stripe, min((task+1)*stripe, b.cols)
		total, part := make([]parameterSums, last-first), make([]parameterSums, last-first)
		n := last - first
		x, dy, room := make([]float64, n), make([]float64, n), make([]float64, n)
		for r := range b.rows {
			b.readFrom(x, room, r, first)
			b.in.Tensors[1].DecodeRow(dy, r, first)
			for c := range part {
				part[c].add(b, x[c], dy[c], r)
			}
			if (r+1)%rowBlock == 0 || r+1 == b.rows {
				for i := range part {
					total[i].join(part[i])
				}
				clear(part)
			}
		}
		for i, s := range total {
			c := first + int64(i)
			dweight.R[c], dweight.T[c] = s.weight, g*s.weightAbs+s.carried
			dweight.TFP32[c], dweight.Sim[c] = dweight.T[c], tensor.Round(dweight.DType, s.weightSim, false)
			dweight.T[c] += s.moved
			if b.o.Bias {
				truth.SetOne(dbias, c, s.bias, g*s.biasAbs)
			}
		}
	})
}

// parameterSums are the sums over rows that one column of dweight and dbias needs.
type parameterSums struct {
	weight, weightSim, weightAbs, carried, bias, biasAbs float64
	moved                                                float64 // what storing adds to carried
}

func (p *parameterSums) add(b *gradients, x, dy float64, r int64) {
	exact, sim := &b.exact[r], &b.sim[r]
	xhat, e := exact.normalized(x, b.given)
	simulated := b.st.storedNormal((b.st.storedSum(x) - sim.mean) * sim.rstd)
	size := math.Abs(dy)
	p.weight += float64(dy * xhat)
	p.weightSim += b.st.storedNormal(float64(dy * simulated))
	p.weightAbs += math.Abs(dy * xhat)
	p.carried += truth.Weighted(size, e)
	if dy*xhat != 0 {
		p.carried += exact.tiny
	}
	if b.st.low() {
		more := b.st.scaled(exact, x, xhat, e, b.given)
		p.moved += truth.Weighted(size, more) + b.st.product(dy, xhat, e+more)
	}
	p.bias += dy
	p.biasAbs += size
}

func (p *parameterSums) join(o parameterSums) {
	p.weight += o.weight
	p.weightSim += o.weightSim
	p.weightAbs += o.weightAbs
	p.carried += o.carried
	p.moved += o.moved
	p.bias += o.bias
	p.biasAbs += o.biasAbs
}

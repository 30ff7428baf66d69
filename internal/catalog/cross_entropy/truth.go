// Package crossentropy is the truth of the cross entropy of rows of logits.
package crossentropy

import (
	"math"
	"math/cmplx"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("cross_entropy", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32"}, Whole: true,
})

// lseOf returns the logarithm of the sum of exponentials of a row as its maximum m plus log l, and the
// largest loss of fp32 in their sum:
//
//	u32*(|m| + g(V) + 8 + 2*|log l|)      l = sum of exp(x - m)
//
// A row of only -inf, with +inf or with NaN has none: NaN. See truth.RowLosses.
func lseOf(x []float64, g float64) (m, log, t float64) {
	m = math.Inf(-1)
	for _, v := range x {
		m = max(m, v) // NaN wins
	}
	l := truth.SumOf(len(x), func(i int) float64 { return math.Exp(x[i] - m) })
	return m, math.Log(l), judge.U32 * (math.Abs(m) + g + 8 + 2*math.Abs(math.Log(l)))
}

// settings are the attributes of a case, and its targets.
type settings struct {
	smoothing float64
	reduction string
	target    []float64
	ignored   float64
	counted   float64 // rows that are not ignored
}

func settingsOf(k *truth.Request) (settings, tensor.Tensor, error) {
	s := settings{
		smoothing: k.Attrs.Number("label_smoothing"), reduction: k.Attrs.Text("reduction"),
		ignored: k.Attrs.Number("ignore_index"),
	}
	logits, err := k.Rank("logits", 2)
	if err == nil {
		err = k.Shaped("target", logits.Shape[0])
	}
	target, missing := k.Values("target")
	if err = truth.FirstError(err, missing); err != nil {
		return s, logits, err
	}
	s.target = target[0]
	s.counted = truth.Counted(s.target, s.ignored)
	return s, logits, nil
}

func (s settings) ignores(target float64) bool { return target == s.ignored }

// weight returns the factor of the loss of a row that counts.
func (s settings) weight(upstream []float64, row int) float64 {
	if s.reduction == "mean" {
		return upstream[0] / s.counted
	}
	return upstream[row%len(upstream)]
}

// loss returns the loss of a row that counts, and its error bound
//
//	u32*(g(V) + 8 + 2*|m| + 6*|lse| + 4*|x_t|) + s*u32*(g(V)+4)*mean|x|
func (s settings) loss(x []float64, target int, g float64) (r, t float64) {
	m, log, _ := lseOf(x, g)
	r = (1 - s.smoothing) * (log + (m - x[target])) // m + log rounds to the size of m
	t = judge.U32 * (g + 8 + 2*math.Abs(m) + 6*math.Abs(m+log) + 4*math.Abs(x[target]))
	if s.smoothing > 0 {
		r += s.smoothing * (log + (m - truth.Sum(x)/float64(len(x))))
		size := truth.SumOf(len(x), func(i int) float64 { return math.Abs(x[i]) })
		t += s.smoothing * judge.U32 * (g + 4) * size / float64(len(x))
	}
	return r, t
}

func forward(k *truth.Request) ([]judge.Target, error) {
	s, logits, err := settingsOf(k)
	if err != nil {
		return nil, err
	}
	in, _ := k.Rows("logits")
	rows, g := logits.Shape[0], k.Growth(in.Cols)
	all := k.RowLosses(rows, nil)
	truth.EachRowWith(nil, rows, in.Memory(0), func(own [][]float64, i, r int64) {
		in.Read(own, r)
		m, log, t := lseOf(own[0], g)
		truth.SetOne(all.LSE, i, m+log, t)
		logit := math.NaN()
		if !s.ignores(s.target[r]) {
			l, t := s.loss(own[0], int(s.target[r]), g)
			truth.SetOne(all.Each, i, l, t)
			if s.smoothing == 0 { // else inf - inf is NaN
				logit = own[0][int(s.target[r])]
			}
		}
		all.Infinite(i, m, logit)
	})
	if s.reduction == "none" {
		return all.Targets(), nil
	}
	return all.Reduced(s.reduced(k, all.Each), s.reduction == "mean" && s.counted == 0), nil
}

// reduced returns the sum of the losses of the rows, or their mean: 0 where none counts. Their error bounds
// grow by u32*g(rows)*sum|loss|.
func (s settings) reduced(k *truth.Request, each judge.Target) judge.Target {
	loss := k.TargetAt("loss", op.FP32, []int64{1}, nil)
	loss.Uniform = true
	size := truth.SumOf(len(each.R), func(i int) float64 { return math.Abs(each.R[i]) })
	r, t := truth.Sum(each.R), truth.Sum(each.T)+judge.U32*k.Growth(int64(len(each.R)))*size
	if s.reduction == "mean" && s.counted > 0 {
		r, t = r/s.counted, t/s.counted
	}
	truth.SetOne(loss, 0, r, t)
	return loss
}

// backward computes w*(p - q), p = exp(x - lse), q = (1-s)*[c is target] + s/V. Its error bound is
//
//	|w|*(p*e + 4*u32*q + 2^-126),  e = u32*(2*|x-lse| + 10)
//
// and where lse is of the row's own forward, which rounded it to fp32, e has its error bound and u32*|lse|
// more. Autograd computes p*sum(q) - q: with label smoothing that is a sum of V equal terms next to 1-s, in
// which one addition after the other loses up to u32*(V+4), so that e has this too.
func backward(k *truth.Request) ([]judge.Target, error) {
	s, logits, err := settingsOf(k)
	names := []string{"grad_loss"}
	if !k.Chained() {
		names = append(names, "lse")
	}
	given, missing := k.Values(names...)
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	in, _ := k.Rows("logits")
	g, classes := k.Growth(in.Cols), float64(in.Cols)
	chosen := k.Sample.Choose(logits.Shape[0])
	grad := k.RowTargetInFP32("grad_logits", logits.DType, logits.Shape, chosen)
	others := make([][]truth.Other, len(grad.R)/int(in.Cols)) // of rows; of no row where R is not kept
	truth.FillRows(k, grad, chosen, in.Memory(0), func(own [][]float64, i, r int64, out truth.Row) {
		if s.ignores(s.target[r]) {
			return // exactly 0
		}
		in.Read(own, r)
		x := own[0]
		w := s.weight(given[0], int(r))
		m, log, lost := lseOf(x, g)
		lse := m + log
		lost += judge.U32 * math.Abs(lse)
		if !k.Chained() {
			lse, lost = given[1][r], 0
		} else if s.smoothing > 0 {
			lost += judge.U32 * (classes + 4)
		}
		for c, v := range x {
			p, q := math.Exp(v-lse), s.smoothing/classes
			if c == int(s.target[r]) {
				q += 1 - s.smoothing
			}
			out.R[c] = w * (p - q)
			e := judge.U32*(2*math.Abs(v-lse)+10) + lost
			own := math.Abs(w) * (4*judge.U32*q + judge.Tiny)
			out.T[c] = math.Abs(w)*truth.Weighted(p, e) + own
			if k.Chained() && math.IsInf(m, 1) && v < m && grad.Rows == nil { // lse is +inf by the formula
				others[i] = append(others[i], truth.Other{At: i*in.Cols + int64(c), R: -w * q, T: own})
			}
		}
		truth.RoundRow(out.Sim, out.R, logits.DType)
	})
	return []judge.Target{truth.Either(grad, slices.Concat(others...))}, nil
}

// The loss in complex numbers, from which the tests take derivatives.
var _ = truth.RegisterLosses("cross_entropy", func(k *truth.Request) ([]truth.Loss, error) {
	s, logits, err := settingsOf(k)
	in, missing := k.Values("logits", "grad_loss")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	n := int(logits.Shape[1])
	return truth.Partial([]string{"logits"}, in[:1], func(z [][]complex128) complex128 {
		total := complex128(0)
		for r, target := range s.target {
			if s.ignores(target) {
				continue
			}
			x, smooth := z[0][r*n:(r+1)*n], complex(s.smoothing, 0)
			m, sum, q := truth.LargestReal(x), complex128(0), (1-smooth)*x[int(target)]
			for _, v := range x {
				sum += cmplx.Exp(v - m)
				q += smooth * v / complex(float64(n), 0)
			}
			total += complex(s.weight(in[1], r), 0) * (cmplx.Log(sum) + m - q)
		}
		return total
	}), nil
})

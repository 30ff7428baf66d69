package truth

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/tensor"
)

// Other is another right answer for one judged element, where the formula and the libraries differ on whether
// it is NaN.
type Other struct {
	At   int64 // which of the judged elements
	R, T float64
}

// RowLosses are the losses of rows and log sum exp, with the results of the formula in rows whose maximum is
// infinite: +inf for +inf, and -inf for -inf alone. torch.logsumexp returns these. Where the maximum is
// subtracted first, as in torch's cross_entropy, they are NaN, which is R.
type RowLosses struct {
	Each, LSE       judge.Target
	losses, logSums []Other // by row; At is -1 where the maximum is a number
}

// RowLosses makes room for the losses of chosen rows; nil: of all.
func (k *Request) RowLosses(rows int64, chosen []int64) *RowLosses {
	l := &RowLosses{Each: k.RowStatistic("loss", rows, chosen), LSE: k.RowStatistic("lse", rows, chosen)}
	l.losses, l.logSums = make([]Other, len(l.LSE.R)), make([]Other, len(l.LSE.R))
	return l
}

// Infinite records the maximum m of row i, where it is infinite, and the logit of its class; NaN where the
// loss keeps its value by the formula.
func (l *RowLosses) Infinite(i int64, m, logit float64) {
	l.losses[i].At, l.logSums[i].At = -1, -1
	if !math.IsInf(m, 0) {
		return
	}
	l.losses[i], l.logSums[i] = Other{At: i, R: l.Each.R[i]}, Other{At: i, R: m}
	if !math.IsNaN(logit) {
		l.losses[i].R = m - logit
	}
}

// Counted returns the number of targets that are not ignored.
func Counted(targets []float64, ignored float64) float64 {
	n := 0.0
	for _, t := range targets {
		if t != ignored {
			n++
		}
	}
	return n
}

// Targets returns the targets of the losses and of lse.
func (l *RowLosses) Targets() []judge.Target {
	return []judge.Target{Either(l.Each, l.losses), Either(l.LSE, l.logSums)}
}

// Reduced returns the targets of the sum or mean of the losses, and of lse. The mean of nothing is 0, or NaN
// as 0/0.
func (l *RowLosses) Reduced(total judge.Target, ofNothing bool) []judge.Target {
	all := slices.Clone(l.Each.R)
	for _, o := range l.losses {
		if o.At >= 0 {
			all[o.At] = o.R
		}
	}
	other := Sum(all)
	if ofNothing {
		other = math.NaN()
	}
	return []judge.Target{Either(total, []Other{{R: other}}), Either(l.LSE, l.logSums)}
}

// Either accepts a second answer where it or R is NaN: the kernel's output selects the one that it is judged
// by.
func Either(t judge.Target, others []Other) judge.Target {
	others = slices.DeleteFunc(slices.Clone(others), func(o Other) bool {
		return o.At < 0 || math.IsNaN(o.R) == math.IsNaN(t.R[o.At])
	})
	if len(others) == 0 {
		return t
	}
	plain := t
	t.Depends = func(gave judge.Gave) judge.Target {
		data := gave(plain.Name)
		if int64(len(data)) != plain.Elements()*plain.DType.Size() {
			return plain
		}
		under := plain
		under.R, under.T = slices.Clone(plain.R), slices.Clone(plain.T)
		under.TFP32, under.Sim = slices.Clone(plain.TFP32), slices.Clone(plain.Sim)
		size := plain.DType.Size()
		for _, o := range others {
			at := o.At
			if plain.Index != nil {
				at = plain.Index[at]
			}
			got := tensor.Decode(plain.DType, data[at*size:(at+1)*size])[0]
			if math.IsNaN(got) == math.IsNaN(o.R) {
				under.R[o.At], under.T[o.At], under.TFP32[o.At] = o.R, o.T, o.T
				under.Sim[o.At] = tensor.Round(plain.DType, o.R, plain.Saturate)
			}
		}
		return under
	}
	return t
}

package product

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Logits are z = X W^T, for rows of X that each have a softmax, with their error bounds, and as the contract
// stores them. None are kept: they are computed on demand.
type Logits struct {
	k              *truth.Request
	d              op.DType
	x, w           [][]float64
	lowX, lowW     []bool  // of each row: it holds a number below the normal range of 16 bits
	dim            int     // columns of both
	gD, gN, gV     float64 // growth of sums over dim, over the rows and over the classes
	stored         bool    // logits and their gradients may be stored in the dtype
	u, eta         float64 // the error of that: relative, and absolute below its normal range
	smallest       float64 // the smallest normal number of 16 bits; 0 in fp32
	Rows, Classes  int64
	hidden, weight string
}

// LogitsOf returns the logits of two inputs [rows, dim] and [classes, dim].
func LogitsOf(k *truth.Request, hidden, weight string) (*Logits, error) {
	x, err := k.Rank(hidden, 2)
	w, errW := k.Rank(weight, 2)
	if err = truth.FirstError(err, errW); err != nil {
		return nil, err
	}
	in, err := k.Values(hidden, weight)
	if err = truth.FirstError(k.Shaped(weight, w.Shape[0], x.Shape[1]), err); err != nil {
		return nil, err
	}
	l := &Logits{
		k: k, d: x.DType, dim: int(x.Shape[1]), Rows: x.Shape[0], Classes: w.Shape[0], hidden: hidden,
		weight: weight, gD: k.Growth(x.Shape[1]), gN: k.Growth(x.Shape[0]), gV: k.Growth(w.Shape[0]),
	}
	if l.d != op.FP32 {
		format, _ := tensor.FormatOf(l.d)
		l.stored, l.u, l.smallest = k.Rules.Name == "stored", format.U(), math.Ldexp(1, format.EMin)
		l.eta = max(truth.HalfSubnormal(l.d), judge.Tiny)
	}
	l.x, l.lowX = l.rowsOf(in[0])
	l.w, l.lowW = l.rowsOf(in[1])
	return l, nil
}

// low reports whether tensor cores align v by the smallest normal number, which is larger.
func (l *Logits) low(v float64) bool { return v != 0 && math.Abs(v) < l.smallest }

func (l *Logits) rowsOf(values []float64) (rows [][]float64, low []bool) {
	for ; len(values) > 0; values = values[l.dim:] {
		any := false
		for _, v := range values[:l.dim] {
			any = any || l.low(v)
		}
		rows, low = append(rows, values[:l.dim]), append(low, any)
	}
	return rows, low
}

// nonFinite reports whether a chosen row of X, or the weights that it meets, contain NaN or an infinity.
func (l *Logits) nonFinite(chosen func(row int) bool) bool {
	strange := func(row []float64) bool {
		return slices.ContainsFunc(row, func(v float64) bool { return !truth.IsFinite(v) })
	}
	for i, row := range l.x {
		if chosen(i) && (strange(row) || slices.ContainsFunc(l.w, strange)) {
			return true
		}
	}
	return false
}

// Number is one logit with its error bounds, and its value under the contract.
type Number struct{ R, T, TFP32, Sim float64 }

// Put sets element i of an output to the number.
func (n Number) Put(t judge.Target, i int64) {
	t.R[i], t.T[i], t.TFP32[i], t.Sim[i] = n.R, n.T, n.TFP32, tensor.Round(t.DType, n.Sim, false)
}

// At returns the logit of a row and a class, with the error bound
//
//	e = u32*g(D)*sum |x*w| + (D+1)*2^-149, then + u*(|z| + e) + eta where it may be stored
//
// plus the loss of tensor cores to subnormal operands of 16 bits (see alignment).
func (l *Logits) At(i, j int) Number {
	x, w := l.x[i], l.w[j]
	z, size := truth.Dots(x, w)
	if size == 0 {
		return Number{R: z, Sim: z}
	}
	n := Number{R: z, TFP32: judge.U32*l.gD*size + float64(l.dim+1)*truth.Subnormal, Sim: z}
	if l.lowX[i] || l.lowW[j] {
		for k, v := range x {
			if (l.low(v) || l.low(w[k])) && v != 0 && w[k] != 0 {
				n.TFP32 += l.aligned(v, w[k])
			}
		}
	}
	n.T = n.TFP32
	if l.stored {
		n.T += l.u*(math.Abs(z)+n.T) + l.eta
		n.Sim = tensor.Round(l.d, z, false)
	}
	return n
}

// aligned returns the loss of other products in tensor cores that align them by the product of two factors,
// one of them subnormal.
func (l *Logits) aligned(a, b float64) float64 {
	return alignedTerms * judge.U32 * max(math.Abs(a), l.smallest) * max(math.Abs(b), l.smallest)
}

// Row is the logits of one row, and the logarithm of the sum of their exponentials, Max + Log.
type Row struct {
	Z        []Number
	Max, Log float64
	LSE      Number
}

// NewRow makes room for one row.
func (l *Logits) NewRow() *Row { return &Row{Z: make([]Number, l.Classes)} }

// Fill computes a row. With p = exp(z - lse) the error bound of lse is
//
//	ln(1 + sum p*(exp(e) - 1)) + u32*(|m| + g(V) + 8 + 2*|ln l|)      m the maximum, l = sum exp(z - m)
//
// For a row of only -inf, with +inf or with NaN it is NaN.
func (l *Logits) Fill(r *Row, i int) {
	top, topSim := math.Inf(-1), math.Inf(-1)
	for j := range r.Z {
		r.Z[j] = l.At(i, j)
		top, topSim = max(top, r.Z[j].R), max(topSim, r.Z[j].Sim) // NaN wins
	}
	sum := truth.SumOf(len(r.Z), func(j int) float64 { return math.Exp(r.Z[j].R - top) })
	r.Max, r.Log = top, math.Log(sum)
	r.LSE = Number{R: r.Max + r.Log, Sim: r.Max + r.Log}
	if l.stored {
		sum = truth.SumOf(len(r.Z), func(j int) float64 { return math.Exp(r.Z[j].Sim - topSim) })
		r.LSE.Sim = topSim + math.Log(sum)
	}
	if l.k.SimOnly {
		return
	}
	own := judge.U32 * (math.Abs(r.Max) + l.gV + 8 + 2*math.Abs(r.Log))
	r.LSE.TFP32 = own + r.moved(func(z Number) float64 { return z.TFP32 })
	r.LSE.T = r.LSE.TFP32
	if l.stored {
		r.LSE.T = own + r.moved(func(z Number) float64 { return z.T })
	}
}

// moved returns the largest change of lse where each logit may be off by e.
func (r *Row) moved(e func(Number) float64) float64 {
	return math.Log1p(truth.SumOf(len(r.Z), func(j int) float64 {
		return truth.Weighted(math.Exp(r.Z[j].R-r.LSE.R), math.Expm1(e(r.Z[j])))
	}))
}

// Loss returns lse - z of a class, with the error bounds of both and
//
//	u32*(g(V) + 8 + 2*|m| + 6*|lse| + 4*|z|)
func (l *Logits) Loss(r *Row, class int) Number {
	z := r.Z[class]
	own := judge.U32 * (l.gV + 8 + 2*math.Abs(r.Max) + 6*math.Abs(r.LSE.R) + 4*math.Abs(z.R))
	return Number{
		R: r.Log + (r.Max - z.R), Sim: r.LSE.Sim - z.Sim, // Max + Log would be rounded to the size of Max
		T: own + r.LSE.T + z.T, TFP32: own + r.LSE.TFP32 + z.TFP32,
	}
}

// Saved returns a row's lse as a forward saves it in fp32.
func (r *Row) Saved() Number {
	lost := judge.U32 * math.Abs(r.LSE.R)
	return Number{r.LSE.R, r.LSE.T + lost, r.LSE.TFP32 + lost, tensor.Round(op.FP32, r.LSE.Sim, false)}
}

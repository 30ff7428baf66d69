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

// InfiniteLoss is what log sum exp and a loss of it are by the formula in a row whose maximum is infinite:
// that of +inf is +inf, that of -inf alone is -inf. torch.logsumexp gives these. Where the maximum is
// subtracted first, as in torch's cross_entropy, they are NaN, which is R. The loss may be NaN in both.
type InfiniteLoss struct{ LSE, Loss float64 }

// InfiniteLosses are the other answers of rows; nil: a row has none.
func InfiniteLosses(rows []*InfiniteLoss) (lse, loss []Other) {
	for i, row := range rows {
		if row == nil {
			continue
		}
		lse = append(lse, Other{At: int64(i), R: row.LSE})
		if !math.IsNaN(row.Loss) {
			loss = append(loss, Other{At: int64(i), R: row.Loss})
		}
	}
	return lse, loss
}

// SumOfEither is the other answer for the sum of terms that are NaN, or another number.
func SumOfEither(terms []float64, others []Other) []Other {
	if len(others) == 0 {
		return nil
	}
	all := slices.Clone(terms)
	for _, o := range others {
		all[o.At] = o.R
	}
	if total := Sum(all); !math.IsNaN(total) {
		return []Other{{R: total}}
	}
	return nil
}

// Either makes other answers right too. Of R and the other one is NaN, and what a kernel gave says which of
// them it is judged by.
func Either(t judge.Target, others []Other) judge.Target {
	if len(others) == 0 || t.Rows != nil {
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

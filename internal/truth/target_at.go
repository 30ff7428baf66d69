package truth

import (
	"triad/internal/judge"
	"triad/internal/op"
)

// TargetAt makes an output of zeros for elements at increasing row-major positions (nil: all of them).
func (k *Request) TargetAt(name string, d op.DType, shape, index []int64) judge.Target {
	t := k.described(name, d, shape)
	t.Index = index
	n := t.Elements()
	if index != nil {
		n = int64(len(index))
	}
	t.R, t.T, t.TFP32, t.Sim = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	return t
}

// Gradient returns the name of the gradient that the loss's derivative equals.
func (l Loss) Gradient() string { return l.gradient }

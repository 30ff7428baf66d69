package judge

import (
	"math"
	"sync"

	"triad/internal/op"
)

// Wrongs counts the rejected elements of an output by what they are; op.WrongKinds names the kinds.
type Wrongs struct{ NaNLost, NaNGained, Infinite, Finite int64 }

// WrongsOf counts the elements of an output that G1 and G2 reject. An output without the target's size has
// none that could be looked at.
func WrongsOf(t Target, data []byte) Wrongs {
	var w Wrongs
	if t.Check() != nil || int64(len(data)) != t.Elements()*t.DType.Size() || t.DType == op.DTypeUnknown {
		return w
	}
	if t.Rows == nil {
		return wrongsIn(t, data)
	}
	var mu sync.Mutex
	err := t.eachPiece(piecesOf(t), func(_, first int, v Values) {
		part := t
		part.Rows, part.Shape = nil, []int64{int64(len(v.R))}
		part.R, part.T, part.TFP32, part.Sim = v.R, v.T, v.TFP32, v.Sim
		size := int(t.DType.Size())
		found := wrongsIn(part, data[first*size:(first+len(v.R))*size])
		mu.Lock()
		defer mu.Unlock()
		w.NaNLost, w.NaNGained = w.NaNLost+found.NaNLost, w.NaNGained+found.NaNGained
		w.Infinite, w.Finite = w.Infinite+found.Infinite, w.Finite+found.Finite
	})
	if err != nil {
		return Wrongs{}
	}
	return w
}

// wrongsIn counts the rejected elements of an output whose truth is kept.
func wrongsIn(t Target, data []byte) (w Wrongs) {
	y, g := decode(t, data), gridOf(t)
	for i := range y {
		switch want := t.R[i]; {
		case g.accepts(y[i], want, t.T[i]):
		case math.IsNaN(want):
			w.NaNLost++
		case math.IsNaN(y[i]):
			w.NaNGained++
		case math.IsInf(want, 0) || math.IsInf(y[i], 0):
			w.Infinite++
		default:
			w.Finite++
		}
	}
	return w
}

// Only says whether elements were rejected, and all of them are of these kinds.
func (w Wrongs) Only(kinds []string) bool {
	counts := map[string]int64{
		"nan lost": w.NaNLost, "nan gained": w.NaNGained, "infinite": w.Infinite,
		"finite": w.Finite,
	}
	some := w != Wrongs{}
	for _, kind := range kinds {
		delete(counts, kind)
	}
	for _, n := range counts {
		if n > 0 {
			return false
		}
	}
	return some
}

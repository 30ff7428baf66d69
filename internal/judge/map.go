package judge

import (
	"math"
	"sync"

	"triad/internal/op"
)

// Map is a coarse picture of the errors of an output, seen as [rows, last dim]: a grid of cells, row by row.
// It explains; it never decides.
type Map struct {
	Rows, Cols int64 // of the output
	Down       int   // cells of a column of the grid
	Across     int   // cells of a row of the grid
	Compared   []int64
	Wrong      []int64
	// Most is the largest |y-R| / (T + half an ulp of y) of a cell: above 1 an element is wrong. It is
	// infinite where NaN or an infinity replaces another value.
	Most []float64
}

// mapDown and mapAcross are the largest size of a Map's grid, in cells.
const (
	mapDown   = 24
	mapAcross = 32
)

// MapOf returns the map of an output; nil where its elements cannot be judged.
func MapOf(t Target, data []byte) *Map {
	if t.Check() != nil || t.DType == op.DTypeUnknown || t.Elements() == 0 ||
		int64(len(data)) != t.Elements()*t.DType.Size() {
		return nil
	}
	m := newMap(t)
	g := gridOf(t)
	var mu sync.Mutex
	err := t.eachPiece(piecesOf(t), func(_, first int, v Values) {
		part := newMap(t)
		y := make([]float64, len(v.R))
		decodeJudged(y, t, data, first)
		for i := range y {
			part.add(g, t.position(first+i), y[i], v.R[i], v.T[i])
		}
		mu.Lock()
		defer mu.Unlock()
		m.merge(part)
	})
	if err != nil {
		return nil
	}
	return m
}

// newMap returns the empty map of an output.
func newMap(t Target) *Map {
	cols := int64(1)
	if n := len(t.Shape); n > 0 {
		cols = t.Shape[n-1]
	}
	m := &Map{Rows: t.Elements() / cols, Cols: cols}
	m.Down, m.Across = int(min(m.Rows, mapDown)), int(min(m.Cols, mapAcross))
	cells := m.Down * m.Across
	m.Compared, m.Wrong, m.Most = make([]int64, cells), make([]int64, cells), make([]float64, cells)
	return m
}

// add puts the element at a row-major position into its cell.
func (m *Map) add(g *grid, position int64, y, r, t float64) {
	row, col := position/m.Cols, position%m.Cols
	cell := int(row*int64(m.Down)/m.Rows)*m.Across + int(col*int64(m.Across)/m.Cols)
	m.Compared[cell]++
	accepted := g.accepts(y, r, t)
	if !accepted {
		m.Wrong[cell]++
	}
	m.Most[cell] = math.Max(m.Most[cell], g.used(y, r, t, accepted))
}

// used returns |y-R| / (T + half an ulp of y): at most 1 where y is accepted, above 1 where it is not,
// infinite where the distance is no number.
func (g *grid) used(y, r, t float64, accepted bool) float64 {
	switch v := g.value(y, r); {
	case accepted && (math.IsNaN(r) || math.IsInf(r, 0) || v == r):
		return 0
	case accepted:
		return math.Min(1, math.Abs(v-r)/(t+power(g.logULP(v)-1)))
	case g.choice || math.IsNaN(v-r) || math.IsInf(v-r, 0):
		return math.Inf(1)
	default:
		share := math.Abs(v-r) / (t + power(g.logULP(v)-1))
		return math.Max(share, math.Nextafter(1, 2))
	}
}

// merge adds a map of other elements of the same output.
func (m *Map) merge(o *Map) {
	for i := range m.Most {
		m.Compared[i] += o.Compared[i]
		m.Wrong[i] += o.Wrong[i]
		m.Most[i] = math.Max(m.Most[i], o.Most[i])
	}
}

package plot

import (
	"fmt"
	"math"
)

// Grid shows where errors lie: cells, row by row, each with the largest share of what is accepted that an
// error in it takes. Above 1 something in it is wrong; NaN means that nothing in it was compared.
type Grid struct {
	Title        string
	Down, Across int
	Rows, Cols   int64 // that the cells stand for
	Share        []float64
	Wrong        []int64
}

// steps are the shades of a grid: the largest share of each, and its text in the legend.
var steps = []struct {
	upTo  float64
	words string
}{
	{0, "exact"},
	{0.25, "to 1/4 of the bound"},
	{0.5, "to 1/2"},
	{1, "to the bound"},
	{2, "wrong: to 2 x"},
	{10, "to 10 x"},
	{1000, "to 1000 x"},
	{math.MaxFloat64, "more"},
}

// noNumber is the class of a cell with an error that is infinite: NaN or an infinity stands where a number
// belongs, or a number where one of these does.
const noNumber = "nan"

// shade returns the class of a cell.
func shade(share float64) string {
	if math.IsNaN(share) {
		return "none"
	}
	for i, s := range steps {
		if share <= s.upTo {
			return fmt.Sprintf("h%d", i)
		}
	}
	return noNumber
}

// Words returns the share that is wrong and the rows and columns that it spans.
func (g Grid) Words() string {
	wrong, cells := int64(0), 0
	top, bottom, first, last := g.Down, -1, g.Across, -1
	for i, n := range g.Wrong {
		if n == 0 {
			continue
		}
		wrong, cells = wrong+n, cells+1
		top, bottom = min(top, i/g.Across), max(bottom, i/g.Across)
		first, last = min(first, i%g.Across), max(last, i%g.Across)
	}
	if cells == 0 {
		return g.Title + ". Nothing is wrong."
	}
	return fmt.Sprintf(
		"%s. %d wrong elements in %d of %d cells, within rows %d to %d and columns %d to %d.",
		g.Title,
		wrong,
		cells,
		len(g.Wrong),
		firstOf(top, g.Rows, g.Down),
		firstOf(bottom+1, g.Rows, g.Down)-1,
		firstOf(first, g.Cols, g.Across),
		firstOf(last+1, g.Cols, g.Across)-1,
	)
}

// firstOf returns the first of n indices in a cell: the inverse of index * cells / n.
func firstOf(cell int, n int64, cells int) int64 {
	return (int64(cell)*n + int64(cells) - 1) / int64(cells)
}

// SVG draws the cells, merging neighbours of the same shade.
func (g Grid) SVG() Drawing {
	d := newDrawing(g.Title, g.Words())
	const most = 230.0
	w := (width - left - right) / float64(g.Across)
	h := math.Min(most/float64(g.Down), math.Max(w, 14))
	w = math.Min(w, math.Max(h*2, 14))
	for row := range g.Down {
		for from := 0; from < g.Across; {
			class, to := shade(g.Share[row*g.Across+from]), from+1
			for to < g.Across && shade(g.Share[row*g.Across+to]) == class {
				to++
			}
			d.rect("cell "+class, left+float64(from)*w, 10+float64(row)*h, float64(to-from)*w, h)
			from = to
		}
	}
	bottom, end := 10+float64(g.Down)*h, left+float64(g.Across)*w
	d.text("tick end", left-6, 20, "0")
	if g.Rows > 1 && bottom > 40 {
		d.text("tick end", left-6, bottom, fmt.Sprint(g.Rows-1))
	}
	d.text("tick", left, bottom+16, "0")
	if g.Cols > 1 && end-left > 40 {
		d.text("tick end", end, bottom+16, fmt.Sprint(g.Cols-1))
	}
	d.text("label mid", (left+end)/2, bottom+16, "column")
	d.turned("label mid", 13, (10+bottom)/2, "row")
	seen := map[string]bool{}
	for _, s := range g.Share {
		seen[shade(s)] = true
	}
	d.height = d.shades(bottom+40, seen)
	return d.end()
}

// shades draws the legend of the shades that occur, and returns where it ends.
func (d *drawing) shades(top float64, seen map[string]bool) float64 {
	type entry struct{ class, words string }
	var all []entry
	for i, s := range steps {
		all = append(all, entry{fmt.Sprintf("h%d", i), s.words})
	}
	all = append(all, entry{noNumber, "NaN or infinity"}, entry{"none", "not compared"})
	n := 0
	for _, e := range all {
		if !seen[e.class] {
			continue
		}
		x, y := 10+float64(n%3)*184, top+float64(n/3)*rowHeight
		d.rect("cell "+e.class, x, y-9, 12, 12)
		d.text("legend", x+18, y+2, e.words)
		n++
	}
	return top + float64((n+2)/3)*rowHeight
}

package plot

import (
	"fmt"
	"math"
	"strings"
)

// Histogram counts the errors of each name in each bucket.
type Histogram struct {
	Title   string
	Label   string   // of the buckets
	Buckets []string // what each holds
	Rows    []Counts
}

// Counts holds the counts of one name, one a bucket.
type Counts struct {
	Name   string
	Counts []int64
}

// total returns the sum of the counts.
func (c Counts) total() (n int64) {
	for _, x := range c.Counts {
		n += x
	}
	return n
}

// Words describes, for each name, the range of most errors and the largest error.
func (h Histogram) Words() string {
	var parts []string
	for _, r := range h.Rows {
		n, sum, half, last := r.total(), int64(0), -1, 0
		for i, x := range r.Counts {
			if sum += x; half < 0 && 2*sum >= n {
				half = i
			}
			if x > 0 {
				last = i
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: half of %d errors at most %s, the largest %s", r.Name, n,
				h.Buckets[half], h.Buckets[last]))
		}
	}
	return h.Title + ". " + strings.Join(parts, "; ") + "."
}

// nameWidth is the width of the names of rows.
const nameWidth = 168.0

// SVG draws a row of bars for each name. Heights are logarithmic, so that one error in a million is visible.
func (h Histogram) SVG() Drawing {
	const high = 30.0
	d := newDrawing(h.Title, h.Words())
	used, most := 1, int64(1)
	for _, r := range h.Rows {
		for i, x := range r.Counts {
			if most = max(most, x); x > 0 {
				used = max(used, i+1)
			}
		}
	}
	used = min(max(used, 4), len(h.Buckets))
	step := (width - nameWidth - right) / float64(used)
	for k, r := range h.Rows {
		base := 14 + float64(k+1)*(high+8)
		d.text("legend", 6, base-8, cut(r.Name, 23))
		d.line("grid", nameWidth, base, width-right, base)
		for i, x := range r.Counts[:used] {
			if x > 0 {
				share := (math.Log10(float64(x)) + 1) / (math.Log10(float64(most)) + 1)
				class := "bar"
				if i == len(h.Buckets)-1 {
					class = "bar beyond"
				}
				d.rect(class, nameWidth+float64(i)*step+1, base-share*high, step-2, share*high)
			}
		}
	}
	bottom := 14 + float64(len(h.Rows))*(high+8)
	every := int(math.Ceil(48 / step))
	for i := 0; i < used; i += every {
		d.text("tick mid", nameWidth+(float64(i)+0.5)*step, bottom+16, h.Buckets[i])
	}
	d.text("label mid", (nameWidth+width)/2, bottom+34, h.Label)
	d.height = bottom + 42
	return d.end()
}

// Intervals draws values of names against a reference.
type Intervals struct {
	Title string
	X     Axis
	At    float64 // the reference
	Rows  []Interval
}

// Interval is one of them; Word stands after it.
type Interval struct {
	Name, Word       string
	Value, Low, High float64
}

// Words lists the values.
func (c Intervals) Words() string {
	var parts []string
	for _, r := range c.Rows {
		parts = append(parts, fmt.Sprintf("%s %s [%s, %s] %s", r.Name, c.X.Text(r.Value), digits(r.Low),
			digits(r.High), r.Word))
	}
	return c.Title + ". " + strings.Join(parts, "; ") + "."
}

// SVG draws a line for each value, with its interval.
func (c Intervals) SVG() Drawing {
	d := newDrawing(c.Title, c.Words())
	values := []float64{c.At}
	for _, r := range c.Rows {
		values = append(values, r.Low, r.High, r.Value)
	}
	bottom := 10 + float64(len(c.Rows))*rowHeight
	x := newSpan(c.X, values, nameWidth, width-right-74)
	for _, v := range x.ticks(4) {
		d.line("grid", x.at(v), 6, x.at(v), bottom)
		d.text("tick mid", x.at(v), bottom+16, x.Text(v))
	}
	d.line("limit", x.at(c.At), 6, x.at(c.At), bottom)
	for i, r := range c.Rows {
		y := 10 + (float64(i)+0.5)*rowHeight
		d.text("legend", 6, y+4, cut(r.Name, 23))
		d.path("line s0", fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x.at(r.Low), y, x.at(r.High), y))
		d.marker(0, x.at(r.Value), y)
		d.text("tick", width-right-68, y+4, cut(r.Word, 11))
	}
	d.text("label mid", (x.from+x.to)/2, bottom+34, c.X.Label)
	d.height = bottom + 42
	return d.end()
}

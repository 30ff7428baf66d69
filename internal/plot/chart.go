package plot

import (
	"fmt"
	"math"
	"strings"
)

// Point is one measured value, with its interval if Low < High.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// Series holds the points of one name on a chart, in the order of X.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
	// Scattered: the points are not joined. Limit: a line without points that others are measured against.
	Scattered bool `json:"scattered,omitempty"`
	Limit     bool `json:"limit,omitempty"`
}

// Chart draws series over a common axis.
type Chart struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// The size of a drawing in its own units.
const (
	width      = 560.0
	plotHeight = 250.0
	left       = 96.0
	right      = 16.0
	rowHeight  = 19.0
)

// Words describes what the chart shows, for those who cannot see it.
func (c Chart) Words() string {
	var parts []string
	for _, s := range c.Series {
		if n := len(s.Points); n > 0 && !s.Limit {
			first, last := s.Points[0], s.Points[n-1]
			words := s.Name + ": " + c.Y.Text(first.Y) + " at " + c.X.Text(first.X)
			if n > 1 {
				words += " to " + c.Y.Text(last.Y) + " at " + c.X.Text(last.X)
			}
			parts = append(parts, words)
		}
	}
	if len(parts) > 8 {
		parts = append(parts[:8], fmt.Sprintf("and %d more", len(parts)-8))
	}
	return fmt.Sprintf("%s: %s over %s. %s.", c.Title, c.Y.Label, c.X.Label, strings.Join(parts, "; "))
}

// SVG draws the chart.
func (c Chart) SVG() Drawing {
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs = append(xs, p.X)
			ys = append(ys, p.Y)
			if p.Low < p.High {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	x := newSpan(c.X, xs, left, width-right)
	y := newSpan(c.Y, ys, plotHeight, 12)
	d := newDrawing(c.Title, c.Words())
	d.axes(x, y)
	for i, s := range c.Series {
		d.series(i, s, x, y)
	}
	d.legend(plotHeight+46, c.Series)
	return d.end()
}

// axes draws both axes with their ticks, and lines through the plot.
func (d *drawing) axes(x, y span) {
	for _, v := range y.ticks(6) {
		at := y.at(v)
		d.line("grid", x.from, at, x.to, at)
		d.text("tick end", x.from-6, at+4, y.text(v))
	}
	last := math.Inf(-1)
	for _, v := range x.ticks(6) {
		at := x.at(v)
		d.line("grid", at, y.to, at, y.from)
		words := x.text(v)
		if half := textWidth(words) / 2; at-half > last+6 && at+half < width {
			d.text("tick mid", at, y.from+16, words)
			last = at + half
		}
	}
	d.line("axis", x.from, y.from, x.to, y.from)
	d.line("axis", x.from, y.from, x.from, y.to)
	d.text("label mid", (x.from+x.to)/2, y.from+34, x.Label)
	d.turned("label mid", 13, (y.from+y.to)/2, y.Label)
}

// series draws the line of a name, its intervals and its points.
func (d *drawing) series(i int, s Series, x, y span) {
	class := fmt.Sprintf("s%d", i%palette)
	var path strings.Builder
	for k, p := range s.Points {
		verb := "L"
		if k == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, x.at(p.X), y.at(p.Y))
	}
	switch {
	case s.Limit:
		d.path("limit", path.String())
		return
	case !s.Scattered && len(s.Points) > 1:
		d.path("line "+class, path.String())
	}
	for _, p := range s.Points {
		if p.Low < p.High {
			d.interval(class, x.at(p.X), y.at(p.Low), y.at(p.High))
		}
		d.marker(i, x.at(p.X), y.at(p.Y))
	}
}

// interval draws a vertical bar with ends.
func (d *drawing) interval(class string, x, low, high float64) {
	d.path("line "+class, fmt.Sprintf("M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f",
		x, low, x, high, x-3, low, x+3, low, x-3, high, x+3, high))
}

// legend lists the names, two a line, and sets the height of the drawing.
func (d *drawing) legend(top float64, all []Series) {
	const perLine = 2
	step := (width - 20) / perLine
	for i, s := range all {
		x, y := 14+float64(i%perLine)*step, top+float64(i/perLine)*rowHeight
		if s.Limit {
			d.path("limit", fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x-6, y, x+6, y))
		} else {
			d.marker(i, x, y)
		}
		d.text("legend", x+11, y+4, cut(s.Name, 38))
	}
	lines := (len(all) + perLine - 1) / perLine
	d.height = top + float64(lines)*rowHeight
}

// cut shortens a name in its middle.
func cut(name string, most int) string {
	letters := []rune(name)
	if len(letters) <= most {
		return name
	}
	half := (most - 1) / 2
	return string(letters[:half]) + "…" + string(letters[len(letters)-half:])
}

package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/plot"
	"triad/internal/record"
)

// Figure is one drawing of what was recorded.
type Figure struct {
	Kind    string // one of FigureKinds
	Drawing plot.Drawing
	Chart   *plot.Chart // if it is a chart: what it was drawn from
}

// FigureKinds are the kinds of figures, in the order of Figures.
var FigureKinds = []string{"map", "errors", "roofline", "times", "ratios", "history"}

// Figures returns all drawings of a page.
func Figures(p Page) []Figure {
	return slices.Concat(p.mapFigures(), p.errorFigures(), p.rooflineFigures(), p.timeFigures(),
		p.ratioFigures(), p.historyFigures())
}

func (f Figure) html() *htmlFigure {
	return &htmlFigure{
		Title: f.Drawing.Title, Words: f.Drawing.Words, SVG: template.HTML(f.Drawing.Inline()),
		Chart: f.Chart,
	}
}

// chartFigure draws a chart. The script that redraws it has one value of a series at each place: of several
// points in one place, those after the first are shifted by a thousandth; in time, by a second.
func chartFigure(kind string, c plot.Chart) Figure {
	f := Figure{Kind: kind, Drawing: c.SVG()}
	apart := c
	apart.Series = slices.Clone(c.Series)
	for i := range apart.Series {
		s := &apart.Series[i]
		s.Points = slices.Clone(s.Points)
		for k := 1; k < len(s.Points); k++ {
			if last := s.Points[k-1].X; s.Points[k].X <= last {
				s.Points[k].X = last * 1.001
				if c.X.Unit == plot.UTC {
					s.Points[k].X = last + 1
				}
			}
		}
	}
	f.Chart = &apart
	return f
}

// mapFigures draws where the errors of wrong outputs lie, partly right outputs first.
func (p Page) mapFigures() []Figure {
	type mapped struct {
		r record.Record
		v record.Verdict
	}
	var partly, wholly []mapped
	for _, r := range badRecords(p.Records) {
		for _, v := range r.Outputs {
			if v.Statistics == nil || v.Statistics.Map == nil {
				continue
			}
			if slices.Contains(v.Statistics.Map.Wrong, 0) {
				partly = append(partly, mapped{r, v})
			} else {
				wholly = append(wholly, mapped{r, v})
			}
		}
	}
	var all []Figure
	for _, m := range append(partly, wholly...) {
		if f, fits := mapFigure(m.r, m.v); fits && len(all) < mostMaps {
			all = append(all, f)
		}
	}
	return all
}

// mapFigure draws the map of an output; fits is false if its lists do not match its grid, or if that is one
// cell, which shows nothing.
func mapFigure(r record.Record, v record.Verdict) (f Figure, fits bool) {
	m := v.Statistics.Map
	cells := m.Down * m.Across
	if cells <= 1 || len(m.Most) != cells || len(m.Wrong) != cells || len(m.Compared) != cells {
		return f, false
	}
	g := plot.Grid{
		Title: fmt.Sprintf("Where %s of %s %s %s is wrong: %s", v.Name, r.Impl, r.Case.Pass, r.Case.DType,
			caseWords(r.Case)),
		Down: m.Down, Across: m.Across, Rows: m.Rows, Cols: m.Cols, Wrong: m.Wrong,
		Share: make([]float64, cells),
	}
	for i, share := range m.Most {
		if g.Share[i] = float64(share); m.Compared[i] == 0 {
			g.Share[i] = math.NaN()
		}
	}
	return Figure{Kind: "map", Drawing: g.SVG()}, true
}

// errorFigures draws the distribution of errors, for each operator, pass and dtype.
func (p Page) errorFigures() []Figure {
	var all []Figure
	for _, lines := range groups(p.Records) {
		for _, dtype := range dtypes(lines) {
			h := plot.Histogram{
				Title: fmt.Sprintf("Errors of %s %s %s", lines[0].op, lines[0].pass, dtype),
				Label: "error in ulp, at most; heights are logarithmic",
			}
			for _, g := range lines {
				counts := g.ulps()
				if len(h.Rows) > 0 && len(counts) != len(h.Rows[0].Counts) {
					continue // kept by a version with other buckets
				}
				if g.dtype == dtype && counts != nil {
					h.Rows = append(h.Rows, plot.Counts{Name: g.impl, Counts: counts})
				}
			}
			if len(h.Rows) > 0 {
				h.Buckets = ulpBuckets(len(h.Rows[0].Counts))
				all = append(all, Figure{Kind: "errors", Drawing: h.SVG()})
			}
		}
	}
	return all
}

// ulps sums the histograms of all outputs; nil if none was kept.
func (g group) ulps() []int64 {
	var sum []int64
	for _, r := range g.records {
		for _, v := range r.Outputs {
			if v.Statistics == nil || len(v.Statistics.ULPs) == 0 {
				continue
			}
			if sum == nil {
				sum = make([]int64, len(v.Statistics.ULPs))
			}
			for i, n := range v.Statistics.ULPs[:min(len(sum), len(v.Statistics.ULPs))] {
				sum[i] += n
			}
		}
	}
	return sum
}

// ulpBuckets returns the names of the buckets of a histogram of errors.
func ulpBuckets(n int) []string {
	names := []string{"1/2"}
	for i := 1; i < n-1; i++ {
		names = append(names, fmt.Sprint(1<<(i-1)))
	}
	return append(names, "more")
}

// ofSession returns the newest session that has ceilings and times, and its records.
func (p Page) ofSession() (record.Measured, []record.Record) {
	for _, m := range p.Sessions {
		var records []record.Record
		timed := false
		for _, r := range p.Records {
			if r.Session == m.Session.ID {
				records = append(records, r)
				timed = timed || len(r.Timings) > 0
			}
		}
		if timed && len(m.Ceilings) > 0 {
			return m, records
		}
	}
	return record.Measured{}, nil
}

// rooflineFigures draws what was reached against what the ceilings of the session allow.
func (p Page) rooflineFigures() []Figure {
	session, records := p.ofSession()
	var all []Figure
	for _, lines := range groups(records) {
		c := plot.Chart{
			Title: fmt.Sprintf(
				"Roofline of %s %s on %s",
				lines[0].op,
				lines[0].pass,
				session.Session.Machine.GPU,
			),
			X: plot.Axis{Label: "FLOPs a byte", Log: true},
			Y: plot.Axis{Label: "reached", Unit: plot.FLOPs, Log: true},
		}
		low, high := math.Inf(1), 0.0
		for _, byImpl := range byImplementation(lines) {
			s := plot.Series{Name: byImpl[0].impl, Scattered: true}
			for _, g := range byImpl {
				for _, t := range g.times() {
					if t.FLOPs > 0 && t.Bytes > 0 {
						x := float64(t.FLOPs) / float64(t.Bytes)
						low, high = math.Min(low, x), math.Max(high, x)
						s.Points = append(s.Points, plot.Point{X: x, Y: float64(t.FLOPs) / t.MedianNS * 1e9})
					}
				}
			}
			if len(s.Points) > 0 {
				sortPoints(s.Points)
				c.Series = append(c.Series, s)
			}
		}
		if len(c.Series) > 0 {
			c.Series = append(c.Series, roofs(session.Ceilings, low/3, high*3)...)
			all = append(all, chartFigure("roofline", c))
		}
	}
	return all
}

func sortPoints(points []plot.Point) {
	slices.SortStableFunc(points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
}

// times returns the usable times of a group, of its first regime each.
func (g group) times() []record.Timing {
	var all []record.Timing
	for _, r := range g.records {
		if len(r.Timings) > 0 && usableTime(r.Timings[0]) {
			all = append(all, r.Timings[0])
		}
	}
	return all
}

func usableTime(t record.Timing) bool {
	return t.Status == op.StatusPass && t.MedianNS > 0 && t.Backward != record.ForwardBackward
}

// roofs returns the limits that the ceilings set between two intensities.
func roofs(ceilings []record.Ceiling, low, high float64) []plot.Series {
	bytes := 0.0
	for _, r := range ceilings {
		if r.Name == "copy" && r.BytesPerSecond != nil {
			bytes = float64(*r.BytesPerSecond)
		}
	}
	if bytes <= 0 {
		return nil
	}
	slope := func(x float64) plot.Point { return plot.Point{X: x, Y: x * bytes} }
	var all []plot.Series
	for _, r := range ceilings {
		if r.FLOPsPerSecond == nil || strings.Contains(r.Name, " ") {
			continue
		}
		peak := float64(*r.FLOPsPerSecond)
		s := plot.Series{
			Name:   "copy, then " + r.Name + " product",
			Limit:  true,
			Points: []plot.Point{slope(low)},
		}
		if ridge := peak / bytes; ridge < high && ridge > low {
			s.Points = append(s.Points, plot.Point{X: ridge, Y: peak}, plot.Point{X: high, Y: peak})
		} else if ridge >= high {
			s.Points = append(s.Points, slope(high))
		} else {
			s.Points = []plot.Point{{X: low, Y: peak}, {X: high, Y: peak}}
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		all = []plot.Series{{Name: "copy", Limit: true, Points: []plot.Point{slope(low), slope(high)}}}
	}
	return all
}

// timeFigures draws times over sizes, for each operator, pass, dtype, attributes and regime; where there is
// only one size, the times of the implementations next to each other.
func (p Page) timeFigures() []Figure {
	type key struct{ title, regime string }
	var order []key
	byKey := map[key][]sized{}
	for _, point := range points(p.timed()) {
		c := point.records[0].Case
		title := fmt.Sprintf("%s %s %s", c.Op, c.Pass, c.DType)
		for _, a := range c.Attrs {
			title += " " + a.Name + "=" + a.Text
		}
		for _, l := range point.lines(nil) {
			if l.timing == nil || !usableTime(*l.timing) || l.timing.Bytes <= 0 {
				continue
			}
			k := key{title, l.timing.Regime}
			if byKey[k] == nil {
				order = append(order, k)
			}
			t := l.timing
			byKey[k] = append(byKey[k], sized{l.impl, float64(t.Bytes), float64(t.FLOPs), plot.Point{
				Y: t.MedianNS, Low: t.LowNS, High: t.HighNS,
			}})
		}
	}
	var all []Figure
	for _, k := range order {
		all = append(all, sizesFigure(k.title+", "+k.regime, byKey[k]))
	}
	return all
}

// sized is a time of an implementation at a size: the least bytes moved and FLOPs computed.
type sized struct {
	impl         string
	bytes, flops float64
	plot.Point
}

// sizesFigure draws times over sizes, or next to each other where there is one size.
func sizesFigure(title string, times []sized) Figure {
	series := map[string]*plot.Series{}
	var names []string
	sizes := map[float64]bool{}
	x := plot.Axis{Label: "moved at least", Unit: plot.Bytes, Log: true}
	if slices.ContainsFunc(times, func(s sized) bool { return s.flops > computeBound*s.bytes }) {
		x = plot.Axis{Label: "computed at least", Unit: plot.Work, Log: true}
	}
	for _, s := range times {
		if s.X = s.bytes; x.Unit == plot.Work {
			s.X = s.flops
		}
		if series[s.impl] == nil {
			series[s.impl] = &plot.Series{Name: s.impl}
			names = append(names, s.impl)
		}
		series[s.impl].Points = append(series[s.impl].Points, s.Point)
		sizes[s.X] = true
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(backendRank(a)-backendRank(b), strings.Compare(a, b))
	})
	if len(sizes) == 1 {
		return Figure{Kind: "times", Drawing: oneSize(title, names, series)}
	}
	c := plot.Chart{
		Title: "Times of " + title,
		X:     x,
		Y:     plot.Axis{Label: "median of a call", Unit: plot.NS, Log: true},
	}
	for _, name := range names {
		sortPoints(series[name].Points)
		c.Series = append(c.Series, *series[name])
	}
	return chartFigure("times", c)
}

// oneSize draws the times of one size, each with its interval, against the shortest.
func oneSize(title string, names []string, series map[string]*plot.Series) plot.Drawing {
	c := plot.Intervals{Title: "Times of " + title, X: plot.Axis{Label: "median of a call", Unit: plot.NS}}
	for _, name := range names {
		for _, t := range series[name].Points {
			if c.At == 0 || t.Y < c.At {
				c.At = t.Y
			}
			c.Rows = append(c.Rows, plot.Interval{
				Name: name, Value: t.Y, Low: t.Low, High: t.High, Word: c.X.Text(t.Y),
			})
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b plot.Interval) int { return cmp.Compare(a.Value, b.Value) })
	return c.SVG()
}

// mostRatios limits the cases whose ratios are drawn; the tables have all.
const mostRatios = 8

// ratioFigures draws how much longer than the fastest each implementation takes on a case, measured in the
// same rounds.
func (p Page) ratioFigures() []Figure {
	var all []Figure
	compared := p.comparisons()
	for _, point := range points(p.timed()) {
		best := ""
		c := plot.Intervals{At: 1, X: plot.Axis{Label: "times as long", Unit: plot.Ratio, Log: true}}
		for _, l := range point.lines(compared) {
			if x := l.comparison; x != nil && l.timing != nil && usableTime(*l.timing) && x.Ratio > 0 &&
				x.Low > 0 && l.timing.Regime == firstRegime(point.records) {
				best = x.B
				c.Rows = append(c.Rows, plot.Interval{
					Name: l.impl, Value: x.Ratio, Low: x.Low, High: x.High, Word: x.SpeedVerdict,
				})
			}
		}
		if len(c.Rows) == 0 || len(all) == mostRatios {
			continue
		}
		c.Title = "Beside " + best + ": " + point.title()
		all = append(all, Figure{Kind: "ratios", Drawing: c.SVG()})
	}
	return all
}

// comparisons returns the comparisons of all sessions.
func (p Page) comparisons() []record.Comparison {
	var all []record.Comparison
	for _, s := range p.Sessions {
		all = append(all, s.Comparisons...)
	}
	return all
}

// firstRegime returns the regime that tables show first.
func firstRegime(records []record.Record) string {
	for _, r := range records {
		if len(r.Timings) > 0 {
			return r.Timings[0].Regime
		}
	}
	return ""
}

package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

const hostile = `a<script>alert("1")</script>&'`

// drawings returns one drawing of each kind, with names that would break out of a drawing.
func drawings() map[string]Drawing {
	return map[string]Drawing{
		"chart": Chart{
			Title: hostile, X: Axis{Label: hostile, Unit: Bytes, Log: true},
			Y: Axis{Label: "time", Unit: NS, Log: true},
			Series: []Series{
				{Name: hostile, Points: []Point{{X: 1e6, Y: 2e3, Low: 1.9e3, High: 2.1e3}, {X: 1e9, Y: 5e5}}},
				{Name: "limit", Limit: true, Points: []Point{{X: 1e6, Y: 1e3}, {X: 1e9, Y: 1e5}}},
			},
		}.SVG(),
		"no points": Chart{Title: "empty"}.SVG(),
		"one point": Chart{
			Title: "one", X: Axis{Unit: UTC},
			Series: []Series{{Name: "a", Points: []Point{{X: 1.7e9, Y: 0}}}},
		}.SVG(),
		"no number": Chart{
			Title: "NaN", Y: Axis{Log: true},
			Series: []Series{{Name: "a", Points: []Point{{X: math.NaN(), Y: -1}, {X: math.Inf(1), Y: 3}}}},
		}.SVG(),
		"histogram": Histogram{
			Title: hostile, Label: hostile, Buckets: []string{"1/2", "1", "more"},
			Rows: []Counts{{hostile, []int64{5, 0, 1}}, {"none", []int64{0, 0, 0}}},
		}.SVG(),
		"intervals": Intervals{
			Title: hostile, At: 1, X: Axis{Unit: Ratio, Log: true},
			Rows: []Interval{{hostile, "SLOWER", 2, 1.9, 2.1}},
		}.SVG(),
		"grid": Grid{
			Title: hostile, Down: 2, Across: 2, Rows: 20, Cols: 30, Wrong: []int64{0, 0, 0, 4},
			Share: []float64{0, math.NaN(), 0.4, math.Inf(1)},
		}.SVG(),
	}
}

// TestDrawingsAreWellFormed: every drawing is well-formed, alone and within a page, has no number that is NaN
// or infinite, and shows names as text.
func TestDrawingsAreWellFormed(t *testing.T) {
	for name, d := range drawings() {
		for form, text := range map[string]string{"inline": d.Inline(), "file": d.File()} {
			decoder := xml.NewDecoder(strings.NewReader(text))
			for {
				token, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s, %s: %v in\n%s", name, form, err, text)
				}
				if e, is := token.(xml.StartElement); is {
					for _, a := range e.Attr {
						if strings.Contains(a.Value, "NaN") && a.Name.Local != "aria-label" ||
							a.Name.Local == "d" && strings.Contains(a.Value, "Inf") {
							t.Errorf("%s, %s: %s = %s", name, form, a.Name.Local, a.Value)
						}
					}
					if e.Name.Local == "script" {
						t.Errorf("%s, %s holds a script", name, form)
					}
				}
			}
		}
		if d.Words == "" || d.height <= 0 {
			t.Errorf("%s: %q, %v high", name, d.Words, d.height)
		}
	}
}

// TestWords: a drawing describes in words what it shows.
func TestWords(t *testing.T) {
	g := Grid{
		Title: "y", Down: 2, Across: 3, Rows: 10, Cols: 7, Wrong: []int64{0, 0, 0, 0, 0, 4},
		Share: make([]float64, 6),
	}
	want := "y. 4 wrong elements in 1 of 6 cells, within rows 5 to 9 and columns 5 to 6."
	if g.Words() != want {
		t.Errorf("%q, want %q", g.Words(), want)
	}
	h := Histogram{
		Title: "e", Buckets: []string{"1/2", "1", "more"}, Rows: []Counts{{"a", []int64{6, 3, 1}}},
	}
	if want := "e. a: half of 10 errors at most 1/2, the largest more."; h.Words() != want {
		t.Errorf("%q, want %q", h.Words(), want)
	}
}

// TestCellsOfAGrid: an element lies in the cell whose first index is the largest not above it, as the judge
// counts.
func TestCellsOfAGrid(t *testing.T) {
	for _, n := range []int64{1, 2, 24, 25, 70, 1000} {
		cells := int(min(n, 24))
		for i := range n {
			cell := int(i * int64(cells) / n)
			if i < firstOf(cell, n, cells) || i >= firstOf(cell+1, n, cells) {
				t.Fatalf("index %d of %d: cell %d holds %d to %d", i, n, cell, firstOf(cell, n, cells),
					firstOf(cell+1, n, cells)-1)
			}
		}
	}
}

func TestTicksLieWithinTheirSpan(t *testing.T) {
	for _, c := range []struct {
		axis      Axis
		low, high float64
	}{
		{Axis{Log: true}, 1, 1e9},
		{Axis{Log: true}, 3, 3.1},
		{Axis{}, 0, 0.003},
		{Axis{Unit: UTC}, 1.7e9, 1.7e9 + 400},
		{Axis{Unit: UTC}, 1.7e9, 1.8e9},
		{Axis{Unit: Session}, 0, 3},
	} {
		s := newSpan(c.axis, []float64{c.low, c.high}, 0, 100)
		ticks := s.ticks(6)
		if len(ticks) < 2 || len(ticks) > 13 {
			t.Errorf("%+v: %d ticks %v", c, len(ticks), ticks)
		}
		seen := map[string]bool{}
		for _, v := range ticks {
			if at := s.at(v); v < s.low*0.999 || v > s.high*1.001 || at < 0 || at > 100 || seen[s.text(v)] {
				t.Errorf("%+v: the tick %v (%s) at %v", c, v, s.text(v), at)
			}
			seen[s.text(v)] = true
		}
	}
}

func TestNumbersOfAnAxis(t *testing.T) {
	for want, got := range map[string]string{
		"1.5 us": Axis{Unit: NS}.Text(1500), "2 MB": Axis{Unit: Bytes}.Text(2e6),
		"3.2 TFLOP/s": Axis{Unit: FLOPs}.Text(3.2e12), "1.02 x": Axis{Unit: Ratio}.Text(1.02),
		"2001-09-09": Axis{Unit: UTC}.Text(1e9), "1e-5": strings.Replace(Axis{}.Text(1e-5), "e-0", "e-", 1),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := fmt.Sprint(cut("a long name of something", 11)); len([]rune(got)) > 11 {
		t.Errorf("cut to %q", got)
	}
}

// TestTitlesAreShown: a name in a title can neither control the terminal that the title is printed on nor
// break out of the SVG.
func TestTitlesAreShown(t *testing.T) {
	c := Chart{
		Title:  "Times of \x1b[2J\u202e<b>&\"x\"\x00",
		Series: []Series{{Name: "\x1b]0;a</text>", Points: []Point{{X: 1, Y: 1}}}},
	}
	d := c.SVG()
	if strings.ContainsAny(d.Title+d.Words, "\x1b\u202e\x00") {
		t.Errorf("title %q, words %q", d.Title, d.Words)
	}
	for _, text := range []string{d.File(), d.Inline()} {
		if strings.ContainsAny(text, "\x1b\u202e\x00") || strings.Contains(text, "<b>") ||
			strings.Contains(text, "a</text>") {
			t.Errorf("the drawing has what is no text: %q", text)
		}
	}
}

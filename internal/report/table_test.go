package report

import (
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"triad/internal/op"
	"triad/internal/record"
)

// wideRecords returns records with long names, sizes and messages.
func wideRecords() []record.Record {
	errorMargin, ulp := record.Float(8.79), record.Float(17.5)
	var records []record.Record
	for _, impl := range []string{"mine/softmax_block", "cuda/online", "triton/row"} {
		c := op.Case{
			Op: "flash_attention", Pass: op.Backward, DType: "fp32",
			Dims: op.Dims{{Name: "rows", Value: 17}, {Name: "cols", Value: 264}}, Layout: "transposed",
			Distribution: "normal", Upstream: "normal",
		}
		records = append(records,
			record.Record{
				ID: "01M7ZD0XZJBN29WS1DMBHRNP4H", Impl: impl, Device: "emulator", Status: op.StatusPass,
				Case: c,
				Outputs: []record.Verdict{
					{Name: "y", Status: op.StatusPass, ErrorMargin: &errorMargin, ULPMax: &ulp},
				},
			},
			record.Record{
				Impl: impl, Device: "emulator", Status: op.StatusUnsupported, Case: c,
				Message: "cols 264 is not a multiple of 1024, which this variant asks for",
			})
	}
	return append(records, record.Record{
		Impl: "torch/eager", Device: "cpu", Status: op.StatusHang, Case: records[0].Case,
		Message: "the call did not come back within 30 s: it was ended, and what it had printed until " +
			"then is in the log of the run",
	})
}

// TestTablesFitTheTerminal: no terminal breaks a line inside a word: columns are left out or continue below,
// notes are cut and paragraphs wrapped at spaces.
func TestTablesFitTheTerminal(t *testing.T) {
	records := wideRecords()
	known := map[string]bool{"…": true}
	whole := shownAt(t, Style{}, records)
	for _, word := range strings.Fields(whole) {
		known[word] = true
	}
	for _, width := range []int{60, 80, 100, 120, 200} {
		seen := shownAt(t, Style{Width: width}, records)
		for line := range strings.Lines(seen) {
			line = strings.TrimSuffix(line, "\n")
			if n := text.StringWidthWithoutEscSequences(line); n > width &&
				!strings.HasPrefix(strings.TrimSpace(line), "triad ") {
				t.Errorf("%d columns: a line of %d: %q", width, n, line)
			}
			for _, word := range strings.Fields(line) {
				if !known[word] && !known[word+","] && !known[word+";"] && !known[word+":"] {
					t.Errorf("%d columns: %q is no whole word", width, word)
				}
			}
		}
		for _, must := range []string{
			"mine/softmax_block", "01M7ZD0XZJBN29WS1DMBHRNP4H", "HANG", "backward",
		} {
			if !strings.Contains(seen, must) {
				t.Errorf("%d columns: %s is gone", width, must)
			}
		}
	}
	if narrow := shownAt(t, Style{Width: 80}, records); strings.Contains(narrow, "emulator") ||
		!strings.Contains(narrow, "not taken") {
		t.Errorf("at 80 columns the devices are the first to go:\n%s", narrow)
	}
	if wide := shownAt(t, Style{Width: 200}, records); !strings.Contains(wide, "emulator") ||
		!strings.Contains(wide, "max ulp") {
		t.Errorf("at 200 columns something is left out:\n%s", wide)
	}
}

// shownAt returns a comparison and a list as a terminal shows them.
func shownAt(t *testing.T, s Style, records []record.Record) string {
	t.Helper()
	var out strings.Builder
	if err := Compare(&out, s, records, nil, Summary{
		Database: "/home/somebody/.local/share/triad/results.db",
		Session:  "01M7ZDGWMAPXC82X4VM7827S9V", Exit: 1,
	}); err != nil {
		t.Fatal(err)
	}
	if err := List(&out, s, records, 7); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestCutCells: a query says that a terminal cut its cells; where the locale has no UTF-8, the mark is three
// points.
func TestCutCells(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, c := range []struct {
		style Style
		mark  string
	}{{Style{Width: 40}, "…"}, {Style{Width: 40, ASCII: true}, "..."}, {Style{}, ""}} {
		var out strings.Builder
		if err := Rows(&out, c.style, []string{"id", "message"}, [][]any{{int64(1), long}}, ""); err != nil {
			t.Fatal(err)
		}
		said := strings.Contains(out.String(), "--format csv")
		if said != (c.mark != "") || !strings.Contains(out.String(), c.mark) ||
			c.style.ASCII && strings.Contains(out.String(), "…") {
			t.Errorf("%+v: %q", c.style, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); c.style.Width > 0 &&
				strings.Contains(line, "word") && n > c.style.Width {
				t.Errorf("a line of %d columns: %q", n, line)
			}
		}
	}
}

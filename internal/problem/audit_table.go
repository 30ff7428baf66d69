package problem

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"triad/internal/harmless"
)

// Table prints the rows of an audit as they come, and then how many problems have each verdict.
type Table struct {
	out    io.Writer
	asJSON bool
	width  int
	counts map[string]map[Verdict]int // by format
	all    map[string]int
}

// NewTable returns the table of these problems, as text or as one JSON object a line.
func NewTable(out io.Writer, asJSON bool, found []Problem) *Table {
	t := &Table{out: out, asJSON: asJSON, counts: map[string]map[Verdict]int{}, all: map[string]int{}}
	for _, p := range found {
		t.width = max(t.width, len(harmless.Line(p.Operator)))
	}
	return t
}

// Row prints the row of a problem.
func (t *Table) Row(row Audited) error {
	if t.counts[row.Format] == nil {
		t.counts[row.Format] = map[Verdict]int{}
	}
	t.counts[row.Format][row.Verdict]++
	t.all[row.Format]++
	if t.asJSON {
		return t.line(row)
	}
	text := fmt.Sprintf("%-*s  %-11s  %s", t.width, harmless.Line(row.Problem), row.Verdict,
		harmless.Line(row.Reason()))
	_, err := fmt.Fprintln(t.out, strings.TrimRight(text, " "))
	return err
}

// counted is the last line of a format.
type counted struct {
	Format      string `json:"format"`
	Problems    int    `json:"problems"`
	Sound       int    `json:"sound"`
	Weak        int    `json:"weak"`
	Constant    int    `json:"constant"`
	Unjudgeable int    `json:"unjudgeable"`
}

// End prints a line with the counts of each format. The number is that of the problems with a verdict other
// than unjudgeable.
func (t *Table) End() (judged int, err error) {
	for _, f := range formats {
		if n := t.all[f.Name()]; n > 0 {
			c := t.counts[f.Name()]
			judged += n - c[Unjudgeable]
			all := counted{f.Name(), n, c[Sound], c[Weak], c[Constant], c[Unjudgeable]}
			if err := t.count(all); err != nil {
				return judged, err
			}
		}
	}
	return judged, nil
}

func (t *Table) count(c counted) error {
	if t.asJSON {
		return t.line(c)
	}
	_, err := fmt.Fprintf(t.out, "%s: %d problems: %d sound, %d weak, %d constant, %d unjudgeable\n",
		c.Format, c.Problems, c.Sound, c.Weak, c.Constant, c.Unjudgeable)
	return err
}

func (t *Table) line(row any) error {
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "%s\n", text)
	return err
}

package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Style says what the output goes to. The zero value is a pipe: no colour, no limit of width.
type Style struct {
	Color bool // a terminal that shows colours
	Width int  // columns of the terminal; 0: as wide as it gets
}

// column is a column of a table: its heading, and whether it holds numbers.
type column struct {
	name  string
	right bool
}

// columns makes left-aligned columns; a name that begins with '>' is aligned to the right.
func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, name := range names {
		out[i] = column{strings.TrimPrefix(name, ">"), strings.HasPrefix(name, ">")}
	}
	return out
}

// Table writes rows under a header, two spaces between the columns and none at the end of a line, each line behind indent. The last
// column is cut to the width of the terminal.
func (s Style) Table(w io.Writer, indent string, header []column, rows [][]string) error {
	t := table.NewWriter()
	t.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: "  "}, Format: table.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault}})
	names := make(table.Row, len(header))
	var configs []table.ColumnConfig
	for i, c := range header {
		names[i] = s.paint(faint, c.name)
		if c.right {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(names)
	for _, row := range s.fit(len(indent), header, rows) {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		t.AppendRow(cells)
	}
	lines := strings.Split(t.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+line, " ")
	}
	return write(w, strings.Join(lines, "\n")+"\n")
}

// fit cuts the last column so that lines fit the terminal; at least 20 characters of it stay.
func (s Style) fit(taken int, header []column, rows [][]string) [][]string {
	if s.Width <= 0 || len(header) == 0 {
		return rows
	}
	last := len(header) - 1
	for i := range last {
		widest := text.StringWidthWithoutEscSequences(header[i].name)
		for _, row := range rows {
			widest = max(widest, text.StringWidthWithoutEscSequences(row[i]))
		}
		taken += widest + 2
	}
	room := max(s.Width-taken, 20)
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = append([]string(nil), row...)
		if text.StringWidthWithoutEscSequences(row[last]) > room {
			out[i][last] = text.Snip(row[last], room, "…")
		}
	}
	return out
}

// Colours, by what they mean.
type colour string

const (
	good  colour = "32"
	bad   colour = "31;1"
	mild  colour = "33"
	faint colour = "2"
	bold  colour = "1"
)

// paint puts a colour around text that a terminal shows.
func (s Style) paint(c colour, words string) string {
	if !s.Color || words == "" {
		return words
	}
	return "\x1b[" + string(c) + "m" + words + "\x1b[0m"
}

// write writes text whole.
func write(w io.Writer, words string) error {
	_, err := io.WriteString(w, words)
	return err
}

// clean makes text from a kernel, a compiler or a file harmless on a terminal: one line, control characters visible.
func clean(words string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0x2067:
			return '\uFFFD'
		}
		return r
	}, strings.TrimSpace(words))
}

// cleanLines is clean for text of several lines, each behind indent.
func cleanLines(words, indent string) string {
	lines := strings.Split(strings.TrimRight(words, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(indent+clean(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

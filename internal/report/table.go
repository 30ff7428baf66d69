package report

import (
	"io"
	"slices"
	"strings"

	"triad/internal/harmless"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Style describes the destination of the output. The zero value is a pipe: no colour, no limit of width.
type Style struct {
	Color bool // a terminal that shows colours
	Width int  // columns of the terminal; 0: as wide as it gets
	ASCII bool // the terminal may not show other characters
	// InDatabase is the end of commands that read what was recorded: " --db FILE"; "" for the default
	// database.
	InDatabase string
}

// column is a column of a table: its heading, whether it holds numbers, and whether a narrow terminal may do
// without it.
type column struct {
	name  string
	right bool
	spare bool
}

// columns makes left-aligned columns; a name that begins with '>' is right-aligned, and one that begins with
// '?' (before it) may be left out if the terminal is too narrow for all.
func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, name := range names {
		name, spare := strings.CutPrefix(name, "?")
		name, right := strings.CutPrefix(name, ">")
		out[i] = column{name, right, spare}
	}
	return out
}

// leastRoom is the least width of the last column of a table, where its text is that long.
const leastRoom = 20

// Table writes rows under a header, with two spaces between the columns, none at the end of a line, and
// indent before each line. On a terminal that is too narrow, columns that may be left out are, from the
// right; if that is not enough, rows continue on a second line, and the last column is cut.
func (s Style) Table(w io.Writer, indent string, header []column, rows [][]string) error {
	_, err := s.table(w, indent, header, rows)
	return err
}

// table writes a table, and reports whether cells were cut.
func (s Style) table(w io.Writer, indent string, header []column, rows [][]string) (isCut bool, err error) {
	header, rows = s.narrow(len(indent), header, rows)
	var bands [][]string
	for from := 0; from < len(header); {
		to := s.band(len(indent), header, rows, from)
		part := make([][]string, len(rows))
		for i, row := range rows {
			part[i] = row[from:to]
		}
		fitting, shortened := s.fit(len(indent), header[from:to], part)
		isCut = isCut || shortened
		bands = append(bands, s.lines(indent, header[from:to], fitting))
		if from = to; len(bands) == 1 {
			indent += "    "
		}
	}
	var text strings.Builder
	for i := range len(rows) + 1 {
		for _, band := range bands {
			text.WriteString(band[i] + "\n")
		}
	}
	return isCut, write(w, text.String())
}

// lines returns the header and the rows of a table that fits.
func (s Style) lines(indent string, header []column, rows [][]string) []string {
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:    table.BoxStyle{PaddingRight: "  "},
		Format: table.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault},
	})
	names := make(table.Row, len(header))
	var configs []table.ColumnConfig
	for i, c := range header {
		names[i] = s.paint(faint, c.name)
		if c.right {
			configs = append(configs, table.ColumnConfig{
				Number: i + 1, Align: text.AlignRight,
				AlignHeader: text.AlignRight,
			})
		}
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(names)
	for _, row := range rows {
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
	return lines
}

// widths returns the width of each column of a table on a terminal, without the space after it.
func widths(header []column, rows [][]string) []int {
	out := make([]int, len(header))
	for i := range header {
		out[i] = text.StringWidthWithoutEscSequences(header[i].name)
		for _, row := range rows {
			out[i] = max(out[i], text.StringWidthWithoutEscSequences(row[i]))
		}
	}
	return out
}

// narrow drops columns that may be left out, until the rest fits.
func (s Style) narrow(taken int, header []column, rows [][]string) ([]column, [][]string) {
	for s.Width > 0 && len(header) > 0 {
		wide := widths(header, rows)
		sum := taken + min(wide[len(wide)-1], leastRoom)
		for _, n := range wide[:len(wide)-1] {
			sum += n + 2
		}
		drop := -1
		for i, c := range header {
			if c.spare {
				drop = i
			}
		}
		if sum <= s.Width || drop < 0 {
			break
		}
		header = slices.Delete(slices.Clone(header), drop, drop+1)
		fewer := make([][]string, len(rows))
		for i, row := range rows {
			fewer[i] = slices.Delete(slices.Clone(row), drop, drop+1)
		}
		rows = fewer
	}
	return header, rows
}

// band returns the end of the columns that fit next to each other, starting with a given one.
func (s Style) band(taken int, header []column, rows [][]string, from int) int {
	if s.Width <= 0 {
		return len(header)
	}
	wide := widths(header, rows)
	for to := from; to < len(header); to++ {
		need := wide[to]
		if to == len(header)-1 {
			need = min(need, leastRoom)
		}
		if to > from && taken+need > s.Width {
			return to
		}
		taken += wide[to] + 2
	}
	return len(header)
}

// fit cuts the last column at a space so that lines fit the terminal; it keeps at least leastRoom of it.
func (s Style) fit(taken int, header []column, rows [][]string) (fitting [][]string, isCut bool) {
	if s.Width <= 0 || len(header) == 0 {
		return rows, false
	}
	last := len(header) - 1
	for _, n := range widths(header, rows)[:last] {
		taken += n + 2
	}
	room := max(s.Width-taken, leastRoom)
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = slices.Clone(row)
		if text.StringWidthWithoutEscSequences(row[last]) > room {
			out[i][last], isCut = s.cut(row[last], room), true
		}
	}
	return out, isCut
}

// cut shortens words to a width, at a space if that keeps half of it.
func (s Style) cut(words string, room int) string {
	mark := "…"
	if s.ASCII {
		mark = "..."
	}
	short := text.Snip(words, room, mark)
	i := strings.LastIndexByte(short, ' ')
	if i > room/2 && i+1+len([]rune(mark)) <= room && !strings.Contains(short[i:], "\x1b") {
		return strings.TrimRight(short[:i], " ,;:") + " " + mark
	}
	return short
}

// wrapping is a writer that wraps lines wider than the terminal at spaces, and keeps their indentation.
// Commands stay on a line of their own, to be copied.
type wrapping struct {
	to    io.Writer
	width int
}

// Wrap returns a writer for paragraphs.
func (s Style) Wrap(w io.Writer) io.Writer {
	if s.Width <= 0 {
		return w
	}
	return wrapping{w, s.Width}
}

// Write expects whole lines.
func (x wrapping) Write(b []byte) (int, error) {
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		body, ended := strings.CutSuffix(line, "\n")
		out.WriteString(x.wrapped(body))
		if ended {
			out.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(x.to, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (x wrapping) wrapped(line string) string {
	body := strings.TrimLeft(line, " ")
	if text.StringWidthWithoutEscSequences(line) <= x.width || strings.HasPrefix(body, "triad ") {
		return line
	}
	indent := line[:len(line)-len(body)]
	var out strings.Builder
	out.WriteString(indent)
	at := len(indent)
	for i, word := range strings.Split(body, " ") {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case at+1+n > x.width && at > len(indent):
			out.WriteString("\n" + indent)
			at = len(indent)
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}

// colour is the terminal code of a colour; the constants are named by what they mean.
type colour string

const (
	good  colour = "32"
	bad   colour = "31;1"
	mild  colour = "33"
	faint colour = "2"
	bold  colour = "1"
)

// paint colours text on a terminal with colours.
func (s Style) paint(c colour, words string) string {
	if !s.Color || words == "" {
		return words
	}
	return "\x1b[" + string(c) + "m" + words + "\x1b[0m"
}

// write writes all of a text.
func write(w io.Writer, words string) error {
	_, err := io.WriteString(w, words)
	return err
}

// clean escapes text from a kernel, a compiler or a file for a terminal: one line, control characters
// visible.
func clean(words string) string { return harmless.Line(words) }

// cleanLines is clean for text of several lines, each after indent and its own leading spaces.
func cleanLines(words, indent string) string {
	lines := strings.Split(strings.TrimRight(words, "\n"), "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(line, "\t", "    ")
		own := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines[i] = strings.TrimRight(indent+own+clean(line), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"triad/internal/harmless"
	"triad/internal/record"
)

// Rows writes the result of an SQL query; cut says where it was cut off, "" if it is complete.
func Rows(w io.Writer, style Style, names []string, rows [][]any, cut string) error {
	header := make([]column, len(names))
	for i, name := range names {
		header[i] = column{name: clean(name), right: len(rows) > 0 && numeric(rows, i)}
	}
	cells := make([][]string, len(rows))
	for i, row := range rows {
		cells[i] = make([]string, len(row))
		for j, v := range row {
			cells[i][j] = Cell(v)
		}
	}
	if len(names) > 0 {
		isCut, err := style.table(w, "", header, cells)
		if err == nil && isCut {
			err = write(w, style.paint(faint, "some cells are cut: --format csv or json prints them whole")+
				"\n")
		}
		if err != nil {
			return err
		}
	}
	if len(rows) == 0 && cut == "" {
		return write(w, "0 rows\n")
	}
	if cut != "" {
		return write(w, style.paint(mild, cut)+"\n")
	}
	return nil
}

// numeric reports whether a column holds only numbers.
func numeric(rows [][]any, column int) bool {
	for _, row := range rows {
		switch row[column].(type) {
		case int64, float64, nil:
		default:
			return false
		}
	}
	return true
}

// Cell returns a database value as text: NULL is empty, bytes are hexadecimal.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	case float64:
		return record.Float(v).String()
	}
	return clean(fmt.Sprint(v))
}

// CSV writes the result of an SQL query as in RFC 4180, with a header. NULL is empty.
func CSV(w io.Writer, names []string, rows [][]any) error {
	out := csv.NewWriter(w)
	lines := [][]string{names}
	for _, row := range rows {
		lines = append(lines, cells(row, plain))
	}
	return out.WriteAll(lines)
}

// plain returns a database value as text for a program: it is not escaped for a terminal, but so that a
// spreadsheet does not take it for a formula.
func plain(v any) string {
	if text, ok := v.(string); ok {
		return harmless.Cell(text)
	}
	return Cell(v)
}

// cells returns the values of a row as text.
func cells(row []any, text func(any) string) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = text(v)
	}
	return out
}

// MarkdownRows writes the result of an SQL query as a Markdown table.
func MarkdownRows(w io.Writer, names []string, rows [][]any) error {
	t := table.NewWriter()
	line := func(values []string) table.Row {
		out := make(table.Row, len(values))
		for i, v := range values {
			out[i] = v
		}
		return out
	}
	cell := func(v any) string { return harmless.Markdown(Cell(v)) }
	header := slices.Clone(names)
	for i := range header {
		header[i] = cell(header[i])
	}
	t.AppendHeader(line(header))
	for _, row := range rows {
		t.AppendRow(line(cells(row, cell)))
	}
	return write(w, t.RenderMarkdown()+"\n")
}

// JSONRows writes one object a line.
func JSONRows(w io.Writer, names []string, rows [][]any) error {
	for _, row := range rows {
		if err := JSON(w, Row(names, row)); err != nil {
			return err
		}
	}
	return nil
}

// SavedQuery is a query that comes with triad: its name, the question, and its parameters in words.
type SavedQuery struct {
	Name, Question string
	Params         []string // "dtype = bf16"
}

// Queries writes the queries that come with triad.
func Queries(w io.Writer, style Style, all []SavedQuery) error {
	for _, q := range all {
		words := style.paint(bold, q.Name) + "  " + q.Question
		for _, p := range q.Params {
			words += "\n    --param " + p
		}
		if err := write(style.Wrap(w), words+"\n"); err != nil {
			return err
		}
	}
	return nil
}

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
)

// Query is a page on which SQL can be typed, with its result.
type Query struct {
	Statement string
	Params    []QueryParam // of the statement
	Saved     []SavedQuery // that can be asked instead
	Schema    string       // the views and tables, as text
	Names     []string     // the columns of the result
	Rows      [][]any
	Ran       bool
	Cut       string // where the result was cut off; "" if it is complete
	Wrong     string // why there is no result
}

// QueryParam is a parameter of a statement, :NAME in it.
type QueryParam struct{ Name, Value string }

// QueryDocument shows a query and its result.
func QueryDocument(q Query, database string, now time.Time) Document {
	d := served("Query", database, now)
	d.Open = true
	switch {
	case q.Wrong != "":
		d.Answer, d.Bad = []string{sentence(clean(strings.TrimPrefix(q.Wrong, "query: ")))}, true
	case q.Ran:
		d.Answer = []string{counted(len(q.Rows), "row") + "."}
		if len(q.Rows) > mostShownRows {
			const words = "The first %d are shown; CSV and JSON have all."
			d.Answer = append(d.Answer, fmt.Sprintf(words, mostShownRows))
		}
		if q.Cut != "" {
			d.Answer = append(d.Answer, "It was "+clean(q.Cut)+".")
		}
	default:
		d.Answer = []string{"One read-only SQL statement, under the limits of triad results query: " +
			"2 seconds, 10,000 rows. The address of the result can be sent to whoever has the database."}
	}
	lines := strings.Count(q.Statement, "\n") + 2
	d.Form = &htmlForm{Action: "/query", Button: "Run", Fields: []htmlField{
		{Name: "sql", Label: "SQL", Value: q.Statement, Rows: min(max(lines, 4), 16)},
	}}
	for _, p := range q.Params {
		d.Form.Fields = append(d.Form.Fields,
			htmlField{Name: ParamPrefix + p.Name, Label: ":" + p.Name, Value: p.Value})
	}
	if q.Ran {
		d.Sections = append(d.Sections, q.resultSection())
	}
	if rows := savedRows(q.Saved); len(rows) > 0 {
		d.Sections = append(d.Sections, htmlSection{
			ID: "saved", Title: "Saved queries",
			Blocks: []htmlBlock{
				tableOf("Queries that come with triad", []string{"query", "question", "with"}, rows),
			},
		})
	}
	if q.Schema != "" {
		d.Sections = append(d.Sections, htmlSection{
			ID: "schema", Title: "Views and tables", Blocks: []htmlBlock{{More: &htmlMore{
				Title: "Columns and units", Blocks: []htmlBlock{{Text: cleanLines(q.Schema, "")}},
			}}},
		})
	}
	return Document{d}
}

// mostShownRows limits the rows of a result that a page shows.
const mostShownRows = 1000

// ParamPrefix begins the names of the fields of parameters in an address.
const ParamPrefix = "p_"

// Address returns the address of a query at a path.
func (q Query) Address(path string) string {
	values := url.Values{"sql": {q.Statement}}
	for _, p := range q.Params {
		if p.Value != "" {
			values.Set(ParamPrefix+p.Name, p.Value)
		}
	}
	return path + "?" + values.Encode()
}

func savedRows(all []SavedQuery) []htmlRow {
	var rows []htmlRow
	for _, s := range all {
		line := row("", s.Name, s.Question, strings.Join(s.Params, "; "))
		line.Cells[0].Link = "/query?" + url.Values{"saved": {s.Name}}.Encode()
		rows = append(rows, line)
	}
	return rows
}

// resultSection shows the rows of a result, and links to them in other formats. IDs of runs and sessions link
// to their pages.
func (q Query) resultSection() htmlSection {
	s := htmlSection{ID: "result", Title: "Result", Filter: true, Blocks: []htmlBlock{{Links: []navLink{
		{Address: q.Address("/query"), Words: "Link to this result"},
		{Address: q.Address("/query.csv"), Words: "CSV"},
		{Address: q.Address("/query.json"), Words: "JSON, an object a line"},
	}}}}
	if len(q.Rows) == 0 {
		return s
	}
	p := Page{Linked: true}
	names := slices.Clone(q.Names)
	for i := range names {
		if names[i] = clean(names[i]); numeric(q.Rows, i) {
			names[i] = ">" + names[i]
		}
	}
	var rows []htmlRow
	for _, values := range q.Rows[:min(len(q.Rows), mostShownRows)] {
		line := row("", cells(values, Cell)...)
		for i, name := range q.Names {
			switch id, _ := values[i].(string); {
			case isULID(id) && strings.Contains(name, "session"):
				line.Cells[i] = p.sessionCell(id)
			case isULID(id) && strings.Contains(name, "run"):
				line.Cells[i] = p.runCell(id)
			case name == "status":
				line.Cells[i].Weight = weightOfWord(id)
			}
		}
		rows = append(rows, line)
	}
	s.Blocks = append(s.Blocks, tableOf("Rows", names, rows))
	return s
}

func isULID(text string) bool {
	return len(text) == 26 && strings.Trim(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// ReadJSONRows reads what JSONRows wrote. Without a row the columns are not known.
func ReadJSONRows(r io.Reader) (names []string, rows [][]any, err error) {
	for d := json.NewDecoder(r); ; {
		var object json.RawMessage
		if err := d.Decode(&object); errors.Is(err, io.EOF) {
			return names, rows, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read rows: %w", err)
		}
		columns, values, err := readObject(object)
		if err != nil {
			return nil, nil, fmt.Errorf("read rows: %w", err)
		}
		names, rows = columns, append(rows, values)
	}
}

// readObject reads a flat object in its order.
func readObject(text []byte) (names []string, values []any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		if n, is := value.(json.Number); is {
			if whole, err := n.Int64(); err == nil {
				value = whole
			} else if f, err := n.Float64(); err == nil {
				value = f
			}
		}
		names, values = append(names, fmt.Sprint(name)), append(values, value)
	}
	return names, values, nil
}

// weightOfWord returns the class of a status by its name; "" if it is none.
func weightOfWord(name string) string {
	for _, s := range op.Statuses() {
		if s.String() == name {
			return weightOf(s)
		}
	}
	return ""
}

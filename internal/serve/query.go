package serve

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"triad/internal/report"
	"triad/results"
)

// Rows is the result of typed SQL as text.
type Rows struct {
	Text []byte
	Cut  string // where rows were left out, "" if none were
}

// queriesAtOnce is the number of statements that run at the same time: each may take seconds of a core.
const queriesAtOnce = 2

// queryFormats maps the paths of results in other formats to these.
var queryFormats = map[string]string{"/query.csv": "csv", "/query.json": "json"}

// Refused is an error of Query that the statement is to blame for.
type Refused string

func (r Refused) Error() string { return string(r) }

// asked returns the query that an address asks for: typed SQL, or a query that comes with triad.
func (s *Server) asked(values url.Values) (report.Query, error) {
	q := report.Query{Statement: strings.TrimSpace(strings.ReplaceAll(values.Get("sql"), "\r\n", "\n"))}
	saved, err := s.options.Saved()
	if err != nil {
		return q, err
	}
	defaults := map[string]string{}
	for _, n := range saved {
		one := report.SavedQuery{Name: n.Name, Question: n.Question}
		for _, p := range n.Params {
			one.Params = append(one.Params, p.Name+" = "+p.Words)
		}
		q.Saved = append(q.Saved, one)
		if n.Name == values.Get("saved") {
			q.Statement = withoutComments(n.SQL)
			for _, p := range n.Params {
				defaults[p.Name] = p.Default
			}
		}
	}
	if name := values.Get("saved"); name != "" && q.Statement == "" {
		return q, missingError("No saved query is called " + name + ". The page Query lists them.")
	}
	for _, name := range parametersOf(q.Statement) {
		value := values.Get(report.ParamPrefix + name)
		if value == "" {
			value = defaults[name]
		}
		q.Params = append(q.Params, report.QueryParam{Name: name, Value: value})
	}
	return q, nil
}

// withoutComments returns a saved query without the lines before it, which are on the page anyway.
func withoutComments(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// parameterWord matches a parameter of SQL, or what holds no parameter: a text, a quoted name, a comment.
var parameterWord = regexp.MustCompile(
	`'[^']*'|"[^"]*"|--[^\n]*|/\*(?s:.*?)\*/|:([A-Za-z_][A-Za-z_0-9]{0,60})`)

// parametersOf returns the names of the parameters of a statement.
func parametersOf(statement string) (names []string) {
	for _, m := range parameterWord.FindAllStringSubmatch(statement, -1) {
		if m[1] != "" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// run runs a query, if there is room for one more.
func (s *Server) run(ctx context.Context, q report.Query, format string) (Rows, error) {
	params := map[string]string{}
	for _, p := range q.Params {
		if p.Value != "" {
			params[p.Name] = p.Value
		}
	}
	var rows Rows
	err := error(Refused("Other queries are running: try again."))
	within(s.queries, func() { rows, err = s.options.Query(ctx, q.Statement, params, format) })
	return rows, err
}

// query shows a query and its result.
func (s *Server) query(ctx context.Context, values url.Values) (report.Document, error) {
	q, err := s.asked(values)
	if err != nil {
		return report.Document{}, err
	}
	tables, err := results.Schema(ctx)
	if err != nil {
		return report.Document{}, err
	}
	q.Schema = results.Describe(tables)
	if q.Statement != "" {
		rows, err := s.run(ctx, q, "json")
		if err == nil {
			q.Names, q.Rows, err = report.ReadJSONRows(bytes.NewReader(rows.Text))
			q.Cut = rows.Cut
		}
		if q.Ran = err == nil; !q.Ran {
			if ctx.Err() != nil {
				return report.Document{}, ctx.Err()
			}
			q.Wrong = err.Error()
		}
	}
	return report.QueryDocument(q, s.store.Path(), s.options.Now()), nil
}

// download answers with the rows of a query alone.
func (s *Server) download(ctx context.Context, w http.ResponseWriter, values url.Values, format string,
) error {
	if s.options.Query == nil {
		return missingError("This server answers no queries.")
	}
	q, err := s.asked(values)
	if err != nil {
		return err
	}
	rows, err := s.run(ctx, q, format)
	if err != nil {
		return err
	}
	kind := map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/x-ndjson"}[format]
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="triad-query.`+format+`"`)
	if rows.Cut != "" {
		w.Header().Set("X-Triad-Cut", rows.Cut)
	}
	_, _ = w.Write(rows.Text) // the client may be gone
	return nil
}

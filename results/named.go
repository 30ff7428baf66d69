package results

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// Named is a query that comes with triad, for a common question.
type Named struct {
	Name     string
	Question string
	SQL      string
	Params   []Param
}

// Param is a parameter of a named query, :NAME in its SQL.
type Param struct {
	Name    string
	Default string // its default
	Words   string // what the default is, and how a value is written
}

// NamedQueries lists the queries that come with triad, by name. Defaults are relative to now.
func NamedQueries(now time.Time) ([]Named, error) {
	files, err := fs.Glob(queryFiles, "queries/*.sql")
	if err != nil {
		return nil, err
	}
	var all []Named
	for _, file := range files {
		text, err := fs.ReadFile(queryFiles, file)
		if err != nil {
			return nil, err
		}
		n, err := parseNamed(strings.TrimSuffix(path.Base(file), ".sql"), string(text), now)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// parseNamed reads a file: comments with the question, then ":name = default, words" for each parameter, then
// the SQL.
func parseNamed(name, text string, now time.Time) (Named, error) {
	n := Named{Name: name, SQL: text}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			break
		}
		param, ok := strings.CutPrefix(comment, ":")
		if !ok {
			n.Question = strings.TrimSpace(n.Question + " " + comment)
			continue
		}
		key, words, ok := strings.Cut(param, " = ")
		if !ok {
			return n, fmt.Errorf("query %s: %q: want :name = default", name, comment)
		}
		value, _, _ := strings.Cut(words, ",")
		if value == "7 days ago" {
			value = now.UTC().AddDate(0, 0, -7).Format(time.DateOnly)
		}
		n.Params = append(n.Params, Param{key, value, words})
	}
	return n, nil
}

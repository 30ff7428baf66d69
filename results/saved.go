package results

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// queryName matches the names of a user's own queries.
var queryName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// KnownQueries lists the queries that come with triad, then those that a user saved in a folder.
func KnownQueries(folder string, now time.Time) ([]Named, error) {
	all, err := NamedQueries(now)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("list the queries in %s: %w", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a saved query: %w", err)
		}
		n, err := parseNamed(strings.TrimSuffix(filepath.Base(file), ".sql"), string(text), now)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// SaveQuery keeps a statement in a folder under a name, with values of its parameters. It replaces one that
// the user saved, and none that comes with triad.
func SaveQuery(folder, name, statement string, params map[string]any) error {
	if !queryName.MatchString(name) {
		return fmt.Errorf("--save %q: want a name of small letters, digits, - and _", name)
	}
	shipped, err := NamedQueries(time.Now())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(shipped, func(n Named) bool { return n.Name == name }) {
		return fmt.Errorf("--save %s: a query that comes with triad has this name: choose another", name)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "-- %s\n", questionOf(statement))
	for _, p := range slices.Sorted(maps.Keys(params)) {
		value := fmt.Sprint(params[p])
		if strings.ContainsAny(value, ",\r\n") {
			return fmt.Errorf("--save %s: the value of :%s has a comma or more than one line, which a saved "+
				"query cannot keep: write it into the statement", name, p)
		}
		fmt.Fprintf(&text, "-- :%s = %s\n", p, value)
	}
	text.WriteString(strings.TrimSpace(statement) + "\n")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return notSaved(name, err)
	}
	return notSaved(name, os.WriteFile(filepath.Join(folder, name+".sql"), []byte(text.String()), 0o644))
}

// questionOf describes a statement by its beginning.
func questionOf(statement string) string {
	const most = 80
	words := []rune(strings.Join(strings.Fields(statement), " "))
	if len(words) > most {
		return string(words[:most]) + " ..."
	}
	return string(words)
}

func notSaved(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("--save %s: %s cannot be written: %v", name, at.Path, at.Err)
	}
	return err
}

// Find returns the query of a name, with the values that its parameters have by default.
func Find(all []Named, name string) (statement string, defaults map[string]string, err error) {
	var names []string
	for _, n := range all {
		if n.Name == name {
			defaults = map[string]string{}
			for _, p := range n.Params {
				defaults[p.Name] = p.Default
			}
			return n.SQL, defaults, nil
		}
		names = append(names, n.Name)
	}
	return "", nil, fmt.Errorf("--saved %q: want one of %s", name, strings.Join(names, ", "))
}

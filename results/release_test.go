package results

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofRelease makes the database that a release wrote, from its text in testdata.
func ofRelease(t *testing.T, path, release string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", release+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
}

// valuesOf returns the rows of the query of each table, as text.
func valuesOf(t *testing.T, path string, queries map[string]string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for table, query := range queries {
		all[table] = rowsOf(t, path, query)
	}
	return all
}

// queriesOf returns a query for all columns of each table, in the order of its rows. A wrong output's
// headroom is left out: schema 15 removes it.
func queriesOf(t *testing.T, path string) map[string]string {
	t.Helper()
	queries := map[string]string{}
	for _, table := range rowsOf(t, path, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
		columns := rowsOf(t, path, "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('"+table+"')")
		slices.Sort(columns)
		if table == "verdict" {
			for i, column := range columns {
				if strings.Contains(column, "headroom") {
					columns[i] = "CASE status WHEN 'FAIL' THEN '' ELSE " + column + " END"
				}
			}
		}
		queries[table] = fmt.Sprintf("SELECT %s AS row FROM \"%s\" ORDER BY row",
			strings.Join(columns, " || ' ' || "), table)
	}
	return queries
}

// TestADatabaseOfTheReleaseIsReadWithoutLoss: a database of the previous release keeps every value of every
// column through the migrations, and answers as one of this schema does.
func TestADatabaseOfTheReleaseIsReadWithoutLoss(t *testing.T) {
	steps, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	fresh, path := filepath.Join(t.TempDir(), "r.db"), filepath.Join(t.TempDir(), "r.db")
	ofSchema(t, fresh, len(steps))
	ofRelease(t, path, "release_0_1_0")
	queries := queriesOf(t, path)
	before := valuesOf(t, path, queries)
	if len(queries) < 10 || len(before["run"]) != 3 || len(before["verdict"]) != 3 {
		t.Fatalf("%d tables, runs %q", len(queries), before["run"])
	}
	if got, want := answersOf(t, path), answersOf(t, fresh); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for table, after := range valuesOf(t, path, queries) {
		for _, row := range before[table] {
			if !slices.Contains(after, row) {
				t.Errorf("%s lost or changed %s: it has %q", table, row, after)
			}
		}
	}
	s := openTest(t, path, Options{})
	runs, _, err := s.List(ctx, Filter{})
	if err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[len(runs)-1]
	if r.Impl != "cuda/warp" || r.Case.DType != "bf16" || r.Launches != 4 || r.Outputs[0].N != 8 {
		t.Errorf("the oldest run is %+v", r)
	}
}

// TestAReleaseIsMergedWithoutLoss: an export of the previous release as a database (results export --format
// db) merges into one of this schema with every record and session.
func TestAReleaseIsMergedWithoutLoss(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "r.db"), filepath.Join(t.TempDir(), "other.db")
	ofRelease(t, other, "release_0_1_0")
	s := openTest(t, path, Options{})
	m, err := s.Merge(ctx, other)
	if err != nil || m.Runs != 3 || m.SessionsThere+m.RunsThere+m.Running != 0 {
		t.Fatalf("merged %+v, %v", m, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, path), contents(t, other); got != want {
		t.Errorf("merged:\n%s\nwant\n%s", got, want)
	}
}

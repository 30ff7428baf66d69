package results

import (
	"database/sql"
	"testing"
)

// With runs in more than one query each is reported by its own rows, and a run that was not asked for is not.
func TestWithParts(t *testing.T) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE relation(run_id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	const n = 2*partsChunk + 3
	var runs []int64
	for run := int64(1); run <= n; run++ {
		runs = append(runs, run)
		for range run % 3 { // none, one or two rows
			if _, err := db.Exec("INSERT INTO relation VALUES (?)", run); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.Exec("INSERT INTO relation VALUES (?)", n+1); err != nil {
		t.Fatal(err)
	}
	has, err := withParts(db, "relation", runs)
	if err != nil {
		t.Fatal(err)
	}
	for run := int64(1); run <= n+1; run++ {
		if want := run <= n && run%3 > 0; has[run] != want {
			t.Errorf("run %d: %v, want %v", run, has[run], want)
		}
	}
	if none, err := withParts(db, "relation", nil); err != nil || len(none) > 0 {
		t.Errorf("of no runs: %v, %v", none, err)
	}
}

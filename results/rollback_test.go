package results

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A writer that is killed while it changes the file itself, as one that creates the database does and one on
// a network file system, leaves a half changed file and the journal to roll it back. The next reader finds
// the earlier contents.
func TestAHalfChangedFileIsTakenBack(t *testing.T) {
	path := databaseFor(t, 3)
	db, err := sql.Open("sqlite3", fileURI(path)+"?_journal_mode=DELETE&_synchronous=FULL&_cache_size=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("DELETE FROM verdict; CREATE TABLE junk (x)"); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := tx.Exec("INSERT INTO junk VALUES (?)", strings.Repeat("x", 4000)); err != nil {
			t.Fatal(err)
		}
	}
	killed := func() string { // the files as they lie on the disk at this moment
		copied := filepath.Join(t.TempDir(), "killed.db")
		for _, suffix := range []string{"", "-journal"} {
			text, err := os.ReadFile(path + suffix)
			if err != nil || len(text) == 0 {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			if err := os.WriteFile(copied+suffix, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return copied
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		s := openTest(t, killed(), o)
		if n := count(t, s, "SELECT count(*) FROM verdict"); n != 6 {
			t.Errorf("read-only %v: %d verdicts, want 6", o.ReadOnly, n)
		}
		if n := count(t, s, "SELECT count(*) FROM sqlite_schema WHERE name = 'junk'"); n != 0 {
			t.Errorf("read-only %v: the change that was cut off is there", o.ReadOnly)
		}
	}
	answer, err := Query(ctx, killed(), "SELECT count(*) FROM verdict", nil, Limits{HeapBytes: 1 << 30})
	if err != nil || fmt.Sprint(answer.Rows) != "[[6]]" {
		t.Errorf("typed SQL: %+v, %v", answer, err)
	}
}

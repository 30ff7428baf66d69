package results

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

// A merge refuses values that triad does not write, in whatever table, and the database that it would have
// been merged into still records.
func TestMergeRefusesValues(t *testing.T) {
	folder := t.TempDir()
	part := filepath.Join(folder, "part.db")
	shard(t, part, "aaaaaaa", 1)
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(folder, "all.db")
	s := openTest(t, into, Options{})
	future := ulid.ULID{0: 0x7f, 15: 1}.String()
	chance := strings.NewReader(strings.Repeat("x", 99))
	tomorrow, err := ulid.New(ulid.Timestamp(time.Now().Add(time.Hour)), chance)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ statement, says string }{
		"an ID of the future": {"UPDATE session SET session_ulid = '" + future + "'", "later than tomorrow"},
		"the largest ID": {
			"UPDATE run SET run_ulid = '7ZZZZZZZZZZZZZZZZZZZZZZZZZ' WHERE run_id = 1", "later than tomorrow",
		},
		"no ID": {"UPDATE run SET run_ulid = 'zzz' WHERE run_id = 1", "which is no ULID"},
		"a start in the future": {
			"UPDATE session SET started_utc = '9999-01-01T00:00:00.000Z'", "later than tomorrow",
		},
		"a run in the future": {
			"UPDATE run SET recorded_utc = '9999-01-01T00:00:00.000Z'", "later than tomorrow",
		},
		"an end that is no time": {"UPDATE session SET ended_utc = 'soon'", "want a time"},
		"an ID in small":         {"UPDATE run SET run_ulid = lower(run_ulid)", "which is no ULID"},
		"no seed":                {"UPDATE plan SET seed = 'many'", "want a number"},
		"a negative size":        {`UPDATE test_case SET dims_json = '{"rows": -1}'`, "-1"},
		"another size":           {`UPDATE test_case SET dims_json = '{"rows": 3}'`, "than its key says"},
		"no sizes":               {"UPDATE test_case SET dims_json = '7'", "read a case"},
		"a value of 100 MiB": {
			"UPDATE run SET message = printf('%.*c', 104857600, 'x') WHERE run_id = 1", "64 MiB",
		},
		"an ID of soon": {"UPDATE session SET session_ulid = '" + tomorrow.String() + "'", ""},
	} {
		path := filepath.Join(folder, strings.ReplaceAll(name, " ", "_")+".db")
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		execute(t, path, c.statement)
		_, err := s.Merge(ctx, path)
		if c.says == "" && err != nil ||
			c.says != "" && (!errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	recordSession(t, s, "bbbbbbb", "NVIDIA H200", passed(9, "cuda/warp"))
}

// A database with IDs of the far future, as an older triad merged them, still records, with IDs that others
// merge.
func TestRecordsBesideIDsOfTheFuture(t *testing.T) {
	for _, id := range []string{
		"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "7ZZZZZZZZZZZZZZZZZZZZZZZZY", "02ZZZZZZZZZZZZZZZZZZZZZZZZ",
		"zzz", "not an ID",
	} {
		path := filepath.Join(t.TempDir(), "r.db")
		shard(t, path, "aaaaaaa", 1)
		execute(t, path, fmt.Sprintf("UPDATE session SET session_ulid = '%s'; "+
			"UPDATE run SET run_ulid = '%[1]s' WHERE run_id = 1", id))
		s := openTest(t, path, Options{})
		session := recordSession(t, s, "bbbbbbb", "NVIDIA H200", passed(9, "cuda/warp"))
		records, _, err := s.List(ctx, Filter{Session: session, Limit: -1})
		if err != nil || len(records) != 1 {
			t.Fatalf("%d runs, %v", len(records), err)
		}
		for _, made := range []string{session, records[0].ID} {
			if made > newestID(time.Now()) {
				t.Errorf("%s was recorded beside %s: it is later than tomorrow", made, id)
			}
		}
		s.Close()
	}
}

// execute runs SQL on a database, with none of triad's limits. Another process does it, because a heap limit
// that a query set holds for all of this one.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	if out, err := process("execute", path, statement).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// executeRole runs SQL on a database.
func executeRole(arguments []string) error {
	db, err := sql.Open("sqlite3", arguments[0])
	if err != nil {
		return err
	}
	_, err = db.Exec(arguments[1])
	return errors.Join(err, db.Close())
}

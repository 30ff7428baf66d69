package results

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"triad/internal/op"
	"triad/internal/record"
)

// ofSchema makes a database as written by a triad with only the first steps of the schema, with a session of
// three results.
func ofSchema(t *testing.T, path string, version int) {
	t.Helper()
	steps, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	old, err := open(ctx, path, Options{}, steps[:version])
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	x := start(t, old, "all of it", plan(4)...)
	for i := range 3 {
		r := failed(i)
		r.Outputs = nil // this version's statements do not fit the older tables
		if i > 0 {
			r.Status = op.StatusPass
		}
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		`INSERT INTO verdict (run_id, position, output, status, gate, message, n, n_compared, n_wrong,
			headroom, headroom_class, pattern, judge_version)
			SELECT run_id, 0, 'y', status, '', '', 8, 8, 0, 1.5, 'finite', '', '1' FROM run`,
		`INSERT INTO timing (run_id, regime, n, median_ns, low_ns, high_ns, samples_ns_json, rounds_json,
			arms_json, clocks_mhz_json, n_discarded, discarded_because, status)
			SELECT run_id, 'cold', 1, 5, 4, 6, '[5]', '[0]', '[0]', '[]', 0, '', 'PASS' FROM run
			WHERE status = 'PASS'`,
		`INSERT INTO difference (run_a_id, run_b_id, output, n, bitwise, n_different)
			VALUES (1, 2, 'y', 8, 1, 0)`,
		`INSERT INTO comparison (run_a_id, run_b_id, regime, ratios_json, ratio, ratio_low, ratio_high, word)
			VALUES (2, 2, 'cold', '[1]', 1, 1, 1, 'SAME')`,
	} {
		if _, err := old.writer.Exec(statement); err != nil {
			t.Fatalf("schema %d: %s: %v", version, statement, err)
		}
	}
}

// answersOf returns a database's answers about ofSchema's results, whatever its schema was.
func answersOf(t *testing.T, path string) []string {
	t.Helper()
	s := openTest(t, path, Options{})
	defer s.Close()
	var said []string
	for _, query := range []string{
		"SELECT user_version FROM pragma_user_version",
		"SELECT count(*) FROM run", "SELECT count(*) FROM plan", "SELECT count(*) FROM verdict",
		"SELECT count(*) FROM latest", "SELECT count(*) FROM newest", "SELECT count(*) FROM speed",
		"SELECT count(*) FROM disagreements", "SELECT sum(headroom) * 2 FROM history",
		"SELECT count(*) FROM difference", "SELECT count(*) FROM comparison",
		"SELECT count(*) FROM pragma_foreign_key_check",
	} {
		said = append(said, query+": "+strconv.Itoa(count(t, s, query)))
	}
	whole(t, path)
	if _, missing, err := s.Resume(ctx, "all of it"); err != nil || len(missing) != 1 {
		t.Errorf("%s: resume gives %d of the plan: %v", path, len(missing), err)
	}
	return said
}

// migrateRole opens a database, which brings its schema up to date.
func migrateRole(arguments []string) error {
	s, err := Open(ctx, arguments[0], Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// A database of every earlier schema is migrated to this one and answers alike, also if the power was cut in
// between and it is opened again.
func TestEverySchemaMigratesAlsoWhenCut(t *testing.T) {
	steps, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "r.db")
	ofSchema(t, fresh, len(steps))
	want := answersOf(t, fresh)
	chance := rand.New(rand.NewPCG(11, 12))
	for version := 1; version < len(steps); version++ {
		t.Run(fmt.Sprint("schema ", version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.db")
			ofSchema(t, path, version)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cmd := process("migrate", path)
			log := diskLog(t, cmd, path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := answersOf(t, path); !slices.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
			there := diskStep{kind: 'W', name: path, data: before}
			log0 := []diskStep{there, {kind: 'S', name: path}}
			cutSomewhere(t, append(log0, readSteps(t, log)...), 5, chance,
				func(d *disk, folder string, cut int) {
					if f := d.files[path]; f == nil || f.synced == nil {
						return // cut before the database was there
					}
					path := filepath.Join(folder, "r.db")
					if got := answersOf(t, path); !slices.Equal(got, want) {
						t.Errorf("cut %d: got %q\nwant %q", cut, got, want)
					}
				})
		})
	}
}

// Of the copies made by migrations the two newest are kept; no other file next to the database is removed.
func TestOldCopiesOfMigrationsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "r.db")
	ofSchema(t, path, 3)
	kept := []string{
		"r.db.schema1-20260101T000000.000-7.mine", "r.db.schema1", "other.db.schema1-20260101T000000.000-7",
		"r.db.backup", "r.db.schema2-20260301T000000.000-5",
	}
	gone := []string{"r.db.schema9-20260101T000000.000-7", "r.db.schema1-20260201T000000.000-8"}
	for _, name := range slices.Concat(kept, gone) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	openTest(t, path, Options{})
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if copies, _ := filepath.Glob(path + ".schema3-*"); len(copies) != 1 {
		t.Errorf("%d copies of this migration, want 1", len(copies))
	}
}

// openOneRun makes a database with one run, and leaves it open.
func openOneRun(t *testing.T, path string) *Store {
	t.Helper()
	s := openTest(t, path, Options{})
	x := start(t, s, softmaxCase(1).Op)
	r := failed(1)
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestANewerSchemaIsOpenedForReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openOneRun(t, path)
	if _, err := s.writer.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	newer := openTest(t, path, Options{})
	if !newer.ReadOnly() || newer.Notice() == "" {
		t.Errorf("read-only %v, notice %q", newer.ReadOnly(), newer.Notice())
	}
	if got, _, err := newer.List(ctx, Filter{}); err != nil || len(got) != 1 {
		t.Errorf("list: %d, %v", len(got), err)
	}
	if _, err := newer.Start(ctx, record.Session{}, nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a session was started: %v", err)
	}
}

// A second step is applied to a database of the first, after a copy was made; a step that fails leaves
// everything as it was.
func TestMigrationIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openOneRun(t, path)
	s.Close()
	steps, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	next := len(steps) + 1
	broken := append(slices.Clone(steps),
		migration{next, "broken", "CREATE TABLE extra (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1)"})
	if _, err := open(ctx, path, Options{}, broken); err == nil {
		t.Fatal("a broken step was applied")
	}
	good := append(slices.Clone(steps), migration{next, "good", "CREATE TABLE extra (a INTEGER) STRICT"})
	s, err = open(ctx, path, Options{}, good)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := count(t, s, "SELECT user_version FROM pragma_user_version"); n != next {
		t.Errorf("version %d, want %d", n, next)
	}
	if got, _, err := s.List(ctx, Filter{}); err != nil || len(got) != 1 ||
		count(t, s, "SELECT count(*) FROM extra") != 0 {
		t.Errorf("after the migration: %d records, %v", len(got), err)
	}
	copies, _ := filepath.Glob(path + ".schema*")
	if len(copies) == 0 {
		t.Error("no copy was made before the migration")
	}
	for _, name := range copies {
		c, err := Open(ctx, name, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := c.List(ctx, Filter{}); err != nil || len(got) != 1 {
			t.Errorf("the copy %s has %d records, %v", name, len(got), err)
		}
		c.Close()
	}
}

func TestMigrationsHaveNoGap(t *testing.T) {
	if _, err := migrations(fstest.MapFS{"schema/0001_a.sql": {}, "schema/0003_b.sql": {}}); err == nil {
		t.Error("a gap in the numbers was accepted")
	}
}

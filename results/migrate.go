package results

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// applicationID marks a file as ours: "TRIA" in SQLite's header.
const applicationID = 0x54524941

//go:embed schema/*.sql
var schemaFiles embed.FS

// migration is one step of the schema, forward only; the files are named NNNN_what.sql and their numbers rise
// by one from 1.
type migration struct {
	version int
	name    string
	sql     string
}

// migrations reads the steps in order. A gap in the numbers is an error: a database could never say which
// steps it has seen.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []migration
	for i, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "schema/"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("read migration %s: want the number %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, migration{version, name, string(text)})
	}
	return steps, nil
}

// migrate brings the database behind db from its version to the last of steps, each step with its version
// number in one transaction, so that a cut leaves the database before or after it. What exists is copied to
// copyTo(version) first. Two processes may do this at once: the version is read again under the write lock.
func migrate(ctx context.Context, db *sql.DB, steps []migration, copyTo func(version int) string) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	copyPath := ""
	if version > 0 && version < len(steps) && copyTo != nil {
		copyPath = copyTo(version)
		if _, err := db.ExecContext(ctx, "VACUUM INTO ?", copyPath); err != nil {
			_ = os.Remove(copyPath) // a part of it may be there
			return fmt.Errorf("copy the database to %s before migrating it: %w", copyPath, err)
		}
	}
	for _, step := range steps {
		if err := apply(ctx, db, step); err != nil {
			var now int
			read := db.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA user_version").Scan(&now)
			if read == nil && now == version && copyPath != "" { // else each command would leave one more
				_ = os.Remove(copyPath)
			}
			return fmt.Errorf("migrate to version %d (%s): %w", step.version, step.name, err)
		}
	}
	return nil
}

// keptCopies is the number of copies made by migrations that are kept next to a database.
const keptCopies = 2

// copyName matches the part of a copy's name after that of the database: its schema, when it was made, by
// which process.
var copyName = regexp.MustCompile(`^\.schema\d+-(\d{8}T\d{6}\.\d{3})-\d+$`)

// removeOldCopies removes all but the newest copies that migrations of the database at path made. No other
// file in the folder is touched.
func removeOldCopies(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	made := map[string]string{} // when each copy was made
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(path))
		if m := copyName.FindStringSubmatch(rest); ours && m != nil && e.Type().IsRegular() {
			made[e.Name()] = m[1]
		}
	}
	names := slices.SortedFunc(maps.Keys(made), func(a, b string) int {
		return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(b, a))
	})
	for _, name := range names[min(keptCopies, len(names)):] {
		for _, suffix := range []string{"", "-wal", "-shm", livenessSuffix} {
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(filepath.Dir(path), name+suffix))))
		}
	}
	return err
}

// apply runs one step, or nothing if the database has it already.
func apply(ctx context.Context, db *sql.DB, step migration) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version >= step.version {
		return nil
	}
	if version != step.version-1 {
		return fmt.Errorf("the database has version %d, want %d", version, step.version-1)
	}
	if _, err := tx.Exec(step.sql); err != nil {
		return err
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID,
		step.version)); err != nil {
		return err
	}
	return tx.Commit()
}

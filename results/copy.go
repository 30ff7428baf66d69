package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// CopyTo writes the sessions and runs that a filter selects into a new database at path, a single file that
// can be passed on. The filter's limit is ignored. An existing file is not touched.
func (s *Store) CopyTo(ctx context.Context, path string, f Filter) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export to %s: %w: it is there already; name a new file", path, fs.ErrExist)
	}
	defer func() {
		if err != nil {
			for _, suffix := range []string{"", "-wal", "-shm", livenessSuffix} {
				err = errors.Join(err, ignoreMissing(os.Remove(path+suffix)))
			}
		}
	}()
	if err := snapshot(ctx, s.path, path); err != nil {
		return err
	}
	copied, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	err = copied.keep(ctx, f)
	if closeErr := copied.Close(); err == nil {
		err = closeErr
	}
	return errors.Join(err, ignoreMissing(os.Remove(path+livenessSuffix)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keep removes what a filter does not select, and frees its space.
func (s *Store) keep(ctx context.Context, f Filter) error {
	where, args := f.where()
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return s.explain("export to", err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("CREATE TEMP TABLE kept AS SELECT r.run_id FROM "+runTables+" WHERE "+where+
		" AND r.status IS NOT NULL", args...); err != nil {
		return s.explain("export to", err)
	}
	const gone = "NOT IN (SELECT run_id FROM temp.kept)"
	for _, statement := range []string{
		"DELETE FROM comparison WHERE run_a_id " + gone + " OR run_b_id " + gone,
		"DELETE FROM difference WHERE run_a_id " + gone + " OR run_b_id " + gone,
		"DELETE FROM timing WHERE run_id " + gone,
		"DELETE FROM run WHERE run_id " + gone, // verdicts, relations and what is newest go with it
		"INSERT OR REPLACE INTO newest (case_id, implementation, device, run_id) " +
			"SELECT case_id, name, device, run_id FROM run JOIN implementation USING (implementation_id) " +
			"WHERE run_id IN (" + newestOf("SELECT r.* FROM run r WHERE r.status <> 'INTERRUPTED'") + ")",
		"DELETE FROM plan WHERE plan_id NOT IN (SELECT plan_id FROM run)",
		"DELETE FROM ruler WHERE session_id NOT IN (SELECT session_id FROM run)",
		"DELETE FROM session WHERE session_id NOT IN (SELECT session_id FROM run)",
		"DELETE FROM implementation WHERE implementation_id NOT IN (SELECT implementation_id FROM run " +
			"WHERE implementation_id IS NOT NULL)",
		"DELETE FROM test_case WHERE case_id NOT IN (SELECT case_id FROM run)",
		"DELETE FROM machine WHERE machine_id NOT IN (SELECT machine_id FROM session)",
		"DELETE FROM toolchain WHERE toolchain_id NOT IN (SELECT toolchain_id FROM session)",
		"UPDATE session SET state = 'interrupted' WHERE state = 'running'", // nothing runs in the copy
		"DROP TABLE temp.kept",
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return s.explain("export to", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return s.explain("export to", err)
	}
	_, err = s.writer.ExecContext(
		ctx,
		"VACUUM; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE",
	)
	return s.explain("export to", err)
}

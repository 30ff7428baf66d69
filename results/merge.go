package results

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/scratch"
)

// Merged counts the rows that a merge added, and those that were there already.
type Merged struct {
	Sessions, Runs           int // added
	SessionsThere, RunsThere int
	Running                  int // runs that had not ended in the other database: left out
}

// Merge adds what the database at path from has and this one lacks, in one transaction: all of it or nothing.
// Sessions, runs and cases are known by IDs that are the same everywhere, so that merging in any order and
// any number of times gives the same. A file that is damaged, not ours, or of a newer program is refused and
// left unchanged. A session that is running there is merged as an interrupted one, with the runs that have
// ended.
func (s *Store) Merge(ctx context.Context, from string) (Merged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer == nil {
		return Merged{}, s.write(ctx, "merge", nil)
	}
	if err := otherFile(s.path, from); err != nil {
		return Merged{}, err
	}
	temporary, err := scratch.Make("merge")
	if err != nil {
		return Merged{}, fmt.Errorf("merge %s: %w", from, err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	copied := filepath.Join(folder, "copy.db")
	if err := snapshot(ctx, from, copied); err != nil {
		return Merged{}, err
	}
	if err := checkValues(ctx, copied, from, s.now()); err != nil {
		return Merged{}, err
	}
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return Merged{}, explain("merge into", s.path, err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "ATTACH DATABASE ? AS other", fileURI(copied)+"?mode=ro"); err != nil {
		return Merged{}, explain("merge", from, err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "DETACH DATABASE other")
	merged, err := mergeAttached(ctx, conn)
	return merged, explain("merge "+from+" into", s.path, err)
}

// otherFile refuses a database as its own source.
func otherFile(into, from string) error {
	a, errA := os.Stat(into)
	b, errB := os.Stat(from)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return fmt.Errorf("merge %s into itself: %w: name another database", from, ErrForeign)
	}
	return nil
}

// snapshot copies the database at path from in its present state, checks the copy and brings its schema up to
// date.
func snapshot(ctx context.Context, from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return fmt.Errorf("merge %s: %w", from, err)
	}
	found, err := inspect(ctx, from, MergePatience)
	if err != nil {
		return err
	}
	if !found.exists {
		return fmt.Errorf("merge %s: %w: name a database that triad wrote", from, os.ErrNotExist)
	}
	steps, err := migrations(schemaFiles)
	if err != nil {
		return err
	}
	if found.version > len(steps) {
		return fmt.Errorf("merge %s: %w (schema %d, this one knows %d): update triad", from, ErrNewer,
			found.version, len(steps))
	}
	// query_only would refuse the copy, which is another file
	dsn := strings.Replace(readDSN(from, MergePatience), "&_query_only=on", "", 1)
	db, err := sql.Open(boundedDriver, dsn)
	if err != nil {
		return explain("merge", from, err)
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	if err := errors.Join(err, db.Close()); err != nil {
		return explain("copy", from, err)
	}
	copied, err := open(ctx, to, Options{}, steps)
	if err != nil {
		return fmt.Errorf("merge %s: %w", from, err)
	}
	defer copied.Close()
	if err := check(ctx, copied.reader, from); err != nil {
		return err
	}
	return sameTables(ctx, copied.reader, from, steps)
}

// sameTables refuses a database whose tables differ from this program's, for example a view in place of a
// table.
func sameTables(ctx context.Context, db *sql.DB, from string, steps []migration) error {
	fresh, err := emptyDatabase(ctx, steps)
	if err != nil {
		return fmt.Errorf("merge %s: %w", from, err)
	}
	defer fresh.Close()
	const all = "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema " +
		"ORDER BY type, name"
	want, err := column[string](fresh, all)
	if err != nil {
		return fmt.Errorf("merge %s: %w", from, err)
	}
	got, err := column[string](db, all)
	if err != nil {
		return explain("merge", from, err)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("merge %s: %w: its tables are not those that triad makes; nothing was merged", from,
			ErrForeign)
	}
	return nil
}

// mergeAttached copies the rows that only the attached database has.
func mergeAttached(ctx context.Context, conn *sql.Conn) (m Merged, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return m, err
	}
	defer tx.Rollback()
	var sessions, runs int
	if err := tx.QueryRow("SELECT (SELECT count(*) FROM other.session), "+
		"(SELECT count(*) FROM other.run WHERE status "+
		"IS NOT NULL), (SELECT count(*) FROM other.run WHERE status IS NULL)").Scan(&sessions, &runs,
		&m.Running); err != nil {
		return m, err
	}
	for _, step := range mergeSteps {
		if step.table == "plan" {
			if _, err := tx.ExecContext(ctx, machinesOfParts); err != nil {
				return m, fmt.Errorf("machines of sessions: %w", err)
			}
		}
		statement, err := step.statement(tx)
		if err != nil {
			return m, fmt.Errorf("%s: %w", step.table, err)
		}
		done, err := tx.ExecContext(ctx, statement)
		if err != nil {
			return m, fmt.Errorf("%s: %w", step.table, err)
		}
		added, err := done.RowsAffected()
		if err != nil {
			return m, fmt.Errorf("%s: %w", step.table, err)
		}
		switch step.table {
		case "session":
			m.Sessions = int(added)
		case "run":
			m.Runs = int(added)
		}
	}
	if _, err := tx.ExecContext(ctx, endSessions); err != nil {
		return m, fmt.Errorf("ends of sessions: %w", err)
	}
	m.SessionsThere, m.RunsThere = sessions-m.Sessions, runs-m.Runs
	return m, tx.Commit()
}

// MergePatience limits the wait of a merge for another writer.
const MergePatience = time.Minute

// mergeStep copies the rows of a table that are not there yet, o in the other database.
type mergeStep struct {
	table string
	own   string            // the column that numbers its rows in each database alike: not copied
	refs  map[string]string // columns that mean something else here, and what they are here
	joins string            // what those need
	where string
	order string
}

// statement returns the SQL of a step. Rows are matched by values that are the same in every database:
// hashes, ULIDs, names. An existing row stays; any other conflict ends the merge.
func (m mergeStep) statement(q querier) (string, error) {
	columns, err := column[string](q, "SELECT name FROM pragma_table_info(?)", m.table)
	if err != nil {
		return "", err
	}
	columns = slices.DeleteFunc(columns, func(name string) bool { return name == m.own })
	values := make([]string, len(columns))
	for i, name := range columns {
		values[i] = "o." + name
		if ref, found := m.refs[name]; found {
			values[i] = ref
		}
	}
	return fmt.Sprintf(
		"INSERT INTO %s (%s) SELECT %s FROM other.%s o %s WHERE %s ORDER BY %s ON CONFLICT DO NOTHING",
		m.table,
		strings.Join(columns, ", "),
		strings.Join(values, ", "),
		m.table,
		m.joins,
		cmp.Or(m.where, "true"),
		cmp.Or(m.order, "o.rowid"),
	), nil
}

const (
	joinSession = "JOIN other.session os ON os.session_id = o.session_id " +
		"JOIN session s ON s.session_ulid = os.session_ulid "
	joinCase = "JOIN other.test_case oc ON oc.case_id = o.case_id " +
		"JOIN test_case c ON c.case_key = oc.case_key "
)

// joinRun joins a run of the other database, named by a column of o, with the same run here.
func joinRun(column, as string) string {
	return fmt.Sprintf(
		"JOIN other.run other_%s ON other_%s.run_id = o.%s JOIN run %s ON %s.run_ulid = other_%s.run_ulid ",
		as,
		as,
		column,
		as,
		as,
		as,
	)
}

// mergeSteps are in the order of the references between tables. A run whose entry of the plan has a run here,
// as when one session was resumed twice, is left out with all that belongs to it.
var mergeSteps = []mergeStep{
	{table: "machine", own: "machine_id"},
	{table: "toolchain", own: "toolchain_id"},
	{
		table: "session", own: "session_id",
		refs: map[string]string{
			"machine_id": "m.machine_id", "toolchain_id": "t.toolchain_id",
			"state": "iif(o.state = 'running', 'interrupted', o.state)",
		},
		joins: "JOIN other.machine om ON om.machine_id = o.machine_id " +
			"JOIN machine m ON m.content_hash = om.content_hash " +
			"JOIN other.toolchain ot ON ot.toolchain_id = o.toolchain_id " +
			"JOIN toolchain t ON t.content_hash = ot.content_hash",
	},
	{table: "implementation", own: "implementation_id"},
	{table: "test_case", own: "case_id"},
	{
		table: "plan", own: "plan_id", joins: joinSession + joinCase, order: "o.position",
		refs: map[string]string{
			"session_id": "s.session_id", "case_id": "c.case_id",
			// each part of a session has positions from 0
			"position": "o.position + (SELECT coalesce(max(position) + 1, 0) FROM plan " +
				"WHERE session_id = s.session_id)",
		},
	},
	{
		table: "run", own: "run_id", where: "o.status IS NOT NULL", order: "o.run_ulid",
		refs: map[string]string{
			"session_id": "s.session_id", "case_id": "c.case_id", "plan_id": "p.plan_id",
			"implementation_id": "i.implementation_id",
		},
		joins: joinSession + joinCase + "JOIN other.plan op ON op.plan_id = o.plan_id " +
			"JOIN plan p ON p.session_id = s.session_id AND p.case_id = c.case_id " +
			"AND p.implementation = op.implementation AND p.seed = op.seed " +
			"LEFT JOIN other.implementation oi ON oi.implementation_id = o.implementation_id " +
			"LEFT JOIN implementation i ON i.op = oi.op AND i.name = oi.name " +
			"AND i.source_hash = oi.source_hash",
	},
	ofRun("verdict", "o.output"), ofRun("relation", "o.output, o.position"), ofRun("timing", "o.regime"),
	ofTwoRuns("difference", "o.output"), ofTwoRuns("comparison", "o.regime"),
	{
		table: "ruler", joins: joinSession, order: "o.name",
		refs: map[string]string{"session_id": "s.session_id"},
	},
}

func ofRun(table, order string) mergeStep {
	return mergeStep{
		table: table, joins: joinRun("run_id", "r"), order: "r.run_id, " + order,
		refs: map[string]string{"run_id": "r.run_id"},
	}
}

func ofTwoRuns(table, order string) mergeStep {
	return mergeStep{
		table: table, joins: joinRun("run_a_id", "a") + joinRun("run_b_id", "b"),
		order: "a.run_id, b.run_id, " + order,
		refs:  map[string]string{"run_a_id": "a.run_id", "run_b_id": "b.run_id"},
	}
}

// machinesOfParts sets the machine and toolchain of a session that is running here, and whose parts ran
// elsewhere, to those of the part that brings its first runs.
const machinesOfParts = `UPDATE session SET machine_id = m.machine_id, toolchain_id = t.toolchain_id
	FROM other.session o JOIN other.machine om ON om.machine_id = o.machine_id
	JOIN machine m ON m.content_hash = om.content_hash
	JOIN other.toolchain ot ON ot.toolchain_id = o.toolchain_id
	JOIN toolchain t ON t.content_hash = ot.content_hash
	WHERE o.session_ulid = session.session_ulid AND session.state = 'running'
	AND NOT EXISTS (SELECT 1 FROM plan p WHERE p.session_id = session.session_id)
	AND EXISTS (SELECT 1 FROM other.plan p WHERE p.session_id = o.session_id)`

// endSessions sets the end of sessions that were merged before they were complete and have since ended.
const endSessions = `UPDATE session SET state = o.state, ended_utc = o.ended_utc, exit_code = o.exit_code,
	internal_error = o.internal_error FROM other.session o
	WHERE o.session_ulid = session.session_ulid AND o.state = 'complete' AND session.state = 'interrupted'`

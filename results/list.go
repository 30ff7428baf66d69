package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Filter says which records are wanted; a zero field asks nothing.
type Filter struct {
	Session string      // ULID
	Case    string      // key of a case
	Op      []string    // any of these
	Impl    []string    // prefixes, any of these: "cuda" or "cuda/warp"
	DType   []string    // of the case
	Pass    op.Pass     // zero: both
	Status  []op.Status // any of these
	Bad     bool        // only what counts as bad
	Since   time.Time   // started at or after
	Limit   int         // newest first; 0: 100, below 0: all
}

// where is the condition of the filter on runTables.
func (f Filter) where() (string, []any) {
	conditions := []string{"1"}
	var args []any
	add := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	anyOf := func(expression string, values []string) {
		if len(values) > 0 {
			all := make([]any, len(values))
			for i, v := range values {
				all[i] = v
			}
			add(expression+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", all...)
		}
	}
	if f.Session != "" {
		add("s.session_ulid = ?", f.Session)
	}
	if f.Case != "" {
		add("c.case_key = ?", f.Case)
	}
	anyOf("c.op", f.Op)
	anyOf("c.dtype", f.DType)
	if len(f.Impl) > 0 {
		var either []string
		var prefixes []any
		for _, prefix := range f.Impl {
			either = append(either, "substr(p.implementation, 1, ?) = ?")
			prefixes = append(prefixes, len([]rune(prefix)), prefix)
		}
		add("("+strings.Join(either, " OR ")+")", prefixes...)
	}
	if f.Pass != op.PassUnknown {
		add("c.pass = ?", f.Pass.String())
	}
	statuses := make([]string, len(f.Status))
	for i, status := range f.Status {
		statuses[i] = status.String()
	}
	anyOf("r.status", statuses)
	if f.Bad {
		add("r.status IN (SELECT status FROM status WHERE weight = 'bad')")
	}
	if !f.Since.IsZero() {
		add("r.started_utc >= ?", utc(f.Since))
	}
	return strings.Join(conditions, " AND "), args
}

// List gives the records that the filter asks for, newest first, and how many there are without its limit.
func (s *Store) List(ctx context.Context, f Filter) (records []record.Record, total int, err error) {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, s.explain("list runs", err)
	}
	defer tx.Rollback()
	where, args := f.where()
	if err := tx.QueryRow("SELECT count(*) FROM "+runTables+" WHERE "+where,
		args...).Scan(&total); err != nil {
		return nil, 0, s.explain("list runs", err)
	}
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	records, _, err = selectRuns(tx, where+" ORDER BY r.run_ulid DESC LIMIT ?", append(args, limit)...)
	return records, total, s.explain("list runs", err)
}

// Recorded are the names that occur in the database, each once.
type Recorded struct{ Ops, DTypes, Impls []string }

// Recorded lists what a filter can name.
func (s *Store) Recorded(ctx context.Context) (Recorded, error) {
	var found Recorded
	for _, part := range []struct {
		into  *[]string
		query string
	}{
		{&found.Ops, "SELECT DISTINCT op FROM test_case ORDER BY op"},
		{&found.DTypes, "SELECT DISTINCT dtype FROM test_case ORDER BY dtype"},
		{&found.Impls, "SELECT DISTINCT name FROM implementation ORDER BY name"},
	} {
		rows, err := s.reader.QueryContext(ctx, part.query)
		if err != nil {
			return found, s.explain("list names", err)
		}
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return found, errors.Join(s.explain("list names", err), rows.Close())
			}
			*part.into = append(*part.into, name)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return found, s.explain("list names", err)
		}
	}
	return found, nil
}

// selectRuns reads the records that a condition on runTables picks, with their verdicts.
func selectRuns(q querier, condition string, args ...any) ([]record.Record, []int64, error) {
	rows, err := q.Query("SELECT "+runColumns+" FROM "+runTables+" WHERE "+condition, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var records []record.Record
	var ids []int64
	for rows.Next() {
		id, r, err := scanRun(rows)
		if err != nil {
			return nil, nil, err
		}
		records, ids = append(records, r), append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	for i, id := range ids {
		if records[i].Outputs, err = loadVerdicts(q, id); err != nil {
			return nil, nil, err
		}
		if records[i].Timings, err = loadTimings(q, id); err != nil {
			return nil, nil, err
		}
	}
	return records, ids, nil
}

// Show gives everything about one run. An ID may be shortened as long as it fits one run alone.
func (s *Store) Show(ctx context.Context, id string) (record.Run, error) {
	id = strings.ToUpper(strings.TrimSpace(id))
	if id == "" || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" || len(id) > 26 {
		return record.Run{}, fmt.Errorf("show run %q: %w: an ID has up to 26 digits and letters; `triad "+
			"results list` shows them", id, ErrNotFound)
	}
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return record.Run{}, s.explain("show run "+id, err)
	}
	defer tx.Rollback()
	records, ids, err := selectRuns(tx, "r.run_ulid >= ? AND r.run_ulid < ? ORDER BY r.run_ulid LIMIT 2", id,
		id+"a")
	if err != nil {
		return record.Run{}, s.explain("show run "+id, err)
	}
	switch len(records) {
	case 0:
		return record.Run{}, fmt.Errorf("show run %s in %s: %w; `triad results list` shows what there is", id,
			s.path, ErrNotFound)
	case 2:
		return record.Run{}, fmt.Errorf("show run %s in %s: %w (%s, %s): give more of the ID", id, s.path,
			ErrAmbiguous, records[0].ID, records[1].ID)
	}
	out := record.Run{Record: records[0]}
	var session int64
	if err := tx.QueryRow("SELECT session_id FROM run WHERE run_id = ?", ids[0]).Scan(&session); err != nil {
		return record.Run{}, s.explain("show run "+id, err)
	}
	if out.Session, err = loadSession(tx, session); err != nil {
		return record.Run{}, s.explain("show run "+id, err)
	}
	out.Differences, err = loadDifferences(tx, ids[0])
	return out, s.explain("show run "+id, err)
}

// History gives every recorded run of one implementation on one case, oldest first.
func (s *Store) History(ctx context.Context, caseKey, impl string) ([]record.Record, error) {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.explain("read the history", err)
	}
	defer tx.Rollback()
	records, _, err := selectRuns(tx, "c.case_key = ? AND p.implementation = ? AND r.status IS NOT NULL "+
		"ORDER BY r.run_ulid", caseKey, impl)
	return records, s.explain("read the history", err)
}

// Session gives a session by its ULID.
func (s *Store) Session(ctx context.Context, id string) (record.Session, error) {
	var row int64
	err := s.reader.QueryRowContext(ctx, "SELECT session_id FROM session WHERE session_ulid = ?",
		id).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Session{}, fmt.Errorf("show session %s in %s: %w", id, s.path, ErrNotFound)
	}
	if err != nil {
		return record.Session{}, s.explain("show session "+id, err)
	}
	out, err := loadSession(s.reader, row)
	return out, s.explain("show session "+id, err)
}

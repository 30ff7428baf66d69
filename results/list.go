package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Filter selects records; a zero field does not restrict.
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
	Before  string      // ULID of a run: only those recorded before it
	Limit   int         // newest first; 0: 100, below 0: all
}

// where returns the condition of the filter on run AS r alone, so that an index of runs can answer it.
func (f Filter) where() (string, []any) {
	conditions := []string{"1"}
	var args []any
	add := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	if f.Session != "" {
		add("r.session_id = (SELECT session_id FROM session WHERE session_ulid = ?)", f.Session)
	}
	if f.Before != "" {
		add("r.run_ulid < ?", f.Before)
	}
	if cases, values := f.cases(); cases != "" {
		add("r.case_id IN (SELECT case_id FROM test_case WHERE "+cases+")", values...)
	}
	if len(f.Impl) > 0 {
		named, values := prefixed("name", f.Impl)
		planned, more := prefixed("implementation", f.Impl) // of a run that has not ended
		add("(r.implementation_id IN (SELECT implementation_id FROM implementation WHERE "+named+") OR "+
			"r.implementation_id IS NULL AND (SELECT "+planned+" FROM plan WHERE plan_id = r.plan_id))",
			append(values, more...)...)
	}
	statuses := make([]string, len(f.Status))
	for i, status := range f.Status {
		statuses[i] = status.String()
	}
	if among, values := anyOf("r.status", statuses); among != "" {
		add(among, values...)
	}
	if f.Bad {
		add("r.status IN (SELECT status FROM status WHERE weight = 'bad')")
	}
	if !f.Since.IsZero() {
		add("r.started_utc >= ?", utc(f.Since))
	}
	return strings.Join(conditions, " AND "), args
}

// cases returns the condition of the filter on test_case, "" if it asks nothing of cases.
func (f Filter) cases() (string, []any) {
	var conditions []string
	var args []any
	one := func(column, value string) (string, []any) {
		if value == "" {
			return "", nil
		}
		return column + " = ?", []any{value}
	}
	pass := ""
	if f.Pass != op.PassUnknown {
		pass = f.Pass.String()
	}
	for _, part := range []func() (string, []any){
		func() (string, []any) { return one("case_key", f.Case) },
		func() (string, []any) { return anyOf("op", f.Op) },
		func() (string, []any) { return anyOf("dtype", f.DType) },
		func() (string, []any) { return one("pass", pass) },
	} {
		if condition, values := part(); condition != "" {
			conditions, args = append(conditions, condition), append(args, values...)
		}
	}
	return strings.Join(conditions, " AND "), args
}

// anyOf returns the condition that a column has one of some values, "" if there are none.
func anyOf(column string, values []string) (string, []any) {
	if len(values) == 0 {
		return "", nil
	}
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")", all
}

// prefixed returns the condition that a column begins with one of some texts.
func prefixed(column string, prefixes []string) (string, []any) {
	var either []string
	var args []any
	for _, prefix := range prefixes {
		either = append(either, "substr("+column+", 1, ?) = ?")
		args = append(args, len([]rune(prefix)), prefix)
	}
	return "(" + strings.Join(either, " OR ") + ")", args
}

// List returns the records that the filter selects, newest first, and their number without its limit.
func (s *Store) List(ctx context.Context, f Filter) (records []record.Record, total int, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, 0, s.explain("list runs", err)
	}
	defer tx.Rollback()
	where, args := f.where()
	if err := tx.QueryRow("SELECT count(*) FROM run r WHERE "+where, args...).Scan(&total); err != nil {
		return nil, 0, s.explain("list runs", err)
	}
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	if limit < 0 {
		records, _, err = selectRuns(tx, where+" ORDER BY r.run_ulid DESC", args...)
		return records, total, s.explain("list runs", err)
	}
	ids, err := newestRuns(tx, where, args, min(limit, total))
	if err == nil {
		records, _, err = selectRuns(tx, "r.run_id IN (SELECT value FROM json_each(?)) "+
			"ORDER BY r.run_ulid DESC", numbers(ids))
	}
	return records, total, s.explain("list runs", err)
}

// newestRuns returns the newest runs that fit a condition on run AS r. They are first searched among the
// newest of all, in the order of an index; if too few of those fit, they are rare, and sorting all that fit
// is cheaper than going on.
func newestRuns(q querier, where string, args []any, limit int) ([]int64, error) {
	const amongNewest = 20_000
	ids, err := column[int64](q, "SELECT r.run_id FROM run r INDEXED BY run_listed WHERE r.run_ulid > "+
		"coalesce((SELECT run_ulid FROM run ORDER BY run_ulid DESC LIMIT 1 OFFSET ?), '') AND "+where+
		" ORDER BY r.run_ulid DESC LIMIT ?", slices.Concat([]any{amongNewest}, args, []any{limit})...)
	if err != nil || len(ids) == limit {
		return ids, err
	}
	return column[int64](q, "SELECT r.run_id FROM run r WHERE "+where+" ORDER BY r.run_ulid DESC LIMIT ?",
		append(slices.Clone(args), limit)...)
}

// numbers returns numbers as a JSON array: a list of any length as one parameter.
func numbers(all []int64) string {
	if len(all) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// Recorded holds the names that occur in the database, each once.
type Recorded struct{ Ops, DTypes, Impls []string }

// Recorded lists the values that a filter can name.
func (s *Store) Recorded(ctx context.Context) (Recorded, error) {
	var found Recorded
	tx, err := s.read(ctx)
	if err != nil {
		return found, s.explain("list names", err)
	}
	defer tx.Rollback()
	for _, part := range []struct {
		into  *[]string
		query string
	}{
		{&found.Ops, "SELECT DISTINCT op FROM test_case ORDER BY op"},
		{&found.DTypes, "SELECT DISTINCT dtype FROM test_case ORDER BY dtype"},
		{&found.Impls, "SELECT DISTINCT name FROM implementation ORDER BY name"},
	} {
		if *part.into, err = column[string](tx, part.query); err != nil {
			return found, s.explain("list names", err)
		}
	}
	return found, nil
}

// selectRuns reads the records that a condition on runTables selects, with their verdicts.
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
	related, err := withParts(q, "relation", ids)
	if err != nil {
		return nil, nil, err
	}
	timed, err := withParts(q, "timing", ids)
	if err != nil {
		return nil, nil, err
	}
	for i, id := range ids {
		if records[i].Outputs, err = loadVerdicts(q, id, related[id]); err != nil {
			return nil, nil, err
		}
		if !timed[id] {
			continue
		}
		if records[i].Timings, err = loadTimings(q, id); err != nil {
			return nil, nil, err
		}
	}
	return records, ids, nil
}

// Show returns everything about one run. An ID may be shortened as long as it is unique.
func (s *Store) Show(ctx context.Context, id string) (record.Run, error) {
	id = strings.ToUpper(strings.TrimSpace(id))
	if id == "" || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" || len(id) > 26 {
		return record.Run{}, fmt.Errorf("show run %q: %w: an ID has up to 26 digits and letters; `triad "+
			"results list%s` shows them", id, ErrNotFound, s.flag)
	}
	tx, err := s.read(ctx)
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
		return record.Run{}, fmt.Errorf("show run %s in %s: %w; `triad results list%s` shows what there is",
			id, s.path, ErrNotFound, s.flag)
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

// History returns the newest recorded runs of one implementation on one case, oldest first, among those
// before the run whose ID is before ("" means all), and the number of these. A limit below 0 means no limit.
func (s *Store) History(
	ctx context.Context, caseKey, impl, before string, limit int,
) (records []record.Record, total int, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, 0, s.explain("read the history", err)
	}
	defer tx.Rollback()
	condition := "c.case_key = ? AND p.implementation = ? AND r.status IS NOT NULL AND (? = '' OR " +
		"r.run_ulid < ?)"
	args := []any{caseKey, impl, before, before}
	err = tx.QueryRow("SELECT count(*) FROM "+runTables+" WHERE "+condition, args...).Scan(&total)
	if err == nil {
		records, _, err = selectRuns(
			tx,
			condition+" ORDER BY r.run_ulid DESC LIMIT ?",
			append(args, limit)...)
	}
	slices.Reverse(records)
	return records, total, s.explain("read the history", err)
}

// Session returns a session by its ULID.
func (s *Store) Session(ctx context.Context, id string) (out record.Session, err error) {
	tx, err := s.read(ctx)
	if err != nil {
		return out, s.explain("show session "+id, err)
	}
	defer tx.Rollback()
	var row int64
	err = tx.QueryRow("SELECT session_id FROM session WHERE session_ulid = ?", id).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		return out, fmt.Errorf("show session %s in %s: %w", id, s.path, ErrNotFound)
	}
	if err == nil {
		out, err = loadSession(tx, row)
	}
	return out, s.explain("show session "+id, err)
}

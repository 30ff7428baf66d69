package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
	"triad/internal/stats"
)

// Selection selects the runs of a side of a comparison; the zero value selects all.
type Selection struct {
	Session string    // ULID or the beginning of one
	Last    int       // the newest session but Last-1; 0: not asked
	Commit  string    // hash of the source tree or the beginning of one
	Machine string    // part of the name of its GPU or CPU, capitals or not
	Before  time.Time // recorded before
	Op      []string  // only these operators
	Impl    []string  // only implementations with these prefixes
}

// Side returns the newest run of each implementation on each case and device among those selected, without
// interrupted ones, and their times. The error is ErrNotFound if there is none.
func (s *Store) Side(ctx context.Context, name string, sel Selection) (resultdiff.Side, error) {
	side := resultdiff.Side{Name: name}
	tx, err := s.read(ctx)
	if err != nil {
		return side, s.explain("read "+name, err)
	}
	defer tx.Rollback()
	chosen, err := s.choose(tx, sel)
	if err != nil {
		return side, s.explain("read "+name, err)
	}
	side.Words = chosen.words
	sessions := map[string]*resultdiff.Conditions{}
	ids, err := selectEntries(tx, &side, chosen)
	if err != nil {
		return side, s.explain("read "+name, err)
	}
	if len(side.Entries) == 0 {
		return side, fmt.Errorf(
			"read %s in %s: %w: nothing is recorded of %s; `triad results sessions%s` shows what is",
			name,
			s.path,
			ErrNotFound,
			chosen.words,
			s.flag,
		)
	}
	for i := range side.Entries {
		e := &side.Entries[i]
		if sessions[e.Session] == nil {
			if sessions[e.Session], err = loadConditions(tx, e.Session); err != nil {
				return side, s.explain("read "+name, err)
			}
		}
		e.Conditions = sessions[e.Session]
	}
	err = addTimes(tx, &side, ids, chosen)
	return side, s.explain("read "+name, err)
}

// chosen is a selection as SQL: a condition on run AS r with its values, the index for it if the planner
// would take another, and a description.
type chosen struct {
	where string
	args  []any
	index string
	words string
}

// choose reads a selection.
func (s *Store) choose(q querier, sel Selection) (c chosen, err error) {
	// most runs of the database may be asked for: in the order of this index their newest need not be sorted
	c.words, c.index = "all runs of "+s.path, "INDEXED BY run_by_case"
	f := Filter{Op: sel.Op, Impl: sel.Impl}
	if sel.Session != "" || sel.Last > 0 {
		info, err := s.oneSession(q, sel)
		if err != nil {
			return c, err
		}
		f.Session, c.index = info.ID, "INDEXED BY run_by_session"
		c.words = fmt.Sprintf("session %s, started %s: triad %s", info.ID,
			info.Started.Local().Format(shownTime), record.CommandLine(info.Command))
	}
	c.where, c.args = f.where()
	c.where += " AND r.status IS NOT NULL AND r.status <> 'INTERRUPTED'"
	switch {
	case sel.Commit != "":
		c.index = "INDEXED BY run_by_session"
		c.where += " AND r.session_id IN (SELECT session_id FROM session WHERE substr(commit_hash, 1, ?) = ?)"
		c.args = append(c.args, len(sel.Commit), sel.Commit)
		c.words = "runs of commit " + sel.Commit
	case sel.Machine != "":
		c.where += " AND r.session_id IN (SELECT session_id FROM session JOIN machine USING (machine_id) " +
			"WHERE instr(lower(gpu), lower(?)) > 0 OR instr(lower(cpu), lower(?)) > 0)"
		c.args = append(c.args, sel.Machine, sel.Machine)
		c.words = fmt.Sprintf("runs on a machine called %q", sel.Machine)
	case !sel.Before.IsZero():
		c.where, c.args = c.where+" AND r.started_utc < ?", append(c.args, utc(sel.Before))
		c.words = "runs before " + sel.Before.Local().Format(shownTime)
	}
	return c, nil
}

// oneSession finds the session that a selection names.
func (s *Store) oneSession(q querier, sel Selection) (record.Session, error) {
	var ids []int64
	var err error
	if sel.Last > 0 {
		ids, err = column[int64](
			q,
			"SELECT session_id FROM session ORDER BY session_ulid DESC LIMIT 1 OFFSET ?",
			sel.Last-1,
		)
	} else {
		prefix := strings.ToUpper(sel.Session)
		ids, err = column[int64](q, "SELECT session_id FROM session WHERE session_ulid >= ? AND "+
			"session_ulid < ? "+
			"LIMIT 2", prefix, prefix+"a")
	}
	switch {
	case err != nil:
		return record.Session{}, err
	case len(ids) == 0:
		return record.Session{}, fmt.Errorf(
			"%w: no session has this ID; `triad results sessions%s` shows what there is",
			ErrNotFound,
			s.flag,
		)
	case len(ids) > 1:
		return record.Session{}, fmt.Errorf(
			"%w: more than one session begins so: give more of the ID",
			ErrNotFound,
		)
	}
	return loadSession(q, ids[0])
}

// newest returns the FROM clause of a query on the newest run r of each implementation on each case and
// device among the runs that fit a condition on run AS r, with its session s, case c and implementation i;
// join is joined to them. The newest of each source is found in the order of an index, the newest of those by
// name.
func (c chosen) newest(join string) string {
	return ` FROM (` + newestOf(`SELECT r.run_id, r.case_id, r.implementation_id, r.device,
			max(r.run_ulid) AS run_ulid FROM run r `+c.index+` WHERE `+c.where+`
			GROUP BY r.case_id, r.implementation_id, r.device`) + `) newest
		JOIN run r USING (run_id) JOIN session s USING (session_id) JOIN test_case c ON c.case_id = r.case_id
		JOIN implementation i USING (implementation_id) ` + join
}

// selectEntries fills the entries of a side, in the order in which they ran, and returns their indices by the
// number of their run.
func selectEntries(q querier, side *resultdiff.Side, from chosen) (map[int64]int, error) {
	rows, err := q.Query(
		"SELECT r.run_id, r.run_ulid, s.session_ulid, c.case_key, i.name, i.source_hash, i.flags, "+
			"r.device, r.status, r.message, "+caseColumns+from.newest("")+" ORDER BY r.run_ulid",
		from.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[int64]int{}
	cases := map[string]op.Case{}
	for rows.Next() {
		var e resultdiff.Entry
		var id int64
		var status string
		var c caseRow
		targets := append([]any{
			&id, &e.Run, &e.Session, &e.CaseKey, &e.Impl, &e.Source, &e.Flags, &e.Device, &status,
			&e.Message,
		}, c.targets()...)
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if e.Status, err = op.ParseStatus(status); err != nil {
			return nil, err
		}
		e.Source = sourceIn(e.Source)
		known, again := cases[e.CaseKey]
		if !again {
			if known, _, err = c.read(); err != nil {
				return nil, err
			}
			cases[e.CaseKey] = known
		}
		e.Case = known
		ids[id] = len(side.Entries)
		side.Entries = append(side.Entries, e)
	}
	return ids, rows.Err()
}

// loadConditions reads the machine and software of a session.
func loadConditions(q querier, ulid string) (*resultdiff.Conditions, error) {
	ids, err := column[int64](q, "SELECT session_id FROM session WHERE session_ulid = ?", ulid)
	if err != nil || len(ids) != 1 {
		return nil, errors.Join(err, fmt.Errorf("session %s has %d rows", ulid, len(ids)))
	}
	info, err := loadSession(q, ids[0])
	if err != nil {
		return nil, err
	}
	c := &resultdiff.Conditions{
		Commit: info.Commit, Version: info.Version, Machine: info.Machine, Toolchain: info.Toolchain,
	}
	rates, err := column[float64](
		q,
		"SELECT bytes_per_second FROM ruler WHERE session_id = ? AND name = 'copy' "+
			"AND bytes_per_second IS NOT NULL",
		ids[0],
	)
	if len(rates) == 1 {
		c.CopyRate = rates[0]
	}
	return c, err
}

// timeColumns lists the columns of a time that a comparison of sides needs, of timing AS t and run AS r, in
// the order of timeRow. The noise is that of the A/A comparison of the same case in the same session.
const timeColumns = `t.regime, t.mode, t.backward, t.median_ns, t.samples_ns_json, t.rounds_json, t.clock_mhz,
	(SELECT max(max(x.ratio_high - 1, 1 - x.ratio_low)) FROM comparison x JOIN run y ON y.run_id = x.run_a_id
	WHERE x.run_a_id = x.run_b_id AND x.regime = t.regime AND y.session_id = r.session_id
	AND y.case_id = r.case_id)`

type timeRow struct {
	time            resultdiff.Time
	samples, rounds string
	clock, noise    sql.NullFloat64
}

func (t *timeRow) targets() []any {
	return []any{
		&t.time.Regime, &t.time.Mode, &t.time.Backward, &t.time.MedianNS, &t.samples, &t.rounds, &t.clock,
		&t.noise,
	}
}

func (t *timeRow) read() (resultdiff.Time, error) {
	var samplesNS []float64
	var roundOf []int
	if err := errors.Join(json.Unmarshal([]byte(t.samples), &samplesNS),
		json.Unmarshal([]byte(t.rounds), &roundOf)); err != nil {
		return t.time, fmt.Errorf("samples of a time: %w", err)
	}
	t.time.RoundsNS = stats.RoundMedians(samplesNS, roundOf)
	t.time.ClockMHz, t.time.Noise = t.clock.Float64, t.noise.Float64
	return t.time, nil
}

// addTimes adds the usable times to the entries of a side, with the noise measured with them. ids maps the
// number of a run to the index of its entry.
func addTimes(q querier, side *resultdiff.Side, ids map[int64]int, from chosen) error {
	rows, err := q.Query(
		"SELECT r.run_id, "+timeColumns+from.newest("JOIN timing t ON t.run_id = r.run_id")+
			" WHERE t.status = 'PASS' ORDER BY r.run_ulid, length(t.regime), t.regime",
		from.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var columns timeRow
		if err := rows.Scan(append([]any{&id}, columns.targets()...)...); err != nil {
			return err
		}
		t, err := columns.read()
		if err != nil {
			return err
		}
		e := &side.Entries[ids[id]]
		e.Timings = append(e.Timings, t)
	}
	return rows.Err()
}

// SessionID returns the ULID of the session that a selection names: by a prefix, or by how many back.
func (s *Store) SessionID(ctx context.Context, sel Selection) (string, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return "", s.explain("find the session", err)
	}
	defer tx.Rollback()
	info, err := s.oneSession(tx, sel)
	return info.ID, s.explain("find the session", err)
}

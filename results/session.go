package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// Session is an invocation that records. It lasts until Finish, or until its process ends: then it can be
// resumed.
type Session struct {
	store *Store
	id    int64
	info  record.Session
}

// ID returns the ULID of the session.
func (x *Session) ID() string { return x.info.ID }

// Info returns what the session was started with; for a resumed one, by its first invocation.
func (x *Session) Info() record.Session { return x.info }

// write runs do in one transaction that holds the write lock from its first statement, and syncs it to the
// disk.
func (s *Store) write(ctx context.Context, verb string, do func(tx *sql.Tx) error) error {
	if s.writer == nil {
		if s.notice != "" {
			return fmt.Errorf("%s: %w: %s", verb, ErrReadOnly, s.notice)
		}
		return fmt.Errorf("%s in %s: %w: it was opened for reading", verb, s.path, ErrReadOnly)
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(verb, err)
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return s.explain(verb, err)
	}
	return s.explain(verb, tx.Commit())
}

// Start writes a new session and its whole plan in one transaction. It fills in Started, and ID if there is
// none: the parts of one session in several databases have the same. It also marks sessions whose process is
// gone as interrupted.
func (s *Store) Start(ctx context.Context, info record.Session, plan []record.Item) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Session{store: s}
	err := s.write(ctx, "start a session", func(tx *sql.Tx) error {
		err := s.sweep(tx)
		if err != nil {
			return err
		}
		if info.ID == "" {
			if info.ID, err = nextID(tx, "session", "session_ulid", s.now()); err != nil {
				return err
			}
		}
		info.Started = s.now()
		if x.id, err = insertSession(tx, info); err != nil {
			return err
		}
		for position, item := range plan {
			caseID, err := upsertCase(tx, item.Case, nil)
			if err != nil {
				return err
			}
			if _, err := insertPlan(tx, x.id, caseID, position, item); err != nil {
				return err
			}
		}
		return s.claim(x.id)
	})
	if err != nil {
		return nil, err
	}
	x.info = info
	return x, nil
}

// claim takes the lock that marks a session as alive.
func (s *Store) claim(session int64) error {
	ok, err := s.live.claim(session)
	if err == nil && !ok {
		err = fmt.Errorf("session %d is alive in another process", session)
	}
	return err
}

// Resume takes over the newest session with this request that ended, or whose process ended, before its plan
// was done, and returns the missing items of the plan, in its order. If there is none the error is
// ErrNothingToResume. Of several processes that ask, only one gets it.
func (s *Store) Resume(ctx context.Context, request string) (*Session, []record.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Session{store: s}
	var missing []record.Item
	if err := s.write(ctx, "mark interrupted sessions", s.sweep); err != nil {
		return nil, nil, err
	}
	err := s.write(ctx, "resume a session", func(tx *sql.Tx) error {
		err := tx.QueryRow("SELECT session_id FROM session WHERE request = ? AND state = 'interrupted' "+
			"ORDER BY session_ulid DESC LIMIT 1", request).Scan(&x.id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: no interrupted session has this request; run it without --resume",
				ErrNothingToResume)
		}
		if err != nil {
			return err
		}
		if x.info, err = loadSession(tx, x.id); err != nil {
			return err
		}
		if missing, err = missingItems(tx, x.id); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE session SET state = 'running', ended_utc = NULL, exit_code = NULL, "+
			"internal_error = NULL WHERE session_id = ?", x.id); err != nil {
			return err
		}
		return s.claim(x.id)
	})
	if err != nil {
		return nil, nil, err
	}
	return x, missing, nil
}

// sweep marks the sessions of dead processes as interrupted, and the runs that they were at as INTERRUPTED.
func (s *Store) sweep(tx *sql.Tx) error {
	running, err := column[int64](tx, "SELECT session_id FROM session WHERE state = 'running'")
	if err != nil {
		return err
	}
	for _, id := range running {
		alive, err := s.live.alive(id)
		if err != nil {
			return err
		}
		if !alive {
			if err := s.interrupt(tx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// interrupt ends a session whose process has ended.
func (s *Store) interrupt(tx *sql.Tx, session int64) error {
	if err := s.interruptRuns(tx, session); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE session SET state = 'interrupted' WHERE session_id = ?", session)
	return err
}

func (s *Store) interruptRuns(tx *sql.Tx, session int64) error {
	_, err := tx.Exec("UPDATE run SET status = 'INTERRUPTED', message = 'the session ended first', "+
		"recorded_utc = ? WHERE session_id = ? AND status IS NULL",
		utc(s.now()), session)
	return err
}

// Begin records that an item is about to run, so that a crash of the driver shows what it was running. It is
// optional.
func (x *Session) Begin(ctx context.Context, item record.Item) error {
	return x.store.write(ctx, "begin "+item.Impl, func(tx *sql.Tx) error {
		plan, caseID, err := x.planned(tx, item, nil)
		if err != nil {
			return err
		}
		id, err := nextID(tx, "run", "run_ulid", x.store.now())
		if err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO run (run_ulid, session_id, plan_id, case_id, seed, started_utc) "+
			"VALUES (?, ?, ?, ?, ?, ?)",
			id, x.id, plan, caseID, seedText(item.Seed), utc(x.store.now()))
		return onlyOnce(err, item)
	})
}

// Record stores results with their verdicts in one transaction and fills in ID and Session. When it returns
// nil they are on the disk; else none of them is stored. Unplanned results are added to the plan; a result
// that the session already has gives ErrAlreadyRecorded.
func (x *Session) Record(ctx context.Context, records ...*record.Record) error {
	var words []string
	for _, r := range records {
		if err := storable(*r); err != nil {
			return err
		}
		words = append(words, r.Impl)
	}
	ids := make([]string, len(records))
	verb := "record " + strings.Join(slices.Compact(words), ", ")
	err := x.store.write(ctx, verb, func(tx *sql.Tx) (err error) {
		for i, r := range records {
			if ids[i], err = x.record(tx, *r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range records {
		r.ID, r.Session = ids[i], x.info.ID
	}
	return nil
}

// record writes one result and returns its ID.
func (x *Session) record(tx *sql.Tx, r record.Record) (id string, err error) {
	item := record.Item{Case: r.Case, Impl: r.Impl, Seed: r.Seed}
	plan, caseID, err := x.planned(tx, item, r.DTypes)
	if err != nil {
		return "", err
	}
	implementation, err := upsertImplementation(tx, r)
	if err != nil {
		return "", err
	}
	run, id, err := x.runRow(tx, plan, caseID, item)
	if err != nil {
		return "", err
	}
	if err := fillRun(tx, run, implementation, r, x.store.now()); err != nil {
		return "", err
	}
	return id, insertVerdicts(tx, run, r.Outputs)
}

// storable refuses an incomplete record: an unset status must not be stored as if it were one.
func storable(r record.Record) error {
	if r.Status == op.StatusUnknown || r.Case.Pass == op.PassUnknown || r.Impl == "" {
		return fmt.Errorf(
			"record %q on case %s: status %s, pass %s: want an implementation, a status and a pass",
			r.Impl,
			r.Case.Key(),
			r.Status,
			r.Case.Pass,
		)
	}
	for _, v := range r.Outputs {
		if v.Status == op.StatusUnknown {
			return fmt.Errorf("record %s on case %s: output %s has no status", r.Impl, r.Case.Key(), v.Name)
		}
	}
	return nil
}

// runRow returns the row that Begin made for the plan's entry, or a new one.
func (x *Session) runRow(tx *sql.Tx, plan, caseID int64, item record.Item) (run int64, id string, err error) {
	err = tx.QueryRow("SELECT run_id, run_ulid FROM run WHERE plan_id = ? AND status IS NULL",
		plan).Scan(&run, &id)
	if !errors.Is(err, sql.ErrNoRows) {
		return run, id, err
	}
	if id, err = nextID(tx, "run", "run_ulid", x.store.now()); err != nil {
		return 0, "", err
	}
	done, err := tx.Exec("INSERT INTO run (run_ulid, session_id, plan_id, case_id, seed, started_utc) "+
		"VALUES (?, ?, ?, ?, ?, ?)",
		id, x.id, plan, caseID, seedText(item.Seed), utc(x.store.now()))
	if err != nil {
		return 0, "", onlyOnce(err, item)
	}
	run, err = done.LastInsertId()
	return run, id, err
}

// planned returns the plan's entry of an item, and creates it if there is none.
func (x *Session) planned(tx *sql.Tx, item record.Item, dtypes any) (plan, caseID int64, err error) {
	if caseID, err = upsertCase(tx, item.Case, dtypes); err != nil {
		return 0, 0, err
	}
	err = tx.QueryRow("SELECT plan_id FROM plan WHERE session_id = ? AND case_id = ? AND implementation = "+
		"? AND seed = ?",
		x.id, caseID, item.Impl, seedText(item.Seed)).Scan(&plan)
	if !errors.Is(err, sql.ErrNoRows) {
		return plan, caseID, err
	}
	var next int
	if err := tx.QueryRow("SELECT coalesce(max(position) + 1, 0) FROM plan WHERE session_id = ?",
		x.id).Scan(&next); err != nil {
		return 0, 0, err
	}
	plan, err = insertPlan(tx, x.id, caseID, next, item)
	return plan, caseID, err
}

// Replan removes items without records from the plan, and appends others.
func (x *Session) Replan(ctx context.Context, gone, added []record.Item) error {
	return x.store.write(ctx, "change the plan of a session", func(tx *sql.Tx) error {
		for _, item := range gone {
			plan, _, err := x.planned(tx, item, nil)
			if err != nil {
				return err
			}
			for _, rows := range []string{
				"run WHERE plan_id = ? AND status = 'INTERRUPTED'", "plan WHERE plan_id = ?",
			} {
				if _, err := tx.Exec("DELETE FROM "+rows, plan); err != nil {
					return err
				}
			}
		}
		for _, item := range added {
			if _, _, err := x.planned(tx, item, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddDifferences stores the differences of implementations in one transaction, and fills in Session. RunA and
// RunB name stored records. A resumed session replaces its earlier differences.
func (x *Session) AddDifferences(ctx context.Context, differences []record.Difference) error {
	if len(differences) == 0 {
		return nil
	}
	return x.store.write(ctx, "record differences", func(tx *sql.Tx) error {
		for i := range differences {
			differences[i].Session = x.info.ID
			d := differences[i]
			if err := insertDifference(tx, d); err != nil {
				return fmt.Errorf("%s and %s, %s: %w", d.A, d.B, d.Output, err)
			}
		}
		return nil
	})
}

// Finish ends the session: complete means that nothing of the plan is missing for lack of time; otherwise it
// can be resumed. A cancelled context stops it, like every other write: a stopped run finishes under another
// context.
func (x *Session) Finish(ctx context.Context, complete bool, exit int) error {
	state := "interrupted"
	if complete {
		state = "complete"
	}
	return x.end(ctx, state, exit, nil)
}

// Break ends the session with an internal error of triad, which is stored. The rest of the plan can be
// resumed.
func (x *Session) Break(ctx context.Context, exit int, internalError string) error {
	return x.end(ctx, "interrupted", exit, &internalError)
}

func (x *Session) end(ctx context.Context, state string, exit int, internalError *string) error {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	err := x.store.write(ctx, "finish the session", func(tx *sql.Tx) error {
		if err := x.store.interruptRuns(tx, x.id); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE session SET state = ?, ended_utc = ?, exit_code = ?, internal_error = ? "+
			"WHERE session_id = ?",
			state, utc(x.store.now()), exit, internalError, x.id)
		return err
	})
	if err == nil {
		x.store.live.release(x.id)
	}
	return err
}

// AddVersions adds the versions of what took part since the session began, such as the workers of one of many
// files. A name that is there already keeps its version.
func (x *Session) AddVersions(ctx context.Context, versions record.Toolchain) error {
	return x.store.write(ctx, "record versions", func(tx *sql.Tx) error {
		var text string
		all := record.Toolchain{}
		err := tx.QueryRow("SELECT versions_json FROM session JOIN toolchain USING (toolchain_id) "+
			"WHERE session_id = ?", x.id).Scan(&text)
		if err == nil {
			err = json.Unmarshal([]byte(text), &all)
		}
		if err != nil {
			return err
		}
		added := maps.Clone(versions)
		maps.Copy(added, all)
		toolchain, err := upsertToolchain(tx, added)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE session SET toolchain_id = ? WHERE session_id = ?", toolchain, x.id)
		return err
	})
}

// missingItems returns the entries of a plan that have no result, in the plan's order.
func missingItems(tx *sql.Tx, session int64) ([]record.Item, error) {
	rows, err := tx.Query(
		`SELECT p.implementation, p.seed, `+caseColumns+` FROM plan p JOIN test_case c USING (case_id)
		WHERE p.session_id = ? AND NOT EXISTS (SELECT 1 FROM run r
			WHERE r.plan_id = p.plan_id AND (r.status IS NULL OR r.status <> 'INTERRUPTED'))
		ORDER BY p.position`,
		session,
	)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var missing []record.Item
	for rows.Next() {
		var item record.Item
		var seed string
		var c caseRow
		if err := rows.Scan(append([]any{&item.Impl, &seed}, c.targets()...)...); err != nil {
			return nil, err
		}
		if item.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return nil, err
		}
		if item.Case, _, err = c.read(); err != nil {
			return nil, err
		}
		missing = append(missing, item)
	}
	return missing, rows.Err()
}

func insertSession(tx *sql.Tx, info record.Session) (int64, error) {
	machine, err := upsertMachine(tx, info.Machine)
	if err != nil {
		return 0, err
	}
	toolchain, err := upsertToolchain(tx, info.Toolchain)
	if err != nil {
		return 0, err
	}
	done, err := tx.Exec(
		`INSERT INTO session (session_ulid, request, command_json, version, commit_hash, level, seed,
		added_json, machine_id, toolchain_id,
		started_utc, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')`,
		info.ID,
		info.Request,
		list(info.Command),
		info.Version,
		info.Commit,
		info.Level,
		seedText(info.Seed),
		list(info.Added),
		machine,
		toolchain,
		utc(info.Started),
	)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}

// list returns a JSON array of words, [] for none.
func list(words []string) string {
	if words == nil {
		words = []string{}
	}
	text, _ := json.Marshal(words)
	return string(text)
}

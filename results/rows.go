package results

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"triad/internal/op"
	"triad/internal/record"
)

// shownTime is the layout of a time in words, in the zone of the machine.
const shownTime = "2006-01-02 15:04 MST"

func utc(t time.Time) string { return t.UTC().Format(record.TimeFormat) }

func parseUTC(text string) time.Time {
	t, _ := time.Parse(record.TimeFormat, text)
	return t
}

func seedText(seed uint64) string { return strconv.FormatUint(seed, 10) }

// jsonOrNull returns v as JSON text, NULL for a nil pointer.
func jsonOrNull[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// number returns a value and its class, the two columns of a number that may be NaN; NULL in both if there is
// none.
func number(f *record.Float) (value, class any) {
	if f == nil {
		return nil, nil
	}
	if math.IsNaN(float64(*f)) {
		return nil, f.Class()
	}
	return float64(*f), f.Class()
}

// numberColumns reads what number writes.
type numberColumns struct {
	value sql.NullFloat64
	class sql.NullString
}

func (n numberColumns) read() *record.Float {
	switch {
	case !n.class.Valid:
		return nil
	case n.class.String == "nan":
		return new(record.Float(math.NaN()))
	}
	return new(record.Float(n.value.Float64))
}

// orZero returns the number, 0 if there is none.
func (n numberColumns) orZero() record.Float {
	if f := n.read(); f != nil {
		return *f
	}
	return 0
}

// onlyOnce turns a violated constraint, that an entry of a plan is recorded once, into its error.
func onlyOnce(err error, item record.Item) error {
	var code sqlite3.Error
	if errors.As(err, &code) && code.ExtendedCode == sqlite3.ErrConstraintUnique {
		return fmt.Errorf("%s, case %s, seed %d: %w in this session", item.Impl, item.Case.Key(), item.Seed,
			ErrAlreadyRecorded)
	}
	return err
}

// column reads one column of a query.
func column[T any](q querier, query string, args ...any) ([]T, error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func upsertMachine(tx *sql.Tx, m record.Machine) (id int64, err error) {
	if _, err = tx.Exec(`INSERT INTO machine (content_hash, os, kernel, arch, cpu, cores, memory_bytes, gpu,
		gpu_memory_bytes, gpu_driver)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		m.Hash(), m.OS, m.Kernel, m.Arch, m.CPU, m.Cores, m.MemoryBytes, m.GPU, m.GPUMemoryBytes,
		m.GPUDriver); err != nil {
		return 0, err
	}
	return id, tx.QueryRow("SELECT machine_id FROM machine WHERE content_hash = ?", m.Hash()).Scan(&id)
}

func upsertToolchain(tx *sql.Tx, t record.Toolchain) (id int64, err error) {
	if t == nil {
		t = record.Toolchain{}
	}
	versions, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	if _, err = tx.Exec("INSERT INTO toolchain (content_hash, versions_json) VALUES (?, ?) ON CONFLICT DO "+
		"NOTHING", t.Hash(), string(versions)); err != nil {
		return 0, err
	}
	return id, tx.QueryRow("SELECT toolchain_id FROM toolchain WHERE content_hash = ?", t.Hash()).Scan(&id)
}

// sourceKey distinguishes the sources of an implementation in the database: their hash and, if flags were
// given, a + and a hash of those.
func sourceKey(r record.Record) string {
	if r.Flags == "" {
		return r.Source
	}
	sum := sha256.Sum256([]byte(r.Flags))
	return r.Source + "+" + hex.EncodeToString(sum[:4])
}

// sourceIn returns the hash of the sources in a result of sourceKey.
func sourceIn(key string) string {
	source, _, _ := strings.Cut(key, "+")
	return source
}

func upsertImplementation(tx *sql.Tx, r record.Record) (id int64, err error) {
	build, err := jsonOrNull(r.Build)
	if err != nil {
		return 0, err
	}
	if _, err = tx.Exec(`INSERT INTO implementation (op, name, backend, variant, source_hash, build_json)
		VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET build_json = excluded.build_json WHERE implementation.build_json IS NULL`,
		r.Case.Op, r.Impl, r.Backend, r.Variant, sourceKey(r), build); err != nil {
		return 0, err
	}
	err = tx.QueryRow("SELECT implementation_id FROM implementation WHERE op = ? AND name = ? AND "+
		"source_hash = ?",
		r.Case.Op, r.Impl, sourceKey(r)).Scan(&id)
	if err == nil && r.Flags != "" {
		_, err = tx.Exec("UPDATE implementation SET flags = ? WHERE implementation_id = ?", r.Flags, id)
	}
	return id, err
}

// upsertCase stores a case; dtypes, known when it is recorded, fill an empty object.
func upsertCase(tx *sql.Tx, c op.Case, dtypes any) (id int64, err error) {
	types := "{}"
	if m, ok := dtypes.(record.Members[op.DType]); ok {
		text, err := json.Marshal(m)
		if err != nil {
			return 0, err
		}
		types = string(text)
	}
	key := c.Key()
	var known string
	err = tx.QueryRow("SELECT case_id, dtypes_json FROM test_case WHERE case_key = ?", key).Scan(&id, &known)
	if err == nil && (known != "{}" || types == "{}") {
		return id, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	dims, err := json.Marshal(record.DimMembers(c.Dims))
	if err != nil {
		return 0, err
	}
	attributes, err := json.Marshal(record.AttrMembers(c.Attrs))
	if err != nil {
		return 0, err
	}
	numbers := make([]record.Float, len(c.Attrs))
	for i, a := range c.Attrs {
		numbers[i] = record.Float(a.Number)
	}
	numbersText, err := json.Marshal(numbers)
	if err != nil {
		return 0, err
	}
	if _, err = tx.Exec(`INSERT INTO test_case (case_key, op, pass, dtype, dims_json, attributes_json,
		attribute_numbers_json, layout, distribution, upstream,
		saved, dtypes_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET dtypes_json = excluded.dtypes_json
			WHERE test_case.dtypes_json = '{}' AND excluded.dtypes_json <> '{}'`,
		key, c.Op, c.Pass.String(), c.DType, string(dims), string(attributes), string(numbersText),
		c.Layout, c.Distribution,
		orNull(c.Upstream), orNull(c.Saved), types); err != nil {
		return 0, err
	}
	return id, tx.QueryRow("SELECT case_id FROM test_case WHERE case_key = ?", key).Scan(&id)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// insertPlan adds an entry to a session's plan; an item that is planned twice is an error.
func insertPlan(tx *sql.Tx, session, caseID int64, position int, item record.Item) (int64, error) {
	done, err := tx.Exec("INSERT INTO plan (session_id, position, case_id, implementation, seed) VALUES "+
		"(?, ?, ?, ?, ?)",
		session, position, caseID, item.Impl, seedText(item.Seed))
	if err != nil {
		return 0, fmt.Errorf("plan %s on case %s, entry %d: %w", item.Impl, item.Case.Key(), position, err)
	}
	return done.LastInsertId()
}

// fillRun writes the outcome of a run into its row.
func fillRun(tx *sql.Tx, run, implementation int64, r record.Record, now time.Time) error {
	where, err := jsonOrNull(r.Where)
	if err != nil {
		return err
	}
	started := r.Started
	if started.IsZero() {
		started = now
	}
	_, err = tx.Exec(`UPDATE run SET implementation_id = ?, status = ?, device = ?, contract = ?, message = ?,
		where_json = ?, log_tail = ?, launches = ?,
		harness_wall_ns = ?, peak_memory_bytes = ?, started_utc = ?, recorded_utc = ? WHERE run_id = ?`,
		implementation, r.Status.String(), r.Device, r.Contract, r.Message, where, r.LogTail, r.Launches,
		r.Wall.Nanoseconds(), r.PeakBytes,
		utc(started), utc(now), run)
	if err == nil && r.GPU != "" {
		_, err = tx.Exec("UPDATE run SET gpu = ? WHERE run_id = ?", r.GPU, run)
	}
	return err
}

func insertVerdicts(tx *sql.Tx, run int64, verdicts []record.Verdict) error {
	for position, v := range verdicts {
		args := []any{run, position, v.Name, v.Status.String(), v.Gate, v.Message, v.N, v.NCompared, v.NWrong}
		args = append(args, elementColumns(v.Worst)...)
		for _, f := range []*record.Float{v.ErrorMargin, v.ULPMax, v.ULPMean, v.AbsoluteMax, v.RelativeMax} {
			value, class := number(f)
			args = append(args, value, class)
		}
		statistics, err := jsonOrNull(v.Statistics)
		if err != nil {
			return fmt.Errorf("verdict of %s: %w", v.Name, err)
		}
		if _, err := tx.Exec(`INSERT INTO verdict (run_id, position, output, status, gate, message, n,
			n_compared, n_wrong, worst_index_json,
			got, got_class, want, want_class, low, low_class, high, high_class, headroom, headroom_class,
			ulp_max, ulp_max_class,
			ulp_mean, ulp_mean_class,
			absolute_max, absolute_max_class, relative_max, relative_max_class, pattern,
			judge_version, relations_planned, n_covered, statistics_json)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
			?, ?, ?, ?, ?, ?, ?, ?)`, append(args, v.Pattern, v.Judge, v.RelationsPlanned, v.NCovered,
			statistics)...); err != nil {
			return fmt.Errorf("verdict of %s: %w", v.Name, err)
		}
		if err := insertRelations(tx, run, v.Name, v.Relations); err != nil {
			return err
		}
	}
	return nil
}

// elementColumns returns index, got, want, low and high with their classes; all NULL if there is no element.
func elementColumns(e *record.Element) []any {
	if e == nil {
		return make([]any, 9)
	}
	columns := []any{indexText(e.Index)}
	for _, f := range []record.Float{e.Got, e.Want, e.Low, e.High} {
		value, class := number(&f)
		columns = append(columns, value, class)
	}
	return columns
}

func indexText(index []int64) string {
	if index == nil {
		index = []int64{}
	}
	text, _ := json.Marshal(index)
	return string(text)
}

func insertDifference(tx *sql.Tx, d record.Difference) error {
	ulp, ulpClass := number(d.ULPMax)
	worst := make([]any, 5)
	if d.Worst != nil {
		a, aClass := number(&d.Worst.A)
		b, bClass := number(&d.Worst.B)
		worst = []any{indexText(d.Worst.Index), a, aClass, b, bClass}
	}
	args := append([]any{d.Output, d.N, d.Bitwise, d.NDifferent, ulp, ulpClass},
		append(worst, d.RunA, d.RunB)...)
	done, err := tx.Exec(`INSERT OR REPLACE INTO difference (output, n, bitwise, n_different, ulp_max,
		ulp_max_class, worst_index_json, worst_a, worst_a_class, worst_b, worst_b_class,
		run_a_id, run_b_id) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, a.run_id, b.run_id FROM run a, run b
		WHERE a.run_ulid = ? AND b.run_ulid = ?`, args...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("runs %s and %s: %w", d.RunA, d.RunB, errors.Join(ErrNotFound, err))
	}
	return nil
}

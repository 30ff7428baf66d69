package results

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// querier is a transaction or a pool that reads.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// caseColumns lists the columns of a case, of test_case AS c, in the order of caseRow.
const caseColumns = "c.op, c.pass, c.dtype, c.dims_json, c.attributes_json, c.attribute_numbers_json, " +
	"c.layout, c.distribution, c.upstream, c.saved, c.dtypes_json"

type caseRow struct {
	op, pass, dtype, dims, attributes, numbers, layout, distribution string
	upstream, saved                                                  sql.NullString
	dtypes                                                           string
}

func (c *caseRow) targets() []any {
	return []any{
		&c.op, &c.pass, &c.dtype, &c.dims, &c.attributes, &c.numbers, &c.layout, &c.distribution,
		&c.upstream, &c.saved, &c.dtypes,
	}
}

func (c *caseRow) read() (op.Case, record.Members[op.DType], error) {
	out := op.Case{
		Op: c.op, DType: c.dtype, Layout: c.layout, Distribution: c.distribution,
		Upstream: c.upstream.String, Saved: c.saved.String,
	}
	var dims record.Members[int64]
	var attributes record.Members[string]
	var numbers []record.Float
	var dtypes record.Members[op.DType]
	for _, part := range []struct {
		text string
		into any
	}{{c.dims, &dims}, {c.attributes, &attributes}, {c.numbers, &numbers}, {c.dtypes, &dtypes}} {
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return op.Case{}, nil, fmt.Errorf("read a case of %s: %w", c.op, err)
		}
	}
	if err := out.Pass.UnmarshalText([]byte(c.pass)); err != nil {
		return op.Case{}, nil, err
	}
	if len(numbers) != len(attributes) {
		return op.Case{}, nil, fmt.Errorf("read a case of %s: %d attributes have %d numbers", c.op,
			len(attributes), len(numbers))
	}
	for _, d := range dims {
		out.Dims = append(out.Dims, op.Dim{Name: d.Name, Value: d.Value})
	}
	for i, a := range attributes {
		out.Attrs = append(out.Attrs, op.Attr{Name: a.Name, Number: float64(numbers[i]), Text: a.Value})
	}
	return out, dtypes, nil
}

// runColumns lists the columns of a record without its verdicts, in the order of scanRun, from runTables.
const (
	runColumns = `r.run_id, r.run_ulid, s.session_ulid, ` + caseColumns + `, r.seed, p.implementation,
	coalesce(i.backend, ''), coalesce(i.variant, ''), coalesce(i.source_hash, ''), coalesce(i.flags, ''),
	i.build_json, r.device, r.gpu, coalesce(r.status, ''), r.contract, r.message, r.where_json, r.log_tail,
	r.launches, r.harness_wall_ns, r.peak_memory_bytes, r.started_utc, r.diagnosis_json`
	runTables = `run r JOIN session s USING (session_id) JOIN plan p USING (plan_id)
	JOIN test_case c ON c.case_id = r.case_id
	LEFT JOIN implementation i USING (implementation_id)`
)

// scanRun reads a row of runColumns.
func scanRun(rows *sql.Rows) (id int64, r record.Record, err error) {
	var c caseRow
	var seed, status, started string
	var build, where, diagnosis sql.NullString
	var wall int64
	targets := append([]any{&id, &r.ID, &r.Session}, c.targets()...)
	targets = append(targets, &seed, &r.Impl, &r.Backend, &r.Variant, &r.Source, &r.Flags, &build, &r.Device,
		&r.GPU, &status, &r.Contract, &r.Message, &where,
		&r.LogTail, &r.Launches, &wall, &r.PeakBytes, &started, &diagnosis)
	if err = rows.Scan(targets...); err != nil {
		return 0, r, err
	}
	r.Source = sourceIn(r.Source)
	if r.Case, r.DTypes, err = c.read(); err != nil {
		return 0, r, err
	}
	if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return 0, r, fmt.Errorf("read run %s: seed: %w", r.ID, err)
	}
	if status != "" { // a run that has not ended keeps the zero status
		if r.Status, err = op.ParseStatus(status); err != nil {
			return 0, r, fmt.Errorf("read run %s: %w", r.ID, err)
		}
	}
	if r.Build, err = fromJSON[record.Build](build); err != nil {
		return 0, r, fmt.Errorf("read run %s: build: %w", r.ID, err)
	}
	if r.Where, err = fromJSON[record.Where](where); err != nil {
		return 0, r, fmt.Errorf("read run %s: where: %w", r.ID, err)
	}
	if r.Diagnosis, err = fromJSON[record.Diagnosis](diagnosis); err != nil {
		return 0, r, fmt.Errorf("read run %s: diagnosis: %w", r.ID, err)
	}
	r.Wall, r.Started = time.Duration(wall), parseUTC(started)
	return id, r, nil
}

// fromJSON reads what jsonOrNull wrote.
func fromJSON[T any](text sql.NullString) (*T, error) {
	if !text.Valid {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal([]byte(text.String), v)
}

// loadVerdicts reads the verdicts of a run in the order of the spec; related is whether it has relations.
func loadVerdicts(q querier, run int64, related bool) ([]record.Verdict, error) {
	var relations map[string][]record.Relation
	if related {
		var err error
		if relations, err = loadRelations(q, run); err != nil {
			return nil, err
		}
	}
	rows, err := q.Query(`SELECT output, status, gate, message, n, n_compared, n_wrong, worst_index_json, got,
		got_class, want, want_class, low, low_class,
		high, high_class, headroom, headroom_class, ulp_max, ulp_max_class, ulp_mean, ulp_mean_class,
		absolute_max, absolute_max_class, relative_max, relative_max_class, pattern, judge_version,
		relations_planned, n_covered, statistics_json FROM verdict WHERE run_id = ? ORDER BY position`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var verdicts []record.Verdict
	for rows.Next() {
		var v record.Verdict
		var status string
		var index, statistics sql.NullString
		var n [9]numberColumns
		targets := []any{&v.Name, &status, &v.Gate, &v.Message, &v.N, &v.NCompared, &v.NWrong, &index}
		for i := range n {
			targets = append(targets, &n[i].value, &n[i].class)
		}
		if err := rows.Scan(append(targets, &v.Pattern, &v.Judge, &v.RelationsPlanned, &v.NCovered,
			&statistics)...); err != nil {
			return nil, err
		}
		if v.Status, err = op.ParseStatus(status); err != nil {
			return nil, err
		}
		if index.Valid {
			v.Worst = &record.Element{
				Got: n[0].orZero(), Want: n[1].orZero(), Low: n[2].orZero(),
				High: n[3].orZero(),
			}
			if err := json.Unmarshal([]byte(index.String), &v.Worst.Index); err != nil {
				return nil, err
			}
		}
		if statistics.Valid {
			v.Statistics = new(record.Statistics)
			if err := json.Unmarshal([]byte(statistics.String), v.Statistics); err != nil {
				return nil, fmt.Errorf("statistics of %s: %w", v.Name, err)
			}
		}
		v.Relations = relations[v.Name]
		v.ErrorMargin, v.ULPMax, v.ULPMean = n[4].read(), n[5].read(), n[6].read()
		v.AbsoluteMax, v.RelativeMax = n[7].read(), n[8].read()
		verdicts = append(verdicts, v)
	}
	return verdicts, rows.Err()
}

// loadSession reads a session with its machine and toolchain.
func loadSession(q querier, id int64) (record.Session, error) {
	var x record.Session
	var command, seed, added, versions, started string
	var ended sql.NullString
	var exit sql.NullInt64
	var internal sql.NullString
	m := &x.Machine
	err := q.QueryRow(`SELECT s.session_ulid, s.request, s.command_json, s.version, s.commit_hash, s.level,
		s.seed, s.added_json, s.started_utc, s.ended_utc,
		s.exit_code, s.internal_error, t.versions_json, m.os, m.kernel, m.arch, m.cpu, m.cores,
		m.memory_bytes, m.gpu,
		m.gpu_memory_bytes, m.gpu_driver
		FROM session s JOIN machine m USING (machine_id) JOIN toolchain t USING (toolchain_id)
		WHERE session_id = ?`, id).Scan(
		&x.ID, &x.Request, &command, &x.Version, &x.Commit, &x.Level, &seed, &added, &started, &ended, &exit,
		&internal, &versions,
		&m.OS, &m.Kernel, &m.Arch, &m.CPU, &m.Cores, &m.MemoryBytes, &m.GPU, &m.GPUMemoryBytes, &m.GPUDriver)
	if err != nil {
		return x, err
	}
	for _, part := range []struct {
		text string
		into any
	}{{command, &x.Command}, {added, &x.Added}, {versions, &x.Toolchain}} {
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return x, fmt.Errorf("read session %s: %w", x.ID, err)
		}
	}
	x.Started, x.Exit = parseUTC(started), int(exit.Int64)
	x.InternalError = internal.String
	if ended.Valid {
		x.Ended = parseUTC(ended.String)
	}
	x.Seed, err = strconv.ParseUint(seed, 10, 64)
	return x, err
}

// loadDifferences reads the differences of a run from the others.
func loadDifferences(q querier, run int64) ([]record.Difference, error) {
	rows, err := q.Query(`SELECT s.session_ulid, c.case_key, c.op, c.pass, c.dtype, d.output,
		pa.implementation, pb.implementation, a.run_ulid, b.run_ulid,
		d.n, d.bitwise, d.n_different, d.worst_index_json, d.ulp_max, d.ulp_max_class,
		d.worst_a, d.worst_a_class, d.worst_b,
		d.worst_b_class
		FROM difference d JOIN run a ON a.run_id = d.run_a_id JOIN run b ON b.run_id = d.run_b_id
		JOIN plan pa ON pa.plan_id = a.plan_id
		JOIN plan pb ON pb.plan_id = b.plan_id JOIN session s ON s.session_id = a.session_id
		JOIN test_case c ON c.case_id = a.case_id
		WHERE d.run_a_id = ? OR d.run_b_id = ?
		ORDER BY pa.implementation, pb.implementation, d.output`, run, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []record.Difference
	for rows.Next() {
		var d record.Difference
		var pass string
		var index sql.NullString
		var n [3]numberColumns
		targets := []any{
			&d.Session, &d.CaseKey, &d.Op, &pass, &d.DType, &d.Output, &d.A, &d.B, &d.RunA,
			&d.RunB, &d.N, &d.Bitwise, &d.NDifferent, &index,
		}
		for i := range n {
			targets = append(targets, &n[i].value, &n[i].class)
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if err := d.Pass.UnmarshalText([]byte(pass)); err != nil {
			return nil, err
		}
		d.ULPMax = n[0].read()
		if index.Valid {
			d.Worst = &record.Disparity{A: n[1].orZero(), B: n[2].orZero()}
			if err := json.Unmarshal([]byte(index.String), &d.Worst.Index); err != nil {
				return nil, err
			}
		}
		all = append(all, d)
	}
	return all, rows.Err()
}

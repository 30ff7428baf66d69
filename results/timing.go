package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"triad/internal/op"
	"triad/internal/record"
)

// AddTiming stores the timing of a recorded run in one regime; a resumed session replaces its earlier one.
func (x *Session) AddTiming(ctx context.Context, run string, t record.Timing) error {
	if t.Status == op.StatusUnknown {
		return fmt.Errorf("record the timing of run %s, %s: it has no status", run, t.Regime)
	}
	return x.store.write(ctx, "record a timing", func(tx *sql.Tx) error {
		arrays := make([]string, 5)
		for i, v := range []any{
			orEmpty(t.SamplesNS), orEmpty(t.Rounds), orEmpty(t.Positions),
			orEmpty(t.ClocksMHz), orEmpty(t.Kernels),
		} {
			text, err := json.Marshal(v)
			if err != nil {
				return err
			}
			arrays[i] = string(text)
		}
		done, err := tx.Exec(`INSERT OR REPLACE INTO timing (regime, n, median_ns, low_ns, high_ns,
			samples_ns_json, rounds_json, arms_json, clocks_mhz_json,
			temperature_c, throttle_mask, n_discarded, discarded_because, bytes, flops, status, message,
			min_ns, p10_ns, p90_ns, roofline, clock_mhz, power_w,
			mode, sets, calls, rotated_bytes, kernels_json, backward, run_id) SELECT ?, ?, ?, ?, ?, ?, ?, ?,
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, run_id FROM run
			WHERE run_ulid = ?`,
			t.Regime, t.N, t.MedianNS, t.LowNS, t.HighNS, arrays[0], arrays[1], arrays[2], arrays[3],
			optional(t.TemperatureC), int64(t.Throttle),
			t.Discarded, t.Because, t.Bytes, t.FLOPs, t.Status.String(), t.Message, t.MinNS, t.P10NS, t.P90NS,
			optional(t.Roofline),
			optional(t.ClockMHz), optional(t.PowerW), t.Mode, t.Sets, t.Calls, t.RotatedBytes, arrays[4],
			t.Backward, run)
		return oneRow(done, err, run)
	})
}

// oneRow returns the error of a write that found no run.
func oneRow(done sql.Result, err error, run string) error {
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	return nil
}

// optional returns a number or NULL. The numbers stored here are never NaN: an unknown one is nil.
func optional(f *record.Float) any {
	if f == nil {
		return nil
	}
	return float64(*f)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// AddCeilings stores the device's peak rates in this session.
func (x *Session) AddCeilings(ctx context.Context, ceilings []record.Ceiling) error {
	return x.store.write(ctx, "record the ceilings", func(tx *sql.Tx) error {
		for _, r := range ceilings {
			samples, err := json.Marshal(orEmpty(r.SamplesNS))
			if err != nil {
				return err
			}
			if _, err := tx.Exec("INSERT OR REPLACE INTO ruler (session_id, name, bytes_per_second, "+
				"flops_per_second, samples_ns_json) VALUES (?, ?, ?, ?, ?)",
				x.id, r.Name, optional(r.BytesPerSecond), optional(r.FLOPsPerSecond),
				string(samples)); err != nil {
				return fmt.Errorf("ceiling %s: %w", r.Name, err)
			}
		}
		return nil
	})
}

// AddComparisons stores the ratios of records that were timed in the same rounds.
func (x *Session) AddComparisons(ctx context.Context, all []record.Comparison) error {
	return x.store.write(ctx, "record comparisons", func(tx *sql.Tx) error {
		for _, c := range all {
			ratios, err := json.Marshal(orEmpty(c.Ratios))
			if err != nil {
				return err
			}
			done, err := tx.Exec(`INSERT OR REPLACE INTO comparison (regime, ratios_json, ratio, ratio_low,
				ratio_high, word, run_a_id, run_b_id)
				SELECT ?, ?, ?, ?, ?, ?, a.run_id, b.run_id FROM run a, run b
				WHERE a.run_ulid = ? AND b.run_ulid = ?`,
				c.Regime, string(ratios), c.Ratio, c.Low, c.High, c.SpeedVerdict, c.RunA, c.RunB)
			if err := oneRow(done, err, c.RunA+" or "+c.RunB); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ceilings returns the ceilings of a session, by name.
func (s *Store) Ceilings(ctx context.Context, session string) ([]record.Ceiling, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("read the ceilings", err)
	}
	defer tx.Rollback()
	rows, err := tx.Query(`SELECT r.name, r.bytes_per_second, r.flops_per_second,
		r.samples_ns_json FROM ruler r JOIN session s USING (session_id)
		WHERE s.session_ulid = ? ORDER BY r.name`, session)
	if err != nil {
		return nil, s.explain("read the ceilings", err)
	}
	defer rows.Close()
	var all []record.Ceiling
	for rows.Next() {
		r := record.Ceiling{Session: session}
		var samples string
		var bytes, flops sql.NullFloat64
		if err := rows.Scan(&r.Name, &bytes, &flops, &samples); err != nil {
			return nil, s.explain("read the ceilings", err)
		}
		if err := json.Unmarshal([]byte(samples), &r.SamplesNS); err != nil {
			return nil, fmt.Errorf("read ceiling %s: %w", r.Name, err)
		}
		r.BytesPerSecond, r.FLOPsPerSecond = floatOf(bytes), floatOf(flops)
		all = append(all, r)
	}
	return all, s.explain("read the ceilings", rows.Err())
}

func floatOf(n sql.NullFloat64) *record.Float {
	if !n.Valid {
		return nil
	}
	return new(record.Float(n.Float64))
}

// Comparisons returns the comparisons of a session, in the order in which its records were made.
func (s *Store) Comparisons(ctx context.Context, session string) ([]record.Comparison, error) {
	tx, err := s.read(ctx)
	if err != nil {
		return nil, s.explain("read comparisons", err)
	}
	defer tx.Rollback()
	rows, err := tx.Query(`SELECT pa.implementation, pb.implementation, a.run_ulid,
		b.run_ulid, c.regime, c.ratios_json, c.ratio, c.ratio_low,
		c.ratio_high, c.word FROM comparison c JOIN run a ON a.run_id = c.run_a_id
		JOIN run b ON b.run_id = c.run_b_id JOIN plan pa ON pa.plan_id = a.plan_id
		JOIN plan pb ON pb.plan_id = b.plan_id JOIN session s ON s.session_id = a.session_id
		WHERE s.session_ulid = ? ORDER BY a.run_ulid, b.run_ulid, c.regime`,
		session)
	if err != nil {
		return nil, s.explain("read comparisons", err)
	}
	defer rows.Close()
	var all []record.Comparison
	for rows.Next() {
		var c record.Comparison
		var ratios string
		if err := rows.Scan(&c.A, &c.B, &c.RunA, &c.RunB, &c.Regime, &ratios, &c.Ratio, &c.Low, &c.High,
			&c.SpeedVerdict); err != nil {
			return nil, s.explain("read comparisons", err)
		}
		if err := json.Unmarshal([]byte(ratios), &c.Ratios); err != nil {
			return nil, fmt.Errorf("read the comparison of %s and %s: %w", c.A, c.B, err)
		}
		all = append(all, c)
	}
	return all, s.explain("read comparisons", rows.Err())
}

// loadTimings reads the timings of a run, first the regime that tables show.
func loadTimings(q querier, run int64) ([]record.Timing, error) {
	rows, err := q.Query(`SELECT regime, n, median_ns, low_ns, high_ns, samples_ns_json, rounds_json,
		arms_json, clocks_mhz_json, temperature_c, throttle_mask,
		n_discarded, discarded_because, bytes, flops, status, message, min_ns, p10_ns, p90_ns, roofline,
		clock_mhz, power_w, mode, sets, calls, rotated_bytes,
		kernels_json, backward FROM timing WHERE run_id = ? ORDER BY length(regime), regime`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []record.Timing
	for rows.Next() {
		var t record.Timing
		var status string
		var arrays [5]string
		var temperature, roofline, clock, power sql.NullFloat64
		var throttle, bytes, flops sql.NullInt64
		if err := rows.Scan(&t.Regime, &t.N, &t.MedianNS, &t.LowNS, &t.HighNS, &arrays[0], &arrays[1],
			&arrays[2], &arrays[3], &temperature, &throttle,
			&t.Discarded, &t.Because, &bytes, &flops, &status, &t.Message, &t.MinNS, &t.P10NS, &t.P90NS,
			&roofline, &clock, &power, &t.Mode, &t.Sets,
			&t.Calls, &t.RotatedBytes, &arrays[4], &t.Backward); err != nil {
			return nil, err
		}
		for i, into := range []any{&t.SamplesNS, &t.Rounds, &t.Positions, &t.ClocksMHz, &t.Kernels} {
			if err := json.Unmarshal([]byte(arrays[i]), into); err != nil {
				return nil, err
			}
		}
		if t.Status, err = op.ParseStatus(status); err != nil {
			return nil, err
		}
		t.TemperatureC, t.Roofline, t.ClockMHz, t.PowerW = floatOf(temperature), floatOf(roofline),
			floatOf(clock), floatOf(power)
		t.Throttle, t.Bytes, t.FLOPs = uint64(throttle.Int64), bytes.Int64, flops.Int64
		all = append(all, t)
	}
	return all, rows.Err()
}

// usableTimes returns the end of a query for the times of runs (r) that passed, with their sessions (s),
// implementations (i), cases (c) and timings (t): those of a run in the order of their regimes.
func usableTimes(where string) string {
	return " FROM run r JOIN session s USING (session_id) JOIN implementation i USING (implementation_id) " +
		"JOIN test_case c ON c.case_id = r.case_id JOIN timing t ON t.run_id = r.run_id WHERE " + where +
		" AND t.status = 'PASS' ORDER BY r.run_ulid, length(t.regime), t.regime"
}
